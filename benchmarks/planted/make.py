"""Training the models, and their manifest.

Which models count is decided on the quality of training alone, before anything is diagnosed, by these rules:

- healthy, shifted, padding_leak: greedy answers to the development pairs have a token error of at most 5 %, and where
  the true alignment is known, at least 80 % of target letters have their largest weight on the right source letter
  (rows taken for what they really are about);
- late_collapse: a token error of at most 5 % on short texts, and of at least 20 % on those to be diagnosed;
- the others count as they are: their fault is in their making.

A model that fails is made again with another seed, twice at the most; all that failed are listed.
"""

from __future__ import annotations

import dataclasses
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import heedful
from heedful.data import corpora
from planted.recipes import Planted, planted
from planted.tasks import TASKS, links, pairs, save

MOST_ERROR, LEAST_AGREEMENT, LEAST_LONG_ERROR, ATTEMPTS = 5.0, 0.8, 20.0, 3
SIZES = {"train": 2000, "dev": 100, "test": 200}
CORPUS_SIZES = {"train": 6000, "dev": 100, "test": 200}
MANIFEST, FAILED = "manifest.jsonl", "failed.jsonl"


def read_manifest(folder: Path, name: str = MANIFEST) -> list[dict[str, Any]]:
    """What is done so far."""
    path = folder / name
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def make(
    folder: Path,
    seed_base: int,
    *,
    only: str | None = None,
    limit: int | None = None,
    updates: int | None = None,
    tell: Callable[[str], object],
) -> None:
    """Make the models that are not in the manifest yet.

    Args:
        only: those that are made to be this.
        limit: the first so many of them.
        updates: a shorter training, on a tenth of the pairs; no model is refused then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = {entry["place"] for entry in read_manifest(folder)}
    failed = {entry["seed"] for entry in read_manifest(folder, FAILED)}
    choices = zip(*(planted(seed_base, attempt=attempt) for attempt in range(ATTEMPTS)), strict=True)
    wanted = [(place, tries) for place, tries in enumerate(choices) if only in (None, tries[0].plant.truth)]
    for place, attempts in wanted[:limit]:
        if place in done:
            continue
        for one in attempts:
            if one.seed in failed:
                continue
            entry = {"place": place, **_made(one, folder, updates)}
            _append(folder / (FAILED if entry["why_not"] else MANIFEST), entry)
            tell(
                f"{one.name} seed {one.seed}, {entry['seconds']:.0f} s: {entry['why_not'] or 'good'} {entry['quality']}"
            )
            if not entry["why_not"]:
                break


def _append(path: Path, entry: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _made(one: Planted, folder: Path, updates: int | None) -> dict[str, Any]:
    began = time.process_time()
    run = folder / f"{one.name}-{one.seed}"
    train, dev, test = _data(one, folder / "data", smaller=1 if updates is None else 10)
    settings = one.settings if updates is None else {**one.settings, "train.updates": updates}
    settings = {**settings, "train.validate_every": settings["train.updates"] / 50}  # about three times
    heedful.train(train, dev=dev, out=run, recipe="tiny", set=settings, overwrite=True)
    loaded = heedful.load(run)
    quality = {"token_error": heedful.evaluate(loaded, dev).token_error, "agreement": _agreement(one, loaded, dev)}
    if one.plant.longest:
        quality["long_token_error"] = heedful.evaluate(loaded, test).token_error
    return {
        "folder": run.name,
        "truth": one.plant.truth,
        "task": one.task,
        "monotonic": TASKS[one.task].monotonic if one.task in TASKS else one.task == "numbers",
        "fusion": one.fusion,
        "seed": one.seed,
        "data": str(test.relative_to(folder)),
        "how": one.plant.mechanism,
        "quality": {key: None if value is None else round(value, 4) for key, value in quality.items()},
        "seconds": round(time.process_time() - began, 1),
        "why_not": None if updates is not None else refused(one.plant.truth, quality),
    }


def _data(one: Planted, folder: Path, *, smaller: int) -> Iterator[Path]:
    """Files to train on, to develop on, and to diagnose on; no source is in two of them."""
    stem = f"{one.name}-{one.seed}"
    draw = random.Random(f"pairs {one.seed}")
    sizes = {part: size // smaller for part, size in (SIZES if one.task in TASKS else CORPUS_SIZES).items()}
    if one.task in TASKS:
        train = pairs(one.texts, draw, sizes["train"])
        dev = pairs(one.texts, draw, sizes["dev"], but=train)
        longer = one.texts._replace(longest=one.plant.longest or one.texts.longest)
        found = {"train": train, "dev": dev, "test": pairs(longer, draw, sizes["test"], but=train | dev)}
    else:
        found = {part: dict(corpora.load(one.task, part)[:size]) for part, size in sizes.items()}
    return (save(some, folder / f"{stem}.{part}.tsv") for part, some in found.items())


def _agreement(one: Planted, run: heedful.Run, dev: Path) -> float | None:
    """The share of target letters whose largest weight is on the letter that they come from."""
    right = total = 0
    for alignment in heedful.align(run, dev):
        if one.plant.rows is not None:
            alignment = dataclasses.replace(alignment, convention=one.plant.rows)
        true = links(one.task, "".join(alignment.source[:-1]))
        if true is None or one.task == "sort":  # of equal letters, any may be the first
            return None
        right, total = right + len(set(true) & set(alignment.links())), total + len(true)
    return right / total


def refused(truth: str, quality: dict[str, float | None]) -> str | None:
    error, agreement, long_error = (quality.get(key) for key in ("token_error", "agreement", "long_token_error"))
    if truth in ("healthy", "shifted", "padding_leak", "late_collapse") and error is not None and error > MOST_ERROR:
        return "has not learned"
    if truth in ("healthy", "shifted", "padding_leak") and agreement is not None and agreement < LEAST_AGREEMENT:
        return "looks elsewhere"
    if long_error is not None and long_error < LEAST_LONG_ERROR:
        return "does not collapse"
    return None
