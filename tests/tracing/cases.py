"""Traces of tiny models with random weights, over one sentence with a tag and an end symbol."""

from __future__ import annotations

from typing import Any

from heedful.data.codec import Encoded
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from heedful.tracing import Trace
from heedful.tracing.follow import follow
from model.cases import SIZES, make

SOURCE = Encoded(
    ids=[5, 11, 7, 23, 11, 3, 28, Vocabulary.END],
    positions=[0, 1, 2, 3, 4, 5, 6, 0],
    labels=["[tag]", "k", "n", "i", "n", "h", "t", "∎"],
    segments=[0, 1, 1, 2, 2, 2, 3, 0],
)
REVERSED = Encoded(
    ids=[5, 28, 3, 11, 23, 7, 11, Vocabulary.END],
    positions=[0, 6, 5, 4, 3, 2, 1, 0],
    labels=["[tag]", "t", "h", "n", "i", "n", "k", "∎"],
    segments=[0, 1, 2, 2, 2, 3, 3, 0],
)
SYMBOLS = [7, 19, 3, 22, Vocabulary.END]
TARGET = ["N", "AY", "?", "T", "∎"]
VOCABULARY = ["(pad)", "(start)", "∎", "?", *(f"y{number}" for number in range(4, SIZES["target_vocabulary_size"]))]


def trace_of(model: Model, *, step: int = 2, source: Encoded = SOURCE, dtype: str = "float64", **given: Any) -> Trace:
    """Step `step` of writing SYMBOLS."""
    return follow(model, source, SYMBOLS, step=step, target=TARGET, vocabulary=VOCABULARY, dtype=dtype, **given)  # type: ignore


def traced(*, step: int = 2, source: Encoded = SOURCE, **options: Any) -> Trace:
    """The same, of a model of these parts."""
    return trace_of(make(**options), step=step, source=source)
