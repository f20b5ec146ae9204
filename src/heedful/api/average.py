"""``heedful.average``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import RunError
from heedful.runs import (
    RECIPE,
    WEIGHTS,
    Description,
    belongs,
    identity,
    load_description,
    load_model,
    load_tensors,
    prepare_folder,
    save_description,
    save_tensors,
)

if TYPE_CHECKING:
    from torch import Tensor


def average(runs: Sequence[str | os.PathLike[str]], *, out: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Average the weights of trained models, name by name, into a run of its own; returns its folder, `out`.

    The late weights of one training (``train.keep``) often answer better as a mean than the last or the best of them
    (used by Vaswani et al. 2017, section 6.1). The mean of trainings from different seeds is of no use.

    Args:
        runs: folders of runs, of which the best weights count, or files of weights in them
            (``runs/a/kept/000123.safetensors``); at least one. A path that stands there twice counts twice.
        out: the folder to make: the recipe and the vocabularies of the first run, and the mean weights; no checkpoint.
        overwrite: replace a run that is in `out`.

    Raises:
        RunError: a run cannot be loaded, two have different vocabularies or models or are not of one training, or
            `out` holds a run already or cannot be written.
    """
    if isinstance(runs, str | os.PathLike) or not runs:
        raise RunError(f"expected a list of at least one run or file of weights, got {runs!r}")
    first, *others = (_located(path) for path in runs)
    total = _weights(*first)
    kinds = {name: tensor.dtype for name, tensor in total.items()}
    total = {name: tensor.double() for name, tensor in total.items()}
    for other in others:
        _check_same(first, other)
        for name, tensor in _weights(*other).items():
            total[name] += tensor
    mean = {name: (tensor / len(runs)).to(kinds[name]) for name, tensor in total.items()}
    _, recipe, codec = first[0]
    training = _training(first[1])  # before the file may be replaced
    folder = prepare_folder(out, overwrite=overwrite)
    save_description(folder, recipe, codec)
    save_tensors(folder / WEIGHTS, mean, {**belongs(recipe, codec), "run": training, "averaged": len(runs)})
    return folder


def _located(path: str | os.PathLike[str]) -> tuple[Description, Path]:
    """The run that a path belongs to, and the file of its weights."""
    path = Path(path)
    if path.is_dir():
        return load_description(path), path / WEIGHTS
    if not path.is_file():
        raise RunError(f"{path}: no such run folder or file of weights")
    for folder in path.absolute().parents:
        if (folder / RECIPE).is_file():
            return load_description(folder), path.absolute()
    raise RunError(f"{path}: expected a file of weights inside a run folder, got one without {RECIPE} above it")


def _weights(run: Description, file: Path) -> dict[str, Tensor]:
    model = load_model(*run, file=os.fspath(file.relative_to(run.folder)))
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def _training(file: Path) -> str | None:
    """Which training weights are of."""
    return load_tensors(file)[1].get("run")


def _check_same(one: tuple[Description, Path], other: tuple[Description, Path]) -> None:
    (first, first_file), (second, second_file) = one, other
    for what, same in (
        ("the same vocabularies", identity(first.codec) == identity(second.codec)),
        ("the same model", first.recipe.model == second.recipe.model),
        ("weights of the same training", _training(first_file) == _training(second_file)),
    ):
        if not same:
            raise RunError(f"expected {what} for an average, got others: {first_file} and {second_file}")
