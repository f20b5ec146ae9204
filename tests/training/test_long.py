"""Long pairs: where a scope looks at a part of the source, nobody makes a matrix over all of it unasked."""

from __future__ import annotations

import pytest

import heedful
from heedful import room
from heedful.attention.weights import Factored, OfHeads, Windowed
from heedful.errors import MemoryShortage, TrainingError
from heedful.predictor import Predictor
from heedful.training import validate
from training.cases import spelled, train_tiny, words, write_pairs

LEAN = {
    "window": {"model.scope": {"name": "window", "width": 1}},
    "local_p": {"model.scope": {"name": "local_p", "window": 1}},
    "heads": {"model.scope": {"name": "block", "width": 1, "neighbours": 0}, "model.heads": 2},
    "linear": {"model.score": "linear", "model.fusion": "late"},
    "heads of linear": {"model.score": {"name": "linear", "feature_map": "exp"}, "model.heads": 2},
}


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Longer than any window that is named: a narrow one in a short source is a mask."""
    lines = [(word * 9, spelled(word)) for word in words(11, longest=5)]
    return write_pairs(tmp_path_factory.mktemp("long") / "pairs.tsv", lines)


def whole(self):
    raise AssertionError("a matrix over the whole source")


@pytest.mark.parametrize("settings", LEAN.values(), ids=LEAN)
def test_nothing_is_dense_unasked(long, tmp_path, monkeypatch, settings):
    """Training, validation, search and scores; and where an alignment is asked for, it is there."""
    for form in (Windowed, Factored, OfHeads):
        monkeypatch.setattr(form, "dense", whole)
    monkeypatch.setattr(validate, "_CELLS", 0)
    size = {"model.encoder_size": 6, "model.decoder_size": 12}
    folder = train_tiny(long, tmp_path / "run", dev=long, set={"train.updates": 2, **size, **settings})
    texts = [line.split("\t")[0] for line in long.read_text().splitlines() if len(line) > 40]
    for beam in (1, 2):
        heedful.predict(folder, texts, with_alignment=False, beam=beam, max_length=3)
    assert len(heedful.score(folder, long, with_alignment=False)) == 11
    with pytest.raises(AssertionError, match="a matrix over the whole source"):
        heedful.predict(folder, texts, max_length=3)


def test_a_training_that_cannot_fit_is_refused_at_once(long, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "SMALL", 0)
    monkeypatch.setattr(room, "available", lambda device: 1.0)
    with pytest.raises(
        TrainingError, match=r"attention over \d+ sentences x \d+ steps x 37 positions needs .*'window'"
    ):
        train_tiny(long, tmp_path / "run", dev=long, set={"train.updates": 2, "train.batch_tokens": 1000})
    folder = train_tiny(long, tmp_path / "other", dev=long, set={"train.updates": 1, **LEAN["window"]})
    monkeypatch.setattr(room, "available", lambda device: 0.0)
    heedful.score(folder, long, with_alignment=False)


def test_what_is_asked_of_a_trained_model_is_refused_too(long, tmp_path, monkeypatch):
    folder = train_tiny(long, tmp_path / "run", dev=long, set={"train.updates": 1})
    monkeypatch.setattr(room, "SMALL", 0)
    monkeypatch.setattr(room, "available", lambda device: 1.0)
    with pytest.raises(
        MemoryShortage,
        match=r"for 11 sentences at once \(lines .*lower batch_size, or ask for no alignments, or train with a",
    ):
        heedful.score(folder, long)
    heedful.predict(folder, ["abc"], with_alignment=False)  # asks step by step


def test_the_command_line_says_it_in_one_line(long, tmp_path, monkeypatch, capsys):
    from heedful.cli import run

    folder = train_tiny(long, tmp_path / "run", dev=long, set={"train.updates": 1})

    def fail(*arguments, **options):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(Predictor, "searched", fail)
    (tmp_path / "texts").write_text("abc\nabcabc\n")
    assert run(["predict", str(folder), str(tmp_path / "texts"), "--with-weights"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "not enough memory for 2 sentences at once (lines 1, 2), 2 sentences x 7 positions; lower batch_size, or ask "
        "for no alignments"
    )
