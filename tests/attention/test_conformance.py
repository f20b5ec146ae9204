"""The public conformance suite: every part passes it, and parts that break a rule do not."""

import itertools

import pytest
import torch

from grid import possible
from heedful.attention import Attention, Dot, normalisers, scopes, scores
from heedful.errors import RecipeError, SizeError
from heedful.testing import check_attention, check_normaliser, check_scope, check_score

from . import broken
from .cases import COMBINATIONS, OPTIONS, SCORES, make, variant


@pytest.mark.parametrize("name", SCORES)
def test_scores(name):
    name, options = variant(name)
    check_score(name)
    check_score(name, options=options)
    check_score(scores[name])


@pytest.mark.parametrize("name", scopes.names())
def test_scopes(name):
    check_scope(name)
    check_scope(name, options=OPTIONS.get(name))
    check_scope(scopes[name])


@pytest.mark.parametrize("name", normalisers.names())
def test_normalisers(name):
    check_normaliser(name)
    check_normaliser(name, options={"temperature": 0.7})
    check_normaliser(normalisers[name])


PRODUCT = [
    names
    for names in itertools.product(SCORES, scopes.names(), normalisers.names())
    if names not in COMBINATIONS and possible(make, *names)
]


@pytest.mark.parametrize(
    "names", [*COMBINATIONS, *(pytest.param(n, marks=pytest.mark.slow) for n in PRODUCT)], ids="-".join
)
def test_all_together(names):
    """Masking is slicing, padding is ignored, an empty row is zeros, ... in four dtypes."""
    check_attention(make(*names))


# ---------------------------------------------------------------- each rule, by a part that breaks it


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (broken.ShortKeys, "keys must be (B, S, K)"),
        (broken.FlatScores, "scores must be (B, T, S), got torch.Size([2, 11])"),
        (broken.OtherWeight, "queries(query) must be query times query_weight(), got a difference of"),
        (broken.HiddenWeight, "queries(query) must be query times query_weight(), got a difference of"),
        (broken.ReachOfNumbers, "reach must be of bool, got torch.int64"),
        (broken.ReachPerWord, "reach must be (B, S)"),
        (broken.SeesPadding, "masking must equal slicing (torch.float64): weights"),
        (broken.MixesSentences, "a sentence must get in a batch the answer that it gets alone"),
        (broken.MixesQueries, "a query must get among others the answer that it gets alone"),
        (broken.GoesByOrder, "masking must equal slicing"),
        (broken.SaysContent, "content_based, so a permutation of the source must change nothing"),
        (broken.Doubles, "no input may be written to"),
        (broken.OtherGradient, "masking must equal slicing (torch.float64): gradients of values"),
        (broken.OnlySingle, "the answer must be of torch.float64, got torch.float32"),
        (broken.NotANumber, "context must be finite (torch.float64)"),
        (broken.NotANumberInGradient, "query must be finite (torch.float64)"),
    ],
)
def test_a_score_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_score(part)
    assert str(caught.value).startswith(f"score '{part.__name__}': {rule}")


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (broken.MaskOfNumbers, "the window's mask must be of bool, got torch.int64"),
        (broken.ForgetsTheMask, "a masked position must not be in the window"),
        (broken.FlatPrior, "a prior must be (B, T, S)"),
        (broken.NegativePrior, "a prior must not be negative"),
        (broken.ByOrder, "positions must count, not the order in memory: weights"),
        (broken.IgnoresSteps, "a query must get among others the answer that it gets alone: weights"),
    ],
)
def test_a_scope_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_scope(part)
    assert str(caught.value).startswith(f"scope '{part.__name__}': {rule}")


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (broken.Negative, "weights must not be negative (torch.float64, scores of about 1)"),
        (broken.Leaky, "masked weights must be exactly 0 (torch.float64, scores of about 1)"),
        (broken.LeaksInGradient, "masked scores must have no gradient (torch.float64, scores of about 1)"),
        (broken.Uniform, "weights must be 0 with nothing to attend to (torch.float64)"),
        (broken.SumsToTwo, "rows must sum to 1"),
        (broken.Widens, "weights must be of the scores' torch.float32, got torch.float64"),
        (broken.Overflows, "weights must be finite (torch.float64, scores of about 10000)"),
        (broken.NoRowIsEmpty, "context must be finite with nothing to attend to (torch.float64)"),
    ],
)
def test_a_normaliser_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_normaliser(part)
    assert str(caught.value).startswith(f"normaliser '{part.__name__}': {rule}")


def test_an_attention_that_breaks_a_rule():
    attention = Attention(Dot(2, 2), normaliser=broken.Leaky())
    with pytest.raises(AssertionError, match=r"^attention: masked weights must be exactly 0 \(torch.float64\)$"):
        check_attention(attention)
    with pytest.raises(AssertionError, match=r"^mine: masked"):
        check_attention(attention, name="mine")


def test_names_and_options_are_those_of_recipes():
    with pytest.raises(RecipeError, match=r"unknown score 'dott'; did you mean 'dot'\?"):
        check_score("dott")
    with pytest.raises(RecipeError, match="score 'Dot' has no option 'size'"):
        check_score(Dot, options={"size": 3})
    with pytest.raises(SizeError, match="window must be at least 1"):
        check_scope("local_m", options={"window": 0})


def test_nothing_of_the_callers_changes():
    attention = make("additive", "local_p", dropout=0.5).train()
    before = [parameter.clone() for parameter in attention.parameters()]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        state = torch.random.get_rng_state()
        check_attention(attention)
        check_score("additive")
        assert torch.random.get_rng_state().equal(state)
    assert attention.training
    assert all(map(torch.equal, attention.parameters(), before))
