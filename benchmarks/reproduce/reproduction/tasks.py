"""The data of the reproductions: files by path, and texts that are made here, whose lengths are chosen."""

from __future__ import annotations

import random
from pathlib import Path

from reproduction.cells import Task

from heedful.data.lines import decode, read_lines, without_blank_end
from heedful.files import write_atomically

CAPTIONS = "lc.norm.tok"
_WORDS = 40
_SWAPPING = 10  # of these, so many stand behind the word that follows them


def captions(data: Path, source: str, target: str) -> Task:
    """Multi30k: ``train.lc.norm.tok.de.gz`` and the like, each side in a file of its own."""

    def pair(part: str) -> str:
        return ",".join(str(data / f"{part}.{CAPTIONS}.{side}.gz") for side in (source, target))

    return Task(pair("train"), pair("val"), pair("test_2016_flickr"))


def spelling(data: Path) -> Task:
    """CMUdict in the split of Wu et al. 2018: ``CMUDict.train.src.gz`` and the like."""

    def pair(part: str) -> str:
        return ",".join(str(data / f"CMUDict.{part}.{side}.gz") for side in ("src", "trg"))

    return Task(pair("train"), pair("dev"), pair("test"))


def verses(data: Path, name: str, folder: Path) -> Task:
    """Two files of lines side by side; `test` is what the files with their gold links begin with, unpacked.

    The development pairs, whose loss is watched, are trained on, as all are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sides = [lines(data / f"{name}.{side}.gz") for side in ("src", "tgt")]
    pairs = ["\t".join(map(" ".join, pair)) + "\n" for pair in zip(*sides, strict=True)]
    write_atomically(folder / "verses.tsv", "".join(pairs))
    write_atomically(folder / "dev.tsv", "".join(pairs[:200]))
    return Task(str(folder / "verses.tsv"), str(folder / "dev.tsv"), str(data / name))


def made(
    folder: Path, *, train: int = 20_000, longest: int = 30, tested: tuple[int, ...] = tuple(range(2, 41, 2))
) -> Task:
    """Sentences of a language of 40 words, of any length up to `longest`, and their translation into another.

    Each word has one translation; one of ten adjectives is put behind the word that it stands before. The test has
    as many sentences of each length in `tested`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random("sentences")

    def lines(lengths: list[int]) -> str:
        sources = [rng.choices(range(_WORDS), k=length) for length in lengths]
        return "".join(f"{' '.join(f'a{w}' for w in source)}\t{translated(source)}\n" for source in sources)

    parts = {
        "train": [rng.randint(1, longest) for _ in range(train)],
        "dev": [rng.randint(1, longest) for _ in range(200)],
        "test": [length for length in tested for _ in range(25)],
    }
    files = {part: folder / f"{part}.tsv" for part in parts}
    for part, lengths in parts.items():
        write_atomically(files[part], lines(lengths))
    return Task(*map(str, files.values()))


def translated(source: list[int]) -> str:
    """Each word's translation; an adjective is said after the word that follows it."""
    target: list[int] = []
    waiting: list[int] = []
    for word in source:
        if word < _SWAPPING:
            waiting.append(word)
        else:
            target += [word, *reversed(waiting)]
            waiting = []
    return " ".join(f"b{word}" for word in [*target, *reversed(waiting)])


def first(task: Task, folder: Path, count: int) -> Task:
    """The same with the first `count` training pairs only."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = []
    for side in task.pairs.split(","):
        kept = folder / f"{Path(side).name.removesuffix('.gz')}"
        write_atomically(kept, "".join(f"{' '.join(line)}\n" for line in lines(Path(side))[:count]))
        sides.append(str(kept))
    return task._replace(pairs=",".join(sides))


def lines(path: Path) -> list[list[str]]:
    """The words of each line."""
    return [decode(line).split() for line in without_blank_end(read_lines(str(path)))]
