"""How attention agrees with what others say about the same pairs: gold links, an aligner's links, parts of speech.

All count what links count: tokens, or words where a tokeniser cuts these into pieces (BPE).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from heedful.alignment import Alignment, link_scores
from heedful.alignment.agreement import LinkSets
from heedful.alignment.links import Link
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.errors import DataError
from heedful.units import units_of


@dataclass(frozen=True)
class Others:
    """What others say about the same pairs, an entry for a pair; None where nothing is said.

    Args:
        sure: gold links that must be there.
        possible: gold links that may be there.
        links: a statistical aligner's links, which are no truth.
        source_tags: the parts of speech of the source's words.
        target_tags: and of the target's.
        places: what errors put before the number of a line, by the names above: ``"gold.txt:"``.
    """

    sure: LinkSets | None = None
    possible: LinkSets | None = None
    links: LinkSets | None = None
    source_tags: Sequence[Sequence[str]] | None = None
    target_tags: Sequence[Sequence[str]] | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, name: str, line: int) -> str:
        """What an error calls a line of one of them."""
        return f"{self.places.get(name, f'{name}, line ')}{line}"


class Units(NamedTuple):
    """The places of a pair's tokens that are one word, on both sides."""

    source: list[list[int]]
    target: list[list[int]]

    @classmethod
    def of(cls, codec: Codec, pair: Pair, *, shortening: int = 1) -> Units:
        """`shortening`: how many feature vectors one source state stands for, which links then count."""
        target = units_of(codec.target_tokeniser, pair.target or "")
        if codec.source_features is not None:
            return cls([[place] for place in range(-(-codec.source_size(pair) // shortening))], target)
        return cls(units_of(codec.source_tokeniser, pair.source), target)


def agreement(alignments: Sequence[Alignment], units: Sequence[Units], others: Others) -> dict[str, float]:
    """The measures of `with_gold`, `with_aligner` and `parts_of_speech`, each where there is what it needs."""
    numbers: dict[str, float] = {}
    if others.sure is not None:
        numbers |= with_gold(alignments, units, others.sure, others.possible)
    merged = _merged(alignments, units)
    if others.links is not None:
        numbers |= with_aligner(merged, others.links)
    if others.source_tags is not None and others.target_tags is not None:
        numbers |= parts_of_speech(merged, others.source_tags, others.target_tags)
    return numbers


def with_gold(
    alignments: Sequence[Alignment], units: Sequence[Units], sure: LinkSets, possible: LinkSets | None
) -> dict[str, float]:
    """In percent, see `heedful.alignment.LinkScores`:

    - ``aer``, ``link_precision``, ``link_recall``, ``link_f1``: of the most attended words.
    - ``aer_predicted``, ``aer_input``: with rows read as about the word that a step writes, as about the one it reads.
    """
    scores = link_scores(_links(_merged(alignments, units)), sure, possible)
    read = {
        name: link_scores(_links(_merged([each.read_as(name) for each in alignments], units)), sure, possible).aer
        for name in ("predicted", "input")
    }
    return {
        "aer": scores.aer,
        "link_precision": scores.precision,
        "link_recall": scores.recall,
        "link_f1": scores.f1,
        **{f"aer_{name}": aer for name, aer in read.items()},
    }


def with_aligner(merged: Sequence[Alignment], links: LinkSets) -> dict[str, float]:
    """Agreement with an aligner's links, in percent.

    - ``aligner_agreement``: F1 of the most attended words against the links.
    - ``aligner_mass``: over target words that have a link, the mean share of the weight on the words that they are
      linked to: the probability mass score of Koehn and Knowles 2017.
    """
    masses = []
    for alignment, wanted in zip(merged, links, strict=True):
        for row, sources in as_needed(wanted).items():
            masses.append(alignment.weights[row, sorted(sources)].sum())
    return {
        "aligner_agreement": link_scores(_links(merged), links, links).f1,
        "aligner_mass": 100 * float(np.mean(masses)) if masses else float("nan"),
    }


def parts_of_speech(
    merged: Sequence[Alignment], source_tags: Sequence[Sequence[str]], target_tags: Sequence[Sequence[str]]
) -> dict[str, float]:
    """A verb should look at the verb: in percent,

    - ``same_part_of_speech``: the share of links (the most attended word of each target word) between words of one tag.
    - ``same_by_chance``: what that would be if each of these target words were linked to any word of its source alike.
    """
    same, chance = [], []
    for alignment, sources, targets in zip(merged, source_tags, target_tags, strict=True):
        for source, target in alignment.links():
            same.append(sources[source] == targets[target])
            chance.append(sources.count(targets[target]) / len(sources))
    names = ("same_part_of_speech", "same_by_chance")
    values = (100 * float(np.mean(each)) if each else float("nan") for each in (same, chance))
    return dict(zip(names, values, strict=True))


def _merged(alignments: Sequence[Alignment], units: Sequence[Units]) -> list[Alignment]:
    return [
        alignment.merged(source=own.source, target=own.target) for alignment, own in zip(alignments, units, strict=True)
    ]


def _links(merged: Sequence[Alignment]) -> list[list[Link]]:
    return [alignment.links() for alignment in merged]


def as_needed(links: Collection[Link]) -> dict[int, frozenset[int]]:
    """Target word -> the source words that it is linked to."""
    found: dict[int, set[int]] = {}
    for source, target in links:
        found.setdefault(target, set()).add(source)
    return {target: frozenset(sources) for target, sources in found.items()}


def needed_tokens(units: Units, links: Collection[Link]) -> Mapping[int, frozenset[int]]:
    """Links of words as the source tokens that each target token is about: see `heedful.diagnosis.shift.Needed`."""
    return {
        token: frozenset(place for source in sources for place in units.source[source])
        for target, sources in as_needed(links).items()
        for token in units.target[target]
    }


def check(units: Sequence[Units], lines: Sequence[int], others: Others) -> None:
    """Whether links and tags are of words that there are.

    Raises:
        DataError: they are not; names the line.
    """
    for place, (own, line) in enumerate(zip(units, lines, strict=True)):
        sizes = len(own.source), len(own.target)
        for name in ("sure", "possible", "links"):
            for link in (getattr(others, name) or {place: ()})[place]:
                if link[0] >= sizes[0] or link[1] >= sizes[1]:
                    raise DataError(
                        f"{others.place(name, line)}: expected links of at most {sizes[0]} source and {sizes[1]} "
                        f"target words (from 0), got {link[0]}-{link[1]}"
                    )
        for name, size in zip(("source_tags", "target_tags"), sizes, strict=True):
            tags = getattr(others, name)
            if tags is not None and len(tags[place]) != size:
                raise DataError(
                    f"{others.place(name, line)}: expected {size} tags, one for each word, got {len(tags[place])}"
                )
