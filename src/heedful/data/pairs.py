"""Pairs of texts, read from files or built-in corpora; errors name the file, the line and what was wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from heedful.data.lines import BadLine, is_blank
from heedful.data.locations import Row, json_object, open_lines
from heedful.data.texts import Normalisation, normalise
from heedful.errors import DataError

if TYPE_CHECKING:
    from heedful.data.features.reader import Features


class Pair(NamedTuple):
    """A source text, perhaps with a second, and its target, None only where none was needed; `line` counts from 1.

    Where sources are features, `source` is the path that they were read from.
    """

    source: str
    target: str | None
    tags: tuple[str, ...]
    line: int
    features: Features | None = None
    second: str | None = None

    @property
    def asked(self) -> tuple[str | tuple[str, ...], ...]:
        """All that an answer may depend on: two lines with the same of it ask the same."""
        return (self.source, self.tags) if self.second is None else (self.source, self.tags, self.second)


class Corpus(NamedTuple):
    """All pairs of one location, in order, and the bad lines that were left out as (line, reason)."""

    name: str
    pairs: tuple[Pair, ...]
    skipped: tuple[tuple[int, str], ...]


def read_pairs(
    location: str | os.PathLike[str],
    *,
    source_column: int | str = 1,
    target_column: int | str = 2,
    second_source_column: int | str | None = None,
    tag_columns: Sequence[int | str] = (),
    tag_separator: str = ";",
    normalisation: Normalisation = "NFC",
    bad_lines: Literal["error", "skip"] = "error",
    need_target: bool = True,
    source_is_path: bool = False,
) -> Corpus:
    """Read pairs from `location`, all of it in memory.

    Args:
        location: a TSV file; a file of JSON lines (``.jsonl`` or ``.json``, also with ``.gz``); two parallel
            files, ``"SOURCE,TARGET"``; or a built-in corpus with an optional part, ``"cmudict:test"``
            (without: ``train``). An existing file wins over a built-in corpus. Files may be gzipped.
        source_column: column of the source, counted from 1. In JSON lines, a key; there the number 1 stands
            for the key ``"source"`` and 2 for ``"target"``.
        target_column, second_source_column: as `source_column`; None where there is no second source.
        tag_columns: columns (JSON: keys) of tags. JSON lines without it use the key ``"tags"``, if there.
        tag_separator: separates the tags in one cell; an empty cell gives no tags.
        normalisation: the Unicode form that all texts, tags too, are brought into; see `normalise`.
        bad_lines: ``"error"`` raises at the first bad line, ``"skip"`` leaves bad lines out and lists them.
        need_target: False is for sources that are to be answered: a line without target is a Pair whose target
            is None, and a blank line or source is a Pair like any other, wherever it stands.
        source_is_path: sources are names of files, and left in the Unicode form that they have.

    Texts are UTF-8 (one BOM at the start is dropped). Only LF and CR LF end a line, and quotes are ordinary
    characters. A text of white space alone (`str.strip` leaves nothing) is blank. Blank lines at the end of a file
    are ignored; elsewhere they are bad.

    Raises:
        DataError: nothing to read, a bad line, no usable line at all, or a setting that makes no sense.
    """
    location = os.fspath(location)
    if bad_lines not in ("error", "skip"):
        raise DataError(f"bad_lines: expected 'error' or 'skip', got {bad_lines!r}")
    separator = normalise(tag_separator, normalisation)
    columns = (source_column, target_column, second_source_column, tuple(tag_columns))
    choice = _Choice(*columns, separator, normalisation, need_target, source_is_path)
    lines, parse = open_lines(location, choice)
    pairs: list[Pair] = []
    skipped: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        try:
            blank = not need_target and isinstance(line, bytes) and is_blank(line)
            pairs.append(Pair("", None, (), number) if blank else choice.pair(parse(line), number))
        except BadLine as bad:
            if bad_lines == "error":
                raise DataError(f"{bad.path or location}:{number}: {bad.reason}") from None
            skipped.append((number, bad.reason))
    if skipped and not pairs:
        number, reason = skipped[0]
        raise DataError(f"{location}: no usable line: {len(skipped)} bad, the first is line {number}: {reason}")
    return Corpus(location, tuple(pairs), tuple(skipped))


def json_source(
    text: str,
    line: int,
    *,
    place: str,
    source_column: int | str = 1,
    target_column: int | str = 2,
    second_source_column: int | str | None = None,
    tag_columns: Sequence[int | str] = (),
    tag_separator: str = ";",
    normalisation: Normalisation = "NFC",
    source_is_path: bool = False,
) -> Pair:
    """A source to be answered, from the text of one JSON line: what ``read_pairs(..., need_target=False)`` makes of it.

    `place` is what an error calls the line.

    Raises:
        DataError: the text is no JSON object with these keys.
    """
    separator = normalise(tag_separator, normalisation)
    columns = (source_column, target_column, second_source_column, tuple(tag_columns))
    choice = _Choice(*columns, separator, normalisation, False, source_is_path)
    choice.check_keys(f"{place}: JSON lines")
    if not text.strip():
        return Pair("", None, (), line)
    try:
        return choice.pair(json_object(text), line)
    except BadLine as bad:
        raise DataError(f"{place}: {bad.reason}") from None


_KEYS = {1: "source", 2: "target"}


@dataclass(frozen=True)
class _Choice:
    """Which cells of a row make a pair."""

    source: int | str
    target: int | str
    second: int | str | None
    tags: tuple[int | str, ...]
    separator: str
    normalisation: str
    need_target: bool
    source_is_path: bool

    def __post_init__(self) -> None:
        for column in self.columns():
            if isinstance(column, int) and column < 1:
                raise DataError(f"columns count from 1, got column {column}")
        if not self.separator:
            raise DataError("tag_separator: expected one character or more, got an empty string")

    def columns(self) -> tuple[int | str, ...]:
        second = () if self.second is None else (self.second,)
        return (self.source, self.target, *second, *self.tags)

    def check_keys(self, location: str) -> None:
        """Refuse the numbers of columns, where keys are wanted."""
        for column in self.columns():
            if isinstance(column, int) and column not in _KEYS:
                raise DataError(f"{location}: expected the name of a JSON key (or 1: source, 2: target), got {column}")

    def pair(self, row: Row, line: int) -> Pair:
        source = self._text(_cell(row, self.source), "source")
        if not source.strip() and self.need_target:
            raise BadLine("expected a text as source, got a blank")
        return Pair(source, self._target(row), self._tags(row), line, second=self._second(row))

    def _second(self, row: Row) -> str | None:
        if self.second is None:
            return None
        text = self._text(_cell(row, self.second), "second source")
        if not text.strip() and self.need_target:
            raise BadLine("expected a text as second source, got a blank")
        return text

    def _target(self, row: Row) -> str | None:
        try:
            text = self._text(_cell(row, self.target), "target")
        except _Missing:
            if self.need_target:
                raise
            return None
        if text.strip():
            return text
        if self.need_target:
            raise BadLine("expected a text as target, got a blank")
        return None

    def _tags(self, row: Row) -> tuple[str, ...]:
        if isinstance(row, dict) and not self.tags:
            values = [row["tags"]] if row.get("tags") is not None else []
        else:
            values = [_cell(row, column) for column in self.tags]
        tags: list[str] = []
        for value in values:
            for text in value if isinstance(value, list) else self._text(value, "tags").split(self.separator):
                tag = self._text(text, "tags").strip()
                if tag:
                    tags.append(tag)
        return tuple(tags)

    def _text(self, value: Any, side: str) -> str:
        if not isinstance(value, str):
            raise BadLine(f"expected a string as {side}, got {json.dumps(value)[:40]}")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadLine(f"expected a text as {side}, got half a surrogate pair at character {error.start}") from None
        return value if self.source_is_path and side == "source" else normalise(value, self.normalisation)


class _Missing(BadLine):
    """The row has no such cell."""


def _cell(row: Row, column: int | str) -> Any:
    if isinstance(row, dict):
        key = _KEYS.get(column, column) if isinstance(column, int) else column
        if row.get(str(key)) is None:
            raise _Missing(
                f"expected a value for the key {key!r}, got the keys {', '.join(map(repr, row)) or '(none)'}"
            )
        return row[str(key)]
    assert isinstance(column, int)
    if column > len(row):
        raise _Missing(f"expected at least {column} columns with a TAB between them, got {len(row)}: {_excerpt(row)}")
    return row[column - 1]


def _excerpt(row: list[str]) -> str:
    text = "\t".join(row)
    return repr(text if len(text) <= 60 else text[:57] + "...")
