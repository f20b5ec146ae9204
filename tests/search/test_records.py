"""What searches write down: the same, however often it is put together."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from heedful.search import Rules, beam, greedy, records, sample

from .tables import begin, random_table, step


class Written(NamedTuple):
    tokens: Tensor
    weights: Tensor | None


def found(table, *, with_weights):
    rules = Rules(torch.arange(13) % 7 + 1)
    options = {"rules": rules, "with_weights": with_weights}
    searches = (
        beam(step, *begin(table), beam_size=3, n_best=2, **options),
        greedy(step, *begin(table), **options),
        sample(step, *begin(table), seeds=range(13), **options),
    )
    answers = [answer for rows in searches for row in rows for answer in row]
    return [each if each.weights is None else each._replace(weights=each.weights.tolist()) for each in answers]


@pytest.mark.parametrize("with_weights", [False, True])
def test_answers_do_not_depend_on_it(with_weights, monkeypatch):
    table = random_table(13, seed=3, end=-1.0)
    expected = found(table, with_weights=with_weights)
    assert len(expected) > 39
    for steps in (1, 2, 3):
        monkeypatch.setattr(records, "STEPS", steps)
        assert found(table, with_weights=with_weights) == expected


def test_every_few_steps_their_tensors_are_one(monkeypatch):
    monkeypatch.setattr(records, "STEPS", 3)
    kept: list[Written] = []
    for number in range(1, 8):
        records.add(kept, Written(torch.full((number, 2), number), None))
    homes = [each.tokens.untyped_storage().data_ptr() for each in kept]
    assert len(set(homes)) == 3
    assert homes[0] == homes[2] != homes[3] == homes[5] != homes[6]
    assert all(torch.equal(each.tokens, torch.full((number, 2), number)) for number, each in enumerate(kept, start=1))
    assert {each.weights for each in kept} == {None}
