"""How fast a recipe trains: words (pairs) and target tokens a second, over whole updates, and peak memory.

    python benchmarks/words_per_second.py PAIRS --recipe g2p [--set KEY=VALUE ...] [--updates 60]

Prints the median over three blocks of updates, one line, with what it was measured on. The machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import tempfile
import time

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command line has it

import torch

import heedful
from heedful.training import Silent, Update


class Timer(Silent):
    """Notes the time and the target tokens of every update."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.tokens: list[int] = []

    def update(self, update: Update) -> None:
        self.times.append(time.perf_counter())
        self.tokens.append(update.tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs")
    parser.add_argument("--recipe", default="g2p")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--target-length", type=float, help="mean target tokens a pair, the end symbol counted")
    arguments = parser.parse_args()
    timer = Timer()
    budget = [
        "train.minutes=none",
        "train.epochs=none",
        f"train.updates={arguments.updates}",
        "train.validation_size=1",
    ]
    with tempfile.TemporaryDirectory() as folder:
        heedful.train(
            arguments.pairs,
            out=f"{folder}/run",
            recipe=arguments.recipe,
            set=[*arguments.set, *budget],
            reporter=timer,
        )
    block = (len(timer.times) - 10) // 3  # the first ten warm up
    rates = []
    for start in range(10, 10 + 3 * block, block):
        seconds = timer.times[start + block - 1] - timer.times[start - 1]
        rates.append(sum(timer.tokens[start : start + block]) / seconds)
    tokens = statistics.median(rates)
    words = f"{tokens / arguments.target_length:,.0f} words/s, " if arguments.target_length else ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{words}{tokens:,.0f} target tokens/s (blocks {min(rates):,.0f} to {max(rates):,.0f}), peak {peak:,.0f} MiB | "
        f"{arguments.recipe} {' '.join(arguments.set)} | torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{platform.machine()}"
    )


if __name__ == "__main__":
    main()
