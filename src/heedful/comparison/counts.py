"""What is counted at each source, so that any rate over any of them follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from heedful.comparison.statistics import Rate, ratio
from heedful.comparison.values import Answers, Metric, Part
from heedful.evaluation import edits_to_nearest

_ORDERS = 4  # of n-grams in BLEU


def answers_of(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    target_split: Callable[[str], list[str]],
    scores: Mapping[str, float],
    signature: str,
) -> Answers:
    """One run's answers, an answer to each source, with how far each is from its nearest reference."""
    right = [{tuple(target_split(one)) for one in each} for each in references]
    wrong = [tuple(target_split(text)) not in each for text, each in zip(texts, right, strict=True)]
    pairs = list(zip(texts, references, strict=True))
    edits, lengths = zip(*(edits_to_nearest(text, each, target_split) for text, each in pairs), strict=True)
    word_edits, word_lengths = zip(*(edits_to_nearest(text, each, str.split) for text, each in pairs), strict=True)
    return Answers(
        texts=tuple(texts),
        wrong=tuple(wrong),
        edits=edits,
        lengths=lengths,
        word_edits=word_edits,
        word_lengths=word_lengths,
        scores=dict(scores),
        signature=signature,
    )


def sums_of(answers: Sequence[Answers], part: Part, metric: Metric, *, bleu_tokenizer: str = "13a") -> np.ndarray:
    """(runs, sources, K) of one design: what the rate of `metric`, by `rate_of`, is made from."""
    if metric == "bleu":
        return np.stack([_bleu_counts(each.texts, part.references, bleu_tokenizer) for each in answers])
    return np.stack([np.column_stack(_two(each, metric)) for each in answers]).astype(np.float64)


def _two(answers: Answers, metric: Metric) -> tuple[Sequence[int], Sequence[int]]:
    """What is wrong at each source, and of how many."""
    if metric == "sequence_error":
        return answers.wrong, [1] * len(answers.wrong)
    if metric == "token_error":
        return answers.edits, answers.lengths
    return answers.word_edits, answers.word_lengths


def rate_of(metric: Metric) -> Rate:
    """Sums (..., K) -> the metric in percent."""
    return _bleu if metric == "bleu" else ratio


def most_of(metric: Metric) -> float:
    """What the metric can be at most: an error by edits can pass 100 %, where answers are longer than references."""
    return 100.0 if metric in ("sequence_error", "bleu") else float("inf")


def _bleu_counts(texts: Sequence[str], references: Sequence[Sequence[str]], tokenizer: str) -> np.ndarray:
    """(sources, 10): lengths of answer and reference, n-grams that match, n-grams; against each first reference."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=tokenizer, force=True)  # force: no remark about texts that look tokenised
    found = [metric.corpus_score([text], [[first]]) for text, (first, *_) in zip(texts, references, strict=True)]
    return np.array([[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in found], dtype=np.float64)


def _bleu(sums: np.ndarray) -> np.ndarray:
    """sacreBLEU's with its usual smoothing: of n-grams without a match, the k-th such order counts 1 / 2^k of one."""
    answer, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + _ORDERS], sums[..., 2 + _ORDERS :]
    smoothed = np.where(matches == 0, 0.5 ** (matches == 0).cumsum(axis=-1), matches)
    logs = np.log(smoothed / np.maximum(totals, 1)).mean(axis=-1)
    brevity = np.minimum(0.0, 1 - reference / np.maximum(answer, 1e-9))
    defined = (matches[..., 0] > 0) & (totals > 0).all(axis=-1)
    return np.where(defined, 100 * np.exp(brevity + logs), 0.0)
