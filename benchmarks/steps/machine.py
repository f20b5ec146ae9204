"""What figures were measured on."""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

import torch

import heedful


def signature(benchmark: str) -> str:
    """One line that figures should be quoted with."""
    return (
        f"{benchmark}|heedful:{heedful.__version__}|torch:{torch.__version__}|"
        f"{torch.backends.cpu.get_cpu_capability()}|threads:{torch.get_num_threads()}|cores:{os.cpu_count()}|"
        f"machine:{processor()}"
    )


def new_file(name: str) -> Path:
    """The type of an option that names a file to be written, so that a folder that is not there is told at once."""
    path = Path(name)
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"no folder {path.absolute().parent} for {path.name}")
    return path


def processor() -> str:
    """The name that Linux has for the processor, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
