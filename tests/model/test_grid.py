"""Layers, directions, cells and degenerate sizes: all combinations train."""

import itertools

import pytest
import torch

from heedful.model import Model

from .cases import ATTENTIONS, CELLS, FUSIONS, make, name_of, random_batch, soft, unrolled


def check_one_step_of_training(model: Model, batch) -> None:
    """A tiny step against the gradient lowers the loss; a larger one may move a word across the edge of a window."""
    model.train()
    before = model(batch).total
    before.backward()
    assert before.isfinite()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert norm.isfinite()
    assert norm > 0
    torch.optim.SGD(model.parameters(), lr=1e-6).step()
    assert model(batch).total < before


@pytest.mark.parametrize(
    ("encoder_layers", "decoder_layers", "bidirectional", "cell"),
    list(itertools.product((1, 2, 3), (1, 2, 3), (False, True), ("gru", "lstm"))),
)
def test_a_learned_start_fits_any_encoder_to_any_decoder(encoder_layers, decoder_layers, bidirectional, cell):
    model = make(
        fusion="early",
        start="learned_last",
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        bidirectional=bidirectional,
        cell=cell,
    )
    check_one_step_of_training(model, random_batch())


GRID = list(itertools.product((1, 2, 3), (1, 2, 9), (1, 2, 9)))
KINDS = [
    {**FUSIONS["none"], "start": "learned_last", "readout": "maxout"},
    {**FUSIONS["early"], "start": "backward_first", "readout": "maxout"},
    {**FUSIONS["late"], "start": "learned_mean", "readout": "attentional"},
    {**FUSIONS["late_feeding"], "cell": "lstm", "scope": "local_p", "score": "general"},
    {**FUSIONS["late_gate_feeding"], "cell": "gru", "scope": "local_m", "score": "location"},
]


def check_shapes(model: Model, batch_size: int, source: int, target: int) -> None:
    """Forward and backward, and the shape of everything. A source of 1 is its end symbol alone."""
    batch = random_batch((source,) * batch_size, (target,) * batch_size)
    logits, steps = unrolled(model, batch)
    assert logits.shape == (batch_size, target, 23)
    assert logits.isfinite().all()
    assert steps.weights is None or steps.weights.shape == (batch_size, target, source)
    assert steps.states.shape == steps.before.shape == (batch_size, target, 11)
    loss = model(batch)
    assert loss.tokens.item() == batch_size * target
    loss.total.backward()
    for name, parameter in model.named_parameters():
        # In a single step, a readout of s_{t-1} has no use for the cells, nor input feeding for h~.
        assert parameter.grad is not None or target == 1, name
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@pytest.mark.parametrize(("batch_size", "source", "target"), GRID)
@pytest.mark.parametrize("options", KINDS, ids=name_of)
def test_degenerate_sizes(options, batch_size, source, target):
    check_shapes(make(**options), batch_size, source, target)


def test_a_source_of_nothing_is_finite():
    """All of it masked: weights and context are zero, and so nothing is divided by nothing."""
    model, batch = make(**FUSIONS["late"], start="learned_mean"), random_batch((5, 5), (3, 3))
    batch.sources[0].mask[1] = False
    _, steps = unrolled(model, batch)
    assert steps.weights is not None
    assert not steps.weights[1].any()
    assert not steps.contexts[1].any()
    loss = model(batch).total
    loss.backward()
    assert loss.isfinite()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


@pytest.mark.slow
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("fusion", [name for name in FUSIONS if not name.startswith("none")])
def test_the_full_product_trains(fusion, cell, layers, options, bidirectional):
    model = make(
        **FUSIONS[fusion],
        **options,
        cell=cell,
        encoder_layers=layers,
        decoder_layers=layers,
        bidirectional=bidirectional,
        encoder_size=7 if bidirectional else 14,
    )
    check_one_step_of_training(soft(model), random_batch())
