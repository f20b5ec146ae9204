"""Scheduled sampling: some input words are the model's own."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from heedful.data.vocabulary import Vocabulary
from heedful.model import Model

from .cases import FUSIONS, inputs_of, make, random_batch, unrolled

every = pytest.mark.parametrize("fusion", list(FUSIONS))
ALMOST = 1 - 1e-7  # torch.rand is below it in all but one of ten million draws


def model_of(fusion: str, *, end: float = 1.0) -> Model:
    """A model some of whose predictions are the end symbol."""
    model = make(**FUSIONS[fusion], scale=0.8)
    with torch.no_grad():
        model.decoder.output.bias[Vocabulary.END] = end
    return model


def own_inputs(model: Model, batch) -> Tensor:
    """START, then what a teacher-forced pass predicts; never a symbol that no decoder reads: padding, start, end."""
    given = inputs_of(batch)
    predicted = unrolled(model, batch)[0].argmax(-1)
    mixed = given.clone()
    for row in range(given.shape[0]):
        for time in range(1, given.shape[1]):
            if predicted[row, time - 1] > Vocabulary.END:
                mixed[row, time] = predicted[row, time - 1]
    return mixed


def loss_of(model: Model, batch, inputs: Tensor) -> Tensor:
    memory, state = model.begin(batch.sources[0])
    logits = model.decoder.logits(model.decoder.unroll(inputs, memory, state))
    return functional.cross_entropy(logits[batch.target.mask], batch.target.tokens[batch.target.mask], reduction="sum")


@every
def test_none_of_ones_own_words_is_teacher_forcing(fusion):
    model, batch = model_of(fusion), random_batch((5, 2, 7), (7, 7, 7))
    torch.testing.assert_close(model(batch, own_words=0.0).total, loss_of(model, batch, inputs_of(batch)))


@every
def test_all_of_ones_own_words_are_the_predictions(fusion):
    model, batch = model_of(fusion), random_batch((5, 2, 7), (7, 7, 7))
    mixed = own_inputs(model, batch)
    assert (mixed[:, 1:] != inputs_of(batch)[:, 1:]).float().mean() > 0.4
    torch.testing.assert_close(model(batch, own_words=ALMOST).total, loss_of(model, batch, mixed))
    assert not torch.isclose(model(batch, own_words=ALMOST).total, model(batch).total)


def test_the_end_symbol_is_never_an_input():
    model, batch = model_of("early", end=50.0), random_batch((5, 2, 7), (7, 7, 7))
    assert unrolled(model, batch)[0].argmax(-1).eq(Vocabulary.END).all()
    torch.testing.assert_close(model(batch, own_words=ALMOST).total, model(batch).total)


def recorded(model: Model, batch, monkeypatch, own_words: float) -> list[Tensor]:
    """What the decoder is given to read in one call of the model: first pass, second pass."""
    seen: list[Tensor] = []
    whole = model.decoder.unroll
    monkeypatch.setattr(model.decoder, "unroll", lambda tokens, *rest: (seen.append(tokens), whole(tokens, *rest))[1])
    model(batch, own_words=own_words)
    return seen


def test_the_first_input_stays_the_start_symbol_and_each_other_is_given_or_own(monkeypatch):
    model, batch = model_of("late"), random_batch((5,) * 23, (11,) * 23)
    torch.manual_seed(3)
    first, second = recorded(model, batch, monkeypatch, own_words=0.3)
    given, own = inputs_of(batch), own_inputs(model, batch)
    assert torch.equal(first, given)
    assert second[:, 0].eq(Vocabulary.START).all()
    assert ((second == given) | (second == own)).all()
    differs = (given != own)[:, 1:]
    share = (second != given)[:, 1:][differs].float().mean()
    assert share.item() == pytest.approx(0.3, abs=0.1)


def test_the_same_seed_gives_the_same_words_and_another_seed_others():
    model, batch = model_of("late"), random_batch((5,) * 7, (11,) * 7)
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model(batch, own_words=0.5).total.item())
    assert losses[0] == losses[1] != losses[2]


@every
def test_gradients_are_finite_and_there(fusion):
    model, batch = model_of(fusion), random_batch()
    torch.manual_seed(1)
    model(batch, own_words=0.5).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_the_first_pass_is_not_differentiated(monkeypatch):
    model, batch = model_of("early"), random_batch()
    tracked: list[bool] = []
    whole = model.decoder.readout.forward
    monkeypatch.setattr(
        model.decoder.readout, "forward", lambda steps: (tracked.append(torch.is_grad_enabled()), whole(steps))[1]
    )
    model(batch, own_words=0.5)
    assert tracked == [False, True]
