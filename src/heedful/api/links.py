"""Links as the verbs take them: a file of Pharaoh lines, or those of each sentence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import index
from typing import Any

from heedful.alignment import Alignment, read_links
from heedful.alignment.links import Link, parse_links, swapped
from heedful.errors import DataError, excerpt

Path = str | os.PathLike[str]
Links = Path | Sequence[Iterable[Link] | str | Alignment]
"""A Pharaoh file; or for each sentence its links: a set or list of pairs, a Pharaoh line, or an `Alignment`."""


def links_of(links: Links, *, swap: bool = False, what: str = "links") -> list[frozenset[Link]]:
    """The links of each sentence; with `swap` turned.

    Raises:
        DataError: the file cannot be read, or these are no links; calls them `what`, or by their file and line.
    """
    if isinstance(links, str | os.PathLike):
        return read_links(links, swap=swap)
    if isinstance(links, AbstractSet | Mapping) or not isinstance(links, Iterable):
        raise DataError(f"{what}: expected a file, or a list with the links of each sentence, got {excerpt(links)}")
    found = [_links(one, f"{what}, sentence {number}") for number, one in enumerate(links, start=1)]
    return [swapped(one) for one in found] if swap else found


def _links(given: Any, place: str) -> frozenset[Link]:
    if isinstance(given, Alignment):
        return frozenset(given.links())
    if isinstance(given, str):
        return parse_links(given, place=place)
    try:
        links = frozenset((index(source), index(target)) for source, target in given)
    except (TypeError, ValueError):
        links = None
    if links is None or any(number < 0 for link in links for number in link):
        raise DataError(
            f"{place}: expected pairs of whole numbers from 0, a text such as '0-0 1-2' or an Alignment, "
            f"got {excerpt(given)}"
        )
    return links


def named(links: Links | None, what: str) -> str:
    """What an error calls them: the file's name, or `what`."""
    return os.fspath(links) if isinstance(links, str | os.PathLike) else what


def check_path(path: Any, what: str, expected: str) -> None:
    """Refuse what is no path, such as a list of the pairs themselves."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"{what}: expected {expected}, got {excerpt(path)}")
