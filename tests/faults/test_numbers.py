"""Numbers that are none: a source with nothing in it, scores that overflow."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

import heedful
from model.cases import ATTENTIONS, FUSIONS, make, name_of, random_batch, soft
from training.cases import write_pairs


def check_all_is_finite(model) -> None:
    """Loss and every gradient, beside a sentence of which nothing is real, and which looks at nothing."""
    batch = random_batch((5, 5, 2), (3, 4, 3))
    batch.sources[0].mask[1] = False
    loss = model(batch).total
    loss.backward()
    assert loss.isfinite()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    _, weights = model.force(batch)
    if weights is not None:
        assert weights[1].eq(0).all()
        assert weights[[0, 2]].any()


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late_feeding"])
def test_a_source_of_nothing_for_every_attention(fusion, options):
    check_all_is_finite(soft(make(**FUSIONS[fusion], **options)))


STARTS = ("zero", "learned_last", "learned_mean", "backward_first")
SEEN = [pair for pair in product(FUSIONS, STARTS) if pair != ("none_start_only", "zero")]  # there nothing is seen


@pytest.mark.parametrize("cell", ["gru", "lstm", "paper_gru"])
@pytest.mark.parametrize(("fusion", "start"), SEEN)
def test_a_source_of_nothing_for_every_fusion_cell_and_start(fusion, cell, start):
    starting = {} if fusion == "transformer" else {"start": start}  # which has no layers to start
    check_all_is_finite(make(**FUSIONS[fusion], **starting, cell=cell, encoder_layers=2))


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
def test_huge_scores(options):
    """A million times as large (ten thousand leaves near ties): weights and gradients are finite, the best gets all."""
    model, batch = soft(make(fusion="early", **options).float()), random_batch((5, 2, 7), (3, 6, 4))
    attention = model.decoder.fusion.attention
    for part in (attention.score, *([attention.scope.score] if attention.scope.segmented else [])):
        part.forward = lambda *inputs, score=part.forward: 1e6 * score(*inputs)
        part.factored = False  # sums would pass its scores by
    _, weights = model.force(batch)
    assert weights.isfinite().all()
    if "local_p" not in name_of(options):
        sums = weights.sum(-1)
        torch.testing.assert_close(weights.amax(-1), sums.round(), rtol=0, atol=1e-6)
        assert sums.any()
    model(batch).total.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_hundred_pairs_with_two_empty_sides(cli, run, tmp_path):
    """They are refused with their line, before anything is written, or left out and counted: never scored as NaN."""
    good = [("abc", "A B C")] * 98
    for empty in (("", "A B C"), ("abc", "")):
        path = write_pairs(tmp_path / "hundred.tsv", [*good[:16], empty, *good[16:80], empty, *good[80:]])
        for verb in ("align", "score", "evaluate"):
            done = cli(verb, run, path)
            assert (done.code, done.out) == (2, b"")
            assert f"{path}:17: " in done.err
    scored = heedful.score(run, write_pairs(tmp_path / "good.tsv", good))
    assert len(scored) == 98
    assert all(math.isfinite(one.log_probability) for one in scored)
