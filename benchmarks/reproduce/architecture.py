"""Input feeding on characters (Wu et al. 2018); the encoder's direction, and the decoder's start (Britz et al. 2017).

python benchmarks/reproduce/architecture.py DATA --out DIR [--jobs 2] [--only CELL ...] [--write-docs]

Spelling to sound in DATA/cmudict-wu, Multi30k, German to English, in DATA/multi30k-ende.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Judge, Study, Task
from reproduction.command import main
from reproduction.seen import Seen, answers
from reproduction.tables import At, Claim, Row, Table, difference
from reproduction.tasks import captions, spelling

FEEDING = {"model.fusion": {"name": "late", "combine": "concat", "input_feeding": True}}
ONE_WAY = {"model.bidirectional": False, "model.encoder_size": 256}
FIXED = {"model.fusion": "none", "model.readout": "state"}


def _spelling(name: str, title: str, milliseconds: int, settings: Mapping[str, Any]) -> Cell:
    return Cell(name, title, "spelling", "spelling", 5000, milliseconds, settings)


def _captions(name: str, title: str, settings: Mapping[str, Any], milliseconds: int = 113) -> Cell:
    return Cell(name, title, "captions", "captions", 1600, milliseconds, settings)


CELLS = [
    _spelling("no-feeding", "no input feeding", 48, {}),
    _spelling("feeding", "input feeding", 77, FEEDING),
    _spelling("feeding-small", "input feeding, as many parameters", 67, {**FEEDING, "model.decoder_size": 164}),
    _captions("both", "both directions", {}),
    _captions("reversed", "one direction, source reversed", {**ONE_WAY, "data.reverse_source": True}, 120),
    _captions("plain", "one direction", ONE_WAY, 120),
    _captions("start-zero", "attention, start of zeros", {"model.start": "zero"}),
    _captions("start-mean", "attention, start at the mean", {"model.start": "learned_mean"}),
    _captions("fixed", "no attention, learned start", FIXED, 103),
    _captions("fixed-zero", "no attention, start of zeros", {**FIXED, "model.start": "zero"}, 103),
]


def tasks(data: Path, out: Path) -> Mapping[str, Task]:
    return {
        "captions": captions(data / "multi30k-ende", "de", "en"),
        "spelling": spelling(data / "cmudict-wu"),
    }


def judge(cell: Cell) -> Judge:
    def look(run: Path, task: Task) -> Mapping[str, Seen]:
        return {"test": answers(run, task.test, "sequence_error" if cell.task == "spelling" else "bleu")}

    return look


def _row(name: str, *paper: str) -> Row:
    (title,) = (cell.title for cell in CELLS if cell.name == name)
    return Row(title, (*paper, At(name)))


TABLES = [
    Table(
        ("CMUdict, words wrong", "paper: small model", "large model", "we"),
        (
            _row("no-feeding", "30.8", "30.5"),
            _row("feeding", "31.0", "31.4"),
            _row("feeding-small", "36.2", "32.3"),
        ),
    ),
    Table(
        ("Multi30k, BLEU", "paper: BLEU", "we"),
        (
            _row("both", "21.78 (2 layers)"),
            _row("reversed", "21.16 (1 layer), 21.76 (2)"),
            _row("plain", "20.54 (1 layer), 20.98 (2)"),
            _row("start-zero", "the setting that was published"),
            _row("start-mean", "—"),
            _row("fixed", "11.57 (the state as input too)"),
            _row("fixed-zero", "—"),
        ),
    ),
]

CLAIMS = [
    Claim(
        "input feeding hurts on characters, parameters being equal",
        "36.2 against 30.8; 32.3 against 30.5",
        difference(At("feeding-small"), At("no-feeding")),
    ),
    Claim(
        "and with its own parameters on top",
        "31.0 against 30.8; 31.4 against 30.5",
        difference(At("feeding"), At("no-feeding")),
    ),
    Claim(
        "both directions are better than a reversed source",
        "21.78 against 21.16",
        difference(At("both"), At("reversed")),
    ),
    Claim(
        "a reversed source is better than a plain one", "21.16 against 20.54", difference(At("reversed"), At("plain"))
    ),
    Claim(
        "with attention the decoder's start matters little: zeros",
        "no figures",
        difference(At("start-zero"), At("both")),
        "about",
        1.0,
    ),
    Claim(
        "and the mean of the source states",
        "no figures",
        difference(At("start-mean"), At("both")),
        "about",
        1.0,
    ),
    Claim("attention is worth many times as much", "21.78 against 11.57", difference(At("both"), At("fixed"))),
]

STUDY = Study("architecture", "Input feeding, direction and start", CELLS, (1, 2), tasks, judge, TABLES, CLAIMS)

if __name__ == "__main__":
    main(STUDY)
