"""Where a word came from once it is known: Bayes' rule, word by word and position by position."""

from __future__ import annotations

import pytest
import torch

from grid import in_turn
from heedful.attention.normalisers import Normaliser
from heedful.ensemble import Ensemble
from heedful.errors import RecipeError
from heedful.model.posterior import CANDIDATES

from .cases import ATTENTIONS, FUSIONS, close, make, name_of, one, random_batch, unrolled

MODELS = [name for name in FUSIONS if not name.startswith("none")]


class LookThere(Normaliser):
    """A model's own weights, but at one step all weight on one position."""

    def __init__(self, base: Normaliser, step: int, position: int) -> None:
        super().__init__()
        self.base, self.step, self.position, self.seen = base, step, position, 0

    def forward(self, scores, mask):
        weights = self.base(scores, mask).clone()
        row = self.step - self.seen
        self.seen += weights.shape[1]
        if 0 <= row < weights.shape[1]:
            weights[:, row] = 0
            weights[:, row, self.position] = 1
        return weights

    def distribute(self, scores):
        raise AssertionError


def by_hand(model, batch):
    """(T, S) of a batch of one: every step and every position tried in a run of its own."""
    words = batch.target.tokens[0].tolist()
    logs, weights = model.distributions(batch)
    table = torch.zeros(weights.shape[1:], dtype=torch.float64)
    for step, word in enumerate(words):
        for position in range(table.shape[1]):
            there = model.with_normaliser(LookThere(model.attention.normaliser, step, position))
            logs, _ = there.distributions(batch)
            table[step, position] = weights[0, step, position] * logs[0, step, word].exp()
    return table / table.sum(1, keepdim=True).clamp(min=1e-300)


@pytest.mark.parametrize(("name", "cell"), in_turn(MODELS, ["gru", "lstm"]))
@torch.no_grad()
def test_bayes_rule_by_hand(name, cell):
    model, batch = make(**FUSIONS[name], cell=cell, decoder_layers=2), random_batch()
    found = model.posterior(batch)
    for index in range(3):
        alone = one(batch, index)
        rows, columns = alone.target.tokens.shape[1], alone.sources[0].tokens.shape[1]
        close(found[index, :rows, :columns], by_hand(model, alone))
        assert not found[index, :, columns:].any()


@torch.no_grad()
def test_positions_of_small_weight_are_left_out():
    """Of a long source those with the largest weights are asked; among them it is Bayes' rule again."""
    model, batch = make(**FUSIONS["early"]), random_batch((13, 11), (5, 3))
    found, (_, weights) = model.posterior(batch), model.distributions(batch)
    assert ((found > 0).sum(-1) == CANDIDATES).all()
    for index in range(2):
        alone = one(batch, index)
        rows, columns = alone.target.tokens.shape[1], alone.sources[0].tokens.shape[1]
        least = weights[index, :rows, :columns].topk(CANDIDATES).values[:, -1:]
        exact = by_hand(model, alone) * (weights[index, :rows, :columns] >= least)
        close(found[index, :rows, :columns], exact / exact.sum(1, keepdim=True))


@pytest.mark.parametrize("attention", ATTENTIONS, ids=name_of)
@torch.no_grad()
def test_every_attention(attention):
    """Rows sum to 1, or to 0 where a window holds nothing; nothing is where the model did not look."""
    model, batch = make(**FUSIONS["early"], **attention), random_batch()
    found = model.posterior(batch)
    _, weights = model.distributions(batch)
    close(found.sum(-1), (weights.sum(-1) > 0).double())
    assert not found[weights == 0].any()


@pytest.mark.parametrize("scope", ["local_m", "local_p"])
@torch.no_grad()
def test_a_local_scope_is_in_the_prior_alone(scope):
    """What a word's probability would be with c_t = h_j, by the layers behind the context."""
    model = make(**FUSIONS["late"], score="general", scope={"name": scope, "window": 2})
    batch = random_batch()
    memory, _ = model.begin(batch.sources[0])
    _, steps = unrolled(model, batch)
    joint = torch.zeros_like(steps.weights)
    for position in range(joint.shape[-1]):
        context = memory.values[:, position : position + 1].expand_as(steps.contexts)
        attentional = model.decoder.fusion._attentional(context, steps.states)
        logits = model.decoder.logits(steps._replace(contexts=context, attentional=attentional))
        likelihood = torch.softmax(logits, -1).gather(2, batch.target.tokens.unsqueeze(-1)).squeeze(-1)
        joint[..., position] = steps.weights[..., position] * likelihood
    close(model.posterior(batch), joint / joint.sum(-1, keepdim=True).clamp(min=1e-300))


@torch.no_grad()
def test_where_the_words_say_nothing_the_weights_remain():
    """If a word is as likely wherever the model looks, nothing is learned from it."""
    model, batch = make(**FUSIONS["late"]), random_batch()
    model.decoder.fusion.combine.weight[:, : model.encoder.value_size] = 0  # the context is not heard
    close(model.posterior(batch), model.distributions(batch)[1])


@torch.no_grad()
def test_an_ensembles_is_the_mean():
    models = [make(**FUSIONS["early"], seed=1), make(**FUSIONS["late"], seed=2), make(**FUSIONS["none"], seed=3)]
    batch = random_batch()
    mean = (models[0].posterior(batch) + models[1].posterior(batch)) / 2
    close(Ensemble(models).posterior(batch), mean)


def test_without_attention_there_is_none():
    with pytest.raises(RecipeError, match="fusion 'none'"):
        make(**FUSIONS["none"]).posterior(random_batch())
