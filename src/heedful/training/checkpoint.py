"""Checkpoints: weights, optimiser, random state and progress in one file, replaced in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from heedful.data.codec import Codec
from heedful.errors import RunError
from heedful.model import Model
from heedful.runs import (
    CHECKPOINT,
    WEIGHTS,
    check_identity,
    identity,
    load_tensors,
    save_tensors,
    set_weights,
)
from heedful.training.progress import Progress

_WEIGHT, _MOMENT, _RANDOM, _RANDOM_CUDA = "model.", "optimiser.", "random.cpu", "random.cuda"


def save_weights(folder: Path, model: Model, codec: Codec, **about: Any) -> None:
    """The best weights so far, with what is known `about` them."""
    tensors = dict(model.named_parameters())
    save_tensors(folder / WEIGHTS, tensors, {"vocabulary": identity(codec), **about})


def save_checkpoint(
    folder: Path,
    model: Model,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    *,
    codec: Codec,
    data: str,
) -> None:
    """All that `load_checkpoint` needs to go on as if nothing had happened. `data` is the training data's digest."""
    tensors: dict[str, torch.Tensor] = {_WEIGHT + name: parameter for name, parameter in model.named_parameters()}
    for index, state in optimiser.state_dict()["state"].items():
        for key, value in state.items():
            tensors[f"{_MOMENT}{index}.{key}"] = torch.as_tensor(value)
    tensors[_RANDOM] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors[_RANDOM_CUDA] = torch.cuda.get_rng_state()
    metadata = {"vocabulary": identity(codec), "data": data, "progress": progress.as_json()}
    save_tensors(folder / CHECKPOINT, tensors, metadata)


def load_checkpoint(
    folder: Path, model: Model, optimiser: torch.optim.Optimizer, *, codec: Codec, data: str
) -> Progress:
    """Put weights, optimiser and random state back; returns the progress.

    Raises:
        RunError: the checkpoint is missing or damaged, or belongs to other data, vocabularies or sizes.
    """
    path = folder / CHECKPOINT
    tensors, metadata = load_tensors(path)
    check_identity(path, metadata, codec)
    if metadata["data"] != data:
        raise RunError(f"{path}: was trained on other pairs than those given; resume needs the same")
    weights = {key.removeprefix(_WEIGHT): value for key, value in tensors.items() if key.startswith(_WEIGHT)}
    set_weights(model, weights, path)
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith(_MOMENT):
            index, name = key.removeprefix(_MOMENT).split(".", 1)
            state.setdefault(int(index), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    torch.set_rng_state(tensors[_RANDOM])
    if _RANDOM_CUDA in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors[_RANDOM_CUDA])
    return Progress(**metadata["progress"])
