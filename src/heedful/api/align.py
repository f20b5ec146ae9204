"""``heedful.align``."""

from __future__ import annotations

import os

from heedful.alignment import Alignment
from heedful.api.run import Run, loaded
from heedful.data.pairs import Corpus, Pair
from heedful.errors import RunError
from heedful.predictor import Progress
from heedful.training.train import read


def align(
    run: Run | str | os.PathLike[str],
    pairs: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    progress: Progress | None = None,
) -> list[Alignment]:
    """Where the model looks while it writes the given targets (forced decoding), pair by pair.

    Args:
        run: a run, or its folder.
        pairs: as in `heedful.train`.
        batch_size: sentences at once.
        progress: called with the number of sentences just done.

    Raises:
        RunError: the run cannot be loaded, or its model has no attention.
        DataError: the pairs cannot be read.
    """
    run = loaded(run)
    corpus: Corpus = read(pairs, run.recipe.data)
    return align_pairs(run, corpus.pairs, batch_size=batch_size, progress=progress)


def align_pairs(
    run: Run, pairs: tuple[Pair, ...], *, batch_size: int | None = None, progress: Progress | None = None
) -> list[Alignment]:
    """`align`, of pairs that are in memory."""
    if run.recipe.model.fusion.name == "none":
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to align")
    forced = run.predictor.force(pairs, batch_size=batch_size, progress=progress)
    return [prediction.alignment for prediction in forced if prediction.alignment is not None]
