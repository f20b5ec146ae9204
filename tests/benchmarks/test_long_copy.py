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
    words = ["long_copy.py", "block", "linear", "--seeds", "2", "3", "--length", "23", "--updates", "1"]
    monkeypatch.setattr("sys.argv", words)
    long_copy.main()
    header, _, *rows = capsys.readouterr().out.splitlines()
    found = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in found] == [["block", "2"], ["block", "3"], ["linear", "2"], ["linear", "3"]]
    assert {row.count("|") for row in rows} == {header.count("|")}
    assert {row[2] for row in found} == {"0 %"}  # of what one update has learned


@pytest.mark.slow
def test_blocks_of_four_words_are_enough_to_copy_five_hundred(long_copy):
    model, codec = long_copy.learned(long_copy.PARTS["block"], seed=5, updates=1000, length=500)
    pairs = long_copy.texts(long_copy.PARTS["block"], random.Random("test 5"), 100, 500)
    exact, error, place = long_copy.judged(model, codec, pairs)
    assert exact >= 90
    assert error <= 1
    assert place >= 99.9
