"""Running a series: what is finished is passed over, what was stopped goes on, several train at once if asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from heedful.errors import DataError, HeedfulError, TrainingError
from heedful.predictor import check_count
from heedful.runs import CHECKPOINT
from heedful.series.parent import Children
from heedful.series.trial import Finished, Trial, finish, folder_of, state_of
from heedful.series.watcher import Unwatched, Watcher
from heedful.training import Update, Validated, train


def run_series(
    trials: Sequence[Trial], *, out: str | os.PathLike[str], jobs: int = 1, watcher: Watcher | None = None
) -> list[Finished]:
    """Train all trials, each into ``OUT/NAME/seed-N``, a run like any other; called again, it goes on where it stopped.

    A training whose loss or gradient is no number any more is finished too: its best weights so far are its result, and
    `Finished.stopped` says what happened.

    Args:
        trials: in the order in which they are begun.
        out: the folder for all.
        jobs: trainings at once, each in a process of its own with one thread. With 1, they are in this process, and
            its threads are what they are.
        watcher: told of every training's updates and validations, and how each ended.

    Returns:
        How each ended, in the order of `trials`.

    Raises:
        DataError: two trials have the same name and seed, or `jobs` is no number.
        RunError: a folder holds another training, or cannot be written.
        DataError, RecipeError, TrainingError: of one of the trainings; those that ran beside it are stopped, and can
            go on.
    """
    check_count("jobs", jobs)
    watcher = watcher or Unwatched()
    seen = {(trial.name, trial.seed) for trial in trials}
    if len(seen) < len(trials):
        raise DataError("expected trials with different names or seeds, got one twice")
    states = [state_of(trial, out) for trial in trials]  # all are looked at before any training begins
    done: dict[int, Finished] = {}
    waiting: list[tuple[int, bool]] = []
    for place, state in enumerate(states):
        if isinstance(state, Finished):
            done[place] = state
            watcher.ended(trials[place], state)
        else:
            waiting.append((place, state))
    if jobs == 1:
        for place, resume in waiting:
            done[place] = train_here(trials[place], folder_of(trials[place], out), resume, watcher)
    else:
        done |= _together(trials, waiting, Path(out), jobs, watcher)
    return [done[place] for place in range(len(trials))]


class _Told:
    """A reporter of one training that tells the watcher of all."""

    def __init__(self, trial: Trial, watcher: Watcher) -> None:
        self._trial, self._watcher = trial, watcher

    def message(self, text: str) -> None:
        self._watcher.message(self._trial, text)

    def update(self, update: Update) -> None:
        self._watcher.update(self._trial, update)

    def validated(self, validated: Validated) -> None:
        self._watcher.validated(self._trial, validated)


def train_here(trial: Trial, folder: Path, resume: bool, watcher: Watcher) -> Finished:
    """Train in this process; see `run_series`."""
    watcher.began(trial, resumed=resume)
    error = None
    try:
        train(
            trial.pairs,
            recipe=None if resume else trial.recipe,
            out=folder,
            dev=trial.dev,
            links=trial.links,
            set=(),
            resume=resume,
            overwrite=False,
            reporter=_Told(trial, watcher),
        )
    except TrainingError as problem:
        if not (folder / CHECKPOINT).exists():  # it never began: there is nothing to be compared
            raise TrainingError(f"{trial}: {problem}") from None
        error = str(problem)
    except HeedfulError as problem:
        raise type(problem)(f"{trial}: {problem}") from None
    finished = finish(trial, folder, error)
    watcher.ended(trial, finished)
    return finished


def _together(
    trials: Sequence[Trial], waiting: Sequence[tuple[int, bool]], out: Path, jobs: int, watcher: Watcher
) -> dict[int, Finished]:
    """Each in a process of its own."""
    children = Children(out, watcher)
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(children.train, trials[place], resume): place for place, resume in waiting}
        try:
            over, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failed = [problem for future in over if (problem := future.exception()) is not None]
        finally:  # all is over, or Ctrl-C came, or one has failed
            for future in futures:
                future.cancel()
            children.stop()
    if failed:
        raise failed[0]
    return {place: future.result() for future, place in futures.items()}
