"""Tables "paper says / we see", and which of the paper's claims the figures bear out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from reproduction.seen import Seen, rate

from heedful.comparison.statistics import LEVEL, bootstrap, holm

Seeds = Mapping[int, Mapping[str, Seen]]
"""Of one cell: what was seen of each seed's run, by view."""
Cells = Mapping[str, Seeds]


class At(NamedTuple):
    """One figure: a cell's mean over its seeds.

    Attributes:
        cell: its name.
        view: which of those that the study's judge gives.
        lengths: only sources of so many tokens, from the first number to the last.
    """

    cell: str
    view: str = "test"
    lengths: tuple[int, int] | None = None


class Row(NamedTuple):
    """Of a table: texts, such as the paper's figures, and figures of ours."""

    title: str
    columns: tuple[str | At, ...]


class Table(NamedTuple):
    """Heads of columns, the first that of the rows' titles."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]


class Claim(NamedTuple):
    """A sentence of a paper that can be tested.

    Attributes:
        says: what it claims, in words.
        paper: its figures.
        contrast: a sum of figures, each with its factor, in the points of their rate.
        expected: where the contrast should lie, seen from 0.
        margin: with "about": how far from 0 it may be.
    """

    says: str
    paper: str
    contrast: tuple[tuple[float, At], ...]
    expected: Literal["above", "below", "about"] = "above"
    margin: float = 0.0


class Found(NamedTuple):
    """A contrast with its 95 % interval, and the probability that a difference of 0 would have looked so."""

    value: float
    low: float
    high: float
    chance: float


def difference(more: At, less: At) -> tuple[tuple[float, At], ...]:
    """The contrast `more` - `less`."""
    return ((1.0, more), (-1.0, less))


def render(tables: Sequence[Table], claims: Sequence[Claim], cells: Cells) -> str:
    """Markdown; what has not been trained yet is a dash, or "not run"."""
    parts = [_render_table(table, cells) for table in tables]
    if claims:
        parts.append(_render_claims(claims, cells))
    if signatures := sorted({seen.signature for seen in _all(cells)}):
        parts.append("\n".join(f"- `{one.replace('|', chr(92) + '|')}`" for one in signatures))
    return "\n\n".join(parts)


def _render_table(table: Table, cells: Cells) -> str:
    lines = [_line(table.heads), _line(["---"] * len(table.heads))]
    for row in table.rows:
        lines.append(_line([row.title, *(one if isinstance(one, str) else figure(one, cells) for one in row.columns)]))
    return "\n".join(lines)


def _line(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |"


def figure(at: At, cells: Cells) -> str:
    """The mean over seeds, and their standard deviation where there are several."""
    values = [float(rate(seen.rate)(_sums(seen, at).sum(0))) for seen in _of(at, cells)]
    if not values:
        return "—"
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def _of(at: At, cells: Cells) -> list[Seen]:
    """By seed."""
    return [views[at.view] for _, views in sorted(cells.get(at.cell, {}).items()) if at.view in views]


def _sums(seen: Seen, at: At) -> np.ndarray:
    sums = np.array(seen.sums, dtype=np.float64)
    if at.lengths is None:
        return sums
    low, high = at.lengths
    lengths = np.array(seen.lengths)
    return sums[(low <= lengths) & (lengths <= high)]


def _render_claims(claims: Sequence[Claim], cells: Cells) -> str:
    found = [contrast(claim.contrast, cells) for claim in claims]
    tested = [place for place, claim in enumerate(claims) if found[place] is not None and claim.expected != "about"]
    adjusted = dict(zip(tested, holm([found[place].chance for place in tested]), strict=True))  # pyright: ignore
    lines = [_line(["the paper says", "its figures", "we see, 95 % interval", ""]), _line(["---"] * 4)]
    for place, (claim, one) in enumerate(zip(claims, found, strict=True)):
        if one is None:
            lines.append(_line([claim.says, claim.paper, "not run", ""]))
            continue
        told = f"{one.value:+.1f} ({one.low:+.1f} to {one.high:+.1f})"
        lines.append(_line([claim.says, claim.paper, told, verdict(claim, one, adjusted.get(place, 1.0))]))
    return "\n".join(lines)


def verdict(claim: Claim, found: Found, chance: float) -> str:
    """Whether the figures bear the claim out; `chance` is the adjusted one. "About" goes by the interval alone."""
    if claim.expected == "about":
        if -claim.margin <= found.low and found.high <= claim.margin:
            return "agrees"
        return (
            "contrary" if min(abs(found.low), abs(found.high)) > claim.margin and found.low * found.high > 0 else "open"
        )
    if chance >= LEVEL:
        return "open"
    return "agrees" if (found.value > 0) == (claim.expected == "above") else "contrary"


def contrast(parts: Sequence[tuple[float, At]], cells: Cells) -> Found | None:
    """Drawn over sources and seeds: see `heedful.comparison.statistics`. None where something has not been trained.

    Figures of the same sources are drawn together, so that what is hard is hard for all of them.
    """
    value, draws = 0.0, np.zeros(1)
    for place, group in enumerate(_grouped(parts)):
        seen = [_of(at, cells) for _, at in group]
        if not all(seen):
            return None
        sums = [np.stack([_sums(one, at) for one in each]) for each, (_, at) in zip(seen, group, strict=True)]
        values, drawn = bootstrap(sums, rate(seen[0][0].rate), seed=place + 1)
        factors = np.array([factor for factor, _ in group])
        value, draws = value + float(values @ factors), draws + drawn @ factors
    low, high = np.quantile(draws, (LEVEL / 2, 1 - LEVEL / 2))
    other = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return Found(value, float(low), float(high), min(1.0, 2 * (other + 1) / (len(draws) + 1)))


def _grouped(parts: Sequence[tuple[float, At]]) -> Iterator[list[tuple[float, At]]]:
    """Those that are about the same sources, together."""
    for lengths in dict.fromkeys(at.lengths for _, at in parts):
        yield [(factor, at) for factor, at in parts if at.lengths == lengths]


def _all(cells: Cells) -> Iterator[Seen]:
    for seeds in cells.values():
        for views in seeds.values():
            yield from views.values()
