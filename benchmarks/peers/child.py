"""One toolkit in a process of its own. It is told what to do, a line of JSON at a time, and answers with one.

    {"do": "train", "seconds": 3}              updates until so much time has passed
    {"do": "decode", "beam": 5, "seconds": 2}  forced decoding of the held-out sources, on from where it stopped
    {"do": "stop"}

A toolkit's module has VERSION and `Side(job)` with `parameters`, the number of its model's; ``train(updated)``, which
trains by the toolkit's own loop and calls ``updated(target tokens)`` after each update, for ever; and
``decode(sources, beam)``, which gives one list of symbols for each source.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from peers.sides import BATCH_SIZE, SEED


class Job(NamedTuple):
    """What the parent wants measured."""

    toolkit: str
    variant: str
    data: Path  # files of `corpora.prepare`
    folder: Path  # for what the toolkit writes
    threads: int
    batch: int  # pairs to an update
    steps: int  # of forced decoding


class Enough(Exception):
    """Training is over: another command came."""

    def __init__(self, command: dict[str, Any]) -> None:
        super().__init__("training is over")
        self.command = command


class Line:
    """Commands come in by standard input. What the toolkit prints goes with its errors, so that answers stay alone."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def read(self) -> dict[str, Any]:
        return json.loads(sys.stdin.readline() or '{"do": "stop"}')

    def say(self, **answer: Any) -> None:
        print(json.dumps(answer), file=self._out, flush=True)


class Stopwatch:
    """Counts updates; at the end of a segment it answers, and waits until it is this side's turn again."""

    def __init__(self, line: Line, seconds: float) -> None:
        self._line = line
        self._begin(seconds)

    def _begin(self, seconds: float) -> None:
        self._wanted, self._tokens, self._updates = seconds, 0, 0
        self._start = time.perf_counter()

    def __call__(self, tokens: int) -> None:
        self._tokens += tokens
        self._updates += 1
        seconds = time.perf_counter() - self._start
        if seconds < self._wanted:
            return
        self._line.say(tokens=self._tokens, updates=self._updates, seconds=seconds, peak_mib=_peak())
        command = self._line.read()
        if command["do"] != "train":
            raise Enough(command)
        self._begin(command["seconds"])


class Sources:
    """The held-out sources in batches of like length, for ever; any few batches in a row are of many lengths."""

    def __init__(self, path: Path) -> None:
        sources = path.read_text("utf-8").splitlines()
        batches = [sources[start : start + BATCH_SIZE] for start in range(0, len(sources), BATCH_SIZE)]
        bits = (len(batches) - 1).bit_length()
        order = sorted(range(len(batches)), key=lambda place: f"{place:0{bits}b}"[::-1])
        self._batches = [batches[place] for place in order]

    def batches(self, most: int) -> Iterator[list[str]]:
        while True:
            for batch in self._batches:
                # Of a batch that is cut, what remains is of all its lengths.
                yield batch[:: max(1, len(batch) // most)][:most]


def _decode(side: Any, batches: Iterator[list[str]], job: Job, beam: int, seconds: float) -> dict[str, Any]:
    done, wrong, spent = 0, 0, 0.0
    while spent < seconds:
        sources = next(batches)
        start = time.perf_counter()
        answers = side.decode(sources, beam)
        spent += time.perf_counter() - start
        done += len(sources)
        # An end symbol in the last place may be shown or not.
        wrong += len(answers) != len(sources) or any(len(a) not in (job.steps - 1, job.steps) for a in answers)
    if wrong:
        raise RuntimeError(f"expected answers of {job.steps} symbols, got others in {wrong} batches")
    return {"sentences": done, "seconds": spent}


def count(model: torch.nn.Module) -> int:
    """The parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _serve(line: Line, job: Job) -> None:
    torch.set_num_threads(job.threads)
    torch.manual_seed(SEED)
    module = importlib.import_module(f"peers.{job.toolkit}")
    side = module.Side(job)
    sources = Sources(job.data / "test.src")
    library = f"{torch.__version__} ({torch.backends.cpu.get_cpu_capability()})"
    line.say(version=module.VERSION, parameters=side.parameters, torch=library, threads=torch.get_num_threads())
    command, turns = line.read(), {}
    while command["do"] != "stop":
        if command["do"] == "train":
            try:
                side.train(Stopwatch(line, command["seconds"]))
            except Enough as enough:
                command = enough.command
                continue
            raise RuntimeError("training ended by itself")
        beam, seconds = command["beam"], command["seconds"]
        if beam not in turns:
            turns[beam] = _batches(side, sources, job, beam, command["patience"])
        size, batches = turns[beam]
        line.say(**_decode(side, batches, job, beam, seconds), batch=size, peak_mib=_peak())
        command = line.read()


def _batches(side: Any, sources: Sources, job: Job, beam: int, patience: float) -> tuple[int, Iterator[list[str]]]:
    """Batches of the usual size; of two, where already these take a side longer than `patience`, in seconds."""
    pair = _decode(side, sources.batches(2), job, beam, 1e-9)
    size = BATCH_SIZE if pair["seconds"] < patience else 2
    return size, sources.batches(size)


def main() -> None:
    line = Line()
    values = json.loads(sys.argv[1])
    job = Job(**{**values, "data": Path(values["data"]), "folder": Path(values["folder"])})
    job.folder.mkdir(parents=True, exist_ok=True)
    try:
        _serve(line, job)
    except BaseException as error:  # whatever it is, the parent is told in one line and goes on without this side
        line.say(failed=f"{type(error).__name__}: {error}".splitlines()[0][:300])
        raise


if __name__ == "__main__":
    main()
