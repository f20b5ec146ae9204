"""``heedful.predict``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from heedful.api.run import Run, loaded
from heedful.predictor import Prediction


def predict(
    run: Run | str | os.PathLike[str],
    texts: Sequence[str],
    *,
    beam: int | None = None,
    n_best: int = 1,
    length_penalty: float | None = None,
    batch_size: int | None = None,
    with_alignment: bool = True,
) -> list[Prediction] | list[list[Prediction]]:
    """The best answer to each text, in their order; a blank text has a blank answer.

    Args:
        run: a run, or its folder.
        texts: sources. Where the recipe has tag columns, each is a line with TABs, as in the training data.
        beam: hypotheses kept at each step; 1 is greedy search; by default the recipe's ``predict.beam``.
        n_best: above 1, each answer is a list of at most this many, best first, all different.
        length_penalty: answers are ranked by log-probability / length ** length_penalty; by default the recipe's.
        batch_size: sentences at once; changes speed and memory, never answers.
        with_alignment: keep the attention weights of each answer.

    Raises:
        RunError: the run cannot be loaded.
        DataError: n_best is above the beam, or a text lacks its columns.
    """
    return loaded(run).predict(
        texts,
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        batch_size=batch_size,
        with_alignment=with_alignment,
    )
