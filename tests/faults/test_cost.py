"""Time and memory that are spent on what is finished, on padding, or on what nobody asked for; nothing is timed."""

from __future__ import annotations

import gc
import io
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor  # what a test of torch.compile may have left
from torch.nn import functional

import heedful
from heedful.alignment import Alignment
from heedful.data.pairs import Pair
from heedful.plots import draw
from heedful.predictor import Prediction
from model.cases import FUSIONS, make, random_batch

from .conftest import strings


def counted(function, name: str, calls: list[str]):
    """`function`, but each call is written down."""

    def call(*arguments, **options):
        calls.append(name)
        return function(*arguments, **options)

    return call


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("fusion", list(FUSIONS))
def test_a_loss_is_one_call_for_a_batch(fusion, smoothing, monkeypatch):
    """However many sentences and steps: one softmax over the vocabulary and one loss for all real tokens, one readout
    of all of them, one look-up of all target embeddings, one product for all keys."""
    model, calls = make(**FUSIONS[fusion]), []
    for home, name in ((torch, "log_softmax"), (functional, "nll_loss")):
        monkeypatch.setattr(home, name, counted(getattr(home, name), name, calls))
    watched = {"readout": model.decoder.readout, "embedding": model.decoder.embedding, "encoder": model.encoder}
    if not fusion.startswith("none"):
        watched["keys"] = model.decoder.fusion.attention.score.key_projection
    for name, module in watched.items():
        module.register_forward_hook(lambda *_, name=name: calls.append(name))
    model(random_batch((5, 2, 7, 3), (3, 6, 4, 9)), label_smoothing=smoothing)
    assert sorted(calls) == sorted([*watched, "log_softmax", "nll_loss"])


def shapes_of_steps(run, texts, **settings) -> list[tuple[int, int]]:
    """(sentences, hypotheses) that each of the decoder's steps is asked for."""
    model, shapes = run.predictor.model, []
    step = type(model).step

    def watched(tokens, memory, state):
        shapes.append(tuple(tokens.shape))
        return step(model, tokens, memory, state)

    model.step = watched
    try:
        run.predict(texts, **settings)
    finally:
        del model.step
    return shapes


@pytest.mark.parametrize("beam", [1, 5])
def test_finished_sentences_leave_the_batch(copier, beam):
    """Fifteen short words and one long: each is asked for in as many steps as alone, not one more."""
    run = heedful.load(copier)
    texts = [*strings(15, seed=31, shortest=2, longest=3), "abcdefghijab"]
    shapes = shapes_of_steps(run, texts, beam=beam, batch_size=16)
    alone = sum(len(shapes_of_steps(run, [text], beam=beam)) for text in texts)
    assert sum(sentences for sentences, _ in shapes) == alone
    assert all(width <= beam for _, width in shapes)
    assert shapes[0][0] == 16
    assert shapes[-1][0] == 1
    assert len(shapes) == len(shapes_of_steps(run, texts[-1:], beam=beam))  # and no step more than the long one


class Sampling(io.BytesIO):
    """Standard output that forgets what is written, and looks twice at what is alive: after 200 lines, and 2,000."""

    def __init__(self) -> None:
        super().__init__()
        self.count, self.samples, self.ahead = 0, [], [200, 2000]

    def write(self, data) -> int:
        self.count += bytes(data).count(b"\n")
        if self.ahead and self.count >= self.ahead[0]:
            self.ahead.pop(0)
            self.samples.append(alive())
        return len(data)


def alive() -> tuple[int, int]:
    """How many answers, matrices and tensors there are, and the bytes of the tensors."""
    gc.collect()
    kinds = (torch.Tensor, Alignment, Prediction, Pair)
    found = [one for one in gc.get_objects() if issubclass(type(one), kinds) and not isinstance(one, FakeTensor)]
    storages = [one.untyped_storage() for one in found if isinstance(one, torch.Tensor)]
    return len(found), sum({one.data_ptr(): one.nbytes() for one in storages}.values())


def test_what_is_kept_does_not_grow_with_the_lines(copier, monkeypatch):
    """Two thousand lines with their alignments: at the end no more is alive than near the beginning."""
    from heedful.cli import run

    text = "\n".join(strings(2000, seed=32)).encode()
    out = io.TextIOWrapper(Sampling(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    monkeypatch.setattr(sys, "stdout", out)
    assert run(["predict", str(copier), "--json", "--beam", "1", "--batch-size", "8"]) == 0
    assert out.buffer.count == 2000
    near_the_beginning, at_the_end = out.buffer.samples
    assert near_the_beginning[0] > 100
    for first, last in zip(near_the_beginning, at_the_end, strict=True):
        assert last < 1.2 * first


def test_padding_is_never_drawn(copier):
    """A word's picture has its own size, whatever stood beside it in the batch; a large one is one image."""
    words = ["ab", "abcdefghij"]
    for word, answer in zip(words, heedful.load(copier).predict(words), strict=True):
        axes = draw(answer.alignment)
        assert axes.images[0].get_array().shape == (len(word) + 1, len(word) + 1)
        assert len(axes.get_xticks()) == len(word) + 1
