"""The command of a reproduction: trains what is not trained yet, looks at it, and writes the table."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Study, Task
from reproduction.seen import Seen
from reproduction.tables import Cells, render

from heedful.errors import DataError, HeedfulError
from heedful.files import write_atomically
from heedful.series import Finished, Trial, Unwatched, folder_of, run_series

Runs = dict[str, dict[str, Any]]
"""What was seen of each cell's runs, by seed."""

SEEN = "seen.json"
RESULTS = "results.json"
DOCUMENT = Path(__file__).parents[3] / "docs" / "reproductions.md"


def main(study: Study) -> None:
    """Run `study` as the command line says; exit code 2 for an error that is told."""
    try:
        _run(study, _options(study))
    except HeedfulError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


def _run(study: Study, options: argparse.Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    known = {} if options.known is None else known_runs(options.known, study, options.updates)
    trained = Trained(study, study.tasks(options.data, options.out), options.out, options.updates, known)
    with one_thread():
        trained.train(options.only or [cell.name for cell in study.cells], options.seeds, options.jobs)
    text = report(study, trained.results())
    print(text)
    if options.write_docs is not None:
        write_between(options.write_docs, study.name, text)


@contextmanager
def one_thread() -> Iterator[None]:
    """As the plan has it; and figures do not depend on how many there are."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _options(study: Study) -> argparse.Namespace:
    names = [cell.name for cell in study.cells]
    parser = argparse.ArgumentParser(
        description=f"{study.title}. Called again, it goes on where it was stopped.",
        epilog=f"cells: {' '.join(names)}",
    )
    parser.add_argument(
        "data", type=Path, help="the folder that has the folders of the data; docs/reproductions.md names them"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder for runs and results.json")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once, each on one thread")
    parser.add_argument("--only", nargs="+", choices=names, metavar="CELL", help="train only these")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(study.seeds), metavar="N")
    parser.add_argument(
        "--known", type=Path, metavar="FILE", help="results.json[.gz] of runs that are not needed again"
    )
    parser.add_argument("--updates", type=int, help="a budget for each cell instead of its own, to try things out")
    parser.add_argument(
        "--write-docs", nargs="?", type=Path, const=DOCUMENT, metavar="FILE", help="put the table into the document"
    )
    return parser.parse_args()


def identity(cell: Cell, updates: int | None) -> dict[str, Any]:
    """What of a cell decides what is trained."""
    own = {"recipe": cell.recipe, "task": cell.task, "updates": updates or cell.updates, "settings": cell.settings}
    return json.loads(json.dumps(own))


def known_runs(path: Path, study: Study, updates: int | None) -> Runs:
    """What a ``results.json`` holds, gzipped or not.

    Raises:
        DataError: it cannot be read, or is of another study, or of cells that have changed since.
    """
    try:
        data = path.read_bytes()
        found = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        runs: Runs = found["runs"]
        cells = {name: [run["cell"] for run in seeds.values()] for name, seeds in runs.items()}
    except (OSError, EOFError, zlib.error, ValueError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected results of a reproduction, got {error!r}") from None
    own = {cell.name: identity(cell, updates) for cell in study.cells}
    if found.get("study") != study.name or any(one != own.get(name) for name, each in cells.items() for one in each):
        raise DataError(f"{path}: has results of another reproduction, or of cells that were others then")
    return runs


class Trained(Unwatched):
    """The runs of a study; watches them, and looks at each as soon as it has ended.

    Args:
        tasks: the study's, made.
        out: the folder for all.
        updates: instead of the cells' own budgets.
        known: runs of an earlier call elsewhere, by cell and seed.
    """

    def __init__(
        self, study: Study, tasks: Any, out: Path, updates: int | None = None, known: Runs | None = None
    ) -> None:
        self.study, self.out, self.updates, self.known = study, out, updates, known or {}
        self._tasks: dict[str, Task] = dict(tasks)
        self._cells = {cell.name: cell for cell in study.cells}

    def train(self, names: Sequence[str], seeds: Sequence[int], jobs: int) -> None:
        """What is finished is passed over, what was stopped goes on."""
        missing = [(name, seed) for seed in seeds for name in names if str(seed) not in self.known.get(name, {})]
        trials = [self._trial(self._cells[name], seed) for name, seed in missing]
        run_series(trials, out=self.out / "runs", jobs=jobs, watcher=self)

    def _trial(self, cell: Cell, seed: int) -> Trial:
        return cell.trial(self._tasks[cell.task], seed, self.updates)

    def began(self, trial: Trial, *, resumed: bool) -> None:
        print(f"{trial}: {'goes on' if resumed else 'begins'}", flush=True)

    def ended(self, trial: Trial, finished: Finished) -> None:
        path = folder_of(trial, self.out / "runs") / SEEN
        if not path.exists():
            cell = self._cells[trial.name]
            views = self.study.judge(cell)(path.parent, self._tasks[cell.task])
            kept = {"minutes": finished.minutes, "updates": finished.updates, "stopped": finished.stopped}
            kept["cell"] = identity(cell, self.updates)
            seen = {name: view._asdict() for name, view in views.items()}
            write_atomically(path, json.dumps({**kept, "views": seen}))
            print(
                f"{trial}: {finished.updates} updates in {finished.minutes:.1f} minutes, {finished.stopped}", flush=True
            )

    def results(self) -> dict[str, Any]:
        """Of all runs that are there or known, also those of earlier calls: written to ``OUT/results.json``."""
        runs = {
            name: self.known.get(name, {})
            | {str(seed): json.loads(path.read_text("utf-8")) for seed, path in self._paths(name)}
            for name in self._cells
        }
        found = {"study": self.study.name, "runs": {name: seeds for name, seeds in runs.items() if seeds}}
        write_atomically(self.out / RESULTS, json.dumps(found))
        return found

    def _paths(self, name: str) -> list[tuple[int, Path]]:
        found = (self.out / "runs" / name).glob(f"seed-*/{SEEN}")
        return sorted((int(path.parent.name.removeprefix("seed-")), path) for path in found)


def report(study: Study, results: dict[str, Any]) -> str:
    """The tables, and what was run for them."""
    cells: Cells = {
        name: {int(seed): {view: Seen(**seen) for view, seen in run["views"].items()} for seed, run in seeds.items()}
        for name, seeds in results["runs"].items()
    }
    runs = [run for seeds in results["runs"].values() for run in seeds.values()]
    hours = sum(run["minutes"] for run in runs) / 60
    planned = len(study.cells) * len(study.seeds)
    used = f"{len(runs)} of {planned} runs (seeds {', '.join(map(str, study.seeds))}); {hours:.1f} hours of training, "
    used += f"{study.hours:.1f} planned for all."
    odd = [
        f"{name}, seed {seed}: {run['stopped']}."
        for name, seeds in results["runs"].items()
        for seed, run in seeds.items()
        if run["stopped"] != "budget"
    ]
    return "\n\n".join([render(study.tables, study.claims, cells), " ".join([used, *odd])])


def write_between(path: Path, name: str, text: str) -> None:
    """Put `text` between the two marks of `name` in a document.

    Raises:
        DataError: the marks are not there.
    """
    document = path.read_text("utf-8")
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = document.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise DataError(f"{path}: expected the marks {begin.strip()!r} and {end!r}, each once and in that order")
    write_atomically(path, f"{before}{begin}\n{text}\n\n{end}{after}")
