"""The largest batch is tried first, so that memory which does not suffice is noticed at once; it leaves no trace."""

from __future__ import annotations

import pytest
import torch

from heedful.errors import TrainingError
from heedful.model import Model
from heedful.training.loop import Loop
from training.cases import Recorder, resume, rows, same_tensors, spelled, train_tiny, words, write_pairs

SETTINGS = {"train.updates": 7, "model.dropout": 0.3, "train.scheduled_sampling": 0.5}


class Watched:
    """Sizes of the batches that a model is trained on; too large a one does not fit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, limit: float = float("inf"), error: str = "") -> None:
        self.sizes: list[int] = []
        honest = Model.forward

        def forward(model, batch, **settings):
            if model.training:
                rows, width = batch.sources[0].tokens.shape
                self.sizes.append(rows * width * batch.target.tokens.shape[1])
                if self.sizes[-1] > limit:
                    raise RuntimeError(error) if error else torch.OutOfMemoryError("CUDA out of memory.")
            return honest(model, batch, **settings)

        monkeypatch.setattr(Model, "forward", forward)


def test_the_largest_batch_comes_first(pairs, tmp_path, monkeypatch):
    watched = Watched(monkeypatch)
    train_tiny(pairs, tmp_path / "run", set={**SETTINGS, "train.scheduled_sampling": 0.0, "train.updates": 4})
    first, *epoch = watched.sizes
    assert len(epoch) == 4  # all batches of an epoch
    assert first == max(epoch) > min(epoch)
    watched.sizes.clear()
    resume(pairs, tmp_path / "run", set={"train.updates": 6})
    assert len(watched.sizes) == 2  # what has been seen to fit is not tried again


def test_a_second_source_counts(tmp_path, monkeypatch):
    """One long second source among short ones, whose first source is as long as any other."""
    seconds, honest = [], Model.forward

    def forward(model, batch, **settings):
        if model.training:
            seconds.append(batch.sources[1].tokens.shape[1])
        return honest(model, batch, **settings)

    monkeypatch.setattr(Model, "forward", forward)
    lines = [f"abc\t{'d' * 30 if number == 17 else 'd'}\txyz\n" for number in range(40)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "dev.tsv").write_text(lines[0], encoding="utf-8")
    columns = {"data.second_source_column": 2, "data.target_column": 3, "model.second": "concat"}
    settings = {**columns, "train.batch_tokens": 40, "train.updates": 1}
    train_tiny(tmp_path / "pairs.tsv", tmp_path / "run", dev=tmp_path / "dev.tsv", set=settings)
    assert seconds[0] == 31


def test_it_leaves_no_trace(pairs, tmp_path, monkeypatch):
    tried = train_tiny(pairs, tmp_path / "tried", set=SETTINGS)
    monkeypatch.setattr(Loop, "_rehearse", lambda self: None)
    plain = train_tiny(pairs, tmp_path / "plain", set=SETTINGS)
    assert rows(tried) == rows(plain)
    assert same_tensors(tried / "checkpoint.safetensors", plain / "checkpoint.safetensors")


@pytest.mark.parametrize(
    "error", ["", "[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"]
)
def test_it_is_told_at_once_and_says_for_what(tmp_path, monkeypatch, error):
    """One long pair among short ones, in the middle of the file. Nothing is trained; nor is there a run in the way."""
    lines = [(word, spelled(word)) for word in words(60, longest=3)]
    lines[30:30] = [("ab" * 20, spelled("ab" * 20))]
    pairs = write_pairs(tmp_path / "pairs.tsv", lines)
    dev = write_pairs(tmp_path / "dev.tsv", lines[:5])
    watched, recorder = Watched(monkeypatch, limit=1000, error=error), Recorder()
    with pytest.raises(TrainingError) as caught:
        train_tiny(pairs, tmp_path / "run", dev=dev, set=SETTINGS, reporter=recorder)
    assert str(caught.value) == (
        "not enough memory for a batch of 1 pairs (training lines 31): attention over 1 sentences x 41 steps x 41 "
        "positions needs at least 0.00 GB; lower data.max_length, or take a model.scope that looks at a part of the "
        "source ('window', 'block', 'local_m') and a score and a normaliser that remember no earlier steps, or "
        "model.score = 'linear'"
    )
    assert not recorder.updates
    assert len(watched.sizes) == 1
    train_tiny(pairs, tmp_path / "run", dev=dev, set={**SETTINGS, "data.max_length": 20})


def test_memory_that_goes_later_is_told_too(pairs, tmp_path, monkeypatch):
    """And what else goes wrong is not taken for it."""
    step = torch.optim.AdamW.step
    says = ["CUDA out of memory.", "something else"]

    def fail(self, *arguments):
        if says[0].startswith("CUDA"):
            raise torch.OutOfMemoryError(says[0])
        raise RuntimeError(says[0])

    monkeypatch.setattr(torch.optim.AdamW, "step", fail)
    with pytest.raises(TrainingError, match=r"^not enough memory for a batch of \d+ pairs \(training lines \d+, "):
        train_tiny(pairs, tmp_path / "run", set=SETTINGS)
    del says[0]
    with pytest.raises(RuntimeError, match=r"^something else$"):
        train_tiny(pairs, tmp_path / "other", set=SETTINGS)
    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    resume(pairs, tmp_path / "run")
