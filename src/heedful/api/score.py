"""``heedful.score``."""

from __future__ import annotations

import os

from heedful.api.run import Run, loaded
from heedful.notes import Message, skipped
from heedful.predictor import Prediction, Progress
from heedful.training.train import read


def score(
    run: Run | str | os.PathLike[str],
    pairs: str | os.PathLike[str],
    *,
    length_penalty: float | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> list[Prediction]:
    """How probable the model finds the given targets (forced decoding), pair by pair, token by token.

    A target's score is what search would report for the same answer.

    Args:
        run: a run, or its folder.
        pairs: as in `heedful.train`.
        length_penalty: as in `heedful.predict`.
        batch_size: sentences at once.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines that were skipped.

    Raises:
        RunError: the run cannot be loaded.
        DataError: the pairs cannot be read.
    """
    run = loaded(run)
    corpus = read(pairs, run.recipe.data)
    if message is not None and (text := skipped(corpus)):
        message(text)
    return run.predictor.force(corpus.pairs, length_penalty=length_penalty, batch_size=batch_size, progress=progress)
