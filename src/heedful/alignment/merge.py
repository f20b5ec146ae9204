"""Pieces to words, characters to graphemes: which labels belong together, and the matrix over the groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from heedful.errors import SizeError

Groups = Sequence[Sequence[int]]
"""Places of labels, from 0, that become one; each place in at most one group."""


def word_groups(labels: Sequence[str]) -> list[list[int]]:
    """The pieces of each word, where the labels, one behind the other, spell the text: BPE, characters, graphemes.

    Words are what stands between white space. A piece belongs to the word of its first character that is no white
    space; a piece of nothing but white space, wherever it stands, belongs to no word and moves no other's number.
    """
    groups: list[list[int]] = []
    inside = False  # whether the text up to here ends within a word
    for place, label in enumerate(labels):
        if label.strip():
            if not inside or label[0].isspace():
                groups.append([])
            groups[-1].append(place)
        if label:
            inside = not label[-1].isspace()
    return groups


def grapheme_groups(labels: Sequence[str]) -> list[list[int]]:
    """The characters of each grapheme cluster (Unicode Standard Annex 29), where each label is a character."""
    import regex

    starts = accumulate((len(cluster) for cluster in regex.findall(r"\X", "".join(labels))), initial=0)
    ends = accumulate(map(len, labels), initial=0)
    place_at = {end: place for place, end in enumerate(ends)}
    cuts = [place_at[start] for start in starts if start in place_at]
    return [list(range(start, end)) for start, end in pairwise(cuts)]


def merged(weights: np.ndarray, *, source: Groups, target: Groups) -> np.ndarray:
    """(target groups, source groups) of `weights` (T, S): the columns of a group are summed, its rows averaged.

    Koehn and Knowles 2017, "Six challenges for neural machine translation", section 3.5: attention to the pieces of a
    source word adds up, that of the pieces of a target word is averaged. What is in no group is left out, and each row
    is divided by what is left of it before rows are averaged.

    Raises:
        SizeError: a group is empty, or names a place that there is not, or that another has too.
    """
    rows, columns = weights.shape
    summed = weights @ _members(source, columns, "source").T
    sums = summed.sum(axis=1, keepdims=True)
    shares = np.divide(summed, sums, out=np.zeros_like(summed), where=sums > 0)
    members = _members(target, rows, "target")
    return members @ shares / members.sum(axis=1, keepdims=True)


def label_of(group: Sequence[int], labels: Sequence[str]) -> str:
    """What its labels spell, without white space around it where there is something else."""
    text = "".join(labels[place] for place in group)
    return text.strip() or text


def spans_of(groups: Groups, spans: Sequence[tuple[float, float]] | None) -> list[tuple[float, float]] | None:
    """Of each group, from where its first column begins to where its last one ends."""
    if spans is None:
        return None
    return [(min(spans[place][0] for place in group), max(spans[place][1] for place in group)) for group in groups]


def names_of(groups: Groups | None, text: str | None) -> list[str] | None:
    """The words of `text`, one for each group; of an output that was cut the last may have no group."""
    words = [] if text is None else text.split()
    return words[: len(groups)] if groups is not None and len(words) >= len(groups) > 0 else None


def _members(groups: Groups, size: int, side: str) -> np.ndarray:
    """(groups, size): 1 where a place is of a group."""
    members = np.zeros((len(groups), size))
    for number, group in enumerate(groups):
        places = list(group)
        if not places or not all(0 <= place < size for place in places):
            raise SizeError(f"{side} group {number}: expected some of the places 0 to {size - 1}, got {places}")
        members[number, places] = 1
    shared = np.flatnonzero(members.sum(axis=0) > 1)
    if len(shared):
        raise SizeError(f"{side} groups: expected each place in at most one, got {int(shared[0])} in several")
    return members
