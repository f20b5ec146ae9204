"""Peak memory of one call, in a process of its own: how much more is resident in it than before."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_CLEAR = Path("/proc/self/clear_refs")


def measurable() -> bool:
    """Whether this system tells of peaks: only Linux does."""
    return _CLEAR.exists()


def peak(make: Callable[..., Callable[[], object]], arguments: Sequence[Any], *, tiny: Sequence[Any]) -> float:
    """MiB that ``make(*arguments)()`` needs beyond what `make` makes.

    ``make(*tiny)()`` comes first, so that what is loaded with a first call does not count.

    Args:
        make: a function of a module.
        arguments: what JSON can hold.
        tiny: of the same kind.
    """
    words = json.dumps([make.__module__, make.__name__, tiny, arguments, torch.get_num_threads()])
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    command = [sys.executable, "-m", "steps.memory", words]
    # Memory of tensors goes back to the system when they are freed, so that what was free before is not taken for free.
    environment = {**os.environ, "PYTHONPATH": path, "MALLOC_MMAP_THRESHOLD_": "65536"}
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _measure(module: str, name: str, tiny: Sequence[Any], arguments: Sequence[Any], threads: int) -> float:
    torch.set_num_threads(threads)
    make = getattr(importlib.import_module(module), name)
    make(*tiny)()
    call = make(*arguments)
    _CLEAR.write_text("5")  # the peak is counted from here
    before = _resident("VmRSS")
    call()
    return _resident("VmHWM") - before


def _resident(name: str) -> float:
    """MiB. Not ru_maxrss: a child's begins with what its parent had."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    print(_measure(*json.loads(sys.argv[1])))
