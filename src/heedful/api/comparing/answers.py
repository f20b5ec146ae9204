"""What a finished training answers, and the character of its attention; kept beside the run, for it takes a while."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from heedful.api.comparing.curve import curve_of
from heedful.api.comparing.data import Split
from heedful.api.diagnose import diagnose
from heedful.api.run import Run as Loaded
from heedful.api.run import load
from heedful.comparison import Answers, Attention, Part, Run
from heedful.comparison.counts import answers_of
from heedful.comparison.values import PartName, Value
from heedful.data.pairs import Corpus, Pair
from heedful.data.texts import normalise
from heedful.evaluation import evaluate_texts
from heedful.files import write_atomically
from heedful.runs import WEIGHTS
from heedful.series import Finished

FILE = "answers.json"
SCORES = ("sequence_error", "token_error", "word_error", "bleu", "chrf")
DIAGNOSED = 200
"""Pairs whose attention is looked at: each a dozen times."""

TargetSplit = Callable[[str], list[str]]


class _Kept(Value):
    """The file: of what it is, and what was found."""

    key: str
    run: Run


def answered(
    finished: Finished,
    split: Split,
    *,
    out: Path,
    target_split: TargetSplit,
    token_name: str,
    key: str,
    begun: Callable[[], object],
) -> Run:
    """A finished training with its answers to dev and test; what is there already is read.

    Args:
        target_split, token_name: what token_error counts: the same for all designs.
        key: of everything else that the answers depend on.
        begun: called if there is something to do.
    """
    if (made := kept_answers(finished, key)) is not None:
        return made
    begun()
    run = load(finished.folder)
    found = Run(
        seed=finished.seed,
        folder=os.path.relpath(finished.folder, out),
        updates=finished.updates,
        epochs=finished.epochs,
        minutes=finished.minutes,
        best_updates=finished.best_updates,
        stopped=finished.stopped,
        dev=_answers(run, split.corpora["dev"], target_split, token_name),
        test=_answers(run, split.corpora["test"], target_split, token_name),
        attention=_attention(run, split),
        curve=curve_of(finished.folder),
    )
    write_atomically(
        finished.folder / FILE, _Kept(key=_with_weights(finished, key), run=found).model_dump_json() + "\n"
    )
    return found


def kept_answers(finished: Finished, key: str) -> Run | None:
    """Those that were written for this key and these weights."""
    try:
        kept = _Kept.model_validate_json((finished.folder / FILE).read_bytes())
    except (OSError, ValueError):  # none, or none that can be read
        return None
    return kept.run if kept.key == _with_weights(finished, key) else None


def _with_weights(finished: Finished, key: str) -> str:
    weights = (finished.folder / WEIGHTS).stat()
    return key_of([key, weights.st_size, weights.st_mtime_ns])


def distinct(corpus: Corpus) -> tuple[list[Pair], list[list[str]]]:
    """The first line of each distinct source, and all its targets."""
    first: dict[object, Pair] = {}
    targets: dict[object, list[str]] = {}
    for pair in corpus.pairs:
        first.setdefault(pair.asked, pair)
        targets.setdefault(pair.asked, []).append(pair.target or "")
    return list(first.values()), list(targets.values())


def _answers(run: Loaded, corpus: Corpus, target_split: TargetSplit, token_name: str) -> Answers:
    pairs, references = distinct(corpus)
    form = run.recipe.data.normalisation  # as references are: what is written may compose across tokens
    texts = [normalise(best.text, form) for best, *_ in run.predictor.predict(pairs)]
    by_source = dict(zip((pair.asked for pair in pairs), texts, strict=True))
    scores = evaluate_texts(
        [pair.asked for pair in corpus.pairs],
        [by_source[pair.asked] for pair in corpus.pairs],
        [pair.target or "" for pair in corpus.pairs],
        target_split=target_split,
        search=run.predictor.signature(),
        token_name=token_name,
        bleu_tokenizer=run.recipe.predict.bleu_tokenizer,
        normalisation=form,
    )
    return answers_of(
        texts,
        references,
        target_split=target_split,
        scores={name: getattr(scores, name) for name in SCORES},
        signature=scores.signature,
    )


def _attention(run: Loaded, split: Split) -> Attention | None:
    if not run.predictor.model.has_attention:
        return None
    found = diagnose(run, split.test, sure=split.links, size=DIAGNOSED)
    return Attention(
        measures={name: _known(value) for name, value in found.measures.items()},
        verdict=found.verdict.name,
        sure=found.verdict.sure,
        says=found.verdict.says,
        pairs=found.pairs,
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def part_of(name: PartName, corpus: Corpus, run: Loaded, seen: dict[str, int]) -> Part:
    """The sources of a corpus, as the first design cuts them.

    Args:
        seen: how often each source token occurs in training; empty where sources are features.
    """
    pairs, references = distinct(corpus)
    codec = run.codec
    split = codec.source_tokeniser.split
    counts = [[seen.get(token, 0) for token in split(pair.source)] if seen else [] for pair in pairs]
    return Part(
        name=name,
        lines=len(corpus.pairs),
        sources=tuple(shown(pair) for pair in pairs),
        references=tuple(map(tuple, references)),
        lengths=tuple(codec.source_size(pair) for pair in pairs),
        rarest=tuple(min(each, default=0) for each in counts),
        unknown=tuple(each.count(0) for each in counts),
    )


def shown(pair: Pair) -> str:
    """All of a source on one line."""
    return " | ".join(filter(None, (pair.source, pair.second, ";".join(pair.tags))))


def seen_tokens(corpus: Corpus, run: Loaded) -> dict[str, int]:
    """How often each source token occurs; none where sources are features."""
    seen: dict[str, int] = {}
    if run.codec.source_features is None:
        for pair in corpus.pairs:
            for token in run.codec.source_tokeniser.split(pair.source):
                seen[token] = seen.get(token, 0) + 1
    return seen


def key_of(parts: Sequence[object]) -> str:
    """A digest of plain values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8")).hexdigest()
