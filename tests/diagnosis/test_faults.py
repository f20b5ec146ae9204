"""Each fault, planted in a model that is right by construction, is named."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch

from diagnosis import planted
from heedful.attention import Softmax
from heedful.diagnosis import Diagnosis, Others, examine
from heedful.model import Model

ALL = {"scope": "global"}


def frozen() -> Model:
    found = planted.model(Softmax(), score="additive", **ALL)
    with torch.no_grad():
        found.attention.score.v.zero_()
    return found


def query_blind() -> Model:
    found = planted.model(Softmax(), score="additive", **ALL)
    with torch.no_grad():
        found.attention.score.query_projection.weight.zero_()
        found.attention.score.v.mul_(20.0)
    return found


FAULTS = {
    "healthy": planted.model,
    "frozen": frozen,
    "query_blind": query_blind,
    "lazy": lambda: planted.model(planted.OnEnd(), **ALL),
    "diffuse": lambda: planted.model(Softmax(temperature=5.0), **ALL),
    "ignored": lambda: planted.model(deaf=True),
    "padding_leak": lambda: planted.model(planted.Leaky(), **ALL),
    "shifted": lambda: planted.model(rows="input"),
    "late_collapse": lambda: planted.model(planted.Stuck()),
}


@cache
def diagnosis_of(fault: str) -> Diagnosis:
    return examine(planted.subject(FAULTS[fault]()), Others())


@pytest.mark.parametrize("fault", FAULTS)
def test_the_verdict(fault):
    found = diagnosis_of(fault)
    assert (found.verdict.name, found.verdict.sure) == (fault, "high")
    assert found.pairs == 60
    assert fault not in found.verdict.also


def test_what_more_is_said():
    assert "end symbol" in diagnosis_of("lazy").verdict.says
    assert "'predicted'" in diagnosis_of("shifted").verdict.says


def test_frozen_attention_is_also_flat_and_blind():
    assert set(diagnosis_of("frozen").verdict.also) == {"query_blind", "ignored", "diffuse"}


def test_too_few_pairs_are_not_judged():
    found = examine(planted.subject(frozen(), of=planted.pairs()[:19]), Others())
    assert found.verdict.name == "not_enough"
    assert found.measures["from_uniform_in_scope"] < 1e-6  # measured all the same


def test_pairs_of_two_words_are_not_judged():
    found = examine(planted.subject(of=planted.pairs(60, 1, 2)), Others())
    assert found.verdict.name == "not_enough"


def test_fewer_than_fifty_pairs_are_never_sure():
    assert examine(planted.subject(of=planted.pairs()[:49]), Others()).verdict.sure == "low"


BATCHED = [
    ("ignored", 22, (1, 7)),
    *(
        pytest.param(fault, pairs, (1, 2, 7), marks=pytest.mark.slow)
        for fault, pairs in [("healthy", 29), ("ignored", 29), ("ignored", 22), ("diffuse", 23)]
    ),
]


@pytest.mark.parametrize(("fault", "pairs", "sizes"), BATCHED)
def test_the_size_of_batches_changes_nothing(fault, pairs, sizes):
    """Not even what another sentence's weights and states do: each sentence has the same partner."""
    found = {
        size: examine(planted.subject(FAULTS[fault](), of=planted.pairs()[:pairs], batch_size=size), Others())
        for size in (*sizes, 64)
    }
    assert {one.verdict.name for one in found.values()} == {fault}
    assert not math.isnan(found[1].measures["gain_over_other_context"])
    for one in found.values():
        assert one.measures == pytest.approx(found[64].measures, rel=1e-4, abs=1e-5, nan_ok=True)


def test_json_is_plain_and_complete():
    import json

    found = examine(planted.subject(of=planted.pairs()[:20]), Others(), temperatures=(1.0,))
    value = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert next(iter(value)) == "verdict"
    assert {"verdict", "evidence", "measures", "sure", "says", "also", "advice", "by_length", "sweep"} <= set(value)
    assert value["measures"]["query_effect"] is None  # the windows of two steps have nothing in common
    assert value["sweep"][0]["aer"] is None
    assert value["evidence"][0].keys() == {"measure", "value", "limit", "strength"}
