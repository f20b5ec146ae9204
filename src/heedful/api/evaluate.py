"""``heedful.evaluate``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Unpack

from heedful.answers import Prediction
from heedful.api.run import Run, Runs, loaded
from heedful.data.pairs import Corpus
from heedful.evaluation import Scores, evaluate_texts
from heedful.notes import Message, Notes, few, skipped
from heedful.options import EnsembleAverage, SearchOptions
from heedful.predictor import Progress
from heedful.training.reading import read


def evaluate(
    run: Run | Runs,
    pairs: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    progress: Progress | None = None,
    message: Message | None = None,
    **search: Unpack[SearchOptions],
) -> Scores:
    """Answer each source of `pairs` and score the answers against its targets.

    Args:
        run: as in `heedful.predict`.
        pairs: as in `heedful.train`.
        batch_size: as in `heedful.predict`, as the next one.
        ensemble_average: see there.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines skipped, symbols unknown, answers cut.
        search: as in `heedful.predict`.

    Raises:
        RunError: the run cannot be loaded.
        DataError: the pairs cannot be read.
        RecipeError: an option is unknown or does not fit the run.
    """
    run = loaded(run, ensemble_average)
    predictor = run.predictor.with_options(search)
    corpus = read(pairs, run.recipe.data, features_size=run.codec.features_size)
    answers = predictor.predict(corpus.pairs, batch_size=batch_size, progress=progress)
    if message is not None:
        _tell(run, corpus, answers, message)
    return evaluate_texts(
        [pair.asked for pair in corpus.pairs],
        [best.text for best, *_ in answers],
        [pair.target or "" for pair in corpus.pairs],
        target_split=run.codec.target_tokeniser.split,
        search=predictor.signature(),
        token_name=run.recipe.data.target_tokens.name,
        bleu_tokenizer=run.recipe.predict.bleu_tokenizer,
        normalisation=run.recipe.data.normalisation,
    )


def _tell(run: Run, corpus: Corpus, answers: Sequence[Sequence[Prediction]], message: Message) -> None:
    notes = Notes(run.codec)
    for pair, found in zip(corpus.pairs, answers, strict=True):
        notes.add(pair, found)
    notes.tell(message)
    if text := _unheard(run, corpus):
        message(text)
    if text := skipped(corpus):
        message(text)


def _unheard(run: Run, corpus: Corpus) -> str | None:
    """Labels that are no answer that the model could give."""
    if not run.codec.has_label:
        return None
    unknown = run.codec.target_vocabulary.unknown([pair.target or "" for pair in corpus.pairs])
    if not unknown:
        return None
    return (
        f"{len(unknown)} of {len(corpus.pairs)} lines have a label that was never seen in training, so that no answer "
        f"to them can be right: {few(map(repr, unknown), 10)}"
    )
