"""The public conformance suite: every part passes it, and parts that break a rule do not."""

import itertools

import pytest
import torch

from heedful.attention import Dot, Global, Location, Normaliser, Score, normalisers, scopes, scores
from heedful.attention.memory import Window
from heedful.attention.scopes import LocalM, Scope
from heedful.errors import RecipeError, SizeError
from heedful.testing import check_attention, check_normaliser, check_scope, check_score

from .cases import OPTIONS, make


@pytest.mark.parametrize("name", scores.names())
def test_scores(name):
    check_score(name)
    check_score(name, options=OPTIONS.get(name))
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


COMBINATIONS = list(itertools.product(scores.names(), scopes.names(), normalisers.names()))


@pytest.mark.parametrize("names", COMBINATIONS, ids="-".join)
def test_all_together(names):
    """Masking is slicing, padding is ignored, an empty row is zeros, ... in four dtypes."""
    check_attention(make(*names))


# ---------------------------------------------------------------- each rule, by a part that breaks it


class Constant(Score):
    """All scores equal; a base for what follows."""

    def forward(self, queries, memory):
        return queries.sum(-1, keepdim=True) + memory.keys.sum(-1)[:, None, :]


class ShortKeys(Constant):
    def keys(self, values):
        return values[:, :3]


class FlatScores(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory)[:, 0]


class OtherWeight(Location):
    def queries(self, query):
        return 2 * super().queries(query)


class ReachOfNumbers(Location):
    def reach(self, memory):
        return super().reach(memory).long()


class ReachPerWord(Location):
    def reach(self, memory):
        return super().reach(memory)[0]


class SeesPadding(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory) / memory.keys.shape[1]


class MixesSentences(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory) * queries.mean(0, keepdim=True).sum(-1, keepdim=True)


class MixesQueries(Constant):
    def forward(self, queries, memory):
        return super().forward(queries - queries.mean(1, keepdim=True), memory) * queries.mean((1, 2), True)


class GoesByOrder(Constant):
    content_based = False

    def forward(self, queries, memory):
        return super().forward(queries, memory) * torch.arange(memory.keys.shape[1])


class SaysContent(Location):
    content_based = True


class Doubles(Constant):
    def forward(self, queries, memory):
        return super().forward(queries.mul_(2), memory)


class OnlySingle(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory).float()


class NotANumber(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory).sqrt()


class NotANumberInGradient(Constant):
    def forward(self, queries, memory):
        raw = super().forward(queries, memory)
        return torch.where(raw > 0, raw.sqrt(), 0.0)


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (ShortKeys, "keys must be (B, S, K)"),
        (FlatScores, "scores must be (B, T, S), got torch.Size([2, 11])"),
        (OtherWeight, "queries(query) must be query times query_weight(), got a difference of"),
        (ReachOfNumbers, "reach must be of bool, got torch.int64"),
        (ReachPerWord, "reach must be (B, S)"),
        (SeesPadding, "masking must equal slicing (torch.float64): weights"),
        (MixesSentences, "a sentence must get in a batch the answer that it gets alone"),
        (MixesQueries, "a query must get among others the answer that it gets alone"),
        (GoesByOrder, "masking must equal slicing"),
        (SaysContent, "content_based, so a permutation of the source must change nothing"),
        (Doubles, "no input may be written to"),
        (OnlySingle, "the answer must be of torch.float64, got torch.float32"),
        (NotANumber, "context must be finite (torch.float64)"),
        (NotANumberInGradient, "query must be finite (torch.float64)"),
    ],
)
def test_a_score_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_score(part)
    assert str(caught.value).startswith(f"score '{part.__name__}': {rule}")


class MaskOfNumbers(Global):
    def forward(self, query, memory, steps):
        return Window(super().forward(query, memory, steps).mask.long())


class ForgetsTheMask(Scope):
    def forward(self, query, memory, steps):
        return Window(torch.ones_like(memory.mask)[:, None, :])


class FlatPrior(Global):
    def forward(self, query, memory, steps):
        return Window(memory.mask[:, None, :], torch.ones_like(memory.values[..., 0]))


class NegativePrior(Global):
    def forward(self, query, memory, steps):
        prior = -torch.ones(*query.shape[:2], memory.mask.shape[1], dtype=query.dtype)
        return Window(memory.mask[:, None, :], prior)


class ByOrder(Scope):
    """Everything but what stands first in memory."""

    content_based = False

    def forward(self, query, memory, steps):
        return Window((memory.mask & (torch.arange(memory.mask.shape[1]) > 0))[:, None, :])


class IgnoresSteps(LocalM):
    def __init__(self):
        super().__init__(window=2)

    def forward(self, query, memory, steps):
        return super().forward(query, memory, torch.arange(query.shape[1])[None, :])


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (MaskOfNumbers, "the window's mask must be of bool, got torch.int64"),
        (ForgetsTheMask, "a masked position must not be in the window"),
        (FlatPrior, "a prior must be (B, T, S)"),
        (NegativePrior, "a prior must not be negative"),
        (ByOrder, "positions must count, not the order in memory: weights"),
        (IgnoresSteps, "a query must get among others the answer that it gets alone: weights"),
    ],
)
def test_a_scope_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_scope(part)
    assert str(caught.value).startswith(f"scope '{part.__name__}': {rule}")


class Negative(Normaliser):
    def distribute(self, scores):
        return -torch.softmax(scores, -1)


class Leaky(Normaliser):
    def forward(self, scores, mask):
        return torch.softmax(torch.where(mask, scores, -1.0), -1)

    def distribute(self, scores):
        return scores


class SumsToTwo(Normaliser):
    def distribute(self, scores):
        return 2 * torch.softmax(scores, -1)


class Widens(Normaliser):
    def forward(self, scores, mask):
        return super().forward(scores, mask).double()

    def distribute(self, scores):
        return torch.softmax(scores, -1)


class Overflows(Normaliser):
    def distribute(self, scores):
        return scores.exp() / scores.exp().sum(-1, keepdim=True)


class NoRowIsEmpty(Normaliser):
    def forward(self, scores, mask):
        return torch.softmax(torch.where(mask, scores, -torch.inf), -1)

    def distribute(self, scores):
        return scores


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (Negative, "weights must not be negative (torch.float64, scores of about 1)"),
        (Leaky, "masked weights must be exactly 0"),
        (SumsToTwo, "rows must sum to 1"),
        (Widens, "weights must be of the scores' torch.float32, got torch.float64"),
        (Overflows, "weights must be finite (torch.float64, scores of about 10000)"),
        (NoRowIsEmpty, "context must be finite with nothing to attend to (torch.float64)"),
    ],
)
def test_a_normaliser_that_breaks_a_rule(part, rule):
    with pytest.raises(AssertionError) as caught:
        check_normaliser(part)
    assert str(caught.value).startswith(f"normaliser '{part.__name__}': {rule}")


def test_names_and_options_are_those_of_recipes():
    with pytest.raises(RecipeError, match=r"unknown score 'dott'; did you mean 'dot'\?"):
        check_score("dott")
    with pytest.raises(RecipeError, match="score 'Dot' has no option 'size'"):
        check_score(Dot, options={"size": 3})
    with pytest.raises(SizeError, match="window of at least 1"):
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
