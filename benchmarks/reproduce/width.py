"""The unscaled dot product falls with its width, where a scaled one and the additive score do not: Britz et al. 2017.

python benchmarks/reproduce/width.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

Multi30k, German to English, in DATA/multi30k-ende. As there, states keep their size, and both are projected to that of
the attention.

The first rows showed attention of the unscaled product on one position at any width: its scores move too far in an
update. So it was also trained at a third of the learning rate, for twice the updates ("slow").
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import reproduction.projected  # noqa: F401  (registers the score)
from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.seen import Seen, answers
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import captions

WIDTHS = (64, 256, 1024)
SCORES: Mapping[str, dict[str, Any]] = {
    "dot": {"name": "projected_dot"},
    "scaled": {"name": "projected_dot", "scaled": True},
    "additive": {"name": "additive"},
}
TITLES = {"dot": "dot", "slow_dot": "dot, a third of the rate", "scaled": "scaled", "additive": "additive"}
MILLISECONDS = {64: (110, 110, 113), 256: (113, 113, 118), 1024: (127, 127, 149)}


def _cell(name: str, width: int, milliseconds: int, updates: int, settings: Mapping[str, Any]) -> Cell:
    score = {"model.score": {**SCORES[name.removeprefix("slow_")], "attention_size": width}}
    title = f"{TITLES[name]}, {width}"
    return Cell(f"{name}-{width}", title, "captions", "captions", updates, milliseconds, {**score, **settings})


CELLS = [
    *(
        _cell(name, width, MILLISECONDS[width][place], 1400, {})
        for width in WIDTHS
        for place, name in enumerate(SCORES)
    ),
    *(_cell("slow_dot", width, MILLISECONDS[width][0], 2800, {"train.learning_rate": 0.001}) for width in WIDTHS),
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    return {"captions": captions(data / "multi30k-ende", "de", "en")}


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        return {"test": answers(run, task.test, "bleu")}

    return look


PAPER = {
    "dot": "22.03 / 22.33 / 21.78 / 18.22",
    "slow_dot": "—",
    "scaled": "not tried",
    "additive": "22.23 / 22.33 / 22.47 / 22.10",
}
TABLES = [
    Table(
        ("score", "paper: 128 / 256 / 512 / 1024", *(f"we: {width}" for width in WIDTHS)),
        tuple(
            Row(title, (PAPER[score], *(At(f"{score}-{width}") for width in WIDTHS))) for score, title in TITLES.items()
        ),
    )
]


def _fall(score: str) -> tuple[tuple[float, At], ...]:
    return difference(At(f"{score}-{WIDTHS[-1]}"), At(f"{score}-{WIDTHS[1]}"))


CLAIMS = [
    Claim("the unscaled dot product is worse at 1024 than at 256", "22.33 to 18.22", _fall("dot"), "below"),
    Claim("the same at a third of the learning rate (a claim of ours, added)", "—", _fall("slow_dot"), "below"),
    Claim("the additive score is not", "22.33 to 22.10", _fall("additive"), "about", 1.5),
    Claim("nor is the scaled dot product (not in the paper)", "—", _fall("scaled"), "about", 1.5),
    Claim(
        "at 1024 the additive score is better than the dot product",
        "22.10 against 18.22",
        difference(At("additive-1024"), At("dot-1024")),
    ),
]

STUDY = Study("width", "Width of the dot product", CELLS, (1, 2), tasks, judge, TABLES, CLAIMS)

if __name__ == "__main__":
    main(STUDY)
