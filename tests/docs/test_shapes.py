"""The examples of docs/shapes.md learn what they say, and look where the answer is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import heedful
from heedful.alignment import by_segments
from heedful.data.pairs import read_pairs

from .pages import blocks
from .test_examples import run

LABEL, DOCUMENT, QUESTION, SCENE, HISTORY, BOTH = range(6)


@pytest.fixture
def learned(monkeypatch, tmp_path):
    """``learned(number)``: the module that the page's block of that number makes, after its training; with another seed
    it has other data too."""
    monkeypatch.chdir(tmp_path)

    def module(number, seed=1):
        code = blocks("shapes.md", "python")[number].replace("Random(1)", f"Random({seed})")
        return run(code.replace("settings = {", f'settings = {{"train.seed": {seed},'), "shapes")

    return module


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
    assert len(blocks("shapes.md", "python")) == 6


def test_the_word_that_decides(learned, capsys):
    module = learned(LABEL)
    assert capsys.readouterr().out.startswith("bad\n")
    assert module.accuracy >= 98
    found = answers(module, "reviews", 1)
    assert share(top(answer.alignment) in module.MARKS for _, answer in found) >= 0.9


def check_document(module):
    assert module.accuracy >= 98
    found = [(line, one.alignment) for line, one in answers(module, "documents", 1) if line[1] != "so so"]
    assert share(top(alignment) in module.MARKS for _, alignment in found) >= 0.95
    sentences = []
    for _, alignment in found:
        place = [label in module.MARKS for label in alignment.source].index(True)
        sentences.append(by_segments(alignment).weights[0, alignment.source_segments[place] - 1])
    assert share(weight >= 0.9 for weight in sentences) >= 0.95


def check_scene(module):
    assert module.accuracy >= 98
    found = answers(module, "scenes", 2)
    rows = [np.load(line[0])[int(answer.alignment.weights[0].argmax())] for line, answer in found]
    colours = [module.COLOURS[int(row[:3].argmax())] for row in rows]
    assert share(colour in line[1].split() for colour, (line, _) in zip(colours, found, strict=True)) >= 0.95


def check_history(module):
    assert module.accuracy >= 98
    found = answers(module, "clicks", 2)
    assert share(top(answer.alignment)[:3] == line[1][:3] for line, answer in found) >= 0.9


@pytest.mark.slow
def test_the_sentence_that_decides_and_the_word_in_it(learned, capsys):
    module = learned(DOCUMENT)
    assert capsys.readouterr().out.startswith("bad\n")
    assert module.sentences.source[1].startswith("2: the")
    check_document(module)


@pytest.mark.slow
def test_the_row_that_the_question_is_about(learned, capsys):
    module = learned(SCENE)
    assert capsys.readouterr().out == "large 1-0\n"
    check_scene(module)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize(
    ("number", "check"), [(DOCUMENT, check_document), (SCENE, check_scene), (HISTORY, check_history)]
)
def test_what_is_looked_at_is_no_accident_of_one_training(number, check, seed, learned):
    check(learned(number, seed))


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
    check_history(module)


@pytest.mark.slow
def test_the_word_and_what_the_other_source_knows_of_it(learned, capsys):
    module = learned(BOTH)
    assert capsys.readouterr().out.startswith("d 3 | 2-0")
    assert module.accuracy >= 95
    found = answers(module, "lookups", 2)
    assert share(top(answer.alignment) == line[2][0] for line, answer in found) >= 0.9
    assert share(top(answer.second_alignment, 1) == line[2].replace(" ", "") for line, answer in found) >= 0.9
    assert read_pairs("lookups-dev.tsv", second_source_column=2, target_column=3).pairs[0].second
