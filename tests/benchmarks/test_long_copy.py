"""The script that learns long copies: what it counts, its table, and one part that has to solve them."""

import random
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def long_copy(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import long_copy

    return long_copy


def test_a_run_prints_a_row_for_each_part_and_seed(long_copy, monkeypatch, capsys):
    monkeypatch.setattr(long_copy, "TESTED", 3)
    words = ["long_copy.py", "block", "linear_places", "--seeds", "2", "3", "--length", "23", "--updates", "1"]
    monkeypatch.setattr("sys.argv", words)
    long_copy.main()
    header, _, *rows = capsys.readouterr().out.splitlines()
    found = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in found] == [
        ["block", "2"],
        ["block", "3"],
        ["linear_places", "2"],
        ["linear_places", "3"],
    ]
    assert {row.count("|") for row in rows} == {header.count("|")}
    assert {row[2] for row in found} == {"0 %"}  # of what one update has learned


@pytest.mark.slow
@pytest.mark.parametrize(("name", "updates"), [("block", 1000), ("linear_places", 300)])
def test_five_hundred_words_are_copied(long_copy, name, updates):
    part = long_copy.part_of(name, 500)
    model, codec = long_copy.learned(part, seed=5, updates=updates, length=500)
    pairs = long_copy.texts(random.Random("test 5"), 100, 500)
    exact, error, place = long_copy.judged(model, codec, pairs)
    assert exact >= 90
    assert error <= 1
    assert place >= 99.9
