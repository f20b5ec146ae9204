"""``heedful.look``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Unpack

from heedful import __version__
from heedful.alignment.files import JSON_LINES, NPZ
from heedful.api.run import Run, Runs, loaded
from heedful.api.sides import Lines, Side, Wanted, of_file, of_run, source_words, spelled
from heedful.errors import DataError, RecipeError, RunError, excerpt
from heedful.notes import Message, few
from heedful.options import EnsembleAverage, SearchOptions
from heedful.plots import save_many
from heedful.plots.colours import theme_of
from heedful.plots.heatmap import SUFFIXES
from heedful.plots.report import Entry, Map, Report, save_report
from heedful.predictor import Progress

MOST_MAPS = 24
"""On one picture; a report has no limit."""


def look(
    run: Run | Runs,
    pairs: str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str],
    line: int | str | Iterable[int | str] = (),
    source: str | None = None,
    target: str | None = None,
    n_best: int | None = None,
    against: Run | Runs | None = None,
    theme: Literal["light", "dark"] | None = None,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    progress: Progress | None = None,
    message: Message | None = None,
    **search: Unpack[SearchOptions],
) -> Report:
    """Draw where the model looks: heat maps as PNG or SVG, or one self-contained HTML report that needs no network.

    The given targets are what is written (forced decoding). Where there are none, or with `n_best`, it is the model's
    own answers. Where sources are sound, pictures or vectors, what the model gets of each is drawn over its heat map.

    Args:
        run: as in `heedful.predict`; or a file of alignments: see `heedful.alignment.load_alignments`.
        pairs: as in `heedful.train`; sources without targets will do. Not for a file of alignments.
        out: the file to write, ``.png``, ``.svg`` or ``.html``. A picture holds 24 heat maps, a report all of them.
        line: which lines of `pairs`, from 1: ``7``, ``"3,7-9"``, or a list of such. All by default.
        source: a text to look at in place of `pairs`.
        target: what is written for it.
        n_best: show so many answers of the search side by side; the given targets stand beside them as text.
        against: a second run, or file of alignments, that is shown beside the first on the same pairs.
        theme: colours of the picture, light by default; a report follows the reader's system unless this is given.
        batch_size: as in `heedful.predict`, as the next one.
        ensemble_average: see there.
        progress: called with the number of sentences just done.
        message: called with what a person should know: symbols never seen in training, lines skipped, lines that only
            one side has, lines that a picture has no room for.
        search: as in `heedful.predict`; where targets are given only ``attention_temperature`` and what else is in
            `heedful.options.ScoringOptions`.

    Returns:
        What was drawn, its alignments with them.

    Raises:
        RunError: a run cannot be loaded, its model has no attention, or the file cannot be written.
        DataError: the pairs cannot be read, there is no such line, `out` has another suffix, or the two sides have
            different sources on a line.
        RecipeError: an option is unknown or does not fit.
        SizeError: a picture of so many tokens could not be read; a report can.

    Warns:
        MissingGlyphWarning, SmallCellsWarning: see `heedful.plots.save`.
    """
    suffix = _check_out(out)
    theme_of(theme or "light")
    _check_texts(pairs, source, target)
    _check(run, against, pairs, source, target, n_best, search)
    if target is not None and n_best is not None and suffix != ".html":
        raise DataError(f"{out}: a picture shows answers or the target: leave n_best or target out, or write .html")
    most = None if suffix == ".html" else max(1, MOST_MAPS // (max(n_best or 1, 1) * (1 if against is None else 2)))
    compared = against is not None
    lines = Lines.of(line)
    wanted = Wanted(pairs, lines, source, target, n_best, batch_size, search, most, compared, progress, message)
    sides = [_side(one, ensemble_average, wanted) for one in (run, against) if one is not None]
    _tell_of_unshared(sides, message)
    report = _together(sides, wanted)
    if suffix == ".html":
        save_report(report, out, theme=theme)
    else:
        _save_picture(report, out, theme or "light")
        _tell_of_rest(report, sides, out, message)
    return report


def _check_out(out: str | os.PathLike[str]) -> str:
    """The suffix; what could not be written is refused before any work."""
    if not isinstance(out, str | os.PathLike):
        raise DataError(f"out: expected the name of a file, got {excerpt(out)}")
    suffix, folder = Path(out).suffix.lower(), Path(out).parent
    if os.path.isdir(out):
        raise RunError(f"{out}: cannot be written: it is a folder; expected a file .png, .svg or .html")
    if suffix not in (*SUFFIXES, ".html"):
        raise DataError(f"{out}: expected a file .png, .svg or .html to write, got the suffix {suffix!r}")
    if not folder.is_dir():
        raise RunError(f"{out}: cannot be written: there is no folder {str(folder)!r}")
    return suffix


def _is_file(run: Any) -> bool:
    return isinstance(run, str | os.PathLike) and os.path.isfile(run)


def _check_texts(pairs: Any, source: Any, target: Any) -> None:
    if pairs is not None and not isinstance(pairs, str | os.PathLike):
        raise DataError(f"pairs: expected a file or a built-in corpus, got {excerpt(pairs)}; a text is given as source")
    for name, text in (("source", source), ("target", target)):
        if text is not None and not isinstance(text, str):
            raise DataError(f"{name}: expected one text, got {excerpt(text)}")


def _check_there(run: Any) -> None:
    """Whether what is named like a file of alignments is there: it would be taken for a run."""
    named = isinstance(run, str | os.PathLike) and os.fspath(run).lower().endswith((*JSON_LINES, *NPZ))
    if named and not os.path.exists(run):
        raise DataError(f"no such file: {os.fspath(run)!r}")


def _check(
    run: Run | Runs,
    against: Run | Runs | None,
    pairs: str | os.PathLike[str] | None,
    source: str | None,
    target: str | None,
    n_best: int | None,
    search: SearchOptions,
) -> None:
    """Refuse arguments that are of no use together."""
    _check_there(run)
    _check_there(against)
    if target is not None and source is None:
        raise DataError("a target needs its source: give both, or pairs")
    if pairs is not None and source is not None:
        raise DataError("expected pairs or a source to look at, got both")
    given = pairs is not None or source is not None
    if all(_is_file(one) for one in (run, against) if one is not None):
        if given or n_best is not None:
            raise DataError(f"{run}: is a file of alignments, and shown as it is: it takes no pairs, source or n_best")
        if options := [name for name, value in search.items() if value is not None]:
            raise RecipeError(f"{options[0]} is of no use to a file of alignments")
    elif not given:
        raise DataError("expected pairs or a source to look at, got neither")


def _side(run: Run | Runs, ensemble_average: EnsembleAverage, wanted: Wanted) -> Side:
    if isinstance(run, str | os.PathLike) and _is_file(run):
        return of_file(run, wanted)
    return of_run(loaded(run, ensemble_average), wanted)


def _together(sides: list[Side], wanted: Wanted) -> Report:
    """One page of what one or two runs show, line by line; a line that only one can show is left out.

    Raises:
        DataError: they have different sources on a line, or there is nothing to draw.
    """
    first, others = sides[0], sides[1:]
    shared = [line for line in first.entries if all(line in other.entries for other in others)]
    names = [side.name for side in sides]
    if len(set(names)) < len(names):  # runs/1/best and runs/2/best
        names = [f"{name} ({place})" for place, name in enumerate(names, start=1)]
    entries = []
    for line in shared:
        _check_same(line, [side.entries[line] for side in sides], names)
        maps = [
            Map(one.alignment, one.text, _caption(name, one.caption) if others else one.caption, one.score, one.picture)
            for name, side in zip(names, sides, strict=True)
            for one in side.entries[line].maps
        ]
        if maps:
            entries.append(Entry(line, first.entries[line].source, first.entries[line].given, tuple(maps)))
    if not entries:
        both = f" that both {' and '.join(names)} have" if others else ""
        raise DataError(f"expected at least one pair with something to draw{both}, got none")
    return Report(_title(names, wanted), _facts(sides, names, entries), tuple(entries))


def _check_same(line: int, entries: list[Entry], names: list[str]) -> None:
    """Refuse to show two different sentences as one."""
    readings = [
        {spelled(entry.source), *(spelled("".join(source_words(one.alignment))) for one in entry.maps)}
        for entry in entries
    ]
    if not set.intersection(*readings):
        found = ", ".join(f"{excerpt(entry.source)} in {name}" for entry, name in zip(entries, names, strict=True))
        raise DataError(f"line {line}: expected one source on both sides, got {found}")


def _unshared(sides: list[Side]) -> frozenset[int]:
    """The wanted lines that only one side has."""
    wanted = [side.wanted for side in sides]
    return frozenset.union(*wanted) - frozenset.intersection(*wanted)


def _tell_of_unshared(sides: list[Side], message: Message | None) -> None:
    if message is not None and (lines := sorted(_unshared(sides))):
        message(f"left out, because only one side has them: {len(lines):,} lines: {few(_spans(lines).split(','))}")


def _caption(name: str, answer: str) -> str:
    return f"{name}, {answer}" if answer else name


def _title(names: list[str], wanted: Wanted) -> str:
    name = " and ".join(names)
    if wanted.source is not None:
        return wanted.source if len(names) == 1 else f"{name} on {wanted.source}"
    return name if wanted.pairs is None else f"{name} on {os.fspath(wanted.pairs)}"


def _facts(sides: list[Side], names: list[str], entries: list[Entry]) -> tuple[tuple[str, str], ...]:
    """What both say once, what differs under the run's name, and the counts."""
    common = [fact for fact in sides[0].facts if all(fact in side.facts for side in sides)]
    own = [
        (key if len(sides) == 1 else f"{key}, {name}", value)
        for name, side in zip(names, sides, strict=True)
        for key, value in side.facts
        if len(sides) > 1 and (key, value) not in common
    ]
    maps = sum(len(entry.maps) for entry in entries)
    counts = f"{len(entries):,} of {sides[0].lines:,} lines" + (f", {maps:,} heat maps" if maps > len(entries) else "")
    unshared = len(_unshared(sides))
    left = (("left out", f"{unshared:,} lines that only one side has"),) if unshared else ()
    return (*own, *common, ("shown", counts), *left, ("heedful", __version__))


