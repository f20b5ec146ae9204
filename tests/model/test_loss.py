"""The loss: summed over real target tokens, equal to forced decoding; smoothed over what can be written."""

import math

import pytest
import torch
from torch.nn import functional

from heedful.data.vocabulary import Vocabulary

from .cases import FUSIONS, batch_of, close, make, one, random_batch, rows_of, unrolled

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
def test_label_smoothing_is_the_cross_entropy_with_a_smoothed_target(smoothing):
    """PyTorch's, with probabilities as the target: padding and the start symbol, which nobody writes, get none."""
    model, batch = make(fusion="early"), random_batch()
    logits, _ = unrolled(model, batch)
    target = torch.zeros_like(logits)
    target[..., Vocabulary.END :] = smoothing / (logits.shape[-1] - 2)
    target += (1 - smoothing) * functional.one_hot(batch.target.tokens, logits.shape[-1]).double()
    mask = batch.target.mask
    loss = model(batch, label_smoothing=smoothing)
    same(loss.total, functional.cross_entropy(logits[mask], target[mask], reduction="sum"))
    same(loss.plain, model(batch).total)
    assert loss.total > loss.plain


def test_label_smoothing_by_hand():
    """Of 23 symbols padding has probability 1/2, the start 1/4, the end symbol 1/8, and the others 1/160 each."""
    model = make(fusion="early")
    with torch.no_grad():
        model.decoder.output.weight.zero_()
        probabilities = torch.full((23,), 1 / 160, dtype=torch.float64)
        probabilities[: Vocabulary.UNKNOWN] = torch.tensor([1 / 2, 1 / 4, 1 / 8])
        model.decoder.output.bias.copy_(probabilities.log())
    loss = model(random_batch((5,), (1,)), label_smoothing=0.1)
    assert loss.plain.item() == pytest.approx(math.log(8), rel=1e-12)
    expected = 0.9 * math.log(8) + 0.1 * (math.log(8) + 20 * math.log(160)) / 21
    assert loss.total.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_what_nobody_writes_is_only_pushed_down(smoothing):
    """The gradient of a logit is its probability less its share of the target, and theirs is nothing."""
    model, batch = make(fusion="early"), random_batch()
    model(batch, label_smoothing=smoothing).total.backward()
    probabilities = unrolled(model, batch)[0].softmax(-1)[batch.target.mask].sum(0)
    close(model.decoder.output.bias.grad[: Vocabulary.END], probabilities[: Vocabulary.END].detach())


@every
def test_padding_has_no_part_in_the_loss_however_much_there_is(fusion):
    model = make(**FUSIONS[fusion])
    sources, targets = rows_of((5, 2, 7), 29, seed=3), rows_of((3, 6, 4), 23, seed=4)
    for smoothing in (0.0, 0.1):
        none, few, many = (
            model(batch_of(sources, targets, extra_source=extra, extra_target=extra), label_smoothing=smoothing)
            for extra in (0, 5, 50)
        )
        assert none.tokens == few.tokens == many.tokens == 13
        for name in ("total", "plain"):
            same(getattr(few, name), getattr(none, name))
            same(getattr(many, name), getattr(none, name))


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
