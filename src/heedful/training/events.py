"""What training tells while it runs. The library prints nothing: who wants to see it passes a `Reporter`."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Update(NamedTuple):
    """One update of the weights."""

    updates: int  # so far
    epoch: int  # from 1
    share: float  # of the budget that is used up, 0 to 1
    loss: float  # nats a target token, of this batch
    learning_rate: float
    tokens: int  # target tokens of this batch, the end symbols among them
    tokens_per_second: float  # of late


class Validated(NamedTuple):
    """One look at the development data."""

    updates: int
    epoch: float
    seconds: float  # spent so far
    train_loss: float  # nats a target token since the last look, teacher-forced, without smoothing
    dev_loss: float  # the same on the development data
    scores: dict[str, float]  # from real decoding
    best: bool  # by the recipe's metric
    health: dict[str, float]  # of the attention: see `heedful.diagnosis.attention_health`; NaN is not known


class Reporter(Protocol):
    """Anything with these methods."""

    def message(self, text: str) -> None: ...
    def update(self, update: Update) -> None: ...
    def validated(self, validated: Validated) -> None: ...


class Silent:
    """A reporter that says nothing."""

    def message(self, text: str) -> None:
        pass

    def update(self, update: Update) -> None:
        pass

    def validated(self, validated: Validated) -> None:
        pass
