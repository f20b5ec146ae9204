"""Each score against an independent reference, hand-worked numbers, or the equality it promises."""

import math

import pytest
import torch
from torch.nn import functional

from heedful.attention import Additive, Attention, Concat, Dot, General, Location, ScaledDot, scores
from heedful.errors import RecipeError, SizeError

from .cases import A, B, Q, S, T, V, draw, make, normal, words_and_end


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("score", "scale"), [(ScaledDot, None), (Dot, 1.0)])
def test_dot_equals_the_attention_of_torch(score, scale):
    query, values = normal(B, T, Q), normal(B, S, Q, seed=2)
    mask, _ = words_and_end(S - 1, 4)
    attention = Attention(score(Q, Q))
    context = attention(query, attention.prepare(values, mask)).context
    theirs = functional.scaled_dot_product_attention(query, values, values, attn_mask=mask[:, None, :], scale=scale)
    close(context, theirs)


def test_general_is_dot_after_projecting_the_keys():
    general = draw(General(Q, V))
    query, values = normal(B, T, Q), normal(B, S, V, seed=2)
    memory = Attention(general).prepare(values)
    projected = Attention(Dot(Q, Q)).prepare(values @ general.key_projection.weight.T)
    close(general(query, memory), Dot(Q, Q)(query, projected))


@pytest.mark.parametrize("bias", [False, True])
def test_additive_by_hand(bias):
    # W_a s = [1, -2], U_a h = [0.5, 3], b_a = [-1, 0.25]; v_a = [2, -1].
    additive = Additive(1, 1, attention_size=2, bias=bias).double()
    with torch.no_grad():
        additive.query_projection.weight.copy_(torch.tensor([[0.5], [-1.0]]))
        additive.key_projection.weight.copy_(torch.tensor([[-0.5], [-3.0]]))
        additive.v.copy_(torch.tensor([2.0, -1.0]))
        if bias:
            additive.key_projection.bias.copy_(torch.tensor([-1.0, 0.25]))
    memory = Attention(additive).prepare(torch.tensor([[[-1.0]]], dtype=torch.float64))
    score = additive(additive.queries(torch.tensor([[[2.0]]], dtype=torch.float64)), memory)
    expected = 2 * math.tanh(0.5) - math.tanh(1.25) if bias else 2 * math.tanh(1.5) - math.tanh(1.0)
    assert score.item() == pytest.approx(expected, abs=1e-14)


def test_concat_is_additive_with_its_matrix_split():
    concat, additive = draw(Concat(Q, V, attention_size=A)), Additive(Q, V, attention_size=A).double()
    with torch.no_grad():
        additive.query_projection.weight.copy_(concat.projection.weight[:, :Q])
        additive.key_projection.weight.copy_(concat.projection.weight[:, Q:])
        additive.v.copy_(concat.v)
    query, values, wanted = normal(B, T, Q), normal(B, S, V, seed=2), normal(B, T, V, seed=3)
    contexts = []
    for score in (concat, additive):
        attention = Attention(score)
        contexts.append(attention(query, attention.prepare(values)).context)
        (contexts[-1] * wanted).sum().backward()
    close(contexts[0], contexts[1])
    halves = (additive.query_projection.weight.grad, additive.key_projection.weight.grad)
    close(concat.projection.weight.grad, torch.cat(halves, dim=1))
    close(concat.v.grad, additive.v.grad)
    assert concat.projection.weight.grad.abs().min() > 0


@pytest.mark.parametrize("kind", [Additive, Concat])
def test_zero_v_gives_exactly_uniform_weights(kind):
    score = draw(kind(Q, V, attention_size=A))
    torch.nn.init.zeros_(score.v)
    attention = Attention(score)
    mask, _ = words_and_end(S - 1, 3)
    weights = attention(normal(B, T, Q), attention.prepare(normal(B, S, V), mask)).weights
    assert (weights[0] == 1 / 11).all()
    assert (weights[1, :, :4] == 0.25).all()


