"""A trace as text for people.

Numbers of one table have as many decimals as give its largest one `digits` significant digits. What is too long is cut,
which three dots show: rows of numbers without labels to their first 5 and last 2 (9 or fewer are whole), rows with a
number for each source token to their first 16 and last 7, tables to their first 5 and last 2 lines; of target symbols
the 6 most probable are shown.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from heedful.tracing.trace import Array, Quantity, Trace

WIDTH = 100
BEST = 6
_OVER_VOCABULARY = ("logits", "probabilities")
_WHOLE = 16 + 7 + 2  # labelled numbers that are not cut
_OUTSIDE_BRACKETS = re.compile(r"; (?![^\[]*\])")


def as_text(trace: Trace, *, digits: int = 3, with_weights: bool = False) -> str:
    """The whole trace, with the model's weights behind it if they are asked for."""
    lines = [*_head(trace)]
    section = ""
    for quantity in trace.quantities:
        if quantity.section != section:
            section = quantity.section
            lines += ["", section, "=" * len(section)]
        lines += ["", *_quantity(trace, quantity, digits)]
    if with_weights:
        lines += ["", "Weights", "======="]
        for letter, value in trace.weights.items():
            lines += ["", f"{letter} {_shape(value.shape)}", *_numbers(value, (None,) * value.ndim, digits)]
    return "\n".join([*lines, "", *_verdict(trace)])


def _head(trace: Trace) -> list[str]:
    read = "(start)" if trace.step == 1 else trace.target[trace.step - 2]
    attention, others = (
        ", ".join(f"{name} {trace.parts[name]}" for name in names if name in trace.parts)
        for names in (("fusion", "score", "scope", "normaliser"), ("cell", "start", "readout"))
    )
    return [
        f"Step {trace.step} of {len(trace.target)}: reads {read}, writes {trace.target[trace.step - 1]}",
        f"  source  {_cut_words(trace.source)}",
        f"  target  {_cut_words(trace.target)}  ({'as given' if trace.forced else 'the greedy answer'})",
        f"  parts   {attention}",
        f"          {others}",
        f"  numbers {trace.dtype}",
        *(f"  note    {note}" for note in trace.notes),
    ]


def _cut_words(words: Sequence[str]) -> str:
    return " ".join(_cut(words, 32, 7))


def _cut(items: Sequence[str], first: int, last: int) -> list[str]:
    """All of them, or the first and the last with dots between, if that makes it shorter."""
    return list(items) if len(items) <= first + last + 2 else [*items[:first], "...", *items[len(items) - last :]]


def _shape(shape: tuple[int, ...]) -> str:
    return f"({' x '.join(map(str, shape))})" if shape else "(a number)"


def _quantity(trace: Trace, quantity: Quantity, digits: int) -> list[str]:
    equation = quantity.equation
    if not equation.startswith((f"{quantity.letter} =", f"{quantity.letter}, ")) and equation != quantity.letter:
        equation = f"{quantity.letter}: {equation}"
    about = ", ".join(filter(None, [f"{quantity.name} {_shape(quantity.shape)}", quantity.source]))
    if quantity.difference is not None:
        agrees = quantity.agrees(trace.tolerance)
        off = f"{quantity.difference:.0e}" if quantity.difference else "equal"
        about += f"; NumPy: {off}" if agrees else f"; NUMPY DISAGREES by {off}"
    return [
        *(("    " if number else "") + part for number, part in enumerate(_OUTSIDE_BRACKETS.split(equation))),
        f"  [{about}]",
        *_numbers(quantity.value, quantity.axes, digits, best=quantity.name in _OVER_VOCABULARY),
    ]


