"""Other weights in the place of a model's own: masks hold, scopes come afterwards, the model is left as it is."""

from __future__ import annotations

import pytest
import torch

from attention.cases import B, Q, S, T, V, normal, words_and_end
from heedful.attention import Attention, General, LocalM, LocalP, Monotonic, Softmax, Sparsemax
from heedful.attention.interventions import ArgMax, Observed, Shuffled, Uniform, partners

LENGTHS = (10, 6)  # of S - 1 words and an end symbol, and of fewer
BASES = [Softmax(), Sparsemax(), Softmax(temperature=3.0)]


def scores_and_mask() -> tuple[torch.Tensor, torch.Tensor]:
    mask, _ = words_and_end(*LENGTHS)
    return normal(B, T, S), mask[:, None, :]


def interventions(base):
    return [Uniform(), ArgMax(), Shuffled(base), Observed(base, lambda *parts: None)]


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("number", range(4))
def test_rows_sum_to_one_and_masks_hold(base, number):
    scores, mask = scores_and_mask()
    weights = interventions(base)[number](scores, mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T, dtype=weights.dtype))
    assert not weights.masked_select(~mask).any()
    assert (weights >= 0).all()


@pytest.mark.parametrize("number", range(4))
def test_a_row_with_nothing_to_attend_to_is_all_zeros(number):
    scores, mask = scores_and_mask()
    mask = mask.expand(B, T, S).clone()
    mask[1, 3] = False
    weights = interventions(Softmax())[number](scores, mask)
    assert not weights[1, 3].any()
    assert weights.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("number", range(4))
def test_dtypes(number, dtype):
    scores, mask = scores_and_mask()
    assert interventions(Softmax())[number](scores.to(dtype), mask).dtype == dtype


def test_uniform():
    scores, mask = scores_and_mask()
    weights = Uniform()(scores, mask)
    torch.testing.assert_close(weights, mask.expand(B, T, S) / mask.sum(-1, keepdim=True).double())


def test_arg_max_takes_the_first_of_the_largest_that_may_answer():
    scores = torch.tensor([[[1.0, 5.0, 2.0, 5.0, 9.0]]])
    mask = torch.tensor([[[True, True, True, True, False]]])
    assert ArgMax()(scores, mask).tolist() == [[[0.0, 1.0, 0.0, 0.0, 0.0]]]


def test_arg_max_is_what_becomes_of_a_softmax_that_gets_cold():
    scores, mask = scores_and_mask()
    torch.testing.assert_close(ArgMax()(scores, mask), Softmax(temperature=1e-6)(scores, mask))


def test_shuffled_gives_the_next_sentence_s_weights():
    scores = normal(3, T, S)
    mask = torch.ones(3, 1, S, dtype=torch.bool)
    own = Softmax()(scores, mask)
    torch.testing.assert_close(Shuffled(Softmax())(scores, mask), own[[1, 2, 0]])


def test_shuffled_loses_what_lies_outside_and_the_rest_grows():
    scores, mask = scores_and_mask()
    own, other = Softmax()(scores, mask), Shuffled(Softmax())(scores, mask)
    length = LENGTHS[1] + 1
    kept = own[0, :, :length]
    torch.testing.assert_close(other[1, :, :length], kept / kept.sum(-1, keepdim=True))
    torch.testing.assert_close(other[0], own[1])  # the shorter one's weights all fit


def test_shuffled_is_uniform_where_all_is_lost():
    scores = torch.tensor([[[0.0, 0.0, 0.0, 0.0, 9e9]], [[1.0, 2.0, 3.0, 0.0, 0.0]]])
    mask = torch.tensor([[[True] * 5], [[True, True, True, False, False]]])
    assert Shuffled(ArgMax())(scores, mask)[1].tolist() == [pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])]


def test_shuffled_rows_have_the_sums_of_the_other_sentence():
    """Which are below 1 where a walk may have ended."""
    base = Monotonic(soft=True).eval()
    attention, values, query = Attention(General(Q, V), normaliser=base).double(), normal(2, S, V), normal(2, T, Q)
    memory = attention.prepare(values, *words_and_end(*LENGTHS))
    own = attention(query, memory).weights
    attention.normaliser = Shuffled(base)
    other = attention(query, memory).weights
    torch.testing.assert_close(other.sum(-1), own.sum(-1)[[1, 0]])
    torch.testing.assert_close(other[0], own[1])
    assert (own.sum(-1) < 0.9).any()


