"""The data of a task, read once and written as plain files, so that every toolkit sees the same tokens.

A token is what stands between spaces. Words that are rarer than the task allows are one word, RARE, for all toolkits,
so that their vocabularies are of one size whatever each does with unknown words.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

RARE = "RARE"
HELD_OUT = 500


def _symbols(line: str) -> list[str]:
    return line.split()


def _words(line: str) -> list[str]:
    # A quotation mark is a sign of the TSV format to one toolkit; which symbol stands for it is of no consequence.
    return ["''" if word == '"' else word for word in re.findall(r"\w+|[^\w\s]", line.lower())]


class Task(NamedTuple):
    """What is learned, and how much of it at once."""

    name: str
    title: str
    split: Callable[[str], list[str]]
    least_count: int  # of a word that is a symbol of its own
    batch: int  # pairs to an update
    steps: int  # of forced decoding


TASKS = {
    "g2p": Task("g2p", "Spelling to sound", _symbols, least_count=1, batch=128, steps=12),
    "translation": Task("translation", "Translation", _words, least_count=2, batch=64, steps=20),
}

Pair = tuple[list[str], list[str]]


class Sizes(NamedTuple):
    """What the tables say of the data."""

    pairs: int
    source_symbols: int
    target_symbols: int
    target_length: float  # mean, the end symbol counted


def prepare(task: Task, source: Path, target: Path, folder: Path, *, most: int) -> Sizes:
    """Write `folder`: train.src, train.trg and train.tsv; dev.* with a few of the pairs; test.src, the shortest first.

    500 pairs, evenly spread over the file, are held out for test.src; up to `most` of the others, evenly spread too,
    are trained on.
    """
    pairs = _read(task, source, target)
    test = _spread(pairs, HELD_OUT)
    held = {id(pair) for pair in test}
    train = [pair for pair in pairs if id(pair) not in held]
    known = [Counter(token for pair in train for token in pair[side]) for side in (0, 1)]
    train, test = ([_without_rare(pair, known, task.least_count) for pair in some] for some in (train, test))
    train = _spread(train, most)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("dev", train[:8])):
        _write(folder / f"{name}.src", [" ".join(source) for source, _ in part])
        _write(folder / f"{name}.trg", [" ".join(target) for _, target in part])
        _write(folder / f"{name}.tsv", ["\t".join(map(" ".join, pair)) for pair in part])
    _write(folder / "test.src", sorted((" ".join(source) for source, _ in test), key=lambda line: line.count(" ")))
    symbols = [len({token for pair in train for token in pair[side]}) for side in (0, 1)]
    return Sizes(len(train), *symbols, sum(len(target) + 1 for _, target in train) / len(train))


def _read(task: Task, source: Path, target: Path) -> list[Pair]:
    sources, targets = ([task.split(line) for line in _lines(path)] for path in (source, target))
    if len(sources) != len(targets):
        raise SystemExit(f"{source} has {len(sources)} lines, {target} {len(targets)}: expected as many")
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    if len(pairs) < 4 * HELD_OUT:
        raise SystemExit(f"{source}: expected at least {4 * HELD_OUT} pairs, got {len(pairs)}")
    return pairs


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return text.removesuffix("\n").split("\n")


def _spread(pairs: Sequence[Pair], count: int) -> list[Pair]:
    if count >= len(pairs):
        return list(pairs)
    return [pairs[number * len(pairs) // count] for number in range(count)]


def _without_rare(pair: Pair, known: Sequence[Counter[str]], least: int) -> Pair:
    source, target = (
        [token if counts[token] >= least else RARE for token in side] for side, counts in zip(pair, known, strict=True)
    )
    return source, target


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
