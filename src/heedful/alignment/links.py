"""Links between words, as sets and as lines of text: Pharaoh, and the format of the NAACL 2003 shared task."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable

from heedful.errors import DataError, excerpt

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_TOO_LARGE = re.compile(r"[0-9]+-[0-9]+")
_LARGEST = 999_999_999
_WEIGHTS = re.compile(r"(?i)\.(npz|jsonl?(\.gz)?)$")
"""Names of files that `heedful.alignment.load_alignments` reads."""
_NONE: frozenset[Link] = frozenset()
_MOST_SENTENCES = 1_000_000
"""What a WA file may number where nobody says how many sentences there are: a list is as long as the largest number."""
_WA = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[-+.0-9eE]+)?")


def read_links(path: str | os.PathLike[str], *, swap: bool = False) -> list[frozenset[Link]]:
    """The links of a Pharaoh file, a set for each line: ``"0-0 1-2"``, source-target, from 0; gzip too.

    A blank line is a sentence without links.

    Args:
        swap: the file's links are target-source; they are turned.

    Raises:
        DataError: the file cannot be read, or holds something else; names path and line.
    """
    name = os.fspath(path)
    if _WEIGHTS.search(name):
        raise DataError(f"{name}: expected links as text, got a file of weights; take `heedful align --out x.txt`")
    return [parse_links(line, place=place, swap=swap) for place, line in placed_lines(path)]


def parse_links(text: str, *, place: str = "links", swap: bool = False) -> frozenset[Link]:
    """The links of one line of Pharaoh; `place` is what an error calls it, otherwise as `read_links`."""
    links = set()
    for part in text.split():
        found = _LINK.fullmatch(part)
        if found is None:
            large = f", with numbers up to {_LARGEST:,}" if _TOO_LARGE.fullmatch(part) else ""
            raise DataError(f"{place}: expected links such as 0-0 1-2{large}, got {excerpt(part, 40)}")
        links.add((int(found[1]), int(found[2])))
    return swapped(links) if swap else frozenset(links)


def swapped(links: Iterable[Link]) -> frozenset[Link]:
    """The links of the other direction: source and target have changed places."""
    return frozenset((target, source) for source, target in links)


def as_pharaoh(links: Iterable[Link]) -> str:
    """``"0-0 1-2"``: the links in the order given; a set is put in the order of the source, then of the target."""
    ordered = sorted(links) if isinstance(links, set | frozenset) else links
    return " ".join(f"{source}-{target}" for source, target in ordered)


def read_wa(
    path: str | os.PathLike[str], *, swap: bool = False, sentences: int | None = None
) -> tuple[list[frozenset[Link]], list[frozenset[Link]]]:
    """Gold links in the format of the NAACL 2003 shared task (Mihalcea and Pedersen 2003): (sure, possible).

    A line is a link: the number of the sentence, the position of the source word, that of the target word, all from 1;
    then S (sure) or P (possible) if wanted, S where it is not there; then a probability if wanted, which is not looked
    at. Position 0 is the empty word, and no link. Blank lines and lines that begin with ``#`` are nothing. A sentence
    of which no line tells has no links; there are as many sentences as the largest number says. Sure links are possible
    too.

    Args:
        swap: the target's position stands before the source's.
        sentences: how many there are, if that is known; otherwise a million at most. There may be fewer in the file.

    Raises:
        DataError: the file cannot be read, a line is no such link, or its sentence has too large a number; names path
            and line.
    """
    most = _MOST_SENTENCES if sentences is None else sentences
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    last = 0
    for place, line in placed_lines(path):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _WA.fullmatch(text)
        if found is None or not int(found[1]):
            raise DataError(f"{place}: {_wrong(text.split())}")
        if int(found[1]) > most:
            raise DataError(f"{place}: expected the number of a sentence from 1 to {most:,}, got {int(found[1]):,}")
        sentence, *link = (int(number) - 1 for number in found.group(1, 2, 3))
        last = max(last, sentence + 1)
        if min(link) < 0:
            continue
        source, target = reversed(link) if swap else link
        possible.setdefault(sentence, set()).add((source, target))
        if found[4] != "P":
            sure.setdefault(sentence, set()).add((source, target))
    return _by_sentence(sure, last), _by_sentence(possible, last)


def _wrong(columns: list[str]) -> str:
    """What is wrong with a line of WA."""
    if not 3 <= len(columns) <= 5:
        return (
            "expected 3 to 5 columns: the numbers of a sentence and of two words, then S or P and a probability if "
            f"wanted; got {len(columns)}: {excerpt(' '.join(columns), 40)}"
        )
    for place, (what, least) in enumerate((("the sentence", 1), ("a word", 0), ("a word", 0))):
        column = columns[place]
        if not re.fullmatch("[0-9]{1,9}", column) or int(column) < least:
            return (
                f"column {place + 1}, the number of {what}: expected {least} to {_LARGEST:,}, got {excerpt(column, 40)}"
            )
    if columns[3] not in ("S", "P"):
        return f"column 4: expected S (sure) or P (possible), in capitals, got {excerpt(columns[3], 40)}"
    return f"column 5: expected a probability, got {excerpt(columns[4], 40)}"


def _by_sentence(links: dict[int, set[Link]], count: int) -> list[frozenset[Link]]:
    """A set for each sentence; those without links share one, for there may be many."""
    return [frozenset(links[sentence]) if sentence in links else _NONE for sentence in range(count)]


def placed_lines(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """The lines of a UTF-8 text, plain or gzip, each with its place, ``"path:line"``; only LF ends one.

    Raises:
        DataError: the file cannot be read, or is no such text.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise DataError(f"no such file: {name!r}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{name}: expected a whole gzip file, got a damaged one: {error}") from error
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name that no file can have
        raise DataError(f"{name!r}: cannot be read: {error}") from None
    return decoded_lines(data, name)


def decoded_lines(data: bytes, name: str) -> list[tuple[str, str]]:
    """`placed_lines` of what has been read already; `name` is what errors call it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{name}: expected UTF-8, got UTF-16 (its byte order mark is at the start)")
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        del lines[-1]
    placed = []
    for number, line in enumerate(lines, start=1):
        try:
            placed.append((f"{name}:{number}", line.decode("utf-8")))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}:{number}: expected UTF-8, got the byte 0x{line[error.start]:02x} at offset {error.start} "
                "of the line"
            ) from None
    return placed
