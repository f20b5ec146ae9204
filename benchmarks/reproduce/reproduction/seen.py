"""What is seen of a trained run: its answers or its links, counted at each source, so that any rate follows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heedful
from heedful.alignment import read_links
from heedful.comparison.counts import answers_of, rate_of, sums_of
from heedful.comparison.statistics import Rate
from heedful.comparison.values import Metric, Part
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


def answers(run: Path | heedful.Run, pairs: str | os.PathLike[str], metric: Metric, **search: Any) -> Seen:
    """Each distinct source of `pairs` answered, and how far the answer is from the nearest of its targets."""
    run = run if isinstance(run, heedful.Run) else heedful.load(run)
    corpus = read(pairs, run.recipe.data)
    references: dict[str, list[str]] = {}
    for pair in corpus.pairs:
        references.setdefault(pair.source, []).append(pair.target or "")
    predictor = run.predictor.with_options(search)
    first = {pair.source: pair for pair in reversed(corpus.pairs)}
    texts = [found[0].text for found in predictor.predict([first[source] for source in references])]
    split = run.codec.target_tokeniser.split
    tokenizer = run.recipe.predict.bleu_tokenizer
    scores = evaluate_texts(
        list(references),
        texts,
        [each[0] for each in references.values()],
        target_split=split,
        token_name=run.recipe.data.target_tokens.name,
        search=predictor.signature(),
        bleu_tokenizer=tokenizer,
    )
    told = answers_of(texts, list(references.values()), target_split=split, scores={}, signature="")
    lengths = [len(run.codec.source_tokeniser.split(source)) for source in references]
    part = _part(list(references), list(references.values()), lengths)
    sums = sums_of([told], part, metric, bleu_tokenizer=tokenizer)[0]
    return Seen(metric, sums.tolist(), lengths, scores.signatures[metric])


def _part(sources: Sequence[str], references: Sequence[Sequence[str]], lengths: Sequence[int]) -> Part:
    none = (0,) * len(sources)
    return Part(
        name="test",
        lines=sum(map(len, references)),
        sources=tuple(sources),
        references=tuple(map(tuple, references)),
        lengths=tuple(lengths),
        rarest=none,
        unknown=none,
    )


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
