"""Batches: which examples go together, and the padded tensors that they make."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from heedful.data.codec import Codec, Encoded
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from heedful.errors import SizeError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Example:
    """An encoded pair. `target` ends in END, or is None where there is nothing to compare with."""

    source: Encoded
    target: list[int] | None
    index: int
    guide: Sequence[tuple[int, int]] = ()
    """Cells (row, column) of the attention weights that the links of a guided training stand for."""
    second: Encoded | None = None
    """The second source, where there are two."""

    @classmethod
    def of(cls, pair: Pair, codec: Codec, index: int, *, with_target: bool = True) -> Example:
        """`pair` in the symbols of `codec`."""
        return cls(
            codec.source_of(pair),
            codec.encode_target(pair.target or "") if with_target else None,
            index,
            second=None if codec.second_tokeniser is None else codec.encode_second(pair.second or ""),
        )

    def sizes(self) -> tuple[int, ...]:
        """The lengths of all sides: source, second source if there is one, target."""
        second = () if self.second is None else (len(self.second.ids),)
        return (len(self.source.ids), *second, len(self.target or ()))


class Sequences(NamedTuple):
    """B sequences, padded to the longest, L."""

    tokens: Tensor
    """(B, L) int64; PAD where there is no token. Of features (B, L, F) float32; 0 where there is no vector."""
    mask: Tensor
    """(B, L) bool; True = a real token."""
    positions: Tensor
    """(B, L) int64; place 1..n of each source token in the text as written, else 0. All 0 for targets."""
    segments: Tensor | None = None
    """(B, L) int64; number of each source token's segment, from 1 as they are read, else 0. None without segments."""


class Batch(NamedTuple):
    """What a model gets: one source or two, target, and the `index` of each example, in order."""

    sources: tuple[Sequences, ...]
    target: Sequences | None
    indices: tuple[int, ...]
    guide: Tensor | None = None
    """(B, T, S): what the attention weights should be, each row shared evenly by its links; a row without is 0."""


def collate(examples: Sequence[Example]) -> Batch:
    """Pad `examples` into one batch, in their order.

    Raises:
        SizeError: no examples, or some with and some without target.
    """
    if not examples:
        raise SizeError("expected at least one example in a batch, got none")
    targets = [example.target for example in examples if example.target is not None]
    if targets and len(targets) < len(examples):
        raise SizeError(f"expected a target for all {len(examples)} examples of a batch or none, got {len(targets)}")
    source = _source([example.source for example in examples])
    second = [example.second for example in examples if example.second is not None]
    if second and len(second) < len(examples):
        raise SizeError(f"expected two sources for all {len(examples)} examples of a batch or none, got {len(second)}")
    target = _pad(targets, [[0] * len(ids) for ids in targets]) if targets else None
    guide = _guide(examples, source, target) if target is not None and any(e.guide for e in examples) else None
    sources = (source, _source(second)) if second else (source,)
    return Batch(sources, target, tuple(example.index for example in examples), guide)


def _source(encoded: Sequence[Encoded]) -> Sequences:
    source = _pad([each.ids for each in encoded], [each.positions for each in encoded])
    if any(each.segments is not None for each in encoded):
        source = source._replace(segments=_segments(encoded, source.mask))
    return source


def _segments(sources: Sequence[Encoded], mask: Tensor) -> Tensor:
    found = torch.zeros(mask.shape, dtype=torch.int64)
    for row, source in zip(found, sources, strict=True):
        row[: len(source.ids)] = torch.tensor(source.segments)
    return found


def _guide(examples: Sequence[Example], source: Sequences, target: Sequences) -> Tensor:
    cells = [(number, row, column) for number, example in enumerate(examples) for row, column in example.guide]
    guide = torch.zeros(len(examples), target.tokens.shape[1], source.tokens.shape[1])
    guide[tuple(torch.tensor(cells).T)] = 1.0
    return guide / guide.sum(-1, keepdim=True).clamp(min=1.0)


