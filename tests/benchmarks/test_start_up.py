"""The script that times how heedful starts: every figure, and what it was measured on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "start_up.py"


@pytest.mark.slow
def test_it_makes_a_run_and_prints_each_figure_with_a_signature():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(SCRIPT), "--repeats", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *figures, signature = done.stdout.splitlines()
    found = {figure[:40].strip(): float(figure[40:47]) for figure in figures}
    assert list(found) == [
        "python -c pass",
        "import heedful",
        "heedful --help",
        "import torch",
        "heedful predict",
        "heedful predict, more than import torch",
    ]
    difference = found["heedful predict"] - found["import torch"]
    assert abs(found["heedful predict, more than import torch"] - difference) < 0.002
    assert signature.startswith("start_up | medians of 1 | recipe g2p | torch ")


def test_a_command_that_fails_is_told(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import start_up

    with pytest.raises(SystemExit, match="ValueError: no such thing"):
        start_up.seconds(["-c", "raise ValueError('no such thing')"])
