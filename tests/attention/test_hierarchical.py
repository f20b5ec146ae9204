"""Words within segments: by hand, and as what they must be where one of the two levels has nothing to say."""

import math

import pytest
import torch

from heedful.attention import Attention, Dot, General, Hierarchical, MultiHead, Normaliser, normalisers, scopes
from heedful.attention.interventions import ArgMax, Observed, Shuffled, Uniform
from heedful.attention.scores import scores
from heedful.attention.segments import columns_of, numbered
from heedful.errors import RecipeError, SizeError

from .cases import Q, T, V, draw, make, normal

SEGMENTS = torch.tensor([[1, 1, 1, 2, 2, 3, 3, 3, 3, 5, 0], [2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0]])
MASK = torch.tensor([[True] * 11, [True] * 6 + [False] * 5])


def example(attention: Attention):
    values, query = normal(2, 11, attention.score.value_size), normal(2, T, Q, seed=3)
    return query, values, attention.prepare(values, MASK, segments=SEGMENTS)


def test_two_segments_of_two_words_by_hand():
    attention = Attention(Dot(2, 2), scope=Hierarchical(2, 2, score="dot"))
    values = torch.tensor([[[1.0, 0.0], [3.0, 0.0], [0.0, 0.0], [0.0, 2.0]]])
    memory = attention.prepare(values, segments=torch.tensor([[1, 1, 2, 2]]))
    answer = attention(torch.tensor([[[math.log(2), math.log(3)]]]), memory)
    # e = (log 2, 3 log 2, 0, 2 log 3); u_1 = (2, 0), u_2 = (0, 1), so beta = (4, 3) / 7
    expected = torch.tensor([4 / 7 * 2 / 10, 4 / 7 * 8 / 10, 3 / 7 * 1 / 10, 3 / 7 * 9 / 10])
    torch.testing.assert_close(answer.weights[0, 0], expected)
    torch.testing.assert_close(answer.context[0, 0], torch.tensor([4 / 7 * (0.2 + 2.4), 3 / 7 * 1.8]))


EVERY = [(score, normaliser) for score in scores.names() for normaliser in normalisers.names()]


def possible_with(score: str, normaliser: str) -> Attention:
    try:
        return make(score, "hierarchical", normaliser)
    except RecipeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("score", "normaliser"), EVERY)
def test_one_segment_is_the_global_scope(score, normaliser):
    attention, query = possible_with(score, normaliser), normal(2, T, Q, seed=3)
    values = normal(2, 11, attention.score.value_size)
    plain = Attention(attention.score, normaliser=attention.normaliser)
    expected = plain(query, plain.prepare(values, MASK))
    for segments in (None, torch.full_like(SEGMENTS, 7), torch.zeros_like(SEGMENTS)):
        found = attention(query, attention.prepare(values, MASK, segments=segments))
        torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-14)
        torch.testing.assert_close(found.context, expected.context, rtol=0, atol=1e-14)


@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax", "entmax15"])
def test_a_segment_for_each_word_is_attention_by_the_score_of_segments(normaliser):
    attention = make("additive", "hierarchical", normaliser)
    query, values = normal(2, T, Q, seed=3), normal(2, 11, V)
    plain = Attention(attention.scope.score, normaliser=attention.normaliser)
    expected = plain(query, plain.prepare(values, MASK))
    found = attention(query, attention.prepare(values, MASK, segments=torch.arange(1, 12).expand(2, 11)))
    torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-14)


def test_segments_are_compared_by_what_their_words_are_compared_by():
    """As in heads, where values are W_v h and what is compared is W_k h."""
    attention = make("general", "hierarchical", "softmax")
    query, values, compared = normal(2, T, Q, seed=3), normal(2, 11, V), normal(2, 11, V, seed=4)
    of_values, of_compared = attention.prepare(values, MASK), attention.prepare(compared, MASK, segments=SEGMENTS)
    memory = attention.prepare(values, MASK, keys=compared, segments=SEGMENTS)
    found = attention(query, memory)
    torch.testing.assert_close(found.weights, attention(query, of_compared).weights, rtol=0, atol=1e-14)
    torch.testing.assert_close(found.context, found.weights @ of_values.values, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("score", "normaliser"), EVERY)
def test_words_of_a_segment_sum_to_its_weight(score, normaliser):
    """beta by a loop over segments, from the means of their states."""
    attention = possible_with(score, normaliser)
    query, values, memory = example(attention)
    answer = attention(query, memory)
    assert memory.segments is not None
    for row in range(2):
        numbers = [1, 2, 3, 5, 0] if row == 0 else [1, 2, 0]
        members = [MASK[row] & (SEGMENTS[row] == number) for number in numbers]
        if (reach := attention.score.reach(memory)) is not None:
            members = [one & reach[row] for one in members]
        kept = [g for g, one in enumerate(members) if one.any()]
        whole = [MASK[row] & (SEGMENTS[row] == number) for number in numbers]
        states = torch.stack([values[row, one].mean(0) for one in whole])[kept]
        over = Attention(attention.scope.score, normaliser=attention.normaliser)
        beta = over(query[row : row + 1], over.prepare(states[None])).weights[0]
        sums = torch.stack([answer.weights[row][:, members[g]].sum(-1) for g in kept], dim=-1)
        torch.testing.assert_close(sums, beta, rtol=0, atol=1e-12)


