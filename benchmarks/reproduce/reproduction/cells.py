"""What a reproduction consists of: cells that are trained, with what, on what, for how long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.seen import Seen
from reproduction.tables import Claim, Table

from heedful.series import Trial, make_trial

RECIPES = Path(__file__).parents[1] / "recipes"


class Task(NamedTuple):
    """Data: what `heedful.train` takes, and what answers are judged on."""

    pairs: str
    dev: str
    test: str


class Cell(NamedTuple):
    """One thing that is tried.

    Attributes:
        name: of its folder.
        title: in tables.
        recipe: the file in ``recipes/``; `settings` are laid over it.
        task: of those that the study makes.
        updates: its budget.
        milliseconds: of an update, measured alone on one thread; the plan is made of it.
        settings: what makes it different.
    """

    name: str
    title: str
    recipe: str
    task: str
    updates: int
    milliseconds: int
    settings: Mapping[str, Any] = {}

    @property
    def minutes(self) -> float:
        """That a run of it is planned to take."""
        return self.updates * self.milliseconds / 60_000

    def trial(self, task: Task, seed: int, updates: int | None = None) -> Trial:
        """Its training from one seed; `updates` instead of its own."""
        return make_trial(
            self.name,
            RECIPES / f"{self.recipe}.toml",
            pairs=task.pairs,
            dev=task.dev,
            seed=seed,
            updates=self.updates if updates is None else updates,
            set=dict(self.settings),
        )


Judge = Callable[[Path, Task], Mapping[str, Seen]]
"""What is seen of a run, by the name of the view; `At` picks one."""


@dataclass(frozen=True)
class Study:
    """One reproduction.

    Attributes:
        name: of the script, and of its place in the document.
        title: in the ledger.
        cells: in the order in which they are trained, all with the first seed, then all with the next.
        seeds: of each cell.
        tasks: (DATA, a folder to write into) -> the data by name.
        judge: what is looked at when a cell has been trained.
        tables: figures beside those of the paper.
        claims: what the paper says, as a contrast that is above 0, below 0, or about 0.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    seeds: Sequence[int]
    tasks: Callable[[Path, Path], Mapping[str, Task]]
    judge: Callable[[Cell], Judge]
    tables: Sequence[Table]
    claims: Sequence[Claim]

    @property
    def hours(self) -> float:
        """That all its runs are planned to take, one after the other on one thread."""
        return len(self.seeds) * sum(cell.minutes for cell in self.cells) / 60
