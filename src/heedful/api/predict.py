"""``heedful.predict``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from heedful.answers import Prediction
from heedful.api.run import Run, Runs, loaded
from heedful.options import EnsembleAverage, SearchOptions


def predict(
    run: Run | Runs,
    texts: Sequence[str],
    *,
    n_best: int = 1,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    with_alignment: bool = True,
    **search: Unpack[SearchOptions],
) -> list[Prediction] | list[list[Prediction]]:
    """The best answer to each text, in their order; a blank text has a blank answer.

    Args:
        run: a run, its folder, or the folders of an ensemble: see `heedful.load`.
        texts: sources. Where the recipe has tag columns or a second source, each is a line with TABs, as in the
            training data; where its sources are features, the path of a file stands in the source's place.
        n_best: above 1, each answer is a list of at most this many, best first, all different; of answers that are
            drawn (``sampling_temperature``) it is as many as this, and the same may come twice.
        batch_size: sentences at once; changes speed and memory, never answers.
        ensemble_average: of an ensemble that is to be loaded: see `heedful.load`.
        with_alignment: keep the attention weights of each answer.
        search: how answers are searched for, by default as the recipe says: ``beam``, ``length_penalty`` and the others
            of `heedful.options.SearchOptions`.

    Raises:
        RunError: the run cannot be loaded.
        DataError: n_best is above the beam, or a text lacks its columns.
        RecipeError: an option is unknown or does not fit the run.
    """
    return loaded(run, ensemble_average).predict(
        texts, n_best=n_best, batch_size=batch_size, with_alignment=with_alignment, **search
    )
