"""Attention against the fixed vector: Bahdanau, Cho and Bengio 2015, table 1 and figure 2.

python benchmarks/reproduce/fixed_vector.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

Multi30k, German to English, in DATA/multi30k-ende. The same is done with sentences that are made here, of which there
are as many of each length. "Short" models are trained on the shorter half of the lengths, as RNNsearch-30 and
RNNencdec-30 were.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.seen import Seen, answers
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import captions, made

FIXED = {
    "model.fusion": "none",  # c_i = h_Tx
    "model.bidirectional": False,
    "model.start": "learned_last",
}
LONGEST = {"captions": {"short": 12, "long": 50}, "made": {"short": 15, "long": 30}}
# Equal time: a model with attention takes so many updates, one without as many more as each costs less.
UPDATES = {"captions": (1600, 2800), "made": (1600, 3400)}
MILLISECONDS = {"captions": (132, 75), "made": (110, 52)}


def _cell(task: str, trained: str, *, fixed: bool) -> Cell:
    name = f"{task}-{'fixed' if fixed else 'search'}-{trained}"
    return Cell(
        name,
        f"{'RNNencdec' if fixed else 'RNNsearch'}, {trained}",
        "search",
        task,
        UPDATES[task][fixed],
        MILLISECONDS[task][fixed],
        {**(FIXED if fixed else {}), "data.max_length": LONGEST[task][trained]},
    )


CELLS = [
    _cell(task, trained, fixed=fixed) for task in LONGEST for trained in ("long", "short") for fixed in (False, True)
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    return {"captions": captions(data / "multi30k-ende", "de", "en"), "made": made(out / "made")}


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        return {"test": answers(run, task.test, "bleu")}

    return look


PAPER = {
    "search-long": ("26.75", "24 / 27 / 28 / 27 / 27 / 25"),
    "search-short": ("21.50", "22 / 25 / 22 / 16 / 11 / 8"),
    "fixed-long": ("17.82", "20 / 22 / 18 / 13 / 10 / 7"),
    "fixed-short": ("13.93", "18 / 20 / 12 / 7 / 4 / 2"),
}
GROUPS = {
    "captions": ((1, 8), (9, 11), (12, 14), (15, 18), (19, 50)),
    "made": ((1, 6), (7, 12), (13, 18), (19, 24), (25, 30), (31, 40)),
}
# Of which the claims are made: wide enough for a difference to be seen.
SHORTEST_LONGEST = {"captions": ((1, 9), (15, 50)), "made": ((1, 6), (25, 30))}


def _curves(task: str) -> Table:
    groups = GROUPS[task]
    names = {"captions": "Multi30k", "made": "made sentences"}
    heads = (
        names[task],
        "paper: all",
        "by length, 10 to 60, read off figure 2, ± 2",
        "we: all",
        *(f"{low}–{high} words" for low, high in groups),
    )
    rows = [
        Row(
            cell.title,
            (*PAPER[cell.name.partition("-")[2]], At(cell.name), *(At(cell.name, lengths=group) for group in groups)),
        )
        for cell in CELLS
        if cell.task == task
    ]
    return Table(heads, tuple(rows))


def _claims(task: str) -> list[Claim]:
    def lead(trained: str, lengths: tuple[int, int] | None = None) -> tuple[tuple[float, At], ...]:
        return difference(
            At(f"{task}-search-{trained}", lengths=lengths), At(f"{task}-fixed-{trained}", lengths=lengths)
        )

    where = {"captions": "Multi30k", "made": "made sentences"}[task]
    first, last = SHORTEST_LONGEST[task]
    grows = (*lead("long", last), *((-factor, at) for factor, at in lead("long", first)))
    return [
        Claim(
            f"{where}: attention beats the fixed vector, trained on long sentences", "26.75 against 17.82", lead("long")
        ),
        Claim(f"{where}: and trained on short ones", "21.50 against 13.93", lead("short")),
        Claim(
            f"{where}: attention trained on short ones beats the fixed vector trained on long ones",
            "21.50 against 17.82",
            difference(At(f"{task}-search-short"), At(f"{task}-fixed-long")),
        ),
        Claim(
            f"{where}: its lead grows with length, {last[0]}–{last[1]} against {first[0]}–{first[1]} words",
            "4 to 18, read off figure 2",
            grows,
        ),
        Claim(
            f"{where}: the fixed vector falls with length",
            "20 to 7, read off figure 2",
            difference(At(f"{task}-fixed-long", lengths=last), At(f"{task}-fixed-long", lengths=first)),
            "below",
        ),
        Claim(
            f"{where}: attention does not, up to the lengths trained on",
            "24 to 25, read off figure 2",
            difference(At(f"{task}-search-long", lengths=last), At(f"{task}-search-long", lengths=first)),
            "about",
            5.0,
        ),
    ]


STUDY = Study(
    "fixed_vector",
    "Attention against the fixed vector",
    CELLS,
    (1, 2),
    tasks,
    judge,
    [_curves(task) for task in LONGEST],
    [claim for task in LONGEST for claim in _claims(task)],
)

if __name__ == "__main__":
    main(STUDY)
