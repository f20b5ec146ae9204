"""One matrix of attention weights with the labels of its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.errors import DataError, SizeError

START_LABEL = "▷"
"""Shown for the step before the first target word, where rows are about the input word."""

CONVENTIONS = ("predicted", "input")


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which source tokens were looked at, target step by target step.

    Columns stand in the original order of the source (tags, words 1..n, end symbol), also where the
    model read it reversed: make it with `Alignment.of`, which puts the columns in that order.

    Attributes:
        source: S labels of the columns.
        target: T labels, one per step; the last is the end symbol's where `target_end`.
        weights: (T, S) float64, read-only, finite. Rows need not sum to 1 (local attention).
        convention: what row t is about: ``"predicted"``, the word that step t writes, or ``"input"``,
            the word it has just read, which is target word t - 1 (Luong, Pham and Manning 2015,
            footnote 14: content-based scores asked by a state that has read y_{t-1}).
        source_positions: S numbers: 1..n for words, 0 for tags and the end symbol.
        target_end: whether the last row is the step that writes the end symbol.

    Raises:
        SizeError: the parts do not fit together, or a weight is not finite.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray
    convention: str
    source_positions: tuple[int, ...]
    target_end: bool

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)  # a copy: nobody else can change it
        weights.flags.writeable = False
        for name, value in (
            ("source", tuple(self.source)),
            ("target", tuple(self.target)),
            ("source_positions", tuple(int(position) for position in self.source_positions)),
            ("target_end", bool(self.target_end)),
            ("weights", weights),
        ):
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        expected = (len(self.target), len(self.source))
        if self.weights.shape != expected:
            raise SizeError(
                f"alignment weights: expected shape (target, source) = {expected}, got {self.weights.shape}"
            )
        if not np.isfinite(self.weights).all():
            row, column = np.argwhere(~np.isfinite(self.weights))[0].tolist()
            raise SizeError(
                f"alignment weights: expected finite numbers, got {self.weights[row, column]} "
                f"at row {row}, column {column}"
            )
        if self.convention not in CONVENTIONS:
            raise SizeError(f"alignment convention: expected 'predicted' or 'input', got {self.convention!r}")
        if len(self.source_positions) != len(self.source):
            raise SizeError(
                f"source positions: expected one for each of the {len(self.source)} source labels, "
                f"got {len(self.source_positions)}"
            )
        words = [position for position in self.source_positions if position]
        if words != list(range(1, len(words) + 1)):
            raise SizeError(f"source positions: expected 1..{len(words)} for the words, each once, got {words}")

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
    ) -> Alignment:
        """As the model made it: labels, positions and columns in the order in which the source was read.

        Word columns change places among themselves so that their positions ascend; tags and the end
        symbol (position 0) stay where they are. Without `source_positions` every column is a word.

        Args:
            weights: (T, S), anything that NumPy makes an array of.
        """
        positions = list(range(1, len(source) + 1)) if source_positions is None else list(source_positions)
        weights = np.asarray(weights, dtype=np.float64)
        if len(positions) == len(source) and weights.shape == (len(target), len(source)):
            order = list(range(len(source)))
            slots = [column for column in order if positions[column]]
            for slot, column in zip(slots, sorted(slots, key=positions.__getitem__), strict=True):
                order[slot] = column
            source, positions = [source[column] for column in order], [positions[column] for column in order]
            weights = weights[:, order]
        return cls(tuple(source), tuple(target), weights, convention, tuple(positions), target_end)

    def row_labels(self) -> tuple[str, ...]:
        """For each row the target word that its weights are about.

        These are the target's labels where rows are about the predicted word; where they are about
        the input word they are `START_LABEL` and all target labels but the last.
        """
        return self.target if self.convention == "predicted" else (START_LABEL, *self.target)[: len(self.target)]

    def peaks(self) -> list[tuple[int, int]]:
        """The cells (row, column) that the links are read from.

        Each row that is about a target word gives its largest weight over the source words (the first of
        equals in the original order); tags and the end symbol, on either side, never take part. A row whose
        weights over words are all 0 gives none.
        """
        words = [column for column, position in enumerate(self.source_positions) if position]
        if not words:
            return []
        best = self.weights[:, words].argmax(axis=1)
        cells = [(row, words[best[row]]) for row in self._rows_about_words()]
        return [(row, column) for row, column in cells if self.weights[row, column] > 0]

    def links(self) -> list[tuple[int, int]]:
        """(source word, target word) pairs, both counted from 0, in the order of the target.

        At most one per target word: see `peaks`. With convention ``"input"`` row t's link belongs to target
        word t - 1: row 0 is dropped, and the step that writes the end symbol tells of the last word.
        """
        shift = 0 if self.convention == "predicted" else 1
        return [(self.source_positions[column] - 1, row - shift) for row, column in self.peaks()]

    def pharaoh(self) -> str:
        """The links as text, source-target: ``"0-0 1-2"``; empty where there is none."""
        return " ".join(f"{source}-{target}" for source, target in self.links())

    def without_special(self) -> Alignment:
        """The words alone: no tags, no end symbol, on neither side, and rows that sum to 1 again.

        Each row is divided by its sum; one without weight on words stays 0. Where rows are about the input word, row t
        becomes that of target word t - 1, so that in the result every row is about its own label; a last word that
        nothing was written after has no row. The links are the same.
        """
        words = [column for column, position in enumerate(self.source_positions) if position]
        rows = self._rows_about_words()
        weights = self.weights[rows.start : rows.stop, words]
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        source = tuple(self.source[column] for column in words)
        positions = tuple(self.source_positions[column] for column in words)
        return Alignment(source, self.row_labels()[rows.start : rows.stop], weights, "predicted", positions, False)

    def _rows_about_words(self) -> range:
        """The rows that are about a target word, rather than about the end symbol or the start."""
        rows = len(self.target)
        return range(rows - self.target_end) if self.convention == "predicted" else range(1, rows)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain lists, strings and numbers; `from_json` gives back the same bits."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": self.weights.tolist(),
            "convention": self.convention,
            "source_positions": list(self.source_positions),
            "target_end": self.target_end,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Alignment:
        """What `to_json` wrote.

        Raises:
            DataError: a part is missing or is no matrix of numbers.
            SizeError: the parts do not fit together.
        """
        try:
            source, target = tuple(value["source"]), tuple(value["target"])
            weights = np.array(value["weights"], dtype=np.float64)
            convention, positions, end = value["convention"], value["source_positions"], value["target_end"]
        except KeyError as error:
            raise DataError(f"alignment as JSON: expected the key {error.args[0]!r}, got {sorted(value)}") from error
        except (TypeError, ValueError) as error:
            raise DataError(f"alignment as JSON: expected lists of labels and a matrix of numbers; {error}") from error
        if not weights.size:  # an empty list does not tell how many columns it has none of
            weights = weights.reshape(len(target), len(source))
        return cls(source, target, weights, convention, tuple(positions), end)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alignment) and self.to_json() == other.to_json()
