"""``heedful.score``."""

from __future__ import annotations

import os
from typing import Unpack

from heedful.answers import BLANK, Prediction
from heedful.api.run import Run, Runs, loaded
from heedful.notes import Message, skipped
from heedful.options import EnsembleAverage, ScoringOptions
from heedful.predictor import Progress
from heedful.training.reading import read


def score(
    run: Run | Runs,
    pairs: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    with_alignment: bool = True,
    progress: Progress | None = None,
    message: Message | None = None,
    **scoring: Unpack[ScoringOptions],
) -> list[Prediction]:
    """How probable the model finds the given targets (forced decoding), pair by pair, token by token.

    A target's score is what search would report for the same answer. Where the run's ``data.bad_lines`` lets a line be
    skipped, its prediction is blank.

    Args:
        run: as in `heedful.predict`.
        pairs: as in `heedful.train`.
        batch_size: as in `heedful.predict`, as the next one.
        ensemble_average: see there.
        with_alignment: keep the attention weights of each pair, which take memory; scores are the same without.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines that were skipped.
        scoring: what a score is, by default as the recipe says: ``length_penalty`` and the others of
            `heedful.options.ScoringOptions`.

    Raises:
        RunError: the run cannot be loaded.
        DataError: the pairs cannot be read.
        RecipeError: an option is unknown or does not fit the run.
    """
    run = loaded(run, ensemble_average)
    predictor = run.predictor.with_options(scoring, known=ScoringOptions)
    corpus = read(pairs, run.recipe.data, features_size=run.codec.features_size)
    if message is not None and (text := skipped(corpus)):
        message(text)
    found = predictor.force(corpus.pairs, batch_size=batch_size, with_alignment=with_alignment, progress=progress)
    # A line for a line: what was skipped has a blank.
    by_line = dict.fromkeys((line for line, _ in corpus.skipped), BLANK)
    by_line |= {pair.line: prediction for pair, prediction in zip(corpus.pairs, found, strict=True)}
    return [by_line[line] for line in sorted(by_line)]
