"""The examples of docs/shapes.md learn what they say, and look where the answer is."""

from __future__ import annotations

from pathlib import Path

import pytest

import heedful
from heedful.data.pairs import read_pairs

from .pages import blocks
from .test_examples import run

LABEL, QUESTION, HISTORY, BOTH = range(4)


@pytest.fixture
def learned(monkeypatch, tmp_path):
    """``learned(number)``: the module that the page's block of that number makes, after its training."""
    monkeypatch.chdir(tmp_path)
    return lambda number: run(blocks("shapes.md", "python")[number], "shapes")


def answers(module, name, columns):
    """The development pairs of an example, each with its answer to that line."""
    lines = [line.split("\t") for line in Path(f"{name}-dev.tsv").read_text("utf-8").splitlines()]
    found = heedful.predict(module.run, ["\t".join(line[:columns]) for line in lines])
    return list(zip(lines, found, strict=True))


def share(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def top(alignment, row=0):
    """The label that the row looks at most."""
    return alignment.source[int(alignment.weights[row].argmax())]


def test_there_is_a_block_for_each_shape():
    assert len(blocks("shapes.md", "python")) == 4


def test_the_word_that_decides(learned, capsys):
    module = learned(LABEL)
    assert capsys.readouterr().out.startswith("bad\n")
    assert module.accuracy >= 98
    found = answers(module, "reviews", 1)
    assert share(top(answer.alignment) in module.MARKS for _, answer in found) >= 0.9


@pytest.mark.slow
def test_the_pair_that_answers_the_question(learned, capsys):
    module = learned(QUESTION)
    assert capsys.readouterr().out == "3 1-0\n"
    assert module.accuracy >= 98
    found = answers(module, "questions", 2)
    assert share(top(answer.alignment)[0] == line[1] for line, answer in found) >= 0.9


@pytest.mark.slow
def test_the_item_that_speaks_for_the_candidate(learned, capsys):
    module = learned(HISTORY)
    assert capsys.readouterr().out == "yes 1-0\n"
    assert module.accuracy >= 95
    found = answers(module, "clicks", 2)
    assert share(top(answer.alignment).startswith(module.ITEMS[line[1]]) for line, answer in found) >= 0.9


@pytest.mark.slow
def test_the_word_and_what_the_other_source_knows_of_it(learned, capsys):
    module = learned(BOTH)
    assert capsys.readouterr().out.startswith("d 3 | 2-0")
    assert module.accuracy >= 95
    found = answers(module, "lookups", 2)
    assert share(top(answer.alignment) == line[2][0] for line, answer in found) >= 0.9
    assert share(top(answer.second_alignment, 1) == line[2].replace(" ", "") for line, answer in found) >= 0.9
    assert read_pairs("lookups-dev.tsv", second_source_column=2, target_column=3).pairs[0].second
