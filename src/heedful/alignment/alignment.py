"""One matrix of attention weights with the labels of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heedful.alignment.checks import VERSION, Side, as_matrix, as_spans, check_parts, check_side, json_parts
from heedful.alignment.links import Link, as_pharaoh
from heedful.alignment.merge import Groups, grapheme_groups, label_of, merged, names_of, spans_of, word_groups
from heedful.alignment.rules import chosen
from heedful.alignment.segments import as_segments, picked, renumbered
from heedful.options import Convention, LinkRule

START_LABEL = "▷"
"""Shown for the step before the first target word, where rows are about the input word."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which source tokens were looked at, target step by target step.

    Columns stand in the original order of the source (tags, words 1..n, end symbol), also where the
    model read it reversed: make it with `Alignment.of`, which puts the columns in that order.

    Attributes:
        source: S labels of the columns.
        target: T labels, one per step; the last is the end symbol's where `target_end`.
        weights: (T, S) float64, read-only, finite, none below 0. Rows need not sum to 1 (local attention).
        convention: what row t is about: ``"predicted"``, the word that step t writes, or ``"input"``,
            the word it has just read, which is target word t - 1 (Luong, Pham and Manning 2015, footnote 14).
        source_positions: S numbers: 1..n for words, 0 for tags and the end symbol.
        target_end: whether the last row is the step that writes the end symbol.
        source_spans: where sources are features, from where to where each column lies: seconds of sound, pixel columns
            of a picture, numbers of vectors; its label has the start, with the unit. None for texts.
        source_segments: where there are any, S numbers: 1..n as in the text, 0 for tags and the end symbol.

    Raises:
        SizeError: the parts do not fit together, or a weight is not finite or below 0.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray
    convention: str
    source_positions: tuple[int, ...]
    target_end: bool
    source_spans: tuple[tuple[float, float], ...] | None = None
    source_segments: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        weights = as_matrix(self.weights, self.source, self.target).copy()  # nobody else can change it
        weights.flags.writeable = False
        for name, value in (
            ("source", tuple(self.source)),
            ("target", tuple(self.target)),
            ("source_positions", tuple(int(position) for position in self.source_positions)),
            ("target_end", bool(self.target_end)),
            ("source_spans", as_spans(self.source_spans)),
            ("source_segments", as_segments(self.source_segments, len(self.source))),
            ("weights", weights),
        ):
            object.__setattr__(self, name, value)
        check_parts(self.source, self.target, weights, self.convention, self.source_positions, self.source_spans)

    @classmethod
    def of(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        weights: Any,
        *,
        convention: str = "predicted",
        source_positions: Sequence[int] | None = None,
        target_end: bool = False,
        source_spans: Sequence[tuple[float, float]] | None = None,
        source_segments: Sequence[int] | None = None,
    ) -> Alignment:
        """As the model made it: labels, positions and columns in the order in which the source was read.

        Word columns change places among themselves so that their positions ascend; tags and the end
        symbol (position 0) stay where they are. Without `source_positions` every column is a word.

        Args:
            weights: (T, S), anything that NumPy makes an array of.
        """
        positions = list(range(1, len(source) + 1)) if source_positions is None else list(source_positions)
        weights = as_matrix(weights, source, target)
        if len(positions) == len(source) and weights.shape == (len(target), len(source)):
            order = list(range(len(source)))
            slots = [column for column in order if positions[column]]
            for slot, column in zip(slots, sorted(slots, key=positions.__getitem__), strict=True):
                order[slot] = column
            source, positions = [source[column] for column in order], [positions[column] for column in order]
            weights = weights[:, order]
            source_spans, source_segments = picked(source_spans, order), picked(source_segments, order)
        parts = (None if source_spans is None else tuple(source_spans), renumbered(source_segments))
        return cls(tuple(source), tuple(target), weights, convention, tuple(positions), target_end, *parts)

    def row_labels(self) -> tuple[str, ...]:
        """For each row the target word that its weights are about.

        These are the target's labels where rows are about the predicted word; where they are about
        the input word they are `START_LABEL` and all target labels but the last.
        """
        return self.target if self.convention == "predicted" else (START_LABEL, *self.target)[: len(self.target)]

    def peaks(self, rule: LinkRule = "argmax", *, threshold: float | None = None) -> list[tuple[int, int]]:
        """The cells (row, column) that the links are read from, row by row.

        Rows that are about a target word, columns of source words: tags and the end symbol, on either side, never take
        part. By default each row gives its largest weight (the first of equals in the original order). A weight of 0
        is never a link.

        Args:
            rule: which cells count: see `heedful.options.LinkRule` and `heedful.alignment.rules`.
            threshold: the least weight of a link, from 0 to 1; for ``"relative"`` as a share of the largest of its
                row. ``"threshold"`` and ``"relative"`` need it, with the others it drops what is less.

        Raises:
            DataError: no such rule, or a threshold that it cannot have.
        """
        words, rows = self._columns_of_words(), self.rows_about_words()
        cells = chosen(self.weights[rows.start : rows.stop, words], rule, threshold)
        return [(rows[row], words[column]) for row, column in cells]

    def links(self, rule: LinkRule = "argmax", *, threshold: float | None = None) -> list[Link]:
        """(source word, target word) pairs, both counted from 0, in the order of the target.

        By default at most one per target word; see `peaks`. With convention ``"input"`` row t's link belongs to target
        word t - 1: row 0 is dropped, and the step that writes the end symbol tells of the last word.
        """
        shift = self.rows_about_words().start
        cells = self.peaks(rule, threshold=threshold)
        return [(self.source_positions[column] - 1, row - shift) for row, column in cells]

    def pharaoh(self, rule: LinkRule = "argmax", *, threshold: float | None = None, swap: bool = False) -> str:
        """The links as text, source-target: ``"0-0 1-2"``; empty where there is none. With `swap` target-source."""
        links = self.links(rule, threshold=threshold)
        return as_pharaoh([(target, source) for source, target in links] if swap else links)

    def read_as(self, convention: Convention) -> Alignment:
        """The same rows, said to be about other words: about the predicted or about the input word.

        For where the model's own convention is doubted: no number moves, but links do, by one target word. `moved_to`
        is the other way round.
        """
        return replace(self, convention=convention)

    def moved_to(self, convention: Convention) -> Alignment:
        """The same rows about the same words, put where the other convention has them: numbers move, links do not.

        A row that the other convention has no place for is left out: that about the end symbol ("input" has none) or
        the start ("predicted" has none). What it has and this one has not is a row of zeros. An output that was cut
        before its end thereby loses its last word's row when it is moved to "input". `read_as` is the other way round.
        """
        weights = np.zeros_like(self.weights)
        if convention == self.convention:
            weights = self.weights
        elif convention == "predicted":
            weights[:-1] = self.weights[1:]
        else:
            weights[1:] = self.weights[:-1]
        return replace(self, weights=weights, convention=convention)

    def without_special(self) -> Alignment:
        """The words alone: no tags, no end symbol, on neither side, and rows that sum to 1 again.

        Each row is divided by its sum; one without weight on words stays 0. Where rows are about the input word, row t
        becomes that of target word t - 1, so that in the result every row is about its own label; a last word that
        nothing was written after has no row. The links are the same.
        """
        words, rows = self._columns_of_words(), self.rows_about_words()
        weights = self.weights[rows.start : rows.stop, words]
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        source = tuple(self.source[column] for column in words)
        positions = tuple(self.source_positions[column] for column in words)
        spans, segments = picked(self.source_spans, words), picked(self.source_segments, words)
        labels = self.row_labels()[rows.start : rows.stop]
        return Alignment(source, labels, weights, "predicted", positions, False, spans, segments)

    def merged(
        self,
        *,
        source: Groups | None = None,
        target: Groups | None = None,
        source_labels: Sequence[str] | None = None,
        target_labels: Sequence[str] | None = None,
    ) -> Alignment:
        """`without_special`, and then groups of words as one: columns summed, rows averaged.

        What is in no group is left out, and rows are normalised over the rest: see `heedful.alignment.merge.merged`.

        Args:
            source, target: groups of places in the labels of `without_special`, from 0; by default each alone.
            source_labels, target_labels: what to call the groups; by default what their labels spell together.

        Raises:
            SizeError: a group is empty, names a place that there is not, or shares one with another; or there are not
                as many labels as groups.
        """
        words = self.without_special()
        columns = [[place] for place in range(len(words.source))] if source is None else source
        rows = [[place] for place in range(len(words.target))] if target is None else target
        weights = merged(words.weights, source=columns, target=rows)
        return Alignment.of(
            [label_of(group, words.source) for group in columns] if source_labels is None else source_labels,
            [label_of(group, words.target) for group in rows] if target_labels is None else target_labels,
            weights,
            source_spans=spans_of(columns, words.source_spans),
            source_segments=picked(words.source_segments, [group[0] for group in columns]),
        )

    def words(
        self, *, side: Side = "both", source_text: str | None = None, target_text: str | None = None
    ) -> Alignment:
        """Pieces merged to words: see `merged` and `word_groups`. The result has no special symbols.

        Args:
            side: which sides are in pieces that spell the text one behind the other (BPE, characters, graphemes); the
                tokens of the other are words already.
            source_text, target_text: the text, whose words are then the labels: where a character is cut into bytes,
                each of which is shown as the whole, the pieces spell it several times.

        Raises:
            SizeError: there is no such side.
        """
        check_side(side)
        words = self.without_special()
        source = word_groups(words.source) if side != "target" else None
        target = word_groups(words.target) if side != "source" else None
        return words.merged(
            source=source,
            target=target,
            source_labels=names_of(source, source_text),
            target_labels=names_of(target, target_text),
        )

    def graphemes(self, *, side: Side = "both") -> Alignment:
        """Characters merged to graphemes, a letter with its signs: see `merged`. The result has no special symbols.

        Raises:
            SizeError: there is no such side.
        """
        check_side(side)
        words = self.without_special()
        return words.merged(
            source=grapheme_groups(words.source) if side != "target" else None,
            target=grapheme_groups(words.target) if side != "source" else None,
        )

    def _columns_of_words(self) -> list[int]:
        return [column for column, position in enumerate(self.source_positions) if position]

    def rows_about_words(self) -> range:
        """The rows that are about a target word, rather than about the end symbol or the start."""
        return rows_about_words(len(self.target), self.convention, target_end=self.target_end)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain lists, strings and numbers; `from_json` gives back the same bits."""
        return {
            "version": VERSION,
            "source": list(self.source),
            "target": list(self.target),
            "weights": self.weights.tolist(),
            "convention": self.convention,
            "source_positions": list(self.source_positions),
            "target_end": self.target_end,
            **({} if self.source_spans is None else {"source_spans": [list(span) for span in self.source_spans]}),
            **({} if self.source_segments is None else {"source_segments": list(self.source_segments)}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | str) -> Alignment:
        """What `to_json` wrote, or a line of a file of it; without the key "version" too, as it once was written.

        Raises:
            DataError: it is no JSON object, a part is missing or is no matrix of numbers, or a newer version wrote it.
            SizeError: the parts do not fit together.
        """
        return cls(**json_parts(value))

    def _repr_html_(self) -> str:
        """How a notebook shows it: see `heedful.alignment.html`."""
        from heedful.alignment.html import table

        return table(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alignment) and self.to_json() == other.to_json()


def rows_about_words(steps: int, convention: str, *, target_end: bool = True) -> range:
    """Of so many steps those whose rows are about a target word; `target_end`: whether the last step writes an end."""
    return range(steps - target_end) if convention == "predicted" else range(1, steps)
