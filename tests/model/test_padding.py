"""The whole model on padded batches: what stands at padding, and how much of it there is, changes nothing."""

import pytest
import torch

from grid import in_turn
from heedful.data.vocabulary import Vocabulary

from .cases import (
    ATTENTIONS,
    FUSIONS,
    SIZES,
    batch_of,
    close,
    make,
    name_of,
    one,
    random_batch,
    rows_of,
    unrolled,
)

SOURCES = rows_of((5, 2, 7, 1), SIZES["source_vocabulary_size"], seed=3)
TARGETS = rows_of((3, 6, 1, 5), SIZES["target_vocabulary_size"], seed=4)
KINDS = [
    {**FUSIONS[fusion], "readout": readout, "cell": cell, "decoder_layers": layers, "start": start}
    for fusion, cell, layers, start, readout in [
        ("none", "gru", 1, "learned_last", "state_context"),
        ("none_start_only", "lstm", 2, "learned_mean", "state_context"),
        ("early", "paper_gru", 1, "backward_first", "maxout"),
        ("early", "lstm", 3, "learned_last", "state_context"),
        ("late", "gru", 2, "learned_mean", "attentional"),
        ("late_feeding", "lstm", 2, "learned_last", "attentional"),
        ("late_gate", "paper_gru", 1, "zero", "attentional"),
        ("late_gate_feeding", "gru", 3, "learned_mean", "maxout"),
    ]
]
kinds = pytest.mark.parametrize("options", KINDS, ids=name_of)
attentions = pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)


def check_batched_is_alone(model) -> None:
    batch = batch_of(SOURCES, TARGETS)
    logits, steps = unrolled(model, batch)
    logs, weights = model.force(batch)
    for row in range(4):
        single = one(batch, row)
        S, T = len(SOURCES[row]), len(TARGETS[row])
        expected, alone = unrolled(model, single)
        close(logits[row, :T], expected[0])
        own_logs, own_weights = model.force(single)
        close(logs[row, :T], own_logs[0])
        assert logs[row, T:].eq(0).all()
        if weights is not None:
            close(weights[row, :T, :S], own_weights[0])
            close(steps.weights[row, :T, :S], alone.weights[0])
            assert weights[row, :, S:].eq(0).all()


@kinds
def test_batched_is_alone(options):
    check_batched_is_alone(make(**options))


@pytest.mark.parametrize(("fusion", "options"), in_turn(["early", "late", "late_feeding"], ATTENTIONS), ids=name_of)
def test_batched_is_alone_for_every_attention(fusion, options):
    check_batched_is_alone(make(**FUSIONS[fusion], **options))


def check_extra_padding_changes_nothing(model, extra: int) -> None:
    batch = batch_of(SOURCES, TARGETS)
    wide = batch_of(SOURCES, TARGETS, extra_source=extra, extra_target=extra)
    close(unrolled(model, wide)[0][:, :6], unrolled(model, batch)[0])
    for smoothing in (0.0, 0.1):
        for value, expected in zip(
            model(wide, label_smoothing=smoothing), model(batch, label_smoothing=smoothing), strict=True
        ):
            torch.testing.assert_close(value, expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("extra", [0, 5, 50])
@kinds
def test_more_padding_changes_neither_logits_nor_loss(options, extra):
    check_extra_padding_changes_nothing(make(**options), extra)


@pytest.mark.parametrize("extra", [5, pytest.param(50, marks=pytest.mark.slow)])
@attentions
def test_more_padding_changes_nothing_for_any_attention(options, extra):
    check_extra_padding_changes_nothing(make(fusion="early", **options), extra)


def poison(model) -> None:
    """Padding is embedded as 1e3, on both sides."""
    with torch.no_grad():
        model.encoder.embedding.weight[Vocabulary.PAD] = 1e3
        model.decoder.embedding.weight[Vocabulary.PAD] = 1e3


@kinds
def test_what_padding_is_embedded_as_changes_nothing(options):
    model, batch = make(**options), batch_of(SOURCES, TARGETS, extra_source=2, extra_target=3)
    clean, loss = unrolled(model, batch)[0], model(batch)
    poison(model)
    # Behind a target's end the padding is read, but never counted; END's own step has read nothing of it.
    assert torch.equal(unrolled(model, batch)[0][batch.target.mask], clean[batch.target.mask])
    assert all(torch.equal(value, expected) for value, expected in zip(model(batch), loss, strict=True))


@attentions
def test_what_padding_is_embedded_as_changes_nothing_for_any_attention(options):
    model, batch = make(fusion="early", **options), batch_of(SOURCES, TARGETS, extra_source=2)
    clean, weights = model.force(batch)
    poison(model)
    poisoned, others = model.force(batch)
    assert torch.equal(poisoned, clean)
    assert torch.equal(others * batch.target.mask.unsqueeze(2), weights * batch.target.mask.unsqueeze(2))


@pytest.mark.parametrize("values", [1e3, float("nan")])
@attentions
def test_padded_source_states_are_never_looked_at(options, values):
    model, batch = make(**FUSIONS["late"], start="learned_mean", **options), batch_of(SOURCES, TARGETS)
    encoded = model.encode(batch.sources[0])
    dirty = encoded._replace(values=encoded.values.masked_fill(~encoded.mask.unsqueeze(2), values))
    results = []
    for states in (encoded, dirty):
        memory, state = model.decoder.begin(states)
        steps = model.decoder.unroll(batch.target.tokens, memory, state)
        results.append((*steps[:-1], steps.weights))
    for part, expected in zip(*results, strict=True):
        assert torch.equal(part, expected)


@attentions
def test_no_weight_on_padding_however_large_the_biases(options):
    model, batch = make(fusion="early", **options), batch_of(SOURCES, TARGETS, extra_source=3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name and "attention" in name:
                parameter.fill_(100.0)
        for name, parameter in model.encoder.named_parameters():
            if "bias" in name:
                parameter.fill_(0.9)
    _, weights = model.force(batch)
    assert weights is not None
    assert weights.masked_select(~batch.sources[0].mask[:, None]).eq(0).all()
    assert weights.sum() > 0


def test_a_batch_of_equal_lengths_has_no_padding_to_mind():
    model, batch = make(**FUSIONS["late"], cell="lstm"), random_batch((5, 5, 5), (3, 3, 3))
    logits, _ = unrolled(model, batch)
    for row in range(3):
        close(logits[row], unrolled(model, one(batch, row))[0][0])
