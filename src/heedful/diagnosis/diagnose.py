"""All examinations of one model, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from heedful.alignment import Alignment
from heedful.answers import Prediction
from heedful.data.split import spread
from heedful.diagnosis import thresholds as at
from heedful.diagnosis.agreement import Others, Units, agreement, check, needed_tokens
from heedful.diagnosis.experiments import gain_over_other_context, gains, inside
from heedful.diagnosis.health import has_a_choice, means_of
from heedful.diagnosis.late import Bucket, losses_by_half, own_answers
from heedful.diagnosis.padding import padding
from heedful.diagnosis.shift import fits, needed
from heedful.diagnosis.subject import Subject
from heedful.diagnosis.sweep import Swept, sweep
from heedful.diagnosis.verdict import Verdict, judge

CLOSELY = 64
"""Pairs whose gradients are taken, and whose source words are replaced one by one."""


@dataclass(frozen=True)
class Diagnosis:
    """What `heedful.diagnose` found.

    Attributes:
        verdict: in words, with the evidence.
        measures: every number by its name: see docs/diagnose.md; NaN where it is not defined.
        counts: for those that are means over pairs, over how many.
        by_length: errors of greedy answers, by the source's length.
        sweep: what another attention temperature does, where it was asked for.
        pairs: how many pairs were looked at.
        convention: which word the model says that its rows are about.
    """

    verdict: Verdict
    measures: Mapping[str, float]
    counts: Mapping[str, int]
    by_length: tuple[Bucket, ...]
    sweep: tuple[Swept, ...]
    pairs: int
    convention: str

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values; a number that is not defined is None."""
        verdict = asdict(self.verdict)
        evidence = [each._asdict() for each in self.verdict.evidence]
        return _plain(
            {
                "verdict": verdict.pop("name"),
                **verdict,
                "evidence": evidence,
                "measures": dict(self.measures),
                "counts": dict(self.counts),
                "by_length": [bucket._asdict() for bucket in self.by_length],
                "sweep": [swept._asdict() for swept in self.sweep],
                "pairs": self.pairs,
                "convention": self.convention,
            }
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value != value else value


def examine(subject: Subject, others: Others, *, temperatures: Sequence[float] = ()) -> Diagnosis:
    """All examinations; `subject` holds the pairs that are to be looked at, and `others` has an entry for each."""
    units = [Units.of(subject.codec, pair, shortening=subject.model.shortening) for pair in subject.pairs]
    check(units, [pair.line for pair in subject.pairs], others)
    forced = subject.forced()
    alignments = [prediction.alignment for prediction in forced if prediction.alignment is not None]
    means = means_of(alignments)
    numbers = {name: value for name, (value, _) in means.items()}
    numbers |= gains(subject, forced)
    numbers["gain_over_other_context"] = gain_over_other_context(subject)
    numbers |= padding(subject)
    numbers |= losses_by_half(forced)
    some = spread(range(len(subject.pairs)), CLOSELY)
    closely = replace(subject, pairs=[subject.pairs[place] for place in some])
    numbers |= inside(closely)
    numbers |= _fits(closely, [forced[place] for place in some], alignments, units, others)
    buckets, late = own_answers(
        subject.pairs,
        subject.answered(),
        source_lengths=[subject.codec.source_size(pair) for pair in subject.pairs],
        target_split=subject.codec.target_tokeniser.split,
    )
    numbers |= late
    numbers |= agreement(alignments, units, others)
    return Diagnosis(
        verdict=judge(numbers, pairs=sum(map(has_a_choice, alignments))),
        measures=numbers,
        counts={name: count for name, (_, count) in means.items()},
        by_length=tuple(buckets),
        sweep=tuple(sweep(subject, temperatures, units=units, others=others)),
        pairs=len(subject.pairs),
        convention=subject.model.row_convention,
    )


def _fits(
    closely: Subject,
    forced: Sequence[Prediction],
    alignments: Sequence[Alignment],
    units: Sequence[Units],
    others: Others,
) -> dict[str, float]:
    """What others say the target words are about is believed; else it is what the model needs."""
    believed = others.links if others.sure is None else others.sure
    if believed is not None:
        found = fits(alignments, [needed_tokens(own, its) for own, its in zip(units, believed, strict=True)])
    else:
        found = fits([each.alignment for each in forced if each.alignment is not None], needed(closely, forced))
    best, _ = found.best_other(closely.model.row_convention)
    enough = found.words >= at.FEWEST_NEEDED
    return {
        "fit_predicted": found.predicted,
        "fit_input": found.input,
        "fit_ahead": found.ahead,
        "fit_left": found.left,
        "fit_right": found.right,
        "fit_words": found.words,
        "best_other_fit": best if enough else float("nan"),
        "lead_of_other_fit": best - found.own if enough else float("nan"),
    }
