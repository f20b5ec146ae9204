"""The aligner of the benchmark beside this folder, which is no package."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location("model1", Path(__file__).parents[2] / "alignment" / "model1.py")
assert _spec is not None
assert _spec.loader is not None
_module = module_from_spec(_spec)
_spec.loader.exec_module(_module)
model1 = _module.model1