def test_within_a_segment_words_share_as_if_they_were_alone():
    attention = make("general", "hierarchical", "entmax15")
    query, values, memory = example(attention)
    alone = Attention(attention.score, normaliser=attention.normaliser)
    expected = alone(query[:1], alone.prepare(values[:1, 5:9])).weights
    found = attention(query, memory).weights[:1, :, 5:9]
    sums = found.sum(-1, keepdim=True)
    some = (sums > 1e-3).squeeze(-1)
    assert some.any()
    torch.testing.assert_close((found / sums)[some], expected[some], rtol=0, atol=1e-10)


def test_numbers_have_no_gaps_and_keep_their_order():
    mask = MASK.clone()
    mask[0, 3:5] = False
    assert numbered(SEGMENTS, mask).tolist() == [
        [1, 1, 1, 0, 0, 2, 2, 2, 2, 3, 4],
        [2, 2, 1, 1, 1, 3, 0, 0, 0, 0, 0],
    ]
    assert columns_of(numbered(SEGMENTS, mask)).tolist() == [
        [[0, 1, 2, -1], [5, 6, 7, 8], [9, -1, -1, -1], [10, -1, -1, -1]],
        [[2, 3, 4, -1], [0, 1, -1, -1], [5, -1, -1, -1], [-1, -1, -1, -1]],
    ]


def test_a_segment_that_is_masked_is_as_if_it_were_not_there():
    attention = make("additive", "hierarchical")
    query, values, _ = example(attention)
    kept = torch.tensor([0, 1, 2, 5, 6, 7, 8, 9, 10])
    mask = torch.ones(2, 11, dtype=torch.bool)
    mask[:, 3:5] = False
    segments = SEGMENTS[:1].expand(2, 11)
    found = attention(query, attention.prepare(values, mask, segments=segments))
    expected = attention(query, attention.prepare(values[:, kept], segments=segments[:, kept]))
    torch.testing.assert_close(found.weights[..., kept], expected.weights, rtol=0, atol=1e-14)
    assert not found.weights[..., 3:5].any()


@pytest.mark.parametrize("put_in", [ArgMax, Uniform])
def test_interventions_are_made_at_both_levels(put_in):
    attention = make("general", "hierarchical")
    attention.normaliser = put_in()
    query, _, memory = example(attention)
    weights = attention(query, memory).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, T, dtype=torch.float64))
    if put_in is ArgMax:
        assert (weights.amax(-1) == 1).all()
    else:  # five segments, three words
        torch.testing.assert_close(weights[0, :, 0], torch.full((T,), 1 / 15, dtype=torch.float64))


def test_who_looks_on_is_shown_whole_rows_and_others_rows_are_whole():
    attention = make("general", "hierarchical")
    query, _, memory = example(attention)
    own, shown = attention(query, memory).weights, []
    base = attention.normaliser
    attention.normaliser = Observed(base, lambda *told: shown.append(told))
    assert attention(query, memory).weights.equal(own)
    ((rated, mask, weights),) = shown
    assert rated.shape == weights.shape == own.shape
    assert mask.shape == (2, 1, 11)
    assert weights.equal(own)
    attention.normaliser = Shuffled(base)
    swapped = attention(query, memory).weights
    expected = own[0] * MASK[1]
    torch.testing.assert_close(swapped[1], expected / expected.sum(-1, keepdim=True))


def test_a_temperature_holds_at_both_levels():
    attention = make("general", "hierarchical")
    query, _, memory = example(attention)
    attention.normaliser = attention.normaliser.at(1e-6)
    assert (attention(query, memory).weights.amax(-1) > 1 - 1e-9).all()


class Remembers(Normaliser):
    sequential = True

    def distribute(self, scores):
        return torch.softmax(scores, dim=-1)


def test_what_does_not_go_together():
    with pytest.raises(RecipeError, match="scope Hierarchical does not go with normaliser Remembers: the scope"):
        Attention(General(Q, V), scope=Hierarchical(Q, V), normaliser=Remembers())
    with pytest.raises(RecipeError, match="scope 'hierarchical' and score 'location' of segments do not go together"):
        scopes.build("hierarchical", {"score": "location"}, {"query_size": Q, "value_size": V})
    with pytest.raises(RecipeError, match="unknown score 'genral'; did you mean 'general'"):
        Hierarchical(Q, V, score="genral")
    with pytest.raises(SizeError, match=r"segments must be \(2, 11\), got \(2, 10\)"):
        make("general").prepare(normal(2, 11, V), segments=SEGMENTS[:, :10])


def test_every_head_has_segments_of_its_own_values():
    core = draw(Attention(General(3, 3), scope=Hierarchical(3, 3)))
    several = draw(MultiHead(core, query_size=Q, value_size=V, heads=2), seed=5)
    query, values = normal(2, T, Q, seed=3), normal(2, 11, V)
    found = several(query, several.prepare(values, MASK, segments=SEGMENTS)).weights
    mean = torch.zeros_like(found)
    for head in (slice(0, 3), slice(3, 6)):
        q, k, v = (
            part.weight[head] for part in (several.query_projection, several.key_projection, several.value_projection)
        )
        memory = core.prepare(values @ v.T, MASK, segments=SEGMENTS, keys=values @ k.T)
        mean = mean + core(query @ q.T, memory).weights / 2
    torch.testing.assert_close(found, mean, rtol=0, atol=1e-12)
