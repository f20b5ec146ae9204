"""What a series tells while it runs: the same as one training, with the trial that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heedful.series.trial import Finished, Trial
    from heedful.training import Update, Validated


class Watcher(Protocol):
    """Anything with these methods. Where several train at once, they are called by several threads, never at once."""

    def began(self, trial: Trial, *, resumed: bool) -> None: ...
    def message(self, trial: Trial, text: str) -> None: ...
    def update(self, trial: Trial, update: Update) -> None: ...
    def validated(self, trial: Trial, validated: Validated) -> None: ...
    def ended(self, trial: Trial, finished: Finished) -> None: ...


class Unwatched:
    """A watcher that says nothing."""

    def began(self, trial: Trial, *, resumed: bool) -> None:
        pass

    def message(self, trial: Trial, text: str) -> None:
        pass

    def update(self, trial: Trial, update: Update) -> None:
        pass

    def validated(self, trial: Trial, validated: Validated) -> None:
        pass

    def ended(self, trial: Trial, finished: Finished) -> None:
        pass
