"""Which setting is tried next, and whether a training is worth its end: all that is asked of Optuna.

Optuna's study is made anew, in memory, from the trials that ended, whenever it is asked. So what it answers follows
from them, the ranges and the seed alone: a search that is interrupted and taken up is the same as one that was not, and
no file of Optuna's is ever read.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.errors import RunError
from heedful.tuning.space import Interval, Range, Space
from heedful.tuning.trials import Trial, rank

if TYPE_CHECKING:
    import optuna

TENTHS = 10
"""Training is looked at as often as this, at equal shares of its budget, whatever a batch holds."""

_RANDOM_FIRST = 8  # trials before what was learned from them has a say
_COMPLETE_FIRST = 4  # trials before any is stopped early
_UNSTOPPED, _UNSTOPPED_FROM = 2, 0.9  # the first tenths, in which none is; and from where on none is either
_DRAWS = 20  # of the sampler, for a setting that is new; then as many tens by chance alone
_IMPORTANT = 10  # complete trials before it is said what is important


def need_optuna() -> None:
    """Raises RunError: it is not installed; or this is one of several processes, which would each search by itself."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise RunError("tune runs in one process; start it without accelerate launch or torchrun")
    if find_spec("optuna") is None:
        raise RunError("tune needs the package optuna: pip install 'heedful[tune]'")


class Proposal:
    """A setting to try, and the judge of its training."""

    def __init__(self, values: dict[str, Any], trial: optuna.Trial | None, *, maximise: bool) -> None:
        self.values = values
        self._trial, self._maximise = trial, maximise
        self.looks: dict[int, tuple[float, float]] = {}

    def hopeless(self, share: float, best: float, loss: float) -> bool:
        """Whether to stop a training of which this is the best validation so far, at this share of its budget: it is
        worse than half of those that were trained to their end were at the same share."""
        for tenth in range(len(self.looks), min(int(TENTHS * share + 1e-9) + 1, TENTHS)):
            self.looks[tenth] = (best, loss)
            if self._trial is not None:
                self._trial.report(rank(best, loss, maximise=self._maximise), tenth)
        # A share is told from before the update, so the last look comes at less than 1; and there is nothing to gain.
        return share < _UNSTOPPED_FROM and self._trial is not None and self._trial.should_prune()


def propose(trials: Sequence[Trial], space: Space, *, seed: int, maximise: bool) -> Proposal | None:
    """A setting that was not tried yet: at random at first, then by a tree-structured Parzen estimator (Bergstra et al.
    2011); None where there is nothing new.

    Args:
        trials: those that ended.
        space: what is searched.
        seed: of the draws; each trial has its own, whatever was drawn before.
        maximise: whether more of the metric is better.
    """
    tried = [trial.values for trial in trials]
    sizes = [_size(found) for found in space.values()]
    if all(size is not None for size in sizes) and math.prod(size or 1 for size in sizes) <= _within(trials, space):
        return None
    distributions = {key: _distribution(found) for key, found in space.items()}
    for draw in range(11 * _DRAWS):
        number = random.Random(f"{seed} {len(trials)} {draw}").getrandbits(32)
        with _quiet():
            trial = _study(trials, space, seed=number, maximise=maximise, blind=draw >= _DRAWS).ask(distributions)
        values = {key: _decoded(found, trial.params[key]) for key, found in space.items()}
        if values not in tried:
            return Proposal(values, trial, maximise=maximise)
    return None


class Importance(NamedTuple):
    """Of a key: which share of the difference between the good settings and all others it makes."""

    key: str
    share: float


def importance(trials: Sequence[Trial], space: Space, *, maximise: bool) -> list[Importance]:
    """How much each key mattered for being among the best tenth (or five), the most important first, by PED-ANOVA
    (Watanabe, Bansal and Hutter 2023); empty where too few trials were trained to their end, or too many did alike."""
    complete = [trial for trial in trials if trial.state == "complete" and _inside(trial.values, space)]
    good = max(5, math.ceil(len(complete) / 10))
    ranked = sorted((rank(trial.value, trial.loss, maximise=maximise) for trial in complete), reverse=maximise)
    if len(complete) < _IMPORTANT or ranked[good] == ranked[-1]:
        return []
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    evaluator = PedAnovaImportanceEvaluator(target_quantile=good / len(complete))
    with _quiet():
        shares = get_param_importances(_study(complete, space, seed=0, maximise=maximise), evaluator=evaluator)
    return [Importance(key, float(share)) for key, share in shares.items()]


def _study(
    trials: Sequence[Trial], space: Space, *, seed: int, maximise: bool, blind: bool = False
) -> optuna.study.Study:
    import optuna
    from optuna.trial import TrialState, create_trial

    study = optuna.create_study(
        direction="maximize" if maximise else "minimize",
        sampler=optuna.samplers.RandomSampler(seed=seed)
        if blind
        else optuna.samplers.TPESampler(n_startup_trials=_RANDOM_FIRST, seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_COMPLETE_FIRST, n_warmup_steps=_UNSTOPPED),
    )
    distributions = {key: _distribution(found) for key, found in space.items()}
    for trial in trials:
        if not _inside(trial.values, space):  # the recipe itself, where ranges leave it out
            continue
        complete, failed = trial.state == "complete", trial.state == "failed"
        study.add_trial(
            create_trial(
                # A failed one is not left out, which would teach nothing: with no validation it counts as the worst.
                state=TrialState.COMPLETE if complete else TrialState.PRUNED,
                value=rank(trial.value, trial.loss, maximise=maximise) if complete else None,
                params={key: _encoded(found, trial.values[key]) for key, found in space.items()},
                distributions=distributions,
                intermediate_values={} if failed else _ranks(trial, maximise=maximise),
            )
        )
    return study


def _ranks(trial: Trial, *, maximise: bool) -> dict[int, float]:
    return {tenth: rank(value, loss, maximise=maximise) for tenth, (value, loss) in trial.looks.items()}


def _distribution(found: Range) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(found, Interval):
        if found.whole:
            return IntDistribution(int(found.low), int(found.high), log=found.log)
        return FloatDistribution(found.low, found.high, log=found.log)
    places = len(found.values)
    return IntDistribution(0, places - 1) if found.ordered else CategoricalDistribution(tuple(range(places)))


def _encoded(found: Range, value: Any) -> Any:
    return value if isinstance(found, Interval) else found.place(value)


def _decoded(found: Range, value: Any) -> Any:
    """A number with three digits says as much as one with sixteen, and can be read."""
    if not isinstance(found, Interval):
        return found.values[value]
    return value if found.whole else min(max(float(f"{value:.3g}"), found.low), found.high)


def _inside(values: Mapping[str, Any], space: Space) -> bool:
    return all(values[key] in found for key, found in space.items())


def _within(trials: Sequence[Trial], space: Space) -> int:
    return sum(_inside(trial.values, space) for trial in trials)


def _size(found: Range) -> int | None:
    """How many values there are; None where nobody counts them."""
    if isinstance(found, Interval):
        return int(found.high) - int(found.low) + 1 if found.whole else None
    return len(found.values)


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna tells standard error of every study."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
