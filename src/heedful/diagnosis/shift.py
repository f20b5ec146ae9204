"""Do rows of attention belong to the word they are said to belong to? Both conventions are measured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from heedful.alignment import Alignment
from heedful.answers import Prediction
from heedful.data.batches import Example
from heedful.data.codec import Encoded
from heedful.data.split import spread
from heedful.diagnosis import thresholds as at
from heedful.diagnosis.subject import Subject

MOST_TOKENS = 300_000
"""Source and target tokens of all sentences with a word replaced; 64 pairs of 47 words on both sides are within it. Of
pairs for which it is too little, not every word is replaced, but of every pair some are."""

Needed = Mapping[int, frozenset[int]]
"""Target word -> the source words that it is about; target words of which nothing is known are not there."""


def needed(subject: Subject, forced: Sequence[Prediction], *, seed: int = 1) -> list[Needed]:
    """Which source word the model itself needs for each target word, found without a look at its attention.

    Each source word in turn is replaced by one drawn from the other sources (leaving one out: Li, Monroe and Jurafsky
    2016, section 3, with a word in its place). The target word whose log-probability falls by at least
    `thresholds.NEEDED` nats, and by more than twice as much as by the replacing of any other source word, needs the
    replaced one. This tells of the word that is *written*, whatever the convention of rows is said to be.

    Of features it is the vectors that one source state stands for that are replaced, by as many neighbours of another
    source.

    Of long pairs only some source words are replaced, at even distances: see `MOST_TOKENS`.
    """
    draw = random.Random(seed)
    examples = subject.examples()
    shortening = subject.model.shortening
    words = [_words(example.source, shortening) for example in examples]
    known = [example.source.ids[word] for example, own in zip(examples, words, strict=True) for word in own]
    changed, about = [], []
    for example, own, asked in zip(examples, words, _asked(examples, words), strict=True):
        ids, positions, *_ = example.source
        for word in own:
            others = [other for other in draw.choices(known, k=8) if not np.array_equal(other, ids[word])]
            if word.start in asked and others:
                source = example.source._replace(ids=_replaced(ids, word, others[0]))
                changed.append(replace(example, source=source, index=len(about)))
                about.append((example.index, (positions[word.start] - 1) // shortening))
    falls = [np.zeros((len(example.target or ()) - 1, len(example.source.ids))) for example in examples]
    for batch, members in subject.batches(changed):
        with torch.inference_mode():
            logs = subject.model.force(batch)[0].cpu().double().numpy()
        for row, member in zip(logs, members, strict=True):
            pair, word = about[member.index]
            own = np.array(forced[pair].token_scores[:-1])
            falls[pair][:, word] = own - row[: len(own)]
    return [_clear(matrix) for matrix in falls]


def _words(source: Encoded, shortening: int) -> list[slice]:
    """Where in its ids each of a source's words is, or the vectors that make one source state."""
    if isinstance(source.ids, list):
        return [slice(column, column + 1) for column, place in enumerate(source.positions) if place]
    return [slice(first, first + shortening) for first in range(0, len(source.ids), shortening)]


def _replaced(ids: list[int] | np.ndarray, word: slice, other: list[int] | np.ndarray) -> list[int] | np.ndarray:
    if isinstance(ids, list):
        return [*ids[: word.start], *other, *ids[word.stop :]]
    changed = ids.copy()
    changed[word] = np.resize(other, changed[word].shape)  # a last state may stand for fewer vectors
    return changed


def _asked(examples: Sequence[Example], places: Sequence[Sequence[slice]]) -> list[frozenset[int]]:
    """The columns of each example whose words are replaced. What short pairs leave of their share, longer ones get."""
    sizes = [len(example.source.ids) + len(example.target or ()) for example in examples]
    words = [[word.start for word in own] for own in places]
    order = sorted(range(len(examples)), key=lambda number: sizes[number] * len(words[number]))
    found = [frozenset[int]()] * len(examples)
    left = MOST_TOKENS
    for done, number in enumerate(order):
        share = left // (len(order) - done)
        chosen = spread(words[number], max(1, share // sizes[number]))
        left = max(0, left - sizes[number] * len(chosen))
        found[number] = frozenset(chosen)
    return found


def _clear(falls: np.ndarray) -> Needed:
    """The rows of which one source word is plainly the one."""
    found = {}
    for row, values in enumerate(falls):
        *_, second, best = np.sort(values) if len(values) > 1 else (0.0, *values)
        if best >= at.NEEDED and second <= best / 2:
            found[row] = frozenset([int(values.argmax())])
    return found


class Fits(NamedTuple):
    """How often the most attended source word is one that the target word is about, reading rows one way or another."""

    words: int  # how many target words were looked at
    own: float  # as the model says: its convention, and the word itself
    predicted: float  # row t is about the word that step t writes
    input: float  # row t is about the word that step t reads
    ahead: float  # row t is about the word that step t + 1 writes
    left: float  # in the model's convention, the word to the left of the most attended one
    right: float  # to the right

    def best_other(self, convention: str) -> tuple[float, str]:
        """The best reading that is not the model's own, and its name; of equals a convention, not a neighbour."""
        readings = {name: getattr(self, name) for name in ("predicted", "input", "ahead", "left", "right")}
        del readings[convention]
        best = max(readings, key=readings.__getitem__)
        return readings[best], best


def fits(alignments: Sequence[Alignment], words: Sequence[Needed]) -> Fits:
    """All readings over the same target words: not the first, ahead of whose row there is none."""
    counts = dict.fromkeys(("predicted", "input", "ahead", "left", "right"), 0)
    total = 0
    convention = "predicted"
    for alignment, wanted in zip(alignments, words, strict=True):
        convention = alignment.convention
        own = 0 if convention == "predicted" else 1
        peaks = _peaks(alignment)
        last = len(alignment.target) - 1
        for word, sources in wanted.items():
            if not 1 <= word < last or any(peaks[word + step] is None for step in (-1, 0, 1)):
                continue
            total += 1
            counts["ahead"] += peaks[word - 1] in sources
            counts["predicted"] += peaks[word] in sources
            counts["input"] += peaks[word + 1] in sources
            counts["left"] += (peaks[word + own] or 0) - 1 in sources
            counts["right"] += (peaks[word + own] or 0) + 1 in sources
    shares = {name: count / total if total else float("nan") for name, count in counts.items()}
    return Fits(total, shares[convention], **shares)


def _peaks(alignment: Alignment) -> list[int | None]:
    """The most attended source word of every row, from 0; None where no word has any weight."""
    words = np.flatnonzero(np.array(alignment.source_positions))
    weights = alignment.weights[:, words]
    if not len(words):
        return [None] * len(weights)
    return [int(row.argmax()) if row.max() > 0 else None for row in weights]
