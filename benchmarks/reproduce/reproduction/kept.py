"""What was seen of runs, kept in files: in each run's folder, and of all together in results.json."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Study, Task
from reproduction.seen import Seen

from heedful.errors import DataError
from heedful.series import Finished, digest_of

Runs = dict[str, dict[str, Any]]
"""What was seen of each cell's runs, by seed."""

_WRONG = (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError)
"""What comes of a file that is no such thing."""


def record(cell: Cell, task: Task, updates: int | None, finished: Finished, views: Mapping[str, Seen]) -> Any:
    """Of one run, as JSON has it."""
    found = {"minutes": finished.minutes, "updates": finished.updates, "stopped": finished.stopped}
    found |= {"cell": identity(cell, updates), "data": data_of(task)}
    return {**found, "views": {name: view._asdict() for name, view in views.items()}}


def identity(cell: Cell, updates: int | None) -> dict[str, Any]:
    """What of a cell decides what is trained."""
    budget = cell.updates if updates is None else updates
    own = {"recipe": cell.recipe, "task": cell.task, "updates": budget, "settings": cell.settings}
    return json.loads(json.dumps(own))


def data_of(task: Task) -> str:
    """A digest of what is trained and validated on."""
    return digest_of(",".join([task.pairs, task.dev]))


def seen_of(run: Mapping[str, Any]) -> dict[str, Seen]:
    """The views of a record."""
    return {name: Seen(**view) for name, view in run["views"].items()}


def read_run(path: Path) -> Any:
    """A record; None where there is none that can be read."""
    try:
        run = json.loads(path.read_text("utf-8"))
        _check(run)
    except _WRONG:
        return None
    return run


def _check(run: Any) -> None:
    seen_of(run)
    for key in ("minutes", "updates", "stopped", "cell", "data"):
        run[key]


def known_runs(path: Path, study: Study, updates: int | None, tasks: Mapping[str, Task] | None = None) -> Runs:
    """What a ``results.json`` holds, gzipped or not.

    Args:
        updates: as asked for now, in place of the cells' own.
        tasks: whose data they must be of; by default any.

    Raises:
        DataError: it cannot be read, or is of another study, of other data, or of cells that have changed since.
    """
    try:
        data = path.read_bytes()
        found = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        runs: Runs = found["runs"]
        for seeds in runs.values():
            for seed, run in seeds.items():
                int(seed)
                _check(run)
    except _WRONG as error:
        raise DataError(f"{path}: expected results of a reproduction, got {error!r}") from None
    cells = {cell.name: cell for cell in study.cells}
    same = all(name in cells and _same(cells[name], seeds.values(), updates, tasks) for name, seeds in runs.items())
    if found.get("study") != study.name or not same:
        raise DataError(
            f"{path}: has results of another reproduction, of other data, or of cells that were others then"
        )
    return runs


def _same(cell: Cell, runs: Iterable[Any], updates: int | None, tasks: Mapping[str, Task] | None) -> bool:
    return all(
        run["cell"] == identity(cell, updates) and (tasks is None or run["data"] == data_of(tasks[cell.task]))
        for run in runs
    )
