"""``heedful.align``."""

from __future__ import annotations

import os

from heedful.alignment import Alignment
from heedful.api.run import Run, loaded
from heedful.api.score import score
from heedful.errors import RunError
from heedful.notes import Message
from heedful.predictor import Progress


def align(
    run: Run | str | os.PathLike[str],
    pairs: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> list[Alignment]:
    """Where the model looks while it writes the given targets (forced decoding), pair by pair.

    Args:
        run: a run, or its folder.
        pairs: as in `heedful.train`.
        batch_size: sentences at once.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines that were skipped.

    Raises:
        RunError: the run cannot be loaded, or its model has no attention.
        DataError: the pairs cannot be read.
    """
    run = loaded(run)
    if run.recipe.model.fusion.name == "none":
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to align")
    forced = score(run, pairs, batch_size=batch_size, progress=progress, message=message)
    return [prediction.alignment for prediction in forced if prediction.alignment is not None]
