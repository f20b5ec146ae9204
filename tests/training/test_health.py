"""How attention does, at each validation: numbers in the log, and one warning where it has not formed."""

from __future__ import annotations

import math

import pytest

from training.cases import Recorder, rows, spelled, spelling_pairs, train_tiny, words, write_pairs

FLAT = {"model.normaliser": {"name": "softmax", "temperature": 1e6}}


@pytest.fixture(scope="module")
def long_enough(tmp_path_factory):
    """Development words of three letters or more, of which something can be said."""
    found = [word for word in words(80, seed=9) if len(word) > 2]
    return write_pairs(tmp_path_factory.mktemp("dev") / "dev.tsv", ((word, spelled(word)) for word in found))


def warnings_of(pairs, dev, folder, **settings):
    recorder = Recorder()
    train_tiny(pairs, folder, dev=dev, set={"train.validate_every": 0.5, **settings}, reporter=recorder)
    assert len(recorder.looks) > 3
    return recorder, [message for message in recorder.messages if message.startswith("warning")]


def test_attention_that_never_left_uniform_is_told_of_once(pairs, long_enough, tmp_path):
    recorder, warnings = warnings_of(pairs, long_enough, tmp_path / "run", **FLAT)
    assert len(warnings) == 1
    assert "never left uniform" in warnings[0]
    assert "heedful diagnose" in warnings[0]
    assert all(look.health["entropy"] > 0.999 for look in recorder.looks)


def test_of_long_pairs_few_are_looked_at(pairs, long_enough, tmp_path, monkeypatch):
    """All their weights are there at once."""
    from heedful.predictor import Predictor
    from heedful.training import validate

    seen = []
    force = Predictor.force
    monkeypatch.setattr(Predictor, "force", lambda self, some: seen.append(list(some)) or force(self, some))
    train_tiny(pairs, tmp_path / "all", dev=long_enough, set={"train.updates": 1})
    monkeypatch.setattr(validate, "_CELLS", 100)
    train_tiny(pairs, tmp_path / "few", dev=long_enough, set={"train.updates": 1})
    monkeypatch.setattr(validate, "_CELLS", 11)
    train_tiny(pairs, tmp_path / "none", dev=long_enough, set={"train.updates": 1})
    every, few, none = seen
    cells = sum((len(pair.source) + 1) * (len(pair.target.split()) + 1) for pair in few)
    assert 1 < len(few) < len(every)
    assert cells <= 100 < cells + max((len(pair.source) + 1) ** 2 for pair in every)
    assert none == []
    assert rows(tmp_path / "none")[-1]["attention_entropy"] == ""


def test_not_before_a_third_of_the_budget(pairs, long_enough, tmp_path):
    told = []

    def remember(recorder):
        told.append(any("never left uniform" in message for message in recorder.messages))

    recorder = Recorder(remember)
    settings = {"train.validate_every": 0.5, "train.updates": 60, **FLAT}
    train_tiny(pairs, tmp_path / "run", dev=long_enough, set=settings, reporter=recorder)
    first = told.index(True)
    assert recorder.updates[min(first, len(recorder.updates) - 1)].updates >= 20
    assert not told[0]


def test_attention_that_forms_is_no_news(pairs, long_enough, tmp_path):
    settings = {
        "model.encoder_size": 13,
        "model.decoder_size": 29,
        "train.batch_tokens": 250,
        "train.updates": 120,
        "train.validate_every": 4,
    }
    recorder, warnings = warnings_of(pairs, long_enough, tmp_path / "run", **settings)
    assert not warnings
    first, last = recorder.looks[0].health, recorder.looks[-1].health
    assert last["entropy"] < first["entropy"]
    assert last["focus"] > first["focus"]


def test_the_log_has_empty_cells_without_attention(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"model.fusion": "none"})
    assert all(row["attention_entropy"] == "" for row in rows(folder))


def test_too_little_to_say(tmp_path):
    """A handful of pairs gives no numbers, and no warning."""
    recorder = Recorder()
    few = spelling_pairs(tmp_path / "few.tsv", 12)
    train_tiny(few, tmp_path / "run", set=FLAT, reporter=recorder)
    assert not any(message.startswith("warning") for message in recorder.messages)
    assert all(math.isnan(look.health["entropy"]) for look in recorder.looks)
