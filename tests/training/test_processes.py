"""Trainings in processes of their own: two at once, as torchrun starts them."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import heedful
from training.cases import TINY, rows

pytestmark = pytest.mark.slow


def command(pairs: Path, out: Path, **settings) -> list[str]:
    sets = [f"--set={key}={value}" for key, value in {**TINY, **settings}.items()]
    return ["-m", "heedful", "train", str(pairs), "--recipe=tiny", f"--out={out}", *sets]


def two_processes(arguments: list[str]) -> subprocess.CompletedProcess:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    launch = ["-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={port}", *arguments]
    return subprocess.run([sys.executable, *launch], capture_output=True, text=True, timeout=150)


def test_two_processes_share_an_epoch(pairs, tmp_path):
    """One run comes out: written and reported by one of the two, each batch taken by one of the two."""
    settings = {"train.device": "cpu", "train.epochs": 2, "train.updates": "none", "train.batch_tokens": 60}
    out = tmp_path / "run"
    done = two_processes(command(pairs, out, **settings))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pairs to train on") == 1
    assert done.stderr.count("  best") >= 1
    assert [row["epoch"] for row in rows(out)] == ["1.0", "2.0"]
    alone = heedful.train(pairs, out=tmp_path / "alone", recipe="tiny", set={**TINY, **settings, "train.epochs": 1})
    batches = int(rows(alone)[-1]["updates"])
    assert int(rows(out)[0]["updates"]) == -(-batches // 2)  # half of them, rounded up
    assert heedful.load(out).predict(["abc"], beam=2)[0].score < 0
    second = two_processes(command(pairs, out, **settings))  # and the run is not trained over
    assert second.returncode != 0
    assert "holds a run already" in second.stderr


CLOCKS = """
import os, sys, time

real, start = time.monotonic, time.monotonic()
time.monotonic = lambda: start + (real() - start) * (1 + 2 * int(os.environ["RANK"]))
from heedful.cli import run
sys.exit(run(sys.argv[1:]))
"""


def test_two_processes_agree_on_when_the_minutes_are_over(pairs, tmp_path):
    """Clocks differ (here, one runs three times as fast); who did one update more would wait for the other for ever."""
    settings = {"train.device": "cpu", "train.minutes": 0.05, "train.updates": "none", "train.batch_tokens": 60}
    (tmp_path / "clocks.py").write_text(CLOCKS)
    arguments = command(pairs, tmp_path / "run", **settings)[2:]
    done = two_processes([str(tmp_path / "clocks.py"), *arguments])
    assert done.returncode == 0, done.stderr
    assert heedful.load(tmp_path / "run").predict(["abc"], beam=2)[0].score < 0
