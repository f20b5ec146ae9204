"""Sharper and flatter attention: temperature, sparse normalisers, dropout on the weights, and when they help.

python benchmarks/reproduce/temperature.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

Multi30k, German to English, in DATA/multi30k-ende: all of its 29,000 pairs, and the first 3,000. And sentences that are
made here, of which those tested are up to twice as long as those trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.seen import Seen, answers
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import captions, first, made

FEW = 3000
LONGEST = 20  # of the made sentences that are trained on
AFTERWARDS = (0.5, 0.7, 1.4, 2.0)
UPDATES = {"captions": 1600, "few": 500, "made": 1600}
MILLISECONDS = {"captions": 112, "few": 80, "made": 76}

SETTINGS: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "sharp": {"model.normaliser": {"name": "softmax", "temperature": 0.5}},
    "flat": {"model.normaliser": {"name": "softmax", "temperature": 2.0}},
    "entmax": {"model.normaliser": "entmax15"},
    "sparsemax": {"model.normaliser": "sparsemax"},
    "dropout": {"model.attention_dropout": 0.1},
    "more-dropout": {"model.attention_dropout": 0.3},
}
TITLES = {
    "plain": "softmax, temperature 1",
    "sharp": "trained at temperature 0.5",
    "flat": "trained at temperature 2",
    "entmax": "1.5-entmax",
    "sparsemax": "sparsemax",
    "dropout": "attention dropout 0.1",
    "more-dropout": "attention dropout 0.3",
}
TASKS = {"captions": tuple(SETTINGS), "few": tuple(SETTINGS), "made": ("plain", "entmax")}

CELLS = [
    Cell(f"{task}-{name}", TITLES[name], "captions", task, UPDATES[task], MILLISECONDS[task], SETTINGS[name])
    for task, names in TASKS.items()
    for name in names
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    all_of_it = captions(data / "multi30k-ende", "de", "en")
    return {
        "captions": all_of_it,
        "few": first(all_of_it, out / "few", FEW),
        "made": made(out / "made", longest=LONGEST),
    }


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        seen = {"test": answers(run, task.test, "bleu")}
        if cell.name.endswith("-plain"):
            seen |= {f"at-{t}": answers(run, task.test, "bleu", attention_temperature=t) for t in AFTERWARDS}
        return seen

    return look


WITHIN, BEYOND = (1, LONGEST), (LONGEST + 1, 2 * LONGEST)
PLACES = (("captions", None), ("few", None), ("made", WITHIN), ("made", BEYOND))
HEADS = ("all pairs", f"{FEW:,} pairs", f"made, up to {LONGEST} words", "longer")
PAPER = {
    "plain": "25.70",
    "entmax": "26.17",
    "sparsemax": "24.69",
}


def _at(name: str, view: str = "test") -> tuple[str | At, ...]:
    return tuple(At(f"{task}-{name}", view, lengths) if name in TASKS[task] else "" for task, lengths in PLACES)


TABLES = [
    Table(
        ("trained with", "paper", *HEADS),
        tuple(Row(TITLES[name], (PAPER.get(name, "—"), *_at(name))) for name in SETTINGS),
    ),
    Table(
        ("softmax, answering at temperature", *HEADS),
        (
            *(Row(f"{t:g}", _at("plain", f"at-{t}")) for t in AFTERWARDS if t < 1),
            Row("1, as trained", _at("plain")),
            *(Row(f"{t:g}", _at("plain", f"at-{t}")) for t in AFTERWARDS if t > 1),
        ),
    ),
]


def _against_plain(name: str, task: str = "captions") -> tuple[tuple[float, At], ...]:
    return difference(At(f"{task}-{name}"), At(f"{task}-plain"))


CLAIMS = [
    Claim("1.5-entmax is better than softmax", "26.17 against 25.70", _against_plain("entmax")),
    Claim("sparsemax is worse", "24.69 against 25.70", _against_plain("sparsemax"), "below"),
    Claim(
        "a temperature in training matters little, since W_a can undo it: 0.5 (not in a paper)",
        "—",
        _against_plain("sharp"),
        "about",
        1.0,
    ),
    Claim("and 2 (not in a paper)", "—", _against_plain("flat"), "about", 1.0),
    Claim("attention dropout helps where data are few (no figure found)", "—", _against_plain("dropout", "few")),
    Claim(
        "more so than where there are many (no figure found)",
        "—",
        (
            *_against_plain("dropout", "few"),
            *((-factor, at) for factor, at in _against_plain("dropout")),
        ),
    ),
    Claim(
        "attention that may not concentrate too much is better (speech): answering at temperature 1.4",
        "phoneme errors 18 to 17.6",
        difference(At("captions-plain", "at-1.4"), At("captions-plain")),
    ),
    Claim(
        "sharper attention, at 0.7, helps on sources longer than those trained on (no figure found)",
        "—",
        difference(At("made-plain", "at-0.7", BEYOND), At("made-plain", "test", BEYOND)),
    ),
]

STUDY = Study("temperature", "Temperature, sparsity, attention dropout", CELLS, (1, 2), tasks, judge, TABLES, CLAIMS)

if __name__ == "__main__":
    main(STUDY)
