"""Generated tasks: strings in, strings out, with the true alignment of each pair."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from heedful.files import write_atomically

Links = list[tuple[int, int]]
_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Task(NamedTuple):
    """How a source becomes its target, and which source letter each target letter comes from."""

    monotonic: bool
    order: Callable[[str], list[int]]  # the source place of each target letter
    write: Callable[[str, list[int], random.Random], str]  # the target


def _same(source: str, order: list[int], draw: random.Random) -> str:
    return "".join(source[place] for place in order)


def _next(source: str, order: list[int], draw: random.Random) -> str:
    return "".join(chr(ord(source[place]) + 1).upper() for place in order)


def _names(source: str, order: list[int], draw: random.Random) -> str:
    return "".join(_NAMES[ord(letter) - ord("a")] for letter in source)


def _counting(source: str, order: list[int], draw: random.Random) -> str:
    return "abcdefghij"[: draw.randint(4, 10)]


def _swapped(source: str) -> list[int]:
    places = [place ^ 1 for place in range(len(source))]
    return [min(place, len(source) - 1) for place in places]


def _named(source: str) -> list[int]:
    return [place for place, letter in enumerate(source) for _ in _NAMES[ord(letter) - ord("a")]]


TASKS = {
    "copy": Task(True, lambda x: list(range(len(x))), _same),
    "shift": Task(True, lambda x: list(range(len(x))), _next),  # each letter -> the next one, in capitals
    "double": Task(True, lambda x: [place // 2 for place in range(2 * len(x))], _same),  # abc -> aabbcc
    "spell": Task(True, _named, _names),  # digits (as letters) -> their English names, letter by letter
    "reverse": Task(False, lambda x: list(range(len(x)))[::-1], _same),
    "swap": Task(False, _swapped, _same),  # abcd -> badc
    "rotate": Task(False, lambda x: [*range((len(x) + 1) // 2, len(x)), *range((len(x) + 1) // 2)], _same),
    "odd_even": Task(False, lambda x: [*range(0, len(x), 2), *range(1, len(x), 2)], _same),  # abcde -> acebd
    "sort": Task(False, lambda x: sorted(range(len(x)), key=x.__getitem__), _same),
    "counting": Task(True, lambda x: [], _counting),  # abcd..., up to a letter that the source does not tell
}


class Texts(NamedTuple):
    """What strings are drawn."""

    task: str
    letters: int = 12  # of the alphabet
    shortest: int = 3
    longest: int = 10


def pairs(texts: Texts, draw: random.Random, count: int, *, but: Iterable[str] = ()) -> dict[str, str]:
    """`count` distinct sources that are not in `but`, with their targets."""
    task, known = TASKS[texts.task], set(but)
    alphabet = "abcdefghijklmnopqrstuvwxy"[: texts.letters]
    found: dict[str, str] = {}
    while len(found) < count:
        source = "".join(draw.choices(alphabet, k=draw.randint(texts.shortest, texts.longest)))
        if source not in known and source not in found:
            found[source] = task.write(source, task.order(source), draw)
    return found


def links(task: str, source: str) -> Links | None:
    """The true links (source, target) of a pair, from 0; None where the task knows none."""
    if task not in TASKS or task == "counting":
        return None
    return [(place, step) for step, place in enumerate(TASKS[task].order(source))]


def save(found: dict[str, str], path: Path) -> Path:
    """Write pairs as TSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{source}\t{target}\n" for source, target in found.items()))
    return path