def _save_picture(report: Report, out: str | os.PathLike[str], theme: str) -> None:
    """All maps on one page: those of a pair in a row of their own, if there are as many of each."""
    maps = [(entry, one) for entry in report.entries for one in entry.maps]
    widths = {len(entry.maps) for entry in report.entries}
    columns = max(widths) if len(widths) == 1 and max(widths) > 1 else None
    several = len(report.entries) > 1
    titles = [", ".join(filter(None, [f"line {entry.line}" if several else "", one.caption])) for entry, one in maps]
    save_many(
        [one.alignment for _, one in maps],
        out,
        titles=[title or None for title in titles],
        columns=columns,
        theme=theme,
        pictures=[one.picture for _, one in maps],
    )


def _tell_of_rest(report: Report, sides: list[Side], out: str | os.PathLike[str], message: Message | None) -> None:
    shown = set.intersection(*(set(side.entries) for side in sides))
    left = len(frozenset.intersection(*(side.wanted for side in sides)) - shown)
    if message is not None and left:
        lines = _spans([entry.line for entry in report.entries])
        message(
            f"{out} shows lines {lines} and has no room for {left:,} more; write a report (.html) for all, "
            "or choose with line"
        )


def _spans(lines: list[int]) -> str:
    """Ascending numbers as ``--line`` takes them: 3,7-9."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
