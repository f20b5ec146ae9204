"""Child processes, one to each side, and whose turn it is.

All are set up first; then only one works at a time. In each round every side has one segment, so that what the machine
does meanwhile falls on all alike. The first round is warming up and does not count.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from peers.corpora import Task
from peers.environments import NotInstalled, interpreter
from peers.sides import Side

MEASURES = ("train", "beam 1", "beam 5")
_BENCHMARKS = Path(__file__).parents[1]
_SET_UP_SECONDS, _ANSWER_SECONDS = 300, 300

Figures = dict[str, Any]
"""Of a side: version, parameters, torch and threads, a list of segments for each measure, peak_mib, batches; and
failed, which says why there is nothing more."""


class Plan(NamedTuple):
    """How much of what is measured."""

    measures: Sequence[str]
    repeats: int  # segments that count
    seconds: float  # of training to a segment; decoding has half of it
    threads: int


class Lost(Exception):
    """A side that is out; the message says why."""


class _Child:
    def __init__(self, side: Side, python: Path, task: Task, data: Path, folder: Path, threads: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log.txt"
        job = {"toolkit": side.toolkit, "variant": side.variant, "data": str(data), "folder": str(folder)}
        job |= {"threads": threads, "batch": task.batch, "steps": task.steps}
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [python, "-m", "peers.child", json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=_BENCHMARKS,
                env=_environment(side.toolkit, threads),
            )

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            print(json.dumps(command), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise Lost(self._last_words()) from None
        return self.answer(_ANSWER_SECONDS)

    def answer(self, seconds: float = _SET_UP_SECONDS) -> dict[str, Any]:
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], seconds)[0]:
            raise Lost(f"no answer within {seconds} s")
        line = out.readline()
        if not line:
            raise Lost(self._last_words())
        answer = json.loads(line)
        if "failed" in answer:
            raise Lost(answer["failed"])
        return answer

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _last_words(self) -> str:
        lines = [line for line in self._log.read_text("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else "ended without a word"


def _environment(toolkit: str, threads: int) -> dict[str, str]:
    """Few threads, no GPU; of where Python looks for modules only heedful's process is told."""
    values = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled"}
    values |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    paths = values.pop("PYTHONPATH", "").split(os.pathsep)
    values.pop("ONEDNN_PRIMITIVE_CACHE_CAPACITY", None)
    if toolkit == "heedful":
        values["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
        values["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = "64"  # as heedful's command line has it
    return values


def compare(
    sides: Sequence[Side],
    task: Task,
    *,
    data: Path,
    environments: Path,
    folder: Path,
    plan: Plan,
    tell: Callable[[str], None],
) -> dict[str, Figures]:
    """Measure all sides in turn; those that cannot be measured say why in their figures."""
    figures: dict[str, Figures] = {side.name: {} for side in sides}
    children: dict[str, _Child] = {}

    def lose(name: str, why: str) -> None:
        tell(f"{task.name}: {name} is out: {why}")
        figures[name]["failed"] = why
        if name in children:
            children.pop(name).end()

    try:
        for side in sides:
            try:
                python = interpreter(side.toolkit, environments)
            except NotInstalled as error:
                lose(side.name, str(error))
                continue
            children[side.name] = _Child(side, python, task, data, folder / side.name, plan.threads)
        tell(f"{task.name}: setting up {len(children)} models")
        for name, child in list(children.items()):
            try:
                ready = child.answer()
            except Lost as lost:
                lose(name, str(lost))
                continue
            figures[name] |= {key: ready[key] for key in ("version", "parameters", "torch", "threads")}
        for measure in plan.measures:
            for number in range(plan.repeats + 1):
                tell(f"{task.name}: {measure}, " + (f"round {number} of {plan.repeats}" if number else "warming up"))
                for name, child in list(children.items()):
                    try:
                        _segment(child, figures[name], measure, plan, warm=number > 0)
                    except Lost as lost:
                        lose(name, str(lost))
    finally:
        for child in children.values():
            child.end()
    return figures


def _segment(child: _Child, figures: Figures, measure: str, plan: Plan, *, warm: bool) -> None:
    seconds = plan.seconds if warm else plan.seconds / 3
    if measure == "train":
        answer = child.ask(do="train", seconds=seconds)
        figures["peak_mib"] = answer["peak_mib"]  # of training alone: it comes first
    else:
        decoding = {"beam": int(measure.removeprefix("beam ")), "patience": plan.seconds}
        answer = child.ask(do="decode", seconds=seconds / 2, **decoding)
        figures.setdefault("batches", {})[measure] = answer["batch"]
    if warm:
        count = "tokens" if measure == "train" else "sentences"
        figures.setdefault(measure, []).append(
            {key: answer[key] for key in (count, "updates", "seconds") if key in answer}
        )
