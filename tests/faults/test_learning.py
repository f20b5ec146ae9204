"""Attention that never finds its place on small data, though the loss falls."""

from __future__ import annotations

import pytest

import heedful
from training.cases import write_pairs

from .conftest import strings

# What a word becomes, and for a length the source place of each target letter.
TASKS = {
    "copy": (lambda word: word, lambda n: range(n)),
    "reverse": (lambda word: word[::-1], lambda n: range(n - 1, -1, -1)),
    "shift": (lambda word: word[1:] + word[:1], lambda n: [*range(1, n), 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_two_thousand_pairs_are_enough_to_look_at_the_right_place(task, tmp_path):
    """Arg-max accuracy on words that were never seen; the figure is printed."""
    change, places = TASKS[task]
    words = strings(2200, seed=41, shortest=3)
    train = write_pairs(tmp_path / "train.tsv", ((word, change(word)) for word in words[:2000]))
    dev = write_pairs(tmp_path / "dev.tsv", ((word, change(word)) for word in words[2000:]))
    settings = {
        "train.epochs": 20,
        "train.learning_rate": 0.005,
        "train.batch_tokens": 500,
        "train.validate_every": 99.0,
    }
    run = heedful.load(heedful.train(train, dev=dev, out=tmp_path / "run", recipe="tiny", set=settings))
    true = [(i, j) for word in words[2000:] for j, i in enumerate(places(len(word)))]
    found = [link for alignment in heedful.align(run, dev) for link in alignment.links()]
    assert len(found) == len(true)
    accuracy = sum(one == other for one, other in zip(found, true, strict=True)) / len(true)
    print(f"{task}: arg-max accuracy {accuracy:.1%}, {heedful.evaluate(run, dev, beam=1).sequence_error:.1f} % wrong")
    assert accuracy >= 0.90
