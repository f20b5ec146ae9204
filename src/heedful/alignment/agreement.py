"""How well links agree with gold, and how the links of two directions become one set."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, get_args

from heedful import __version__
from heedful.alignment.links import Link
from heedful.errors import DataError, nearest
from heedful.options import Symmetrisation

LinkSets = Sequence[Collection[Link]]
"""The links of each sentence: a set, or a list such as `Alignment.links` gives; what stands twice counts once."""


class LinkScores(NamedTuple):
    """Agreement of links A with sure links S and possible links P, S a part of P; all rates in percent.

    Och and Ney 2003, "A systematic comparison of various statistical alignment models". Numbers are summed
    over all sentences before they are divided. A rate whose divisor is 0 is NaN.

    Attributes:
        aer: alignment error rate, 100 (1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)); the lower the better.
        precision: 100 |A ∩ P| / |A|.
        recall: 100 |A ∩ S| / |S|.
        f1: the harmonic mean of precision and recall.
        links: |A|, how many links were judged.
        sure: |S|.
        possible: |P|, the sure ones among them.
        sentences: how many there were.
    """

    aer: float
    precision: float
    recall: float
    f1: float
    links: int
    sure: int
    possible: int
    sentences: int

    @property
    def signature(self) -> str:
        """One line that says what the rates were measured on."""
        return f"lines:{self.sentences}|links:{self.links}|sure:{self.sure}|possible:{self.possible}|v:{__version__}"

    def as_json(self) -> dict[str, Any]:
        """All of it under the names of the attributes, and the signature; a rate that is NaN is None."""
        values = {name: None if value != value else value for name, value in self._asdict().items()}
        return {**values, "signature": self.signature}


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
    for sets in zip(links, sure, possible, strict=True):
        given, must, may = map(frozenset, sets)
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
        sentences=len(links),
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


def symmetrise(
    forward: LinkSets, backward: LinkSets, *, method: Symmetrisation = "grow-diag-final-and"
) -> list[frozenset[Link]]:
    """The links of two directions as one set, sentence by sentence.

    "intersection" and "union" as in Och and Ney 2003. "grow-diag" begins with the intersection and adds, as
    long as any can be added, links of the union that are neighbours of one that is there, in any of the eight
    directions, and whose source word or target word has no link yet. "grow-diag-final" then adds the forward links, and
    after them the backward links, whose source word or target word has none; "grow-diag-final-and" those of which both
    have none. Koehn, Och and Marcu 2003; Koehn et al. 2005. The order matters, and is that of
    the pseudo-code in the Moses manual: target words from the first to the last, for each the source words.

    Args:
        forward: for each sentence a set of (source word, target word), as `heedful.align` finds from source to target.
        backward: the same of the other direction, with its links turned: (source word, target word) too.
        method: how they are merged.

    Raises:
        DataError: not as many sentences on both sides, or no such method.
    """
    if method not in get_args(Symmetrisation):
        raise DataError(f"symmetrisation: unknown method {method!r}{nearest(method, get_args(Symmetrisation))}")
    if len(forward) != len(backward):
        raise DataError(
            f"expected as many sentences in both directions, got {len(forward)} forward, {len(backward)} backward"
        )
    return [frozenset(_merged(set(one), set(other), method)) for one, other in zip(forward, backward, strict=True)]


def _merged(forward: set[Link], backward: set[Link], method: Symmetrisation) -> set[Link]:
    if method == "union":
        return forward | backward
    if method == "intersection":
        return forward & backward
    grown = _grown(forward & backward, forward | backward)
    if method == "grow-diag":
        return grown
    for links in (forward, backward):
        _finish(grown, links, both=method == "grow-diag-final-and")
    return grown


_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))  # of (target, source)


def _grown(start: set[Link], union: set[Link]) -> set[Link]:
    links = set(start)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    size = -1
    while len(links) != size:
        size = len(links)
        order = _in_order(links)
        place = 0
        while place < len(order):
            target, source = order[place]
            for down, right in _NEIGHBOURS:
                new, its_target = source + right, target + down
                if (new, its_target) in union and not (new in sources and its_target in targets):
                    links.add((new, its_target))
                    sources.add(new)
                    targets.add(its_target)
                    # What is behind the current link is met in this round, what is before it in the next.
                    slot = bisect_left(order, (its_target, new))
                    order.insert(slot, (its_target, new))
                    place += slot <= place
            place += 1
    return links


def _finish(links: set[Link], more: set[Link], *, both: bool) -> None:
    """Add to `links` those of `more` of whose words one has no link yet, or with `both` neither has."""
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    for target, source in _in_order(more):
        free = (source not in sources, target not in targets)
        if all(free) if both else any(free):
            links.add((source, target))
            sources.add(source)
            targets.add(target)


def _in_order(links: Iterable[Link]) -> list[tuple[int, int]]:
    """(target, source), by target and then by source."""
    return sorted((target, source) for source, target in links)
