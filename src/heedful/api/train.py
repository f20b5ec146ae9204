"""``heedful.train``."""

from __future__ import annotations

import os
from pathlib import Path

from heedful.recipes import Recipe
from heedful.recipes.load import Settings
from heedful.training import Reporter, Silent
from heedful.training import train as run_training


def train(
    pairs: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    recipe: str | os.PathLike[str] | Recipe | None = None,
    dev: str | os.PathLike[str] | None = None,
    links: str | os.PathLike[str] | None = None,
    set: Settings = (),
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Path:
    """Train a model on pairs of sequences; returns the run's folder, `out`.

    Args:
        pairs: a TSV or JSON-lines file, two parallel files as ``"SRC,TRG"``, or a built-in corpus (``"cmudict"``).
        out: the folder to make.
        recipe: a built-in name (see ``heedful recipes``), a TOML file, or a `Recipe`; by default "g2p".
        dev: pairs to validate on; by default ``data.dev_share`` of the sources is held out, by a hash of the source.
        links: a file of links between the words of each line of `pairs`, as a statistical aligner writes them
            ("0-0 1-2", source-target); they guide the attention, with the weight ``train.guided_attention``.
        set: settings that change the recipe, ``{"train.epochs": 5}`` or ``["train.epochs=5"]``.
        resume: go on with the run in `out`, with its own recipe; `set` may change keys of ``train`` only.
        overwrite: replace a run that is in `out`.
        reporter: told of every update and validation; by default nobody is.

    Raises:
        DataError: the pairs cannot be read.
        RecipeError: the recipe has a mistake.
        RunError: `out` holds a run already (or none, with `resume`), or cannot be written.
        TrainingError: the loss is not a number, or memory does not suffice; the message names the batch.
    """
    return run_training(
        pairs,
        recipe=recipe,
        out=out,
        dev=dev,
        links=links,
        set=set,
        resume=resume,
        overwrite=overwrite,
        reporter=reporter or Silent(),
    )
