"""IBM Model 1 (Brown et al. 1993), both directions: what attention is measured against, and a guide for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Links = frozenset[tuple[int, int]]
Sentences = Sequence[Sequence[str]]


def model1(source: Sentences, target: Sentences, *, iterations: int = 5) -> list[Links]:
    """For each target word the source word that most probably made it, or none where that is the empty word.

    t(e | f) starts even; each iteration counts every pair of words by its share, sum over f of t(e | f) = 1.
    """
    # Word 0 is the empty word. One entry for each pair of positions of each sentence, all in one row.
    source_ids, target_ids = _ids(source, first=1), _ids(target, first=0)
    width = 1 + max(map(max, target_ids))
    pairs, owners, words = [], [], 0
    for fs, es in zip(source_ids, target_ids, strict=True):
        f, e = np.meshgrid(np.array([0, *fs], dtype=np.int64), np.array(es, dtype=np.int64))  # (T, S + 1)
        pairs.append((f * width + e).ravel())
        owners.append(np.repeat(np.arange(words, words + len(es)), len(fs) + 1))
        words += len(es)
    known, places = np.unique(np.concatenate(pairs), return_inverse=True)
    owner, given = np.concatenate(owners), known // width
    table = np.ones(len(known))  # t(e | f)
    for _ in range(iterations):
        shares = table[places] / np.bincount(owner, table[places])[owner]
        counts = np.bincount(places, shares, len(known))
        table = counts / np.bincount(given, counts)[given]
    return _best(table[places], source_ids, target_ids)


def _best(probabilities: np.ndarray, source: list[list[int]], target: list[list[int]]) -> list[Links]:
    links, start = [], 0
    for fs, es in zip(source, target, strict=True):
        end = start + len(es) * (len(fs) + 1)
        best = probabilities[start:end].reshape(len(es), len(fs) + 1).argmax(1).tolist()
        links.append(frozenset((place - 1, word) for word, place in enumerate(best) if place))
        start = end
    return links


def _ids(sentences: Sentences, *, first: int) -> list[list[int]]:
    known: dict[str, int] = {}
    return [[known.setdefault(word, len(known) + first) for word in words] for words in sentences]
