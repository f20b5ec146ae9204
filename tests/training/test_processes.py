"""Trainings in processes of their own: two at once, as torchrun starts them, and one that is killed."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import heedful
from training.cases import TINY, resume, rows, spelling_pairs

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


def test_two_processes_agree_on_when_the_minutes_are_over(pairs, tmp_path):
    """Clocks differ; if one process did one update more than the other, it would wait for ever."""
    settings = {"train.device": "cpu", "train.minutes": 0.05, "train.updates": "none", "train.batch_tokens": 60}
    for number in range(2):
        done = two_processes(command(pairs, tmp_path / str(number), **settings))
        assert done.returncode == 0, done.stderr


def test_a_killed_training_leaves_a_run_that_loads(tmp_path):
    """kill -9 at random times while a checkpoint is written after every update."""
    pairs = spelling_pairs(tmp_path / "pairs.tsv")
    out = tmp_path / "run"
    settings = {"train.updates": 100_000, "train.checkpoint_minutes": 1e-9, "model.encoder_size": 300}
    rng = random.Random(4)
    for sitting in range(4):
        arguments = [*command(pairs, out, **settings), *(["--resume"] if sitting else [])]
        if sitting:
            arguments = [argument for argument in arguments if not argument.startswith("--set")]
        before = (out / "checkpoint.safetensors").stat().st_mtime_ns if sitting else None
        process = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
        wait_for_a_checkpoint(out, before, process)
        time.sleep(rng.random())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert heedful.load(out).predict(["abc"], beam=1)
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert names <= {"recipe.toml", "vocabulary.json", "model.safetensors", "checkpoint.safetensors", "log.csv"}
    done = max((int(row["updates"]) for row in rows(out)), default=0)
    resume(pairs, out, set={"train.updates": done + 1})


def wait_for_a_checkpoint(out: Path, before: int | None, process: subprocess.Popen) -> None:
    path = out / "checkpoint.safetensors"
    until = time.monotonic() + 60
    while not path.exists() or path.stat().st_mtime_ns == before:
        assert process.poll() is None, "training ended by itself"
        assert time.monotonic() < until, "no checkpoint within a minute"
        time.sleep(0.02)
