"""docs/trace.md shows what the command prints: letters, equations, shapes, order; the numbers are of one training."""

import re

import pytest

import heedful

from .pages import blocks
from .test_commands import commands, parsed
from .test_examples import run


def heads(text):
    """Of each paragraph what stands above its numbers, without how much NumPy differs."""
    found = []
    for paragraph in re.split(r"\n\n+", text):
        lines = paragraph.strip("\n").splitlines()
        ends = [place for place, line in enumerate(lines) if line.startswith("  [")]
        if ends:
            kept = "\n".join(lines[: ends[0] + 1])
            found.append(re.sub(r"; NumPy: [^\]]*|(?<=probability is ).*", "", kept))
    return found


@pytest.fixture
def train(monkeypatch, tmp_path):
    """The page's pairs and its training, with other settings if need be."""
    pairs, _ = blocks("trace.md", "python")
    monkeypatch.chdir(tmp_path)
    run(pairs, "pairs")

    def call(*settings):
        ((_, arguments),) = [parsed(words) for words in commands("trace.md") if words[0] == "train"]
        changes = [*arguments["set"], *settings]
        heedful.train(arguments["pairs"], out=arguments["out"], recipe=arguments["recipe"], set=changes)

    return call


def test_the_page_is_what_is_printed(train, capsys):
    train("train.epochs=none", "train.updates=2")
    shown = heads("\n\n".join(blocks("trace.md", "text")))
    trace = heedful.trace("runs/reversed", "bade", "edab")
    assert shown == heads(str(trace))
    assert len(shown) == len(trace.quantities) == 23
    _, check = blocks("trace.md", "python")
    run(check, "check")
    assert float(capsys.readouterr().out) < 1e-9


@pytest.mark.slow
def test_the_weight_moves_from_letter_to_letter(train):
    train()
    for step, letter in enumerate("edab", start=1):
        weights = heedful.trace("runs/reversed", "bade", "edab", step=step)["alpha"]
        assert weights.axes[0][weights.value.argmax()] == letter
        assert weights.value.max() > 0.8
