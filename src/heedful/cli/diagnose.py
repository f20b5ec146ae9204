"""A diagnosis as a screen of text."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heedful.diagnosis import Diagnosis

_WIDTH = 100

_SHOWN = {
    "entropy": "spread of a row: 0 one position, 1 all alike",
    "focus": "largest weight of a row",
    "row_difference": "rows differ from their mean by: 0 always the same row",
    "one_position": "of all weight, on the one most attended position",
    "empty_rows": "target words whose row has no weight at all",
    "on_end": "on the source's end symbol",
    "on_first": "on its first word",
    "on_padding": "on padding: must be 0",
    "monotonicity": "steps that do not go back (low where the task has another order)",
    "diagonality": "weight near the diagonal (the same)",
    "unattended": "source words that get nearly nothing",
    "overattended": "source words that get more than three fair shares",
    "gain_over_uniform": "nats a token lost with uniform weights",
    "gain_over_shuffled": "... with another sentence's weights",
    "gain_over_argmax": "... with the largest weight alone",
    "gain_over_other_context": "... with another sentence's states under the weights",
    "context_share": "of the gradient, through contexts; the rest by the first state",
    "fit_predicted": "most attended word is the one that the written word needs",
    "fit_input": "... that the word just read needs",
    "early_error": "wrong tokens in first halves of long answers",
    "late_error": "... in second halves",
    "repeats": "threes of tokens that come again there",
    "skips": "tokens left out there",
    "early_stops": "answers that stop early",
    "overruns": "answers that do not end",
    "aer": "alignment error rate against gold, percent",
    "aer_predicted": "... rows read as about the word that is written",
    "aer_input": "... as about the word that was read",
    "aligner_agreement": "F1 against the aligner's links, percent",
    "aligner_mass": "weight on the words that the aligner links, percent",
    "same_part_of_speech": "links between words of one part of speech, percent",
    "same_by_chance": "... by chance",
}
"""What is shown, with a word on each; --json has all."""


def diagnosis_text(found: Diagnosis) -> str:
    """The verdict with its evidence and advice, the measures, errors by length, the sweep."""
    collapsed = "late_collapse" in (found.verdict.name, *found.verdict.also)
    blocks = [
        _verdict(found),
        _measures(found.measures, collapsed=collapsed),
        _table(_LENGTHS, [row._asdict() for row in found.by_length]),
    ]
    if found.sweep:
        blocks.append(_table(_SWEEP, [row._asdict() for row in found.sweep]))
    return "\n\n".join("\n".join(block) for block in blocks)


def diagnosis_json(found: Diagnosis) -> str:
    """All of it on one line."""
    return json.dumps(found.as_json(), ensure_ascii=False)


def _verdict(found: Diagnosis) -> list[str]:
    verdict = found.verdict
    lines = [f"{verdict.name.replace('_', ' ')} (certainty: {verdict.sure})", *_wrapped(verdict.says)]
    healthy = verdict.name == "healthy"
    for evidence in verdict.evidence[:2] if healthy else verdict.evidence:
        state = "a fault would be" if healthy else "a fault is"
        lines.append(f"  {evidence.measure} = {_number(evidence.value)}; {state} {evidence.limit}")
    if verdict.also:
        lines.append(f"  also: {', '.join(name.replace('_', ' ') for name in verdict.also)}")
    for advice in verdict.advice:
        lines += _wrapped(advice, first="- try: " if advice == verdict.advice[0] else "-      ", rest="       ")
    lines.append(f"{found.pairs} pairs; rows are said to be about the {found.convention} word")
    return lines


def _wrapped(text: str, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


_OF_COLLAPSE = ("repeats", "skips", "early_stops", "overruns")


def _measures(measures: Mapping[str, float], *, collapsed: bool) -> list[str]:
    """Those that are defined, and of use here."""
    idle = {*(() if collapsed else _OF_COLLAPSE), *(() if measures.get("empty_rows") else ("empty_rows",))}
    return [
        f"{name:24}{_number(measures[name]):>8}  {meaning}"
        for name, meaning in _SHOWN.items()
        if name in measures and measures[name] == measures[name] and name not in idle
    ]


_LENGTHS = {
    "source length": lambda row: "-".join(dict.fromkeys((str(row["shortest"]), str(row["longest"])))),
    "pairs": lambda row: str(row["pairs"]),
    "sequence error %": lambda row: f"{row['sequence_error']:.1f}",
    "token error %": lambda row: f"{row['token_error']:.1f}",
}
_SWEEP = {
    "temperature": lambda row: f"{row['temperature']:g}",
    "sequence error %": lambda row: f"{row['sequence_error']:.1f}",
    "token error %": lambda row: f"{row['token_error']:.1f}",
    "loss": lambda row: f"{row['loss']:.4f}",
    "entropy": lambda row: _number(row["entropy"]),
    "AER %": lambda row: "-" if row["aer"] != row["aer"] else f"{row['aer']:.1f}",
}


def _table(columns: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    cells = [list(columns), *([show(row) for show in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]


def _number(value: float) -> str:
    """Three digits that matter; what is next to nothing as a power of ten."""
    if value != value:
        return "-"
    return f"{value:.3f}" if value == 0 or abs(value) >= 5e-4 else f"{value:.0e}"
