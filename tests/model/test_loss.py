"""The loss: summed over real target tokens, equal to forced decoding, with PyTorch's own label smoothing."""

import pytest
import torch
from torch.nn import functional

from heedful.data.vocabulary import Vocabulary

from .cases import FUSIONS, close, make, one, random_batch, unrolled

every = pytest.mark.parametrize("fusion", list(FUSIONS))


def same(values, expected) -> None:
    torch.testing.assert_close(values, expected, rtol=1e-12, atol=0)


@every
def test_loss_is_the_cross_entropy_of_every_real_token(fusion):
    """One token at a time, END counted, padding not."""
    model, batch = make(**FUSIONS[fusion]), random_batch()
    logits, _ = unrolled(model, batch)
    wanted = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate((3, 6, 4)):
        for time in range(length):
            logs = logits[row, time].log_softmax(0)
            wanted = wanted - logs[batch.target.tokens[row, time]]
    loss = model(batch)
    same(loss.total, wanted)
    same(loss.plain, wanted)
    assert loss.tokens.item() == 13


@every
def test_forced_decoding_is_minus_the_loss_token_by_token(fusion):
    model, batch = make(**FUSIONS[fusion]), random_batch()
    logs, weights = model.force(batch)
    logits, steps = unrolled(model, batch)
    chosen = logits.log_softmax(-1).gather(2, batch.target.tokens.unsqueeze(2)).squeeze(2)
    close(logs, chosen * batch.target.mask)
    same(-logs.sum(), model(batch).plain)
    close(weights, steps.weights)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_two_sentences_together_are_the_sum_of_the_two_alone(smoothing):
    """So that a mean per token weighs them by their tokens."""
    model, batch = make(**FUSIONS["late"]), random_batch((7, 2), (1, 9))
    together = model(batch, label_smoothing=smoothing)
    alone = [model(one(batch, row), label_smoothing=smoothing) for row in range(2)]
    assert [int(loss.tokens) for loss in alone] == [1, 9]
    for name in together._fields:
        same(getattr(together, name), getattr(alone[0], name) + getattr(alone[1], name))


@pytest.mark.parametrize("smoothing", [0.1, 0.5])
def test_label_smoothing_is_torchs_on_real_tokens(smoothing):
    model, batch = make(fusion="early"), random_batch()
    logits, _ = unrolled(model, batch)
    tokens = batch.target.tokens.masked_fill(~batch.target.mask, -100)
    wanted = functional.cross_entropy(
        logits.flatten(0, 1),
        tokens.flatten(),
        reduction="sum",
        label_smoothing=smoothing,
        ignore_index=-100,
    )
    loss = model(batch, label_smoothing=smoothing)
    same(loss.total, wanted)
    same(loss.plain, model(batch).total)
    assert loss.total > loss.plain


def test_label_smoothing_by_hand():
    """Y = 23, smoothing a: (1 - a) nll + a mean over the vocabulary of -log p."""
    model, batch = make(fusion="early"), random_batch((5,), (1,))
    logs = unrolled(model, batch)[0].log_softmax(-1)[0, 0]
    wanted = -0.9 * logs[Vocabulary.END] - 0.1 * logs.mean()
    same(model(batch, label_smoothing=0.1).total, wanted)


def test_the_unsmoothed_loss_carries_no_gradient():
    loss = make(fusion="early")(random_batch(), label_smoothing=0.1)
    assert loss.total.requires_grad
    assert not loss.plain.requires_grad


def test_the_loss_is_in_single_precision_for_a_model_in_half():
    model = make(fusion="early").to(torch.bfloat16)
    loss = model(random_batch())
    assert loss.total.dtype == torch.float32
    assert loss.total.isfinite()


def test_a_step_gives_log_probabilities():
    model, batch = make(fusion="early"), random_batch()
    memory, state = model.begin(batch.sources[0])
    logs, weights, state = model.step(torch.full((3, 1), Vocabulary.START), memory, state)
    logits, steps = unrolled(model, batch)
    close(logs, logits[:, :1].log_softmax(-1))
    close(weights, steps.weights[:, :1])
    assert state.step.tolist() == [[1]] * 3
