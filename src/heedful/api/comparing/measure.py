"""How fast a design trains and answers, and what memory this process has taken."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

WARM_UP, UPDATES, SECONDS = 5, 60, 15.0
"""Updates that are not counted, updates that are, and how long it may take (a handful are made all the same)."""
FEWEST_UPDATES = 3
SENTENCES, WARM_UP_SENTENCES = 400, 64
PASSES, PASSES_SECONDS = 3, 2.0
"""Over the sentences: so many at least, and so long together."""


class _Enough(Exception):
    """All that is needed has been measured."""


class _Clock:
    """A reporter that times whole updates."""

    def __init__(self) -> None:
        self.tokens, self.seconds, self._updates = 0, 0.0, 0
        self._start = time.perf_counter()

    def message(self, text: str) -> None:
        pass

    def validated(self, validated: Any) -> None:  # validation is no part of an update
        self._start = time.perf_counter() - self.seconds

    def update(self, update: Any) -> None:
        self._updates += 1
        if self._updates <= WARM_UP:
            self._start = time.perf_counter()
            return
        self.tokens += update.tokens
        self.seconds = time.perf_counter() - self._start
        counted = self._updates - WARM_UP
        if counted >= UPDATES or (self.seconds > SECONDS and counted >= FEWEST_UPDATES):
            raise _Enough


def train(job: dict[str, Any]) -> float:
    """Target tokens a second, over whole updates; the largest batch has been through by then."""
    from heedful.recipes import load, parse
    from heedful.training import train as run

    settings = {"train.minutes": "none", "train.epochs": "none", "train.updates": 10**6, "train.validation_size": 1}
    recipe = load(parse(job["recipe"], "recipe"), {**settings, "train.validate_every": 1e6, "train.keep": 0})
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(
                job["pairs"],
                recipe=recipe,
                out=Path(folder) / "run",
                dev=job["dev"],
                links=None,
                set=(),
                resume=False,
                overwrite=False,
                reporter=clock,
            )
        except _Enough:
            pass
    return clock.tokens / clock.seconds


def predict(job: dict[str, Any]) -> float:
    """Sentences a second, with the recipe's own search: the median of some passes."""
    from heedful.api.run import load
    from heedful.data.split import spread
    from heedful.training.reading import read

    run = load(job["run"])
    pairs = read(job["pairs"], run.recipe.data, features_size=run.codec.features_size).pairs
    run.predictor.predict(spread(pairs, WARM_UP_SENTENCES))
    pairs = spread(pairs, SENTENCES)
    taken: list[float] = []
    while len(taken) < PASSES or (sum(taken) < PASSES_SECONDS):
        start = time.perf_counter()
        run.predictor.predict(pairs)
        taken.append(time.perf_counter() - start)
    return len(pairs) / statistics.median(taken)


def peak_memory() -> float | None:
    """MiB that were resident at most; None where the system does not tell. (ru_maxrss begins with the parent's.)"""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
