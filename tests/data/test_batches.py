"""Batches: every example once, never too large, the same for the same seed."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data.batches import Example, collate, in_order, plan
from heedful.data.codec import Encoded
from heedful.errors import SizeError

quick = settings(max_examples=60, deadline=None, derandomize=True)


def make(source: int, target: int | None, index: int = 0) -> Example:
    ids = list(range(4, 4 + source))
    encoded = Encoded(ids, list(range(source, 0, -1)), [str(i) for i in ids])
    return Example(encoded, None if target is None else list(range(10, 10 + target)), index)


lengths = st.lists(st.tuples(st.integers(1, 23), st.integers(1, 19)), max_size=60)
MANY = [make(random.Random(n).randint(1, 30), random.Random(-n).randint(1, 30), n) for n in range(1009)]


def test_collate_by_hand():
    batch = collate([make(2, 1, index=7), make(3, 2, index=5)])
    (source,) = batch.sources
    assert source.tokens.tolist() == [[4, 5, 0], [4, 5, 6]]
    assert source.mask.tolist() == [[True, True, False], [True, True, True]]
    assert source.positions.tolist() == [[2, 1, 0], [3, 2, 1]]
    assert batch.target is not None
    assert batch.target.tokens.tolist() == [[10, 0], [10, 11]]
    assert batch.target.mask.tolist() == [[True, False], [True, True]]
    assert batch.target.positions.tolist() == [[0, 0], [0, 0]]
    assert batch.indices == (7, 5)
    for sequences in (source, batch.target):
        assert (sequences.tokens.dtype, sequences.mask.dtype) == (torch.int64, torch.bool)
        assert sequences.positions.dtype == torch.int64


def test_collate_without_targets():
    assert collate([make(2, None), make(3, None)]).target is None
    with pytest.raises(SizeError, match="expected a target for all 2 examples of a batch or none, got 1"):
        collate([make(2, None), make(3, 1)])
    with pytest.raises(SizeError, match="at least one example"):
        collate([])


def test_collate_leaves_its_input_alone():
    examples = [make(2, 1), make(5, 3)]
    collate(examples)
    assert examples == [make(2, 1), make(5, 3)]


@quick
@given(lengths, st.integers(1, 300), st.integers(1, 5), st.integers(0, 3))
def test_every_example_once_and_never_too_large(sizes, batch_tokens, pool, seed):
    examples = [make(*size) for size in sizes]
    batches = plan(examples, batch_tokens=batch_tokens, seed=seed, epoch=2, pool=pool)
    assert sorted(place for batch in batches for place in batch) == list(range(len(examples)))
    for batch in batches:
        source = max(sizes[place][0] for place in batch)
        target = max(sizes[place][1] for place in batch)
        assert len(batch) == 1 or len(batch) * (source + target) <= batch_tokens


def test_a_longest_batch_is_filled():
    batches = plan([make(3, 2)] * 8, batch_tokens=20, seed=0, epoch=0)
    assert [len(batch) for batch in batches] == [4, 4]


def test_a_batch_knows_nothing_of_the_one_before():
    examples = [make(1, 8), make(2, 1), make(2, 1), make(2, 1)]
    batches = plan(examples, batch_tokens=9, seed=0, epoch=0)
    assert sorted(map(sorted, batches)) == [[0], [1, 2, 3]]


def test_all_pools_are_as_large():
    batches = plan(MANY, batch_tokens=512, seed=0, epoch=0, pool=5)
    tokens = sum(len(example.source.ids) + len(example.target or ()) for example in MANY)
    assert len(batches) < 1.4 * tokens / 512


def test_sources_without_target_can_be_planned():
    batches = plan([make(5, None)] * 8, batch_tokens=20, seed=0, epoch=0)
    assert [len(batch) for batch in batches] == [4, 4]


def test_the_plan_depends_on_seed_and_epoch_alone():
    def planned(seed: int, epoch: int) -> list[list[int]]:
        return plan(MANY, batch_tokens=512, seed=seed, epoch=epoch)

    first = planned(1, 0)
    random.seed(5)
    torch.manual_seed(5)
    before = random.getstate(), torch.get_rng_state()
    assert planned(1, 0) == first
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    different = [planned(1, 1), planned(1, 2), planned(2, 0), planned(11, 0), planned(1, 10)]
    assert all(plan != first for plan in different)
    assert all(a != b for i, a in enumerate(different) for b in different[:i])


def test_little_is_padded_and_batches_come_in_random_order():
    batches = plan(MANY, batch_tokens=512, seed=0, epoch=0)
    padded = real = 0
    means = []
    for batch in batches:
        sizes = [(len(MANY[place].source.ids), len(MANY[place].target or ())) for place in batch]
        padded += len(batch) * (max(s for s, _ in sizes) + max(t for _, t in sizes))
        real += sum(map(sum, sizes))
        means.append(sum(s for s, _ in sizes) / len(sizes))
    assert real / padded > 0.85
    assert means not in (sorted(means), sorted(means, reverse=True))


def test_pools_mix_examples_of_all_places():
    """With a small pool, the first pool of an epoch is not the start of the corpus."""
    batches = plan(MANY, batch_tokens=512, seed=0, epoch=0, pool=1)
    assert all(max(batch) - min(batch) > 20 for batch in batches if len(batch) > 8)
    # Nor are they sorted over the whole epoch: a pool of one batch mixes lengths.
    spread = [
        max(sizes) - min(sizes) for b in batches if len(b) > 8 and (sizes := [len(MANY[i].source.ids) for i in b])
    ]
    assert sum(spread) / len(spread) > 5


@pytest.mark.parametrize("options", [{"batch_tokens": 0}, {"batch_tokens": 9, "pool": 0}])
def test_sizes_that_make_no_sense(options):
    with pytest.raises(SizeError, match="expected batch_tokens and pool of at least 1"):
        plan(MANY, seed=0, epoch=0, **options)
    with pytest.raises(SizeError, match="expected batch_size of at least 1, got 0"):
        in_order(MANY, 0)


@quick
@given(lengths, st.integers(1, 9))
def test_in_order_is_sorted_and_complete(sizes, batch_size):
    examples = [make(*size) for size in sizes]
    batches = in_order(examples, batch_size)
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(examples)))
    assert [sizes[place][0] for place in places] == sorted(size for size, _ in sizes)
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert all(batches)
    assert len(batches) == -(-len(sizes) // batch_size)


@quick
@given(lengths, st.integers(1, 9), st.integers(1, 97))
def test_long_sentences_are_fewer_at_once(sizes, batch_size, most):
    examples = [make(*size) for size in sizes]
    batches = in_order(examples, batch_size, most=most)
    assert [place for batch in batches for place in batch] == [p for b in in_order(examples, 1) for p in b]
    for batch in batches:
        padded = len(batch) * sum(max(side) for side in zip(*(examples[place].sizes() for place in batch), strict=True))
        assert len(batch) == 1 or (padded <= most and len(batch) <= batch_size)
