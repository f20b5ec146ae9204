"""Holding out: a property of a source, not of its place."""

import hashlib
import random

import pytest

from heedful.data.pairs import Pair
from heedful.data.split import held_out, split
from heedful.errors import DataError

PAIRS = [Pair(f"word{n % 700}", str(n), (), n + 1) for n in range(1000)]


def test_held_out_is_the_share_of_the_digest():
    for source in ("", "a", "é", "word"):
        place = int(hashlib.sha256(source.encode()).hexdigest()[:16], 16) / 16**16
        assert held_out(source, place + 1e-9)
        assert not held_out(source, place - 1e-9)
    assert not any(held_out(pair.source, 0) for pair in PAIRS)


def test_no_source_on_both_sides_and_nothing_lost():
    train, dev = split(PAIRS, 0.2)
    assert not {pair.source for pair in train} & {pair.source for pair in dev}
    assert sorted(train + dev, key=lambda pair: pair.line) == PAIRS
    assert len({pair.source for pair in dev}) / 700 == pytest.approx(0.2, abs=0.05)
    assert list(train) == [pair for pair in PAIRS if pair in set(train)]  # the order is kept


def test_order_and_company_do_not_matter():
    _, dev = split(PAIRS, 0.2)
    shuffled = random.Random(3).sample(PAIRS, 900)
    assert set(split(shuffled, 0.2)[1]) == set(dev) & set(shuffled)


def test_a_larger_share_holds_out_more_of_the_same():
    assert set(split(PAIRS, 0.1)[1]) < set(split(PAIRS, 0.2)[1])


def test_no_share_no_dev():
    assert split(PAIRS, 0) == (tuple(PAIRS), ())


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan")])
def test_shares_that_make_no_sense(share):
    with pytest.raises(DataError, match="expected 0 <= dev_share < 1"):
        split(PAIRS, share)


def test_an_empty_side_is_an_error():
    with pytest.raises(DataError, match=r"10\.0% of 1 distinct sources leaves 2 pairs .* and 0 for development"):
        split([PAIRS[0], PAIRS[0]], 0.1)
    with pytest.raises(DataError, match="leaves 0 pairs to train on and 1 for development"):
        split(PAIRS[:1], 0.999999)
