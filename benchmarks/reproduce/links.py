"""Which words attention links, and which word a row is about: Luong et al. 2015, table 6 and footnote 14.

python benchmarks/reproduce/links.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

The Greek New Testament and its English translation in DATA/bible-nt, 7,919 verses with gold links, Greek to English. As
in the paper, decoding is forced to the translation and each target word is linked to the source word with its largest
weight. All verses are trained on, without their links, as is usual in alignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.outside import model1
from reproduction.seen import Seen, judged, links
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import verses

FILES = "nt-grc-eng"


def late(score: str, scope: str = "global", *, feeding: bool = True) -> dict[str, Any]:
    """Settings of a model that asks when it has read the word before."""
    fusion = {"name": "late", "combine": "concat", "input_feeding": feeding}
    where: Any = scope if scope == "global" else {"name": scope, "window": 10}
    what: Any = {"name": score, "max_positions": 120} if score == "location" else score
    return {"model.fusion": fusion, "model.score": what, "model.scope": where}


def _cell(name: str, title: str, milliseconds: int, settings: Mapping[str, Any]) -> Cell:
    return Cell(name, title, "verses", "verses", 2000, milliseconds, settings)


EARLY = {"model.fusion": "early", "model.score": "additive", "model.readout": "maxout"}
CELLS = [
    _cell("location", "late, global (location)", 176, late("location")),
    _cell("dot", "late, global (dot)", 165, late("dot")),
    _cell("general", "late, global (general)", 161, late("general")),
    _cell("additive", "late, global (additive)", 205, late("additive")),
    _cell("local_m", "late, local_m (general)", 205, late("general", "local_m")),
    _cell("local_p", "late, local_p (general)", 207, late("general", "local_p")),
    _cell("no-feeding", "late, global (general), no input feeding", 115, late("general", feeding=False)),
    _cell("early", "early, global (additive)", 186, EARLY),
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    return {"verses": verses(data / "bible-nt", FILES, out / "verses")}


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        gold = {"sure": f"{task.test}.sure.gz", "possible": f"{task.test}.align.gz"}
        seen = {name: links(run, task.pairs, convention=name, **gold) for name in ("predicted", "input")}
        if cell.name == CELLS[0].name:  # of no model: it stands beside them
            sides = [[*map(str.split, side)] for side in zip(*(line.split("\t") for line in _pairs(task)), strict=True)]
            seen["model1"] = judged(model1(sides[0], sides[1]), sides[0], **gold)
        return seen

    return look


def _pairs(task: Task) -> list[str]:
    return Path(task.pairs).read_text("utf-8").splitlines()


PAPER = {"location": "39", "local_m": "34", "local_p": "36"}
TABLES = [
    Table(
        ("AER", "paper", "we: rows about the predicted word", "about the input word"),
        (
            *(
                Row(cell.title, (PAPER.get(cell.name, "—"), At(cell.name, "predicted"), At(cell.name, "input")))
                for cell in CELLS
            ),
            Row("a statistical aligner", ("32 (Berkeley)", At("location", "model1"), "(IBM Model 1)")),
        ),
    )
]


def _convention(name: str, says: str) -> Claim:
    return Claim(says, "footnote 14, no figure", difference(At(name, "predicted"), At(name, "input")))


CLAIMS = [
    Claim(
        "local_m (general) links better than global (location)",
        "34 against 39",
        difference(At("local_m", "predicted"), At("location", "predicted")),
        "below",
    ),
    Claim(
        "so does local_p (general)",
        "36 against 39",
        difference(At("local_p", "predicted"), At("location", "predicted")),
        "below",
    ),
    Claim(
        "a statistical aligner is better than the best attention",
        "32 against 34",
        difference(At("location", "model1"), At("local_m", "predicted")),
        "below",
    ),
    _convention("general", "rows of content-based scores are about the input word: global (general)"),
    _convention("dot", "global (dot)"),
    _convention("local_p", "local_p (general)"),
    Claim(
        "rows of the location score are about the predicted word",
        "footnote 14, no figure",
        difference(At("location", "predicted"), At("location", "input")),
        "below",
    ),
]

STUDY = Study("links", "Links by attention", CELLS, (1, 2), tasks, judge, TABLES, CLAIMS)

if __name__ == "__main__":
    main(STUDY)
