"""Searches whose trainings are an error that is worked out in no time, so that what is right is known."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import heedful
from cli.conftest import cli, refused  # noqa: F401 - fixtures
from heedful.recipes import Recipe
from heedful.training import Update, Validated
from training.cases import TINY, spelling_pairs

SET = {key: TINY[key] for key in ("data.dev_share", "data.target_tokens", "model.embedding_size", "train.batch_tokens")}
RANGES = {"train.learning_rate": "0.001..0.1:log", "model.dropout": "0.0..0.5"}
FIXED = {
    "train.learning_rate": 0.003,
    "model.dropout": 0.0,
    **SET,
    "train.label_smoothing": 0.1,
    "model.encoder_size": 7,
    "model.decoder_size": 11,
    "model.encoder_layers": 1,
}
"""Of tiny, so that nothing is searched by default but what `RANGES` names."""

Error = Callable[[Recipe, int], float]


class Trained(list[Recipe]):
    """The recipes that were trained, in their order."""


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_pairs(tmp_path_factory.mktemp("pairs") / "words.tsv", 30)


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Callable[[Error], Trained]:
    """``training(error)``: from now on a training is ten validations, of which `error(recipe, tenth)` is the error."""

    def replace(error: Error) -> Trained:
        trained = Trained()

        def train(pairs: object, *, recipe: Recipe, out: Path, reporter: Any, **rest: object) -> None:
            trained.append(recipe)
            out.mkdir(parents=True)
            (out / "log.csv").write_text("")
            for tenth in range(10):
                reporter.update(Update(tenth + 1, 1, tenth / 10, 1.0, 0.1, 7, 7.0))
                scores = {recipe.train.metric: error(recipe, tenth)}
                reporter.validated(Validated(tenth + 1, 1.0, 0.0, 1.0, 1.0, scores, False, {}))

        monkeypatch.setattr(sys.modules["heedful.tuning.loop"], "train", train)
        return trained

    import heedful.tuning.loop  # noqa: F401

    return replace


@pytest.fixture
def tune(pairs: Path, tmp_path: Path) -> Callable[..., Any]:
    """``tune(trials=5)``: `heedful.tune` of two keys of tiny."""

    def call(**arguments: Any) -> Any:
        usual = {"out": tmp_path / "tuned", "recipe": "tiny", "updates": 10, "trials": 5, "range": RANGES, "set": FIXED}
        return heedful.tune(**{"pairs": pairs, **usual, **arguments})

    return call
