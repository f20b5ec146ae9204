"""What another temperature does to attention: quality, entropy and AER against it, without retraining."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from heedful.attention.normalisers import COLDEST
from heedful.diagnosis.agreement import Others, Units, with_gold
from heedful.diagnosis.experiments import loss_of
from heedful.diagnosis.health import means_of
from heedful.diagnosis.late import errors
from heedful.diagnosis.subject import Subject
from heedful.errors import RecipeError

TEMPERATURES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""Of the attention; 1 leaves the scores as they are."""


_SWEPT = "attention_temperature"


def temperatures_of(text: str | None) -> tuple[float, ...]:
    """What is to be swept: ``"attention_temperature"``, or some of them: ``"attention_temperature=0.5,1,2"``.

    Raises:
        RecipeError: that is something else.
    """
    if text is None:
        return ()
    name, equals, values = text.replace("-", "_").partition("=")
    if name != _SWEPT:
        raise RecipeError(f"sweep: expected {_SWEPT!r}, got {text!r}")
    try:
        found = tuple(float(value) for value in values.split(",")) if equals else TEMPERATURES
    except ValueError:
        raise RecipeError(f"sweep: expected temperatures such as 0.5,1,2, got {values!r}") from None
    if not all(COLDEST <= temperature < float("inf") for temperature in found):
        raise RecipeError(f"sweep: expected temperatures of at least {COLDEST:g}, got {values!r}")
    return found


class Swept(NamedTuple):
    """The pairs at one temperature of the attention.

    Attributes:
        temperature: what scores are divided by before they become weights.
        sequence_error: percent of greedy answers that are not the target, line by line.
        token_error: edits of greedy answers in percent of the targets' tokens, line by line.
        loss: under teacher forcing, in nats per target token.
        entropy: see `heedful.alignment.measure`; the mean over pairs.
        aer: in percent, where gold is given; else NaN.
    """

    temperature: float
    sequence_error: float
    token_error: float
    loss: float
    entropy: float
    aer: float


def sweep(subject: Subject, temperatures: Sequence[float], *, units: Sequence[Units], others: Others) -> list[Swept]:
    """The same at each temperature, in the order given."""
    return [_at(subject, temperature, units, others) for temperature in temperatures]


def _at(subject: Subject, temperature: float, units: Sequence[Units], others: Others) -> Swept:
    there = replace(subject, model=subject.model.at_attention_temperature(temperature))
    forced = there.forced()
    alignments = [each.alignment for each in forced if each.alignment is not None]
    split = subject.codec.target_tokeniser.split
    targets = [split(pair.target or "") for pair in subject.pairs]
    sequence_error, token_error = errors(targets, [split(answer.text) for answer in there.answered()])
    gold = {} if others.sure is None else with_gold(alignments, units, others.sure, others.possible)
    return Swept(
        temperature=temperature,
        sequence_error=sequence_error,
        token_error=token_error,
        loss=loss_of(forced),
        entropy=means_of(alignments)["entropy"][0],
        aer=gold.get("aer", float("nan")),
    )
