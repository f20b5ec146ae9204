"""What a search ends in: the best recipe as a file, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.errors import TrainingError, one_line
from heedful.files import write_atomically
from heedful.recipes import Recipe, as_toml, load
from heedful.tuning.ask import Asked
from heedful.tuning.propose import Importance, importance
from heedful.tuning.trials import RECIPE, Study, Trial, best_of


@dataclass(frozen=True)
class Tuning:
    """A search that ended.

    Args:
        folder: of the search.
        file: the recipe with the best values, for ``heedful train --recipe``.
        recipe: the same.
        metric: by which trials were judged.
        development_pairs: how many of them each validation looked at.
        ranges: what was searched, as it is written.
        left_out: which ranges were not, and why.
        trials: all of them, the recipe itself first.
        best: the one whose values are in `recipe`.
        at_ends: keys whose best value is at an end of their range, beyond which there may be better ones.
        importance: of the keys, the most important first; empty after few trials.
        ended: why no other trial was begun.
    """

    folder: Path
    file: Path
    recipe: Recipe
    metric: str
    development_pairs: int
    ranges: dict[str, str]
    left_out: dict[str, str]
    trials: tuple[Trial, ...]
    best: Trial
    at_ends: tuple[str, ...]
    importance: tuple[Importance, ...]
    ended: str

    def as_json(self) -> dict[str, Any]:
        """Plain values; the recipe is in its file."""
        return {
            "folder": str(self.folder),
            "recipe": str(self.file),
            "metric": self.metric,
            "development_pairs": self.development_pairs,
            "ranges": self.ranges,
            "left_out": self.left_out,
            "trials": [trial.as_json() for trial in self.trials],
            "best": self.best.number,
            "at_ends": list(self.at_ends),
            "importance": {each.key: each.share for each in self.importance},
            "ended": self.ended,
        }


def finish(asked: Asked, study: Study, ended: str) -> Tuning:
    """Write the recipe once more, with all trials counted.

    Raises:
        TrainingError: no trial was trained to its end.
    """
    metric = asked.recipe.train.metric
    best = best_of(study.trials, maximise=asked.maximise)
    if best is None:
        reasons = {trial.reason for trial in study.trials}
        raise TrainingError(
            f"none of {len(study.trials)} trials could be trained to its end: {'; '.join(sorted(map(str, reasons)))}"
        )
    return Tuning(
        folder=study.folder,
        file=write_recipe(asked, study),
        recipe=_tuned(asked, best),
        metric=metric,
        development_pairs=asked.sizes[1],
        ranges={key: str(found) for key, found in asked.space.items()},
        left_out=asked.left_out,
        trials=tuple(study.trials),
        best=best,
        at_ends=tuple(
            key for key, found in asked.space.items() if best.values[key] in found and found.at_end(best.values[key])
        ),
        importance=tuple(importance(study.trials, asked.space, maximise=asked.maximise)),
        ended=ended,
    )


def write_recipe(asked: Asked, study: Study) -> Path:
    """The recipe with the best values so far, and with its own budget; above it, where it comes from."""
    best = best_of(study.trials, maximise=asked.maximise)
    assert best is not None, "called with a trial that was trained to its end"
    path = study.folder / RECIPE
    comment = "".join(f"# {one_line(line)}\n" for line in _provenance(asked, study, best))
    write_atomically(path, f"{comment}\n{as_toml(_tuned(asked, best))}")
    return path


def _tuned(asked: Asked, best: Trial) -> Recipe:
    return asked.recipe if best.number == 0 else load(asked.recipe, best.values)


def _provenance(asked: Asked, study: Study, best: Trial) -> list[str]:
    metric, states = asked.recipe.train.metric, [trial.state for trial in study.trials]
    own = study.trials[0]
    itself = f"{own.value:.2f}" if own.value is not None else "failed"
    budget = f"{asked.updates} updates" if asked.updates is not None else f"{asked.trial_minutes:g} minutes"
    which = "the recipe itself" if best.number == 0 else f"trial {best.number}"
    dev = asked.dev if asked.dev is not None else f"{asked.recipe.data.dev_share:g} of {asked.pairs}, held out"
    return [
        f"{asked.name}, tuned by heedful {__version__}: {metric} {best.value:.2f} (greedy, on development pairs); "
        f"the recipe itself: {itself}.",
        f"Best of {len(states)} trials is {which}; {states.count('pruned')} were stopped early, "
        f"{states.count('failed')} failed. A trial was {budget}, on {asked.seeds} seed(s) from "
        f"{asked.recipe.train.seed} on.",
        f"Pairs: {asked.pairs} ({asked.sizes[0]:,}, digest {asked.digests['pairs']}). "
        f"Development: {dev} ({asked.sizes[1]:,}, digest {asked.digests['development pairs']}).",
    ]
