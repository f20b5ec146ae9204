"""What each step of Luong, Pham and Manning 2015 brings (table 1), and their scores and scopes (table 4).

python benchmarks/reproduce/luong_ladder.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

Multi30k, in DATA/multi30k-ende; English to German, as there. Unknown words are replaced by what IBM Model 1 links the
source word with the largest weight to most, and by that word itself where it knows none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.outside import model1
from reproduction.seen import Seen, answers
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import captions, lines

from heedful.files import write_atomically
from heedful.series import digest_of

DICTIONARY = "dictionary-{}.tsv"
WINDOW = 5  # D; the paper's is 10, and its sentences are twice as long


def late(score: str, scope: str = "global", *, feeding: bool = True) -> dict[str, Any]:
    """Settings of a model with attention."""
    fusion = {"name": "late", "combine": "concat", "input_feeding": feeding}
    where: Any = scope if scope == "global" else {"name": scope, "window": WINDOW}
    what: Any = {"name": score, "max_positions": 40} if score == "location" else score
    return {"model.fusion": fusion, "model.score": what, "model.scope": where}


FIXED = {"model.fusion": {"name": "none", "every_step": False}, "model.readout": "state"}
SCORES = ("location", "dot", "general", "concat")
LOCAL = (("local_m", "dot"), ("local_m", "general"), ("local_p", "dot"), ("local_p", "general"))


def _cell(name: str, title: str, milliseconds: int, settings: Mapping[str, Any]) -> Cell:
    return Cell(name, title, "luong", "captions", 4000, milliseconds, settings)


CELLS = [
    _cell("base", "base", 38, {**FIXED, "data.reverse_source": False, "model.dropout": 0.0}),
    _cell("reverse", "+ reverse", 38, {**FIXED, "model.dropout": 0.0}),
    _cell("dropout", "+ dropout", 38, FIXED),
    _cell("attention", "+ global attention (location)", 46, late("location", feeding=False)),
    *(_cell(f"global-{score}", f"global ({score})", 63, late(score)) for score in SCORES),
    *(_cell(f"{scope}-{score}", f"{scope} ({score})", 66, late(score, scope)) for scope, score in LOCAL),
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    task = captions(data / "multi30k-ende", "en", "de")
    if not (path := out / _dictionary(task)).exists():
        write_dictionary(path, task)
    return {"captions": task}


def _dictionary(task: Task) -> str:
    return DICTIONARY.format(digest_of(task.pairs)[:12])


def write_dictionary(path: Path, task: Task) -> None:
    """For each source word the target word that it is linked to most often."""
    sources, targets = (lines(Path(side)) for side in task.pairs.split(","))
    counts: dict[str, Counter[str]] = {}
    for source, target, links in zip(sources, targets, model1(sources, targets), strict=True):
        for here, there in links:
            counts.setdefault(source[here], Counter())[target[there]] += 1
    rows = (f"{word}\t{found.most_common(1)[0][0]}\n" for word, found in sorted(counts.items()))
    write_atomically(path, "".join(rows))


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        seen = {"test": answers(run, task.test, "bleu")}
        if cell.settings["model.fusion"]["name"] == "late":
            dictionary = run.parents[2] / _dictionary(task)  # OUT/runs/CELL/seed-N
            seen["replaced"] = answers(run, task.test, "bleu", unknown="replace", dictionary=dictionary)
        return seen

    return look


LADDER = [
    ("base", "11.3"),
    ("reverse", "12.6"),
    ("dropout", "14.0"),
    ("attention", "16.8"),
    ("global-location", "18.1"),
    ("local_p-general", "19.0"),
]
TITLES = {"global-location": "+ input feeding", "local_p-general": "local_p (general) instead"}
TABLE_4 = {
    "global-location": ("18.1", "19.3"),
    "global-dot": ("18.6", "20.5"),
    "global-general": ("17.3", "19.1"),
    "global-concat": ("perplexity 6.7, no BLEU", "—"),
    "local_m-dot": ("perplexity above 7.0, no BLEU", "—"),
    "local_m-general": ("18.6", "20.4"),
    "local_p-dot": ("18.0", "19.6"),
    "local_p-general": ("19.0", "20.9"),
}
_TITLE = {cell.name: cell.title for cell in CELLS}

TABLES = [
    Table(
        ("ladder", "paper: BLEU", "we: BLEU"),
        (
            *(Row(TITLES.get(name, _TITLE[name]), (paper, At(name))) for name, paper in LADDER),
            Row("+ unknown words replaced", ("20.9", At("local_p-general", "replaced"))),
        ),
    ),
    Table(
        ("attention", "paper: before", "after replacing", "we: before", "after"),
        tuple(Row(_TITLE[name], (*paper, At(name), At(name, "replaced"))) for name, paper in TABLE_4.items()),
    ),
]


def _step(before: str, after: str, says: str) -> Claim:
    figures = dict(LADDER)
    return Claim(says, f"{figures[before]} to {figures[after]}", difference(At(after), At(before)))


CLAIMS = [
    _step("base", "reverse", "reversing the source helps the fixed vector"),
    _step("reverse", "dropout", "so does dropout"),
    _step("dropout", "attention", "global attention (location) helps"),
    _step("attention", "global-location", "input feeding helps"),
    _step("global-location", "local_p-general", "local_p (general) is better than global (location)"),
    Claim(
        "replacing unknown words helps",
        "19.0 to 20.9",
        difference(At("local_p-general", "replaced"), At("local_p-general")),
    ),
    Claim(
        "of global scores, dot is better than general",
        "18.6 against 17.3",
        difference(At("global-dot"), At("global-general")),
    ),
    Claim(
        "of local_p scores, general is better than dot",
        "19.0 against 18.0",
        difference(At("local_p-general"), At("local_p-dot")),
    ),
    Claim(
        "local_p (general) is better than global (general)",
        "19.0 against 17.3",
        difference(At("local_p-general"), At("global-general")),
    ),
]

STUDY = Study("luong_ladder", "Luong's ladder, scores and scopes", CELLS, (1, 2), tasks, judge, TABLES, CLAIMS)

if __name__ == "__main__":
    main(STUDY)
