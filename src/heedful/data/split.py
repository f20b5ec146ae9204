"""Holding sources out for development: by what they are, not by where they stand in the file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from heedful.data.pairs import Pair
from heedful.errors import DataError

Item = TypeVar("Item")


def held_out(source: str, share: float) -> bool:
    """Whether `source` belongs to the held-out `share` (0 <= share < 1) of all texts, by its SHA-256.

    The answer depends on nothing else: not on the order of the lines, nor on what else is in the corpus.
    """
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def split(pairs: Sequence[Pair], dev_share: float) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """(train, dev): about `dev_share` of the distinct sources are in dev, and no source is on both sides.

    Raises:
        DataError: `dev_share` is not in 0 <= dev_share < 1, or one of the sides would be left empty.
    """
    if not 0 <= dev_share < 1:
        raise DataError(f"dev_share: expected 0 <= dev_share < 1, got {dev_share}")
    sides: tuple[list[Pair], list[Pair]] = ([], [])
    for pair in pairs:
        sides[held_out(pair.source, dev_share)].append(pair)
    train, dev = sides
    if not train or (dev_share > 0 and not dev):
        raise DataError(
            f"holding out {dev_share:.1%} of {len({pair.source for pair in pairs})} distinct sources leaves "
            f"{len(train)} pairs to train on and {len(dev)} for development; expected at least 1 of each"
        )
    return tuple(train), tuple(dev)


def spread(items: Sequence[Item], size: int | None) -> list[Item]:
    """`size` of `items` at even distances, or all."""
    if size is None or len(items) <= size:
        return list(items)
    return [items[index * len(items) // size] for index in range(size)]
