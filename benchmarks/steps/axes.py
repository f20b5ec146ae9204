"""What grows in `scaling.py`: one axis at a time from a base, and how long a training step and a decoding take."""

from __future__ import annotations

import dataclasses
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from heedful.search import Rules, beam, greedy
from steps.memory import measurable, peak
from steps.shapes import Shape, batch_of, make
from steps.sides import Step, heedful_step


@dataclass(frozen=True)
class Setting:
    """One point: everything else is as in the base."""

    batch: int = 16
    source: int = 32
    target: int = 32
    vocabulary: int = 1000
    beam: int = 5
    threads: int = dataclasses.field(default_factory=torch.get_num_threads)
    hidden: int = 256

    @property
    def shape(self) -> Shape:
        return Shape(self.batch, self.source, self.target, self.hidden, self.vocabulary)

    def __str__(self) -> str:
        return f"{self.shape} beam{self.beam} threads{self.threads}"


class Axis(NamedTuple):
    """A field of `Setting` and the values that it takes."""

    field: str
    meaning: str
    values: tuple[int, ...]
    trains: bool = True  # False: only decoding depends on it


AXES = {
    "S": Axis("source", "source length", (8, 16, 32, 64, 128, 256, 512, 1024)),
    "T": Axis("target", "target length", (8, 16, 32, 64, 128, 256, 512)),
    "B": Axis("batch", "sentences in a batch", (1, 2, 4, 8, 16, 32, 64, 128)),
    "V": Axis("vocabulary", "target vocabulary", (64, 256, 1000, 4000, 16000, 64000)),
    "beam": Axis("beam", "hypotheses kept", (1, 2, 5, 10, 20, 40), trains=False),
    "threads": Axis("threads", "processor threads", tuple(2**n for n in range((os.cpu_count() or 1).bit_length()))),
}

TIMES = {"train": "training step, ms", "decode": "decoding, ms a sentence"}


class Point(NamedTuple):
    """What was measured at one value of an axis; None where it does not depend on it, or is not told."""

    value: int
    train: float | None  # ms of a step
    decode: float | None  # ms a sentence
    memory: float | None  # peak MiB of a training step; of decoding, on an axis that training does not depend on


def training(setting: Sequence[int], fusion: str, cell: str) -> Step:
    """A training step of the whole model, the encoder too: loss and gradients."""
    shape = Setting(*setting).shape
    return heedful_step(make(shape, fusion, cell, encoder=True), batch_of(shape))


def decoding(setting: Sequence[int], fusion: str, cell: str) -> Callable[[], object]:
    """A search for the answers to a batch, of exactly T symbols each; greedy with a beam of 1."""
    given = Setting(*setting)
    model = make(given.shape, fusion, cell, encoder=True).eval()
    (source,) = batch_of(given.shape).sources
    lengths = torch.full((given.batch,), given.target)
    rules = Rules(max_lengths=lengths, min_lengths=lengths)

    def search() -> object:
        with torch.inference_mode():
            memory, state = model.begin(source, hypotheses=given.beam)
        if given.beam == 1:
            return greedy(model.step, memory, state, rules=rules)
        return beam(model.step, memory, state, beam_size=given.beam, rules=rules)

    return search


def measure(axis: Axis, base: Setting, fusion: str, cell: str, *, repeats: int) -> list[Point]:
    """The points of an axis: medians of `repeats` runs, the points in turn, and memory in a process for each."""
    settings = [dataclasses.replace(base, **{axis.field: value}) for value in axis.values]
    words = [(dataclasses.astuple(setting), fusion, cell) for setting in settings]
    train = _medians([training(*each) for each in words], settings, repeats) if axis.trains else None
    decode = _medians([decoding(*each) for each in words], settings, repeats)
    tiny = (dataclasses.astuple(Setting(2, 3, 3, 11, 2, 1, 8)), fusion, cell)
    points = []
    for place, setting in enumerate(settings):
        torch.set_num_threads(setting.threads)
        call = training if axis.trains else decoding
        memory = peak(call, words[place], tiny=tiny) if measurable() else None
        point = (train and train[place], decode[place] / setting.batch, memory)
        points.append(Point(axis.values[place], *point))
    torch.set_num_threads(base.threads)
    return points


def _medians(calls: Sequence[Callable[[], object]], settings: Sequence[Setting], repeats: int) -> list[float]:
    taken: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats + 1):
        for call, setting, times in zip(calls, settings, taken, strict=True):
            torch.set_num_threads(setting.threads)
            start = time.perf_counter()
            call()
            if turn:  # the first does not count
                times.append(1000 * (time.perf_counter() - start))
    return [statistics.median(times) for times in taken]


def slope(values: Sequence[float], measured: Sequence[float]) -> float:
    """Of log(measured) over log(values), by least squares: 1 is linear, 0 is no growth."""
    x, y = ([math.log(each) for each in row] for row in (values, measured))
    return statistics.linear_regression(x, y).slope
