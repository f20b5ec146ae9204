"""What the model answers on its own: how right by length, and whether it falls apart late in long answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from heedful.answers import Prediction
from heedful.data.pairs import Pair

Tokens = list[str]


class Bucket(NamedTuple):
    """Pairs whose sources are of about one length."""

    shortest: int  # source tokens
    longest: int
    pairs: int
    sequence_error: float  # percent of answers that are not the target
    token_error: float  # edits in percent of the targets' tokens


def errors(targets: Sequence[Tokens], answers: Sequence[Tokens]) -> tuple[float, float]:
    """(sequence error, token error) in percent, each line by itself."""
    from rapidfuzz.distance import Levenshtein

    wrong = sum(target != answer for target, answer in zip(targets, answers, strict=True))
    edits = sum(Levenshtein.distance(target, answer) for target, answer in zip(targets, answers, strict=True))
    return 100 * wrong / len(targets), 100 * edits / max(sum(map(len, targets)), 1)


def by_length(lengths: Sequence[int], targets: Sequence[Tokens], answers: Sequence[Tokens]) -> list[Bucket]:
    """Errors in at most four parts of the pairs, cut at the quartiles of the sources' lengths; each line by itself."""
    cuts = sorted({int(cut) for cut in np.quantile(lengths, (0.25, 0.5, 0.75, 1.0), method="inverted_cdf")})
    places = np.searchsorted(cuts, lengths)
    buckets = []
    for number in range(len(cuts)):
        members = np.flatnonzero(places == number).tolist()
        found = errors([targets[place] for place in members], [answers[place] for place in members])
        own = [lengths[place] for place in members]
        buckets.append(Bucket(min(own), max(own), len(own), *found))
    return buckets


def halves(targets: Sequence[Tokens], answers: Sequence[Tokens], finished: Sequence[bool]) -> dict[str, float]:
    """Errors in the first and the second half of the longer targets: half of the pairs, of six tokens or more.

    - ``early_error``, ``late_error``: edits from the target to the answer whose place is in the first, in the second
      half of the target, over the tokens of that half; of one target no more edits than it has tokens there.
    - ``late_excess``: late_error - early_error.
    - ``skips``: the share of the tokens of second halves that are left out.
    - ``repeats``: the share of three tokens in a row in second halves of answers that stood in the same answer before,
      less the same of the targets.
    - ``early_stops``: the share of answers that have less than four fifths of the target's length.
    - ``overruns``: the share of answers of more than five fourths of it, or cut at the length limit.

    All are NaN where there are no such pairs.
    """
    least = max(6.0, float(np.median([len(target) for target in targets])))
    long = [_halves(*three) for three in zip(targets, answers, finished, strict=True) if len(three[0]) >= least]
    names = ("early_error", "late_error", "late_excess", "skips", "repeats", "early_stops", "overruns")
    if not long:
        return dict.fromkeys(names, float("nan"))
    early_edits, late_edits, early_tokens, late_tokens, skipped = np.array([one.counts for one in long]).sum(0).tolist()
    early, late = early_edits / early_tokens, late_edits / late_tokens
    means = np.array([one.signs for one in long]).mean(0).tolist()
    return dict(zip(names, (early, late, late - early, skipped / late_tokens, *means), strict=True))


class _Halves(NamedTuple):
    """Of one pair."""

    counts: tuple[int, ...]  # edits in the first and the second half, tokens there, tokens skipped in the second
    signs: tuple[float, ...]  # repeats; whether it stops early; whether it does not end


def _halves(target: Tokens, answer: Tokens, finished: bool) -> _Halves:
    from rapidfuzz.distance import Levenshtein

    middle = (len(target) + 1) // 2  # where the second half begins
    operations = Levenshtein.editops(target, answer)
    late = [operation for operation in operations if operation.src_pos >= middle]
    tokens = (middle, len(target) - middle)
    edits = (min(len(operations) - len(late), tokens[0]), min(len(late), tokens[1]))
    skipped = sum(operation.tag == "delete" for operation in late)
    overrun = len(answer) > 1.25 * len(target) or not finished
    signs = (_repeated(answer) - _repeated(target), float(len(answer) < 0.8 * len(target)), float(overrun))
    return _Halves((*edits, *tokens, skipped), signs)


def _repeated(tokens: Tokens) -> float:
    """Of the threes in the second half, the share that stood before."""
    threes = [tuple(tokens[place : place + 3]) for place in range(len(tokens) - 2)]
    middle = len(threes) // 2
    before, repeated = set(threes[:middle]), 0
    for three in threes[middle:]:
        repeated += three in before
        before.add(three)
    return repeated / (len(threes) - middle) if threes else 0.0


def own_answers(
    pairs: Sequence[Pair],
    answers: Sequence[Prediction],
    *,
    source_lengths: Sequence[int],
    target_split: Callable[[str], Tokens],
) -> tuple[list[Bucket], dict[str, float]]:
    """`by_length` and `halves` of greedy answers."""
    targets = [target_split(pair.target or "") for pair in pairs]
    texts = [target_split(answer.text) for answer in answers]
    return by_length(source_lengths, targets, texts), halves(targets, texts, [answer.finished for answer in answers])


def losses_by_half(forced: Sequence[Prediction]) -> dict[str, float]:
    """``early_loss``, ``late_loss``, ``late_loss_excess``: the loss under teacher forcing in the halves of the longer
    targets, in nats a token; and by how much it is larger in the second.

    Longer ones as in `halves`; the end symbol is not counted.
    """
    rows = [np.array(prediction.token_scores[:-1]) for prediction in forced]
    least = max(6, float(np.median([len(row) for row in rows])))
    long = [row for row in rows if len(row) >= least]
    if not long:
        return dict.fromkeys(("early_loss", "late_loss", "late_loss_excess"), float("nan"))
    early = np.concatenate([row[: (len(row) + 1) // 2] for row in long])
    late = np.concatenate([row[(len(row) + 1) // 2 :] for row in long])
    found = {"early_loss": -float(early.mean()), "late_loss": -float(late.mean())}
    return {**found, "late_loss_excess": found["late_loss"] - found["early_loss"]}
