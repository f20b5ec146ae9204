"""``heedful compare``: lists of values, what is passed on, tables, and how it ends."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import heedful
from api.comparing import RECIPES, SETTINGS
from comparison.sample import sample_comparison
from heedful.comparison import Comparison


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """With what `heedful.compare` is called, in place of which a sample is told."""
    arguments: dict[str, Any] = {}

    def compare(pairs: str, **keywords: Any) -> Comparison:
        arguments.update(keywords, pairs=pairs)
        return sample_comparison(sources=40)

    compare.__signature__ = inspect.signature(heedful.compare)  # type: ignore[attr-defined]
    monkeypatch.setattr("heedful.api.compare.compare", compare)
    return arguments


def test_lists_are_read_up_to_the_next_option(cli, called):
    done = cli("compare", "a.tsv", "--recipes", "early", "late_dot", "my.toml", "--seeds", "1", "7", "--out", "o",
               "--set", "train.keep=3", "--set", "data.dev_share=0.1", "--updates", "5", "--jobs", "2")  # fmt: skip
    assert done.code == 0, done.err
    assert called["recipes"] == ["early", "late_dot", "my.toml"]
    assert called["seeds"] == [1, 7]
    assert called["set"] == ["train.keep=3", "data.dev_share=0.1"]
    assert (called["pairs"], called["out"], called["updates"], called["jobs"]) == ("a.tsv", "o", 5, 2)


def test_lists_may_be_repeated_and_the_pairs_may_come_last(cli, called):
    done = cli("compare", "--seeds=4", "--recipes", "early", "--recipes", "fixed", "--out", "o", "a.tsv")
    assert done.code == 0, done.err
    assert (called["recipes"], called["seeds"], called["pairs"]) == (["early", "fixed"], [4], "a.tsv")


def test_defaults_are_those_of_python(cli, called):
    keywords = inspect.signature(heedful.compare).parameters
    cli("compare", "a.tsv", "--out", "o")
    given = {name: value for name, value in called.items() if name not in ("pairs", "out", "watcher", "message")}
    assert given == {name: keywords[name].default for name in given}
    assert {*keywords} == {*called}


def test_the_screen_of_text(cli, called):
    text = cli("compare", "a.tsv", "--out", "o").out.decode("utf-8")
    comparison = sample_comparison(sources=40)
    error = comparison.judgement().errors[1]
    assert f"{error.value:.2f} ({error.low:.2f} to {error.high:.2f})" in text
    for design in comparison.designs:
        assert text.count(f"\n{design.name} ") >= 3  # quality, by length, cost
        assert f"{design.cost.parameters:,}" in text
    for words_ in ("sequence error by source length:", "healthy 2/2", "Take early.", "Note: Two seeds"):
        assert words_ in text
    assert text.endswith(f"\n\n{comparison.signature}\n")


def test_json_is_the_comparison(cli, called):
    (value,) = cli("compare", "a.tsv", "--out", "o", "--json").json
    assert value == json.loads(sample_comparison(sources=40).model_dump_json())


def options(out: Path) -> list[str]:
    settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    return ["--out", str(out), "--base", "tiny", "--updates", "2", "--seeds", "1", *settings]


def test_from_pairs_to_a_table(cli, words, quick_costs, tmp_path):
    done = cli("compare", words, *options(tmp_path / "out"), "--recipes", "fixed", "early")
    assert done.code == 0, done.err
    assert b"train tokens/s" in done.out
    assert "2 designs, seeds 1; 86 pairs to train on, 30 for development, 34 to decide" in done.err
    assert "early, seed 1: finished, 2 updates" in done.err
    assert done.err.endswith(f"All of it is in {tmp_path / 'out'}; report.html is for your browser.\n")
    assert Comparison.load(tmp_path / "out/comparison.json").budget.seeds == (1,)


def test_what_is_wrong_is_told_in_one_message_before_any_training(refused, words, tmp_path):
    assert refused("compare", words, *options(tmp_path / "out"), "--recipes", *RECIPES, "earyl") == (
        "no such file, design or built-in recipe: 'earyl'; did you mean 'early'?"
    )
    assert not (tmp_path / "out").exists()


def test_ctrl_c_ends_with_130_and_says_what_to_do(cli, monkeypatch):
    def compare(*arguments: Any, **keywords: Any) -> Comparison:
        raise KeyboardInterrupt

    monkeypatch.setattr("heedful.api.compare.compare", compare)
    done = cli("compare", "a.tsv", "--out", "o")
    assert done.code == 130
    assert "stopped; the same command goes on where it was" in done.err
