"""What numbers are quoted with: every option of the search that is not the usual one."""

from __future__ import annotations

import pytest

import heedful
from heedful.options import SearchOptions
from training.cases import write_pairs

from .samples import SAMPLES


@pytest.mark.parametrize("name", SAMPLES)
def test_the_signature_names_what_is_not_usual(run, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "words.tsv", [("a", "A")])
    pairs = write_pairs(tmp_path / "pairs.tsv", [("abc", "A B C"), ("f", "F")])
    options, named = SAMPLES[name]
    usual, other = heedful.evaluate(run, pairs).signature, heedful.evaluate(run, pairs, **options).signature
    assert "beam:5|lp:1" in usual
    assert f"|{named}|" in f"|{other}|"
    assert named not in usual


def test_the_signature_names_nothing_else(run, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", [("abc", "A B C"), ("f", "F")])
    usual = heedful.evaluate(run, pairs).signature
    greedy = heedful.evaluate(run, pairs, beam=1, length_penalty=0.5).signature
    assert greedy == usual.replace("beam:5|lp:1", "greedy")  # which no length penalty changes
    assert heedful.evaluate(run, pairs, beam=5, min_length=1, banned=[]).signature == usual
    assert not any(name in usual for name in SearchOptions.__annotations__ if name not in ("beam", "seed"))
