"""What figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch


def signature(benchmark: str) -> str:
    """One line that figures should be quoted with."""
    return (
        f"{benchmark}|torch:{torch.__version__}|threads:{torch.get_num_threads()}|cores:{os.cpu_count()}|"
        f"machine:{processor()}"
    )


def processor() -> str:
    """The name that Linux has for the processor, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
