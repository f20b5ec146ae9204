"""What a search tells while it runs, and how it listens to a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from heedful.training import Update, Validated
from heedful.training.validate import better
from heedful.tuning.trials import Trial


class TuneReporter(Protocol):
    """Anything with these methods."""

    def message(self, text: str) -> None: ...
    def begun(self, number: int, values: dict[str, Any]) -> None: ...
    def update(self, update: Update) -> None: ...
    def ended(self, trial: Trial) -> None: ...


class Unheard:
    """A reporter that says nothing."""

    def message(self, text: str) -> None:
        pass

    def begun(self, number: int, values: dict[str, Any]) -> None:
        pass

    def update(self, update: Update) -> None:
        pass

    def ended(self, trial: Trial) -> None:
        pass


class Hopeless(Exception):
    """Ends a training from inside its reporter; what it has saved is whole."""


class Watch:
    """A training's reporter: keeps what became of it, and ends it where its judge says so.

    Args:
        metric: of the recipe.
        hopeless: the judge, of the share of the budget, the best so far and the loss there; None where a training is
            not stopped.
        reporter: told of all updates.
        message: told of what training has to say; None where that was said before.
    """

    def __init__(
        self,
        metric: str,
        *,
        hopeless: Callable[[float, float, float], bool] | None,
        reporter: TuneReporter,
        message: Callable[[str], object] | None,
    ) -> None:
        self.best: float | None = None
        self.loss = 0.0  # there
        self.updates = self.validations = 0
        self._share = 0.0
        self._metric, self._hopeless, self._reporter, self._message = metric, hopeless, reporter, message

    def message(self, text: str) -> None:
        if self._message is not None:
            self._message(text)

    def update(self, update: Update) -> None:
        self._share, self.updates = update.share, update.updates
        self._reporter.update(update)

    def validated(self, validated: Validated) -> None:
        value = validated.dev_loss if self._metric == "loss" else validated.scores[self._metric]
        loss = validated.dev_loss
        if better(self._metric, value, self.best) or (value == self.best and loss < self.loss):
            self.best, self.loss = value, loss
        self.validations += 1
        if self._hopeless is not None and self.best is not None and self._hopeless(self._share, self.best, self.loss):
            raise Hopeless
