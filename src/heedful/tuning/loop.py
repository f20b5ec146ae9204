"""The search: propose a setting, train it, keep what became of it; until the budget is used up."""

from __future__ import annotations

import math
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import MemoryShortage, RecipeError, RunError, SizeError, TrainingError
from heedful.recipes import load
from heedful.training import train
from heedful.tuning.ask import Asked
from heedful.tuning.events import Hopeless, TuneReporter, Watch
from heedful.tuning.propose import Proposal, propose
from heedful.tuning.result import Tuning, finish, write_recipe
from heedful.tuning.space import own_values
from heedful.tuning.trials import TRIALS, Study, Trial, best_of


def tune(asked: Asked, *, out: Path, minutes: float, trials: int | None, keep: bool, reporter: TuneReporter) -> Tuning:
    """See `heedful.tune`."""
    study = Study.open(out, asked.identity())
    search = _Search(asked, study, keep=keep, reporter=reporter)
    _tell(asked, study, reporter)
    while (why := _enough(study.trials, minutes=minutes, trials=trials)) is None:
        proposal = search.next()
        if proposal is None:
            why = "all settings in the ranges have been tried"
            break
        search.run(proposal)
    return finish(asked, study, why)


def _tell(asked: Asked, study: Study, reporter: TuneReporter) -> None:
    reporter.message("searched: " + ", ".join(f"{key} {found}" for key, found in asked.space.items()))
    for key, why in asked.left_out.items():
        reporter.message(f"not searched: {key} ({why})")
    if study.trials:
        reporter.message(f"going on with the search in {study.folder}, after {len(study.trials)} trials")


def _enough(done: Sequence[Trial], *, minutes: float, trials: int | None) -> str | None:
    """Why no other trial is begun. One that would not end in time, as it seems, is not; one that began is ended."""
    if trials is not None and len(done) >= trials:
        return f"{trials} trials were asked for"
    left = minutes - sum(trial.seconds for trial in done) / 60
    whole = [trial.seconds / 60 for trial in done if trial.state == "complete"]
    if left <= 0 or (whole and left < statistics.median(whole)):
        return f"another trial would not end within {minutes:g} minutes"
    return None


@dataclass
class _Search:
    asked: Asked
    study: Study
    keep: bool
    reporter: TuneReporter

    def next(self) -> Proposal | None:
        """The recipe itself, then what the sampler proposes."""
        asked, done = self.asked, self.study.trials
        if not done:
            return Proposal(own_values(asked.space, asked.recipe), None, maximise=asked.maximise)
        return propose(done, asked.space, seed=asked.recipe.train.seed, maximise=asked.maximise)

    def run(self, proposal: Proposal) -> None:
        """Train a setting, and write down what became of it."""
        number = len(self.study.trials)
        self.reporter.begun(number, proposal.values)
        since = time.monotonic()
        outcome = self._train(number, proposal)
        trial = Trial(
            number,
            seconds=round(time.monotonic() - since, 3),
            values=proposal.values,
            looks=dict(proposal.looks),
            **outcome,
        )
        self.study.add(trial)
        self.study.write_table(self.asked.recipe.train.metric)
        if best_of(self.study.trials, maximise=self.asked.maximise) is trial:
            write_recipe(self.asked, self.study)
        self.reporter.ended(trial)

    def _train(self, number: int, proposal: Proposal) -> dict[str, Any]:
        """State, value, updates and reason of a trial."""
        watches: list[Watch] = []
        known = (TrainingError, MemoryShortage)
        # That the recipe itself cannot be built is an error; of settings that do not go together the next may.
        known = known if number == 0 else (*known, RecipeError, SizeError)
        try:
            for index in range(self.asked.seeds):
                self._train_once(number, index, proposal, watches)
        except Hopeless:
            return _outcome("pruned", watches, None)
        except known as error:
            return _outcome("failed", watches, str(error))
        if number == 0:
            self._remark(watches[0])
        return _outcome("complete", watches, None)

    def _remark(self, watch: Watch) -> None:
        """After the first trial: what its budget is too small for."""
        warmup, budget = self.asked.recipe.train.warmup_updates, "a larger budget of a trial helps, or the setting"
        if watch.validations < 3:
            self.reporter.message(
                f"warning: a trial is validated {watch.validations} times, too seldom for one to be stopped early; "
                f"{budget} train.validate_every=0.1 (now {self.asked.recipe.train.validate_every:g})"
            )
        if 2 * warmup > watch.updates:
            self.reporter.message(
                f"warning: train.warmup_updates = {warmup}, and a trial has {watch.updates} updates, so that rates are "
                f"judged by their warm-up; {budget} train.warmup_updates={watch.updates // 10}"
            )

    def _train_once(self, number: int, index: int, proposal: Proposal, watches: list[Watch]) -> None:
        asked = self.asked
        own = number == 0  # of which nothing has to be put in, whatever a range says of it
        recipe = asked.recipe if own else load(asked.recipe, proposal.values)
        recipe = load(recipe, {**asked.budget(), "train.seed": recipe.train.seed + index})
        folder = self.study.folder / TRIALS / (f"{number:03}" + (f"-{index + 1}" if asked.seeds > 1 else ""))
        first = index == 0
        watch = Watch(
            recipe.train.metric,
            hopeless=proposal.hopeless if first else None,
            reporter=self.reporter,
            message=self.reporter.message if own and first else None,
        )
        watches.append(watch)
        _remove(folder)
        try:
            train(
                asked.pairs,
                recipe=recipe,
                out=folder,
                dev=asked.dev,
                links=None,
                set=(),
                resume=False,
                overwrite=True,
                reporter=watch,
            )
        finally:
            if not self.keep:
                _remove(folder)


def _outcome(state: str, watches: Sequence[Watch], reason: str | None) -> dict[str, Any]:
    outcome = {"state": state, "updates": sum(watch.updates for watch in watches), "reason": reason}
    if state == "failed":
        return {**outcome, "value": None, "loss": None}
    value, loss = (
        statistics.fmean(found) for found in zip(*((watch.best, watch.loss) for watch in watches), strict=True)
    )
    return {**outcome, "value": value, "loss": loss}


def _remove(folder: Path) -> None:
    """A trial's folder, and the folder of all of them where it is empty."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
        with suppress(OSError):
            os.rmdir(folder.parent)
    except OSError as error:
        raise RunError(f"{folder}: cannot be removed: {error.strerror or error}") from None


def check_numbers(
    *, minutes: float, trials: int | None, updates: int | None, trial_minutes: float | None, seeds: int
) -> None:
    """Raises RecipeError: a budget that is none, or two that exclude each other."""
    counts = {"trials": trials, "updates": updates, "seeds": seeds}
    for name, count in counts.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise RecipeError(f"{name}: expected a whole number from 1 on, got {count!r}")
    for name, number in {"minutes": minutes, "trial_minutes": trial_minutes}.items():
        if number is not None and not (isinstance(number, int | float) and 0 < number < math.inf):
            raise RecipeError(f"{name}: expected a number above 0, got {number!r}")
    if updates is not None and trial_minutes is not None:
        raise RecipeError("updates and trial_minutes are both a trial's budget; choose one")
    if trial_minutes is not None and trial_minutes > minutes:
        raise RecipeError(f"trial_minutes {trial_minutes:g} is more than minutes {minutes:g}, which is for all trials")
