"""What a comparison keeps of its trainings' way, and the command that makes it again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.api.comparing.command import command_of
from heedful.api.comparing.curve import curve_of
from heedful.api.comparing.data import Given
from heedful.cli import run
from heedful.comparison import Budget
from heedful.errors import DataError
from heedful.recipes import load
from heedful.training.events import Validated
from heedful.training.log import Log
from heedful.training.validate import SCORES


def test_curves_are_those_of_the_logs(tmp_path: Path) -> None:
    log = Log(tmp_path, tensorboard=False)
    for updates in (70, 140):
        scores = {name: 100 / place - updates / 7 for place, name in enumerate(SCORES, start=1)}
        log.write(Validated(updates, 0.5, 0.9 * updates, 1.0, 2.0, scores, True, {}), 0.001)
    first, last = curve_of(tmp_path)
    assert (first.updates, last.updates) == (70, 140)
    assert (first.minutes, last.minutes) == pytest.approx((1.05, 2.1))
    assert (first.scores["sequence_error"], first.scores["token_error"], last.scores["sequence_error"]) == (90, 40, 80)
    assert {*last.scores} == {"sequence_error", "token_error", "word_error", "bleu", "chrf"}


def command(**changed: Any) -> str:
    usual: dict[str, Any] = {"out": "out", "recipes": None, "base": "g2p", "jobs": 1, "set": ()}
    given = changed.pop("given", Given("a b.tsv"))
    budget = changed.pop("budget", Budget(updates=None, minutes=2.0, seeds=(1, 2, 3)))
    return command_of(given, budget, **{**usual, **changed})


def test_the_command_has_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line reads out of it what it was made of."""
    assert command() == "heedful compare 'a b.tsv' --out out --seeds 1 2 3 --base g2p --minutes 2"
    text = command(
        given=Given("cmudict:train", "cmudict:dev", "cmudict:test", "gold.txt", 500),
        budget=Budget(updates=70, minutes=None, seeds=(5,)),
        out="my runs",
        recipes=["early", "my own.toml"],
        base="tiny",
        jobs=2,
        set=["model.dropout=0.1", "data.name=it's"],
    )
    asked: dict[str, Any] = {}

    def compare(pairs: str, **arguments: Any) -> None:
        asked.update(arguments, pairs=pairs)
        raise DataError("enough")

    monkeypatch.setattr(heedful, "compare", compare)
    assert run(shlex.split(text)[1:]) == 2
    wanted = {
        "pairs": "cmudict:train",
        "dev": "cmudict:dev",
        "test": "cmudict:test",
        "links": "gold.txt",
        "size": 500,
        "updates": 70,
        "minutes": None,
        "out": "my runs",
        "base": "tiny",
        "jobs": 2,
    }
    assert {name: asked[name] for name in wanted} == wanted
    assert [*asked["recipes"]] == ["early", "my own.toml"]
    assert [*asked["seeds"]] == [5]
    assert [*asked["set"]] == ["model.dropout=0.1", "data.name=it's"]


@pytest.mark.parametrize("changed", [{"recipes": {"a": "early"}}, {"set": {"model.dropout": 0.1}}])
def test_no_command_says_values_of_python(changed: dict[str, Any]) -> None:
    assert command(**changed) == ""
    assert command(base=load("tiny")) == ""