def _numbers(value: Array, axes: Sequence[tuple[str, ...] | None], digits: int, *, best: bool = False) -> list[str]:
    """The lines of a table; of a labelled row all in order, or only the largest, best first."""
    labels = axes[0] if value.ndim else None
    write = _writer(value, digits)
    if value.ndim == 0:
        return [f"    {write(value.item())}"]
    if value.ndim == 1 and labels is None:
        return [_row(value, write)]
    if value.ndim == 1 and labels is not None:
        order: Sequence[int] = range(len(labels))
        if best:
            order = np.argsort(-value, kind="stable")[:BEST].tolist()
        lines = _labelled([labels[place] for place in order], [write(value[place].item()) for place in order])
        if len(order) > _WHOLE and value.dtype.kind == "f":  # it may be among those that are cut
            most = int(value.argmax())
            lines.append(f"    the largest: {write(value[most].item()).strip()} at {labels[most]}, number {most + 1}")
        return lines
    names = list(labels) if labels is not None else [str(number) for number in range(1, len(value) + 1)]
    wide = max(map(_columns, names), default=0)
    rows = [f"    {_pad(name, wide)}{_row(row, write)}" for name, row in zip(names, value, strict=True)]
    return ["    ..." if row == "..." else row for row in _cut(rows, 5, 2)]


def _row(row: Array, write: Callable[[float], str]) -> str:
    values = [write(each) for each in row.tolist()]
    return "    " + " ".join(_cut(values, 5, 2))


def _labelled(labels: Sequence[str], values: Sequence[str]) -> list[str]:
    """Labels above numbers, in as many lines as it takes."""
    columns = list(zip(_cut(labels, 16, 7), _cut(values, 16, 7), strict=True))
    wide = max(_columns(cell) for column in columns for cell in column) + 2
    a_line = max(1, (WIDTH - 4) // wide)
    lines = []
    for start in range(0, len(columns), a_line):
        for row in zip(*columns[start : start + a_line], strict=True):
            lines.append("    " + "".join(_pad(cell, wide) for cell in row))
    return lines


def _writer(value: Array, digits: int) -> Callable[[float], str]:
    """How the numbers of one table are written, all with the same width."""
    if value.dtype.kind in "bui":
        wide = max((len(str(int(each))) for each in value.flat), default=1)
        return lambda number: f"{int(number):{wide}d}"
    finite = value[np.isfinite(value)]
    largest = float(np.abs(finite).max(initial=0.0))
    if largest and not 1e-4 <= largest < 1e6:
        return lambda number: f"{number:{digits + 6}.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(largest)) if largest else digits - 1
    decimals = max(decimals, 0)
    wide = max((len(f"{each:.{decimals}f}") for each in value.flat), default=1)
    return lambda number: f"{number:{wide}.{decimals}f}"


def _columns(text: str) -> int:
    """How wide a terminal shows it."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _pad(text: str, wide: int) -> str:
    return " " * (wide - _columns(text)) + text


def _verdict(trace: Trace) -> list[str]:
    checked = [quantity for quantity in trace.quantities if quantity.recomputed is not None]
    unchecked = [quantity for quantity in trace.quantities if quantity.recomputed is None]
    known = ("source symbols", "places", "previous symbol", "written symbol")  # what the step is given
    lines = []
    if wrong := trace.disagreeing:
        lines.append(
            f"{len(wrong)} of {len(checked)} quantities DISAGREE with NumPy, by more than {trace.tolerance:g}:"
        )
        lines += [f"  {each.letter}  {each.name}, by {each.difference:.1e}" for each in wrong]
    else:
        lines.append(
            f"All {len(checked)} quantities agree with NumPy: the largest difference is {trace.difference:.1e}, "
            f"at most {trace.tolerance:g} is allowed."
        )
    if missing := [quantity.name for quantity in unchecked if quantity.name not in known]:
        lines.append(f"Not recomputed, for want of a formula: {', '.join(missing)}.")
    same = trace.forced_difference <= trace.tolerance
    lines.append(
        f"The model's forced decoding {'gives the same' if same else 'DISAGREES: it gives another'} distribution: "
        f"the largest difference in log-probability is {trace.forced_difference:.1e}."
    )
    return lines
