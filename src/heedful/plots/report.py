"""Many alignments as one HTML file that needs nothing else: no network, no server, no other file.

A report's numbers are JSON in its ``<script id="data" type="application/json">``; `load_report` reads them back.

=========  =============================================================================================
key        holds
=========  =============================================================================================
format     ``"heedful report"``
version    1
title      one line
facts      list of [name, value]: what is told at the head of the page
measures   list of [name, meaning], of `heedful.alignment.MEASURES`
ramps      ``{"light": ..., "dark": ...}``: 256 colours of three bytes each, in base64
pairs      list of ``{"line", "source", "given", "maps"}``; ``given`` is null where there was no target
=========  =============================================================================================

Each of ``maps`` is ``{"caption", "text", "score", "source", "positions", "target", "convention", "end", "weights",
"entropy", "peaks", "measures"}``: labels as in `Alignment`; ``weights`` (T, S) and ``entropy`` (T) packed by
`heedful.plots.packing`; ``peaks`` a column for each row, or -1; ``measures`` in the order of the names, null where a
measure is not defined. Where there is a picture of the source, ``spans`` from where to where columns lie, or null, and
``picture``: ``{"kind", "end", "unit", "frequencies", "shape", "range", "levels", "shown", "cells"}``: its values, from
the least to the largest of ``range``, packed in ``levels``; which of those are shown as the least and the largest;
and from where to where each column of the weights is drawn, as shares of the width.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.alignment import MEASURES, Alignment, measure
from heedful.alignment.measures import row_entropies
from heedful.errors import DataError
from heedful.files import write_atomically
from heedful.plots.packing import pack, unpack
from heedful.plots.page import page, part, ramps
from heedful.plots.picture import Picture

_FORMAT, _VERSION = "heedful report", 1
_SCRIPTS = ("data.js", "picture.js", "heatmap.js", "page.js")
_DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Map:
    """One heat map.

    Attributes:
        alignment: its labels and weights.
        text: the target that was written, as text.
        caption: whose it is: the run, the place among several answers. Maps of different pairs with one caption are
            compared with each other.
        score: of the target, in nats; None where there is none.
        picture: what the source is, where it is no text.
    """

    alignment: Alignment
    text: str = ""
    caption: str = ""
    score: float | None = None
    picture: Picture | None = None


@dataclass(frozen=True)
class Entry:
    """One source with the heat maps that are shown side by side.

    Attributes:
        line: where it stands in its file, from 1.
        source: as text.
        given: the target of the file, if there is one.
        maps: one or more.
    """

    line: int
    source: str
    given: str | None
    maps: tuple[Map, ...]


@dataclass(frozen=True)
class Report:
    """What a page shows.

    Attributes:
        title: one line.
        facts: what a reader must know, as (name, value): which run, which data, how it was made.
        entries: one for each source.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]

    @property
    def alignments(self) -> list[Alignment]:
        """All of them, in order."""
        return [one.alignment for entry in self.entries for one in entry.maps]


def save_report(report: Report, path: str | os.PathLike[str], *, theme: str | None = None) -> None:
    """Write `report` as one HTML file; it is whole or not there, and the same report is the same file.

    Weights are rounded to 1/255. The health checks of `heedful.alignment.measure` are made here, of the weights as they
    are.

    Args:
        theme: ``"light"`` or ``"dark"``: the colours at first. Without it they are as the reader's system has them.

    Raises:
        DataError: there is no such theme.
        SizeError: a weight is not from 0 to 1.
        RunError: the file cannot be written.
    """
    style, script = part("report.css"), "".join(part(name) for name in _SCRIPTS)
    write_atomically(
        path, page(part("report.html"), _data(report), title=report.title, style=style, script=script, theme=theme)
    )