@pytest.mark.parametrize("kind", [Additive, Concat])
def test_attention_size_is_the_querys_by_default(kind):
    assert kind(Q, V).attention_size == Q
    assert kind(Q, V, attention_size=A).attention_size == A


def test_location_of_a_short_source_uses_the_first_rows():
    location = draw(Location(Q, V, max_positions=13))
    attention = Attention(location)
    mask, positions = words_and_end(3)
    query = normal(1, T, Q)
    weights = attention(query, attention.prepare(normal(1, 4, V), mask, positions)).weights
    rows = query @ location.query_projection.weight[:3].T
    close(weights, torch.cat([torch.softmax(rows, -1), torch.zeros(1, T, 1)], dim=-1))


def test_location_gives_no_weight_behind_its_last_row():
    location = draw(Location(Q, V, max_positions=3))
    attention = Attention(location)
    mask, positions = words_and_end(7)
    query = normal(1, T, Q)
    weights = attention(query, attention.prepare(normal(1, 8, V), mask, positions)).weights
    close(weights[..., :3], torch.softmax(query @ location.query_projection.weight.T, -1))
    assert not weights[..., 3:].any()


def test_location_goes_by_positions_and_does_not_look_at_content():
    attention = make("location")
    query, mask = normal(1, T, Q), torch.ones(1, 5, dtype=torch.bool)
    forward = attention(query, attention.prepare(normal(1, 5, V), mask, torch.tensor([[1, 2, 3, 4, 0]])))
    backward = attention(query, attention.prepare(normal(1, 5, V, seed=2), mask, torch.tensor([[4, 3, 2, 1, 0]])))
    close(forward.weights[..., :4], backward.weights[..., :4].flip(-1))


def test_location_counts_no_word_twice_when_no_word_has_a_position():
    attention = make("location")
    mask = torch.ones(1, 3, dtype=torch.bool)
    memory = attention.prepare(normal(1, 3, V), mask, torch.zeros(1, 3, dtype=torch.int64))
    answer = attention(normal(1, T, Q), memory)
    assert not answer.weights.any()
    assert not answer.context.any()


@pytest.mark.parametrize("name", ["dot", "scaled_dot"])
def test_dot_names_both_sizes_that_differ(name):
    with pytest.raises(SizeError, match=r"(?s)query_size 5.*value_size 3.*'general'"):
        scores.build(name, {}, {"query_size": Q, "value_size": V})


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(RecipeError, match=r"unknown score 'adittive'; did you mean 'additive'\?"):
        scores["adittive"]
    with pytest.raises(
        RecipeError,
        match="known are: additive, concat, coverage, dot, general, linear, location, location_sensitive, scaled_dot",
    ):
        scores["zzz"]


def test_an_unknown_option_is_answered_with_the_nearest():
    sizes = {"query_size": Q, "value_size": V}
    with pytest.raises(RecipeError, match="'additive' has no option 'atention_size'; did you mean 'attention_s"):
        scores.build("additive", {"atention_size": 3}, sizes)
    with pytest.raises(RecipeError, match="'dot' has no option 'query_size'"):
        scores.build("dot", {"query_size": 7}, sizes)


def test_a_name_is_registered_once():
    with pytest.raises(RecipeError, match="two parts are registered as score 'dot'"):
        scores.register("dot")(Dot)


@pytest.mark.parametrize("name", scores.names())
def test_a_score_says_whether_it_multiplies_by_the_query(name):
    """Where that is all zeros, such a score rates all positions the same, and no other one does."""
    score = make(name).score
    values = normal(B, S, score.value_size, seed=2)
    attention = Attention(score)
    weights = attention(torch.zeros(B, 1, score.query_size, dtype=torch.float64), attention.prepare(values)).weights
    weights = weights[weights > 0]  # of those that it can rate
    assert (weights.max() - weights.min() < 1e-12) == score.multiplies
