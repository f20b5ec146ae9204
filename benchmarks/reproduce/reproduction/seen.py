"""What is seen of a trained run: its answers or its links, counted at each source, so that any rate follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heedful
from heedful.alignment import read_links
from heedful.api.comparing.answers import distinct, part_of
from heedful.comparison.counts import answers_of, rate_of, sums_of
from heedful.comparison.statistics import Rate
from heedful.comparison.values import Metric
from heedful.evaluation import evaluate_texts
from heedful.options import Convention
from heedful.training.reading import read

Links = frozenset[tuple[int, int]]


class Seen(NamedTuple):
    """One view of a run.

    Attributes:
        rate: the name of what is measured: "bleu", "sequence_error", "token_error" or "aer".
        sums: (sources, K): what the rate is made from.
        lengths: of the sources, in tokens.
        signature: how the figure was made.
    """

    rate: str
    sums: list[list[float]]
    lengths: list[int]
    signature: str


def rate(name: str) -> Rate:
    """Sums -> the rate in percent."""
    return _aer if name == "aer" else rate_of(name)  # pyright: ignore[reportArgumentType]


def answers(run: Path, pairs: str | os.PathLike[str], metric: Metric, **search: Any) -> Seen:
    """Each distinct source of `pairs` answered, and how far the answer is from the nearest of its targets."""
    loaded = heedful.load(run)
    corpus = read(pairs, loaded.recipe.data)
    predictor = loaded.predictor.with_options(search)
    asked, references = distinct(corpus)
    texts = [best.text for best, *_ in predictor.predict(asked)]
    split, tokenizer = loaded.codec.target_tokeniser.split, loaded.recipe.predict.bleu_tokenizer
    scores = evaluate_texts(
        [pair.asked for pair in asked],
        texts,
        [first for first, *_ in references],
        target_split=split,
        token_name=loaded.recipe.data.target_tokens.name,
        search=predictor.signature(),
        bleu_tokenizer=tokenizer,
    )
    told = answers_of(texts, references, target_split=split, scores={}, signature=scores.signatures[metric])
    part = part_of("test", corpus, loaded, {})
    sums = sums_of([told], part, metric, bleu_tokenizer=tokenizer)[0]
    return Seen(metric, sums.tolist(), list(part.lengths), told.signature)


def links(run: Path, pairs: str | os.PathLike[str], *, sure: str, possible: str, convention: Convention) -> Seen:
    """Each target word of `pairs` linked to the source word with the largest weight, and these links judged by gold.

    Args:
        convention: which target word a row of weights is about, see `heedful.align`.
    """
    alignments = heedful.align(run, pairs, words=True, convention=convention)
    found = [frozenset(alignment.links()) for alignment in alignments]
    return judged(found, [alignment.source for alignment in alignments], sure=sure, possible=possible)


def judged(found: Sequence[Links], sources: Sequence[Sequence[str]], *, sure: str, possible: str) -> Seen:
    """Links of each line, judged by those in two Pharaoh files."""
    sums = []
    for ours, must, may in zip(found, read_links(sure), read_links(possible), strict=True):
        may = may | must
        sums.append([len(ours & must), len(ours & may), len(ours), len(must)])
    total = sum(line[3] for line in sums)
    signature = f"aer|lines:{len(sums)}|sure:{total}|rule:largest weight|v:{heedful.__version__}"
    return Seen("aer", sums, [len(source) for source in sources], signature)


def _aer(sums: np.ndarray) -> np.ndarray:
    """AER = 1 - (|A & S| + |A & P|) / (|A| + |S|): Och and Ney 2003."""
    in_sure, in_possible, found, sure = np.moveaxis(sums, -1, 0)
    return 100 * (1 - (in_sure + in_possible) / np.maximum(found + sure, 1))
