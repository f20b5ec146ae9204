"""Wrong attention or decoder mathematics: every type against a loop, and the encoder's outputs really enter."""

from __future__ import annotations

import pytest
import torch

import heedful
from attention.cases import COMBINATIONS, OPTIONS, B, Q, S, T, normal, value_size
from attention.cases import make as make_attention
from heedful.attention import normalisers, scores
from heedful.data.vocabulary import Vocabulary
from model.cases import ATTENTIONS, FUSIONS, close, make, name_of, random_batch
from training.cases import write_pairs

from . import plain

every = pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
LENGTHS = (7, 3)


def looped(attention, combination, query, values, lengths):
    """What the plain loop says, as tensors."""
    parameters = {
        part: {name: value.tolist() for name, value in getattr(attention, part).named_parameters()}
        for part in ("score", "scope")
    }
    options = {"D": 2, "places": OPTIONS["location"]["max_positions"] if combination[0] == "location" else None}
    answers = [
        plain.attend(*combination, parameters, s.tolist(), h.tolist(), length, **options)
        for s, h, length in zip(query, values, lengths, strict=True)
    ]
    return [torch.tensor(part, dtype=torch.float64) for part in zip(*answers, strict=True)]


@pytest.mark.parametrize("combination", [c for c in COMBINATIONS if plain.knows(*c)], ids="-".join)
def test_every_attention_is_a_plain_loop_with_and_without_lengths(combination):
    attention = make_attention(*combination)
    query, values = normal(B, T, Q), normal(B, S, value_size(combination[0]), seed=2)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    with_lengths = attention(query, attention.prepare(values, mask))
    without = attention(query, attention.prepare(values))
    for answer, lengths in ((with_lengths, LENGTHS), (without, (S, S))):
        weights, context = looped(attention, combination, query, values, lengths)
        close(answer.weights, weights)
        close(answer.context, context)
    # At least one sentence shows it: the location score has rows for 4 words only.
    assert ((with_lengths.weights - without.weights).abs().amax((1, 2)) > 1e-3).any()
    assert ((with_lengths.context - without.context).abs().amax((1, 2)) > 1e-3).any()


@every
def test_every_parameter_of_every_attention_has_a_gradient(combination):
    attention = make_attention(*combination)
    query, values = normal(B, T, Q) / 2, normal(B, S, value_size(combination[0]), seed=2) / 2  # no row is one-hot yet
    query.requires_grad_(), values.requires_grad_()
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    segments = (1 + torch.arange(S) // 3).expand(B, S)
    answer = attention(query, attention.prepare(values, mask, segments=segments))
    (answer.context * normal(*answer.context.shape, seed=3)).sum().backward()
    for name, parameter in [("query", query), ("values", values), *attention.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@pytest.mark.parametrize("normaliser", [name for name in normalisers.names() if not normalisers[name].partial])
@pytest.mark.parametrize("score", scores.names())
def test_weights_are_normalised_over_the_source(score, normaliser):
    """Not over the batch, nor over the queries: one sentence of two words, then three sentences."""
    attention = make_attention(score, "global", normaliser)
    one = attention(normal(1, 1, Q), attention.prepare(normal(1, 2, value_size(score), seed=2))).weights
    assert one.shape == (1, 1, 2)
    assert one.sum().item() == pytest.approx(1)
    assert one[0, 0, 0] != one[0, 0, 1]
    three = attention(normal(3, T, Q), attention.prepare(normal(3, 4, value_size(score), seed=2))).weights
    close(three.sum(-1), torch.ones(3, T, dtype=torch.float64))
    assert (three.sum(0) - 1).abs().max() > 0.1
    assert (three.sum(1) - 1).abs().max() > 0.1


def first_weights(model, encoded, state):
    """The weights of a step, from source states that may have been tampered with."""
    memory = model.decoder.fusion.prepare(encoded)
    return model.decoder.step(torch.full((3, 1), Vocabulary.START), memory, state)[0].weights


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late", "late_gate_feeding"])
def test_permuting_the_source_states_permutes_the_weights(fusion, options):
    """A word takes its place in the sentence along; a content-based score does not even look at that."""
    model, batch = make(**FUSIONS[fusion], **options), random_batch((7, 7, 7))
    encoded = model.encode(batch.sources[0])
    _, state = model.decoder.begin(encoded)
    weights = first_weights(model, encoded, state)
    order = torch.tensor([4, 1, 6, 0, 3, 5, 2])
    moved = [part[:, order] for part in (encoded.values, encoded.positions, encoded.segments)]
    moved = encoded._replace(**dict(zip(("values", "positions", "segments"), moved, strict=True)))
    close(first_weights(model, moved, state), weights[..., order])
    assert (weights.amax(-1) > weights.amin(-1)).any() or model.decoder.fusion.attention.normaliser.partial
    states_alone = first_weights(model, encoded._replace(values=encoded.values[:, order]), state)
    if model.decoder.fusion.attention.content_based:
        close(states_alone, weights[..., order])
    elif name_of({"score": options["score"]}) == "location" and not model.decoder.fusion.attention.scope.segmented:
        close(states_alone, weights)


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late", "late_gate_feeding"])
def test_weights_depend_on_the_encoders_outputs(fusion, options):
    """d weights / d source states is not zero; but for the location score, which by its definition sees none."""
    model, batch = make(**FUSIONS[fusion], **options).train(), random_batch((7, 7, 7))  # a walk has no gradient
    encoded = model.encode(batch.sources[0])
    _, state = model.decoder.begin(encoded)
    state = state._replace(step=state.step + 2)  # a causal scope lets the first step see one word
    values = encoded.values.detach().requires_grad_()
    weights = first_weights(model, encoded._replace(values=values), state)
    share = normal(*weights.shape, seed=5)  # their plain sum is 1 whatever the states are
    (gradient,) = torch.autograd.grad((weights * share).sum(), values, allow_unused=True, materialize_grads=True)
    looks_at_words = name_of({"score": options["score"]}) != "location"
    assert bool(gradient.abs().max() > 1e-6) is looks_at_words
    context = model.decoder.step(
        torch.full((3, 1), Vocabulary.START), model.decoder.fusion.prepare(encoded._replace(values=values)), state
    )[0].contexts
    assert torch.autograd.grad(context.sum(), values)[0].any()


def test_a_source_longer_than_any_in_training(run, cli, tmp_path):
    """No largest length is built in: all of it has its column, in `predict`, in `align` and on the command line."""
    long = "abcdef" * 40
    loaded = heedful.load(run)
    (answer,) = loaded.predict([long])
    assert len(answer.alignment.source) == 241
    assert answer.alignment.weights[:, 200:].any()
    path = write_pairs(tmp_path / "long.tsv", [(long, " ".join(long.upper()))])
    (alignment,) = heedful.align(loaded, path)
    assert alignment.weights.shape == (241, 241)
    assert alignment.weights.sum(1) == pytest.approx(1)
    done = cli("predict", run, stdin=long.encode())
    assert done.lines == [answer.text.encode()]


@pytest.mark.parametrize("max_positions", [4, 50])
def test_a_source_longer_than_the_location_score_has_rows(max_positions):
    """Its matrix has a largest length, as in the paper: words behind it get no weight, and nothing fails."""
    model = make(fusion="early", score={"name": "location", "max_positions": max_positions})
    batch = random_batch((60, 3), (5, 5))
    logs, weights = model.force(batch)
    assert logs.isfinite().all()
    assert weights[0, :, : min(max_positions, 59)].all()
    assert weights[0, :, max_positions:].eq(0).all()
    close(weights.sum(-1), torch.ones(2, 5, dtype=torch.float64))
