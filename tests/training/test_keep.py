"""The weights of the last validations, kept for averages."""

from __future__ import annotations

import pytest

import heedful
from heedful.errors import RunError
from heedful.runs import load_description, load_model
from heedful.training import loop
from training.cases import Recorder, resume, tensors_of, train_tiny

SETTINGS = {"train.updates": 9, "train.validate_every": 0.5, "train.keep": 3, "train.metric": "loss"}


def kept(folder) -> list[str]:
    return sorted(path.name for path in (folder / "kept").iterdir())


def names(looks) -> list[str]:
    return [f"{look.updates:06}.safetensors" for look in looks]


@pytest.mark.parametrize("keep", [1, 3, 99])
def test_the_last_are_kept(pairs, tmp_path, keep):
    """As many as were asked for, at every moment."""
    seen = []
    recorder = Recorder(lambda recorder: seen.append(kept(tmp_path / "run")) if recorder.looks else None)
    folder = train_tiny(pairs, tmp_path / "run", set={**SETTINGS, "train.keep": keep}, reporter=recorder)
    assert len(recorder.looks) == 5
    assert kept(folder) == names(recorder.looks[-keep:])
    assert max(map(len, seen)) <= keep


def test_none_are_kept_unless_asked_for(pairs, tmp_path):
    assert not (train_tiny(pairs, tmp_path / "run", set={**SETTINGS, "train.keep": 0}) / "kept").exists()


def test_they_are_the_weights_of_their_validation(pairs, tmp_path):
    """The checkpoint's, the whole model, and as good as any weights: they load, tell their updates, and are refused."""
    weights = {}

    def keep(recorder: Recorder) -> None:
        if len(recorder.looks) > len(weights):
            tensors, _ = tensors_of(tmp_path / "run" / "checkpoint.safetensors")
            weights[recorder.looks[-1].updates] = tensors

    folder = train_tiny(pairs, tmp_path / "run", set=SETTINGS, reporter=Recorder(keep))
    for path in (folder / "kept").iterdir():
        tensors, about = tensors_of(path)
        assert about["updates"] == int(path.stem)
        assert all((weights[int(path.stem)][f"model.{name}"] == tensor).all() for name, tensor in tensors.items())
        model = load_model(*load_description(folder), file=f"kept/{path.name}")
        for name, parameter in model.named_parameters():
            assert (parameter == tensors[name]).all(), name
    best = tensors_of(folder / "model.safetensors")[1]
    (same,) = [path for path in (folder / "kept").iterdir() if int(path.stem) == best["updates"]]
    assert same.read_bytes() == (folder / "model.safetensors").read_bytes()
    vocabulary = folder / "vocabulary.json"
    vocabulary.write_text(vocabulary.read_text().replace('"F"', '"G"'))
    with pytest.raises(RunError, match=rf"kept/{same.name}: was trained with other vocabularies"):
        load_model(*load_description(folder), file=f"kept/{same.name}")


def test_a_run_is_what_is_kept_too(pairs, tmp_path):
    """It is not trained over; replaced, nothing of it stays."""
    folder = train_tiny(pairs, tmp_path / "run", set=SETTINGS)
    for name in ("model.safetensors", "checkpoint.safetensors"):
        (folder / name).unlink()
    with pytest.raises(RunError, match="holds a run already"):
        train_tiny(pairs, folder)
    assert len(kept(folder)) == 3
    train_tiny(pairs, folder, overwrite=True)
    assert not (folder / "kept").exists()


def test_more_or_fewer_from_now_on(pairs, tmp_path):
    recorder = Recorder()
    folder = train_tiny(pairs, tmp_path / "run", set=SETTINGS, reporter=recorder)
    resume(pairs, folder, set={"train.keep": 0, "train.updates": 11}, reporter=recorder)
    assert kept(folder) == names(recorder.looks[2:5])  # nothing is kept, and nothing thrown away
    resume(pairs, folder, set={"train.keep": 2, "train.updates": 13}, reporter=recorder)
    assert kept(folder) == names(recorder.looks[-2:])


def test_numbers_are_counted_not_spelled(pairs, tmp_path, monkeypatch):
    """A million comes after 999,999."""
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 1, "train.keep": 2})
    for name in ("999998.safetensors", "999999.safetensors"):
        (folder / "kept" / name).write_text("x")
    monkeypatch.setattr(loop.Loop, "_done", lambda self: self.progress.updates >= 1_000_002)
    real = loop.Loop.restore

    def restore(self: loop.Loop) -> None:
        real(self)
        self.progress.updates = 1_000_000

    monkeypatch.setattr(loop.Loop, "restore", restore)
    resume(pairs, folder)
    assert kept(folder) == ["1000002.safetensors", "999999.safetensors"]


def test_a_run_with_kept_weights_answers(pairs, tmp_path):
    assert heedful.load(train_tiny(pairs, tmp_path / "run", set=SETTINGS)).predict(["abc"])[0].score < 0