def load_report(path: str | os.PathLike[str]) -> Report:
    """The values of a report that `save_report` wrote, its weights to 1/510.

    Raises:
        DataError: no such file, or it is no report of this version.
    """
    try:
        with open(path, encoding="utf-8") as file:
            found = _DATA.search(file.read())
        data = json.loads(found[1]) if found else {}
    except (OSError, ValueError) as error:
        raise DataError(f"{os.fspath(path)}: cannot be read as a report: {error}") from None
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (_FORMAT, _VERSION):
        raise DataError(f"{os.fspath(path)}: expected a report of heedful, version {_VERSION}")
    try:
        facts = tuple((name, value) for name, value in data["facts"])
        return Report(data["title"], facts, tuple(map(_read_entry, data["pairs"])))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{os.fspath(path)}: expected a report of heedful; it is damaged: {error}") from None


def _data(report: Report) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "title": report.title,
        "facts": [list(fact) for fact in report.facts],
        "measures": [list(item) for item in MEASURES.items()],
        "ramps": ramps(),
        "pairs": [
            {
                "line": entry.line,
                "source": entry.source,
                "given": entry.given,
                "maps": [map_data(one) for one in entry.maps],
            }
            for entry in report.entries
        ],
    }


def map_data(one: Map) -> dict[str, Any]:
    """What a page's script draws a heat map from: one of ``maps``, as described above."""
    alignment, by_row = one.alignment, dict(one.alignment.peaks())
    measures = measure(alignment)
    return {
        "caption": one.caption,
        "text": one.text,
        "score": None if one.score is None else round(one.score, 6),
        "source": alignment.source,
        "positions": alignment.source_positions,
        "target": alignment.target,
        "convention": alignment.convention,
        "end": alignment.target_end,
        "weights": pack(alignment.weights),
        "entropy": pack(entropies(alignment)),
        "peaks": [by_row.get(row, -1) for row in range(len(alignment.target))],
        "measures": [round(measures[name], 4) if np.isfinite(measures[name]) else None for name in MEASURES],
        **({} if one.picture is None else _picture(one.picture, alignment)),
    }


def _picture(picture: Picture, alignment: Alignment) -> dict[str, Any]:
    low, high = float(picture.values.min()), float(picture.values.max())
    shares = (picture.values - low) / (high - low) if high > low else np.zeros_like(picture.values)
    return {
        "spans": alignment.source_spans,
        "picture": {
            "kind": picture.kind,
            "end": picture.length,
            "unit": picture.unit,
            "frequencies": picture.frequencies,
            "shape": picture.values.shape,
            "range": [low, high],
            "levels": pack(shares),
            "shown": [
                round((bound - low) / (high - low), 4) if high > low else place
                for place, bound in enumerate(picture.shown_range())
            ],
            "cells": [[round(place / picture.length, 6) for place in cell] for cell in picture.cells(alignment)],
        },
    }


def entropies(alignment: Alignment) -> np.ndarray:
    """(T) the entropy of each row, from 0, one position or no weight, to 1, all alike; of rows over their sums."""
    sums = alignment.weights.sum(axis=1, keepdims=True)
    rows = np.divide(alignment.weights, sums, out=np.zeros_like(alignment.weights), where=sums > 0)
    return np.clip(row_entropies(rows), 0.0, 1.0)  # rounding may pass either end


def _read_entry(value: Mapping[str, Any]) -> Entry:
    maps = tuple(
        Map(_read_alignment(one), one["text"], one["caption"], one["score"], _read_picture(one.get("picture")))
        for one in value["maps"]
    )
    return Entry(value["line"], value["source"], value["given"], maps)


def _read_alignment(value: Mapping[str, Any]) -> Alignment:
    source, target = value["source"], value["target"]
    weights = unpack(value["weights"], (len(target), len(source)))
    spans = value.get("spans")
    return Alignment(source, target, weights, value["convention"], value["positions"], value["end"], spans)


def _read_picture(value: Mapping[str, Any] | None) -> Picture | None:
    if value is None:
        return None
    low, high = value["range"]
    values = low + (high - low) * unpack(value["levels"], tuple(value["shape"]))
    return Picture(values, value["kind"], value["end"], value["unit"], value["frequencies"])
