"""``heedful.align``."""

from __future__ import annotations

import os

from heedful.alignment import Alignment
from heedful.api.run import Run, Runs, loaded
from heedful.api.score import score
from heedful.errors import RunError
from heedful.notes import Message
from heedful.options import EnsembleAverage
from heedful.predictor import Progress


def align(
    run: Run | Runs,
    pairs: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    attention_temperature: float | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> list[Alignment]:
    """Where the model looks while it writes the given targets (forced decoding), pair by pair.

    Where the run's ``data.bad_lines`` lets a line be skipped, its alignment is empty.

    Args:
        run: as in `heedful.predict`.
        pairs: as in `heedful.train`.
        batch_size: as in `heedful.predict`, as the next two.
        ensemble_average: see there.
        attention_temperature: see there.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines that were skipped.

    Raises:
        RunError: the run cannot be loaded, or its model has no attention.
        DataError: the pairs cannot be read.
    """
    import numpy as np

    run = loaded(run, ensemble_average)
    if not run.predictor.model.has_attention:
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to align")
    forced = score(
        run,
        pairs,
        batch_size=batch_size,
        attention_temperature=attention_temperature,
        progress=progress,
        message=message,
    )
    nothing = Alignment.of((), (), np.zeros((0, 0)))  # of a line that was skipped
    return [prediction.alignment or nothing for prediction in forced]