def _pad(ids: Sequence[list[int] | np.ndarray], positions: Sequence[Sequence[int]]) -> Sequences:
    longest = max(map(len, ids))
    lengths = torch.tensor([len(row) for row in ids])
    return Sequences(
        tokens=_rows(ids, longest),
        mask=torch.arange(longest) < lengths[:, None],
        positions=torch.tensor([[*row, *[0] * (longest - len(row))] for row in positions], dtype=torch.int64),
    )


def _rows(ids: Sequence[list[int] | np.ndarray], longest: int) -> Tensor:
    """(B, L) ids, or (B, L, F) features."""
    if not isinstance(ids[0], list):
        vectors = [torch.as_tensor(row) for row in ids]
        return torch.nn.utils.rnn.pad_sequence(vectors, batch_first=True)
    return torch.tensor([[*row, *[Vocabulary.PAD] * (longest - len(row))] for row in ids], dtype=torch.int64)


def shortened(source: Sequences, shortening: int) -> Sequences:
    """Mask and positions as of a memory that has one position for so many of the source; tokens stay.

    The last position may stand for fewer. Padding is behind, so a position is real where the first that it stands for
    is.
    """
    positions = torch.div(source.positions[:, ::shortening] + shortening - 1, shortening, rounding_mode="floor")
    return source._replace(mask=source.mask[:, ::shortening], positions=positions)


def plan(examples: Sequence[Example], *, batch_tokens: int, seed: int, epoch: int, pool: int = 100) -> list[list[int]]:
    """Cut an epoch into batches: lists of places in `examples`, each place exactly once.

    The examples are shuffled and gathered into pools of about `pool` batches; each pool is sorted by (source
    length, target length; with a second source, its length between them) and cut, so that little is padded; then the
    batches are shuffled. The result
    depends on the arguments alone, not on any global random state.

    Args:
        batch_tokens: most positions of a batch, padding and all sides counted. A longer example goes alone.

    Raises:
        SizeError: `batch_tokens` or `pool` is less than 1.
    """
    if batch_tokens < 1 or pool < 1:
        raise SizeError(f"expected batch_tokens and pool of at least 1, got {batch_tokens} and {pool}")
    rng = random.Random(f"batches {seed} {epoch}")
    sizes = [example.sizes() for example in examples]
    order = list(range(len(examples)))
    rng.shuffle(order)
    batches: list[list[int]] = []
    for places in _pools(order, sizes, batch_tokens * pool):
        batches += _cut(sorted(places, key=sizes.__getitem__), sizes, batch_tokens)
    rng.shuffle(batches)
    return batches


def _pools(order: Sequence[int], sizes: Sequence[tuple[int, ...]], tokens: int) -> list[list[int]]:
    pools: list[list[int]] = [[]]
    filled = 0
    for place in order:
        if filled >= tokens:
            pools.append([])
            filled = 0
        pools[-1].append(place)
        filled += sum(sizes[place])
    return pools


def _cut(
    places: Sequence[int], sizes: Sequence[tuple[int, ...]], batch_tokens: int, batch_size: int | None = None
) -> list[list[int]]:
    batches: list[list[int]] = []
    longest: tuple[int, ...] = ()
    for place in places:
        grown = tuple(map(max, longest, sizes[place])) or sizes[place]
        full = not batches or len(batches[-1]) == batch_size
        if not full and (len(batches[-1]) + 1) * sum(grown) <= batch_tokens:
            batches[-1].append(place)
            longest = grown
        else:
            batches.append([place])
            longest = sizes[place]
    return batches


MOST_POSITIONS = 1 << 16
"""Of all sides of a batch for prediction together, unless one example has more: 64 sentences of some hundred words."""


def in_order(examples: Sequence[Example], batch_size: int, *, most: int = MOST_POSITIONS) -> list[list[int]]:
    """Batches for prediction: places in `examples`, the shortest sources first, at most `batch_size` to a batch, and at
    most `most` positions, padding and all sides counted.

    Who calls this puts the answers back in order by the places.

    Raises:
        SizeError: `batch_size` is less than 1.
    """
    if batch_size < 1:
        raise SizeError(f"expected batch_size of at least 1, got {batch_size}")
    order = sorted(range(len(examples)), key=lambda place: len(examples[place].source.ids))
    return _cut(order, [example.sizes() for example in examples], most, batch_size)
