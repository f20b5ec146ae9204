"""The data of a comparison: given, or held out of one file, as lines that are copied and never changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.api.links import links_of
from heedful.data import corpora
from heedful.data.lines import read_lines
from heedful.data.pairs import Corpus, Pair
from heedful.data.split import held_out, spread
from heedful.errors import DataError, RunError
from heedful.files import write_atomically
from heedful.predictor import check_count
from heedful.recipes import DataRecipe
from heedful.training.reading import read

FOLDER = "data"


@dataclass(frozen=True)
class Given:
    """As a person gives it: see `heedful.compare`."""

    pairs: str
    dev: str | None = None
    test: str | None = None
    links: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Split:
    """Where each part is now, and what it holds.

    Attributes:
        train, dev, test: locations.
        links: gold links, a line for each of the test.
        corpora: what was read from each location, by the names "train", "dev" and "test".
    """

    train: str
    dev: str
    test: str
    links: str | None
    corpora: dict[str, Corpus]

    def size(self, name: str) -> int:
        """Pairs of a part."""
        return len(self.corpora[name].pairs)

    def shared(self) -> tuple[str, ...]:
        """What to know of parts that have sources in common, in words."""
        asked = {name: {pair.asked for pair in corpus.pairs} for name, corpus in self.corpora.items()}
        remarks = {
            ("test", "train"): "are trained on too: on them, what has been learned by heart looks right",
            ("test", "dev"): "are development sources too, by which the weights were chosen",
            (
                "dev",
                "train",
            ): "are trained on too: by them, the weights that are kept may be those that were overtrained",
        }
        found = []
        for (one, other), remark in remarks.items():
            if both := len(asked[one] & asked[other]):
                kind = {"test": "test", "dev": "development"}[one]
                found.append(f"{both:,} of the {len(asked[one]):,} {kind} sources {remark}.")
        return tuple(found)


def split_data(given: Given, data: DataRecipe, out: Path, *, check: Callable[[Sequence[Pair]], None]) -> Split:
    """Read all parts; what was not given is held out of the pairs, and written into ``OUT/data``.

    Nothing is written before `check` has seen the pairs to train on, nor over what was held out otherwise: runs that
    are there may have been trained on what would be tested now.

    A built-in corpus has its own parts. Of anything else, sources are held out by their hash, as training does it:
    ``data.dev_share`` of them for development, and as many for the test.

    Raises:
        DataError: something cannot be read or is too small to be split; links have not as many lines as the pairs that
            they are of.
        RunError: a file cannot be written, or other pairs were held out there before.
    """
    built_in = None if os.path.exists(given.pairs) else corpora.find(given.pairs)
    dev, test = given.dev, given.test
    if built_in is not None:
        dev, test = dev or f"{built_in[0]}:dev", test or f"{built_in[0]}:test"
    if given.size is not None:
        check_count("size", given.size, most=None)
    if given.size is None and dev is not None and test is not None:
        found = {"train": given.pairs, "dev": dev, "test": test}
        held = {name: read(place, data) for name, place in found.items()}
        _check_links(given.links, held["test"])
        check(held["train"].pairs)
        return Split(given.pairs, dev, test, given.links, held)
    if data.source_features is not None:
        raise DataError(
            "sources that are files (data.source_features) cannot be held out: give dev and test, and no size"
        )
    corpus = read(given.pairs, data)
    places = {"dev": dev, "test": test}
    members = _parts(given, data, corpus, own=[name for name, place in places.items() if place is None])
    check(members["train"])
    return _hold_out(given, data, corpus, members, out / FOLDER, places)


def _parts(given: Given, data: DataRecipe, corpus: Corpus, *, own: Sequence[str]) -> dict[str, list[Pair]]:
    """The pairs to train on, and those of each part that is held out, `own`."""
    members: dict[str, list[Pair]] = {name: [] for name in ("train", *own)}
    for pair in corpus.pairs:
        shares = ((name, data.dev_share * number) for number, name in enumerate(own, start=1))
        members[next((name for name, share in shares if held_out(pair.source, min(share, 1.0))), "train")].append(pair)
    for name, pairs in members.items():
        if not pairs:
            raise DataError(
                f"{corpus.name}: holding out {data.dev_share:.1%} of its sources for each of {' and '.join(own)} "
                f"leaves nothing for {name}; expected more pairs, another data.dev_share, or files for dev and test"
            )
    members["train"] = spread(members["train"], given.size)
    return members


def _hold_out(
    given: Given,
    data: DataRecipe,
    corpus: Corpus,
    members: dict[str, list[Pair]],
    folder: Path,
    places: dict[str, str | None],
) -> Split:
    lines, links = _Lines(given.pairs, corpus), given.links
    files: dict[Path, bytes] = {}
    for name, pairs in members.items():
        files |= lines.files(folder, name, [pair.line for pair in pairs])
        places[name] = lines.location(folder, name)
    if links is not None and "test" in members:
        _check_links(links, corpus)
        links = str(folder / "links.txt")
        files[Path(links)] = _text(read_lines(str(given.links)), [pair.line for pair in members["test"]])
    elif links is not None:
        _check_links(links, read(str(places["test"]), data))
    _made(folder)
    _write(files)
    held = {name: read(str(place), data) for name, place in places.items()}
    return Split(str(places["train"]), str(places["dev"]), str(places["test"]), links, held)


class _Lines:
    """The lines of a location, to be written as they are."""

    def __init__(self, location: str, corpus: Corpus) -> None:
        if os.path.exists(location):
            kind = location.lower().removesuffix(".gz")
            self._sides = {".jsonl" if kind.endswith((".jsonl", ".json")) else ".tsv": read_lines(location)}
        elif corpora.find(location) is not None:
            self._sides = {".tsv": [f"{pair.source}\t{pair.target}".encode() for pair in corpus.pairs]}
        else:
            sides = zip((".src", ".trg"), location.split(","), strict=True)
            self._sides = {side: read_lines(path) for side, path in sides}

    def files(self, folder: Path, name: str, numbers: Sequence[int]) -> dict[Path, bytes]:
        """What the files of a part hold: the lines of these numbers, from 1."""
        return {folder / f"{name}{suffix}": _text(lines, numbers) for suffix, lines in self._sides.items()}

    def location(self, folder: Path, name: str) -> str:
        """Of these files, as a text."""
        return ",".join(str(folder / f"{name}{suffix}") for suffix in self._sides)


def _write(files: dict[Path, bytes]) -> None:
    for path, held in files.items():
        if path.exists() and path.read_bytes() != held:
            raise RunError(
                f"{path}: other pairs were held out there than are asked for now; name another folder, or remove this "
                "one"
            )
    for path, held in files.items():
        write_atomically(path, held)


def _text(lines: Sequence[bytes], numbers: Iterable[int]) -> bytes:
    return b"".join(lines[number - 1] + b"\n" for number in numbers)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be made: {error.strerror or error}") from None
    return folder


def _check_links(links: str | None, corpus: Corpus) -> None:
    """Before hours of training, rather than after."""
    if links is None:
        return
    count, lines = len(links_of(links, what="links")), len(corpus.pairs) + len(corpus.skipped)
    if count != lines:
        raise DataError(f"{links}: expected {lines} lines, one for each of {corpus.name}, got {count}")
