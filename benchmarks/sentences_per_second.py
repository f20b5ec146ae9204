"""How fast a run answers: sentences a second for each beam, and where the time goes.

    python benchmarks/sentences_per_second.py RUN PAIRS [--limit 2000] [--beam 1 5] [--batch-size 64]

Prints the median over `--repeats` passes over the same sources, after one that is not counted, with the share of: the
encoder (with what is computed once a sentence), the decoder's steps, and search itself with all the rest (choosing,
reading answers back, texts). The machine must be idle.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from typing import Any

import torch
from torch import nn

import heedful
from heedful.predictor import Predictor
from heedful.training.reading import read


class Clocked(nn.Module):
    """A model that counts the seconds it takes, and its steps."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.has_attention, self.row_convention = model.has_attention, model.row_convention
        self.reset()

    def reset(self) -> None:
        self.begin_seconds = self.step_seconds = 0.0
        self.steps = 0

    def begin(self, source: Any, *, hypotheses: int = 0) -> Any:
        start = time.perf_counter()
        found = self.model.begin(source, hypotheses=hypotheses)
        self.begin_seconds += time.perf_counter() - start
        return found

    def step(self, tokens: Any, memory: Any, state: Any) -> Any:
        start = time.perf_counter()
        found = self.model.step(tokens, memory, state)
        self.step_seconds += time.perf_counter() - start
        self.steps += 1
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("pairs")
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    run = heedful.load(given.run)
    pairs = read(given.pairs, run.recipe.data).pairs[: given.limit]
    clocked = Clocked(run.predictor.model)
    for beam in given.beam:
        predictor = Predictor(clocked, run.codec, run.predictor.with_options({"beam": beam}).settings)
        seconds, shares = [], []
        for _ in range(given.repeats + 1):
            clocked.reset()
            start = time.perf_counter()
            predictor.predict(pairs, batch_size=given.batch_size)
            seconds.append(time.perf_counter() - start)
            shares.append([part / seconds[-1] for part in (clocked.begin_seconds, clocked.step_seconds)])
        middle = statistics.median(seconds[1:])
        encoder, steps = shares[seconds.index(min(seconds[1:], key=lambda value: abs(value - middle)))]
        rest = 1 - encoder - steps
        print(
            f"beam {beam}: {len(pairs) / middle:.0f} sentences/s ({len(pairs)} in {middle:.2f} s)",
            f"{clocked.steps} steps; encoder {encoder:.0%}, decoder's steps {steps:.0%}, search etc. {rest:.0%}",
            sep="; ",
        )
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}, batch {given.batch_size}"
    )


if __name__ == "__main__":
    main()
