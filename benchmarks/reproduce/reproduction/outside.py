"""The aligner of the benchmarks beside this folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # benchmarks

from alignment.model1 import model1

__all__ = ["model1"]