def test_shuffled_alone_keeps_its_own():
    scores, mask = scores_and_mask()
    torch.testing.assert_close(Shuffled(Softmax())(scores[:1], mask[:1]), Softmax()(scores[:1], mask[:1]))


def test_observed_changes_nothing_and_tells_all():
    scores, mask = scores_and_mask()
    seen = []
    weights = Observed(Softmax(), lambda *parts: seen.append(parts))(scores, mask)
    assert torch.equal(weights, Softmax()(scores, mask))
    ((told_scores, told_mask, told_weights),) = seen
    assert told_scores is scores
    assert told_mask is mask
    assert told_weights is weights


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("make", [Shuffled, lambda base: Observed(base, lambda *parts: None)], ids=["shuffled", "seen"])
def test_a_temperature_is_the_base_s(base, make):
    scores, mask = scores_and_mask()
    wrapper = make(base)
    assert wrapper.temperature == base.temperature
    colder = wrapper.at(0.25)
    assert type(colder) is type(wrapper)
    assert colder.temperature == colder.base.temperature == 0.25
    assert torch.equal(colder(scores, mask), make(base.at(0.25))(scores, mask))
    assert not torch.allclose(colder(scores, mask), wrapper(scores, mask))
    assert wrapper.base is base  # it is left as it is
    assert torch.equal(wrapper(scores, mask), make(base)(scores, mask))


def test_observed_tells_the_same_at_another_temperature():
    seen = []
    Observed(Softmax(), lambda *parts: seen.append(parts)).at(2.0)(*scores_and_mask())
    assert len(seen) == 1


def test_uniform_goes_by_the_mask():
    """A score that overflowed to the smallest number is one all the same."""
    smallest = torch.finfo(torch.float32).min
    scores = torch.tensor([[[smallest, -torch.inf, 0.0, 0.0]]])
    mask = torch.tensor([[[True, True, True, False]]])
    assert Uniform()(scores, mask).tolist() == [[pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])]]


@pytest.mark.parametrize("count", range(1, 10))
def test_partners(count):
    """Everybody gives once, nobody to himself unless alone; from the end, cuts at even numbers change nothing."""
    found = partners(count)
    assert sorted(found) == list(range(count))
    assert count == 1 or all(one != other for one, other in enumerate(found))
    for cut in range(2, count - 1, 2):
        assert found == [*partners(cut), *(cut + place for place in partners(count - cut))]


@pytest.mark.parametrize("scope", [LocalM(window=2), LocalP(5, window=2)], ids=["local_m", "local_p"])
def test_windows_and_priors_come_afterwards(scope):
    """What a scope shuts out stays out; what it multiplies by, it multiplies these weights by."""
    values, query = normal(B, S, 3), normal(B, T, 5, seed=7)
    mask, positions = words_and_end(10, 3)
    attention = Attention(General(5, 3).double(), scope=scope.double(), normaliser=Uniform())
    memory = attention.prepare(values, mask, positions)
    window = scope(query, memory, torch.arange(T)[None]).dense(S)
    wanted = Uniform()(torch.zeros(B, T, S, dtype=torch.float64), window.mask)
    wanted = wanted if window.prior is None else wanted * window.prior
    torch.testing.assert_close(attention(query, memory).weights, wanted)
    assert (window.mask.sum(-1) == 0).any() or window.prior is not None  # local_m runs off the shorter sentence


@pytest.mark.parametrize("fusion", ["early", {"name": "late", "input_feeding": True}, "late"])
def test_a_step_is_as_all_steps_at_once(fusion):
    """Put into a model: search's steps and forced decoding agree."""
    from model.cases import make, random_batch

    found = make(fusion=fusion)
    batch = random_batch()
    for put in (Uniform(), ArgMax()):
        changed = found.with_normaliser(put)
        weights = changed.force(batch)[1]
        memory, state = changed.begin(batch.sources[0])
        start = torch.ones(len(batch.indices), 1, dtype=torch.int64)
        _, first, _ = changed.step(start, memory, state)
        assert weights is not None
        assert first is not None
        torch.testing.assert_close(first[:, 0], weights[:, 0])
    assert type(found.attention.normaliser) is Softmax
