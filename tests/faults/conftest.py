"""A run that spells words, a run that copies them, and the command line called in this process."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cli.conftest import cli
from training.cases import write_pairs

__all__ = ["cli"]

LETTERS = "abcdefghij"


def strings(count: int, *, seed: int, shortest: int = 1, longest: int = 12) -> list[str]:
    """`count` different strings of letters."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(LETTERS, k=rng.randint(shortest, longest)))] = None
    return list(found)


def easy_words(count: int, *, seed: int) -> list[str]:
    """`count` different strings of up to 8 letters, each letter once: the copier gets all of these right."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.sample(LETTERS, rng.randint(1, 8)))] = None
    return list(found)


@pytest.fixture(scope="session")
def run(speller: Path) -> Path:
    return speller


@pytest.fixture(scope="session")
def copier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Late, general; it copies strings of 1 to 12 letters, and knows where each letter came from. Not to be changed."""
    import heedful

    folder = tmp_path_factory.mktemp("copier")
    train = write_pairs(folder / "train.tsv", ((word, word) for word in strings(2000, seed=3)))
    dev = write_pairs(folder / "dev.tsv", ((word, word) for word in strings(50, seed=4, shortest=4)))
    settings = {
        "model.fusion": "late",
        "model.score": "general",
        "model.readout": "attentional",
        "train.epochs": 7,
        "train.learning_rate": 0.01,
        "train.batch_tokens": 500,
        "train.validate_every": 99.0,
    }
    return heedful.train(train, dev=dev, out=folder / "run", recipe="tiny", set=settings)
