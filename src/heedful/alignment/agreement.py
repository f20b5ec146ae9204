"""How well links agree with gold, and how the links of two directions become one set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from heedful.alignment.links import Link
from heedful.errors import DataError

LinkSets = Sequence[AbstractSet[Link]]
"""A set of links for each sentence."""


class LinkScores(NamedTuple):
    """Agreement of links A with sure links S and possible links P, S a part of P; all rates in percent.

    Och and Ney 2003, "A systematic comparison of various statistical alignment models", section 6. Numbers are summed
    over all sentences before they are divided. A rate whose divisor is 0 is NaN.

    Attributes:
        aer: alignment error rate, 100 (1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)); the lower the better.
        precision: 100 |A ∩ P| / |A|.
        recall: 100 |A ∩ S| / |S|.
        f1: the harmonic mean of precision and recall.
        links: |A|, how many links were judged.
        sure: |S|.
        possible: |P|, the sure ones among them.
    """

    aer: float
    precision: float
    recall: float
    f1: float
    links: int
    sure: int
    possible: int


def link_scores(links: LinkSets, sure: LinkSets, possible: LinkSets | None = None) -> LinkScores:
    """Judge `links` against gold, over the whole corpus.

    Args:
        links: for each sentence a set of (source word, target word).
        sure: the links that must be there.
        possible: the links that may be there. Sure links that are not among them are added, as is usual. Without it
            only sure ones may be there.

    Raises:
        DataError: not as many sentences on each side.
    """
    possible = sure if possible is None else possible
    if not len(links) == len(sure) == len(possible):
        raise DataError(
            f"expected gold for as many sentences as there are links for, got {len(links)} with links, "
            f"{len(sure)} with sure and {len(possible)} with possible gold"
        )
    found = in_sure = in_possible = all_sure = all_possible = 0
    for given, must, may in zip(links, sure, possible, strict=True):
        may = may | must
        found += len(given)
        in_sure += len(given & must)
        in_possible += len(given & may)
        all_sure += len(must)
        all_possible += len(may)
    precision, recall = _percent(in_possible, found), _percent(in_sure, all_sure)
    return LinkScores(
        aer=100 - _percent(in_sure + in_possible, found + all_sure),
        precision=precision,
        recall=recall,
        f1=0.0 if precision == recall == 0 else 2 * precision * recall / (precision + recall),
        links=found,
        sure=all_sure,
        possible=all_possible,
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan
