"""From a location to its lines, and the function that parses one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from heedful.data import corpora
from heedful.data.lines import BadLine, decode, read_lines, without_blank_end
from heedful.errors import DataError, nearest

Row = list[str] | dict[str, Any]
"""What a line says: the cells of a table, or the object of a JSON line."""

Lines = tuple[Sequence[Any], Callable[[Any], Row]]


class Choice(Protocol):
    """Which cells of a row are wanted."""

    @property
    def need_target(self) -> bool: ...
    def columns(self) -> tuple[int | str, ...]: ...
    def check_keys(self, location: str) -> None: ...


def open_lines(location: str, choice: Choice) -> Lines:
    if os.path.exists(location) and not os.path.isdir(location):
        return _open_file(location, choice)
    built_in = corpora.find(location)
    if built_in is not None:
        _check_numbers(location, choice, width=2)
        return corpora.load(*built_in), list
    if os.path.isdir(location):
        raise DataError(f"{location}: expected a file, got a folder")
    if "," in location:
        _check_numbers(location, choice, width=2)
        return _open_parallel(location)
    raise DataError(f"no such file, nor built-in corpus: {location!r}{nearest(location, corpora.names())}")


def _open_file(path: str, choice: Choice) -> Lines:
    lines = read_lines(path)
    if choice.need_target and not (lines := without_blank_end(lines)):
        raise DataError(f"{path}: expected at least one line, got an empty file")
    if path.lower().removesuffix(".gz").endswith((".jsonl", ".json")):
        choice.check_keys(path)
        return lines, lambda line: json_object(decode(line))
    _check_numbers(path, choice)
    return lines, lambda line: decode(line).split("\t")


def _open_parallel(location: str) -> Lines:
    paths = location.split(",")
    if len(paths) != 2:
        raise DataError(f"{location}: expected one file, or two with a comma between them, got {len(paths)} names")
    source, target = (read_lines(path) for path in paths)
    # A blank line at the end counts if the other file has text there.
    size = max(len(without_blank_end(source)), len(without_blank_end(target)))
    if size == 0:
        raise DataError(f"{location}: expected at least one line, got empty files")
    if size > min(len(source), len(target)):
        raise DataError(f"{location}: expected two files of the same length, got {len(source)} and {len(target)} lines")
    lines = list(zip(source[:size], target[:size], strict=True))
    return lines, lambda pair: [decode(line, path) for line, path in zip(pair, paths, strict=True)]


def _check_numbers(location: str, choice: Choice, width: int | None = None) -> None:
    for column in choice.columns():
        if not isinstance(column, int):
            raise DataError(f"{location}: expected the number of a column, counted from 1, got {column!r}")
        if width is not None and column > width:
            raise DataError(f"{location}: expected a column from 1 to {width}, got column {column}")


def json_object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"expected one JSON object a line, got invalid JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadLine(f"expected one JSON object a line, got {line[:40]}")
    return value
