"""The command of a reproduction: trains what is not trained yet, looks at it, and writes the table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reproduction.cells import Cell, Study, Task
from reproduction.kept import Runs, identity, known_runs, read_run, record, seen_of
from reproduction.tables import Cells, render

from heedful.errors import DataError, HeedfulError
from heedful.files import write_atomically
from heedful.series import Finished, Trial, Unwatched, folder_of, run_series

SEEN = "seen.json"
RESULTS = "results.json"
DOCUMENT = Path(__file__).parents[3] / "docs" / "reproductions.md"


def main(study: Study) -> None:
    """Run `study` as the command line says; exit code 2 for an error that is told, 130 for Ctrl-C."""
    try:
        _run(study, _options(study))
    except (HeedfulError, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        raise SystemExit(130) from None


def _run(study: Study, options: argparse.Namespace) -> None:
    if options.write_docs is not None:
        between(options.write_docs, study.name)  # before hours of training
    if not options.data.is_dir():
        raise DataError(f"{options.data}: no such folder of data")
    options.out.mkdir(parents=True, exist_ok=True)
    tasks = study.tasks(options.data, options.out)
    known = {} if options.known is None else known_runs(options.known, study, options.updates, tasks)
    trained = Trained(study, tasks, options.out, options.updates, known)
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
        if read_run(path) is None:
            cell = self._cells[trial.name]
            task = self._tasks[cell.task]
            views = self.study.judge(cell)(path.parent, task)
            write_atomically(path, json.dumps(record(cell, task, self.updates, finished, views)))
            print(
                f"{trial}: {finished.updates} updates in {finished.minutes:.1f} minutes, {finished.stopped}", flush=True
            )

    def results(self) -> dict[str, Any]:
        """Of all runs that are there or known, also those of earlier calls: written to ``OUT/results.json``.

        Of such calls only those with the same budgets.
        """
        runs = {name: self.known.get(name, {}) | self._own(cell) for name, cell in self._cells.items()}
        found = {"study": self.study.name, "runs": {name: seeds for name, seeds in runs.items() if seeds}}
        write_atomically(self.out / RESULTS, json.dumps(found))
        return found

    def _own(self, cell: Cell) -> dict[str, Any]:
        paths = (self.out / "runs" / cell.name).glob(f"seed-*/{SEEN}")
        found = {int(path.parent.name.removeprefix("seed-")): read_run(path) for path in paths}
        same = identity(cell, self.updates)
        return {str(seed): run for seed, run in sorted(found.items()) if run is not None and run["cell"] == same}


def report(study: Study, results: dict[str, Any]) -> str:
    """The tables, and what was run for them."""
    cells: Cells = {
        name: {int(seed): seen_of(run) for seed, run in seeds.items()} for name, seeds in results["runs"].items()
    }
    runs = [run for seeds in results["runs"].values() for run in seeds.values()]
    hours = sum(run["minutes"] for run in runs) / 60
    planned = len(study.cells) * len(study.seeds)
    seeds = sorted({int(seed) for some in results["runs"].values() for seed in some})
    used = f"{len(runs)} runs (seeds {', '.join(map(str, seeds))}), {planned} planned; {hours:.1f} hours of training, "
    used += f"{study.hours:.1f} planned."
    own = {cell.name: cell.updates for cell in study.cells}
    if any(run["cell"]["updates"] != own[name] for name, some in results["runs"].items() for run in some.values()):
        used += " **Not with the planned budgets: to try things out.**"
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
    before, after = between(path, name)
    write_atomically(path, f"{before}\n{text}\n\n{after}")


def between(path: Path, name: str) -> tuple[str, str]:
    """What stands before the place of `name` in a document, and behind it, each with its mark.

    Raises:
        DataError: the marks are not there.
        OSError: nor is the document.
    """
    document = path.read_text("utf-8")
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = document.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise DataError(f"{path}: expected the marks {begin.strip()!r} and {end!r}, each once and in that order")
    return before + begin, end + after
