"""Checkpoints: weights, optimiser, random state and progress in one file, replaced in one step; and what follows it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from heedful.data.codec import Codec
from heedful.errors import RecipeError, RunError
from heedful.model import Model
from heedful.recipes import Recipe, as_toml
from heedful.runs import (
    CHECKPOINT,
    KEPT,
    WEIGHTS,
    belongs,
    check_model,
    check_vocabulary,
    kept_file,
    kept_files,
    load_tensors,
    remove_leftovers,
    save_tensors,
    set_weights,
)
from heedful.training.optimisers import check_state
from heedful.training.progress import Progress

_WEIGHT, _MOMENT, _RANDOM, _RANDOM_CUDA = "model.", "optimiser.", "random.cpu", "random.cuda"


@dataclass
class Store:
    """The tensors of a run on the disk. A process may be killed between any two writes, so their order counts:

    - before the first update the weights come first, so that there is a model where there is a checkpoint;
    - later the checkpoint comes first. What else a validation leaves follows from it (its weights, where they are the
      best, and those to keep), and is written again when the run is taken up.

    Args:
        folder: of the run.
        model: the bare one.
        optimiser: its state is saved too.
        scaler: of half precision, or None.
        recipe: of the run.
        codec: likewise.
        data: digests of the pairs, by what they are called in messages.
    """

    folder: Path
    model: Model
    optimiser: torch.optim.Optimizer
    scaler: Any
    recipe: Recipe
    codec: Codec
    data: Mapping[str, str]
    _run: str = field(init=False)
    _belongs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._belongs = belongs(self.recipe, self.codec)
        # Which training it is; the same recipe on the same data is the same. It keeps this name when it is taken up.
        text = repr((as_toml(self.recipe), self._belongs, sorted(self.data.items())))
        self._run = hashlib.sha256(text.encode("utf-8")).hexdigest()

    def begin(self, progress: Progress) -> None:
        """Before training begins, or goes on after `restore`: tidy up after a process that was killed; save."""
        remove_leftovers(self.folder)
        if progress.updates == 0:
            self._save_weights(WEIGHTS, progress)
            self._save_checkpoint(progress)
        else:
            self._follow(progress)

    def save(self, progress: Progress) -> None:
        """A checkpoint, and what follows from it."""
        self._save_checkpoint(progress)
        self._follow(progress)

    def restore(self) -> tuple[Progress, dict[str, Any]]:
        """Put weights, optimiser and random state back as the checkpoint has them; nothing is written.

        Returns:
            The progress, and the table [train] that it was made with.

        Raises:
            RunError: the checkpoint or the best weights are missing or damaged, or belong to other data, vocabularies,
                sizes, or to another run.
            RecipeError: another optimiser or metric, to which what is saved would mean nothing.
        """
        path = self.folder / CHECKPOINT
        if not path.is_file():
            raise RunError(f"{path}: is missing, so there is nothing to resume; train without resume")
        tensors, metadata = load_tensors(path)
        self._check(path, metadata)
        try:
            progress, train = Progress.from_json(metadata["progress"]), dict(metadata["train"])
            self._check_train(path, train)
            self._check_best(progress, metadata["run"])
            self._put_back(path, tensors, metadata)
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            raise RunError(f"{path}: expected a checkpoint as it was written, got {error!r}") from None
        return progress, train

    def _save_weights(self, name: str, progress: Progress) -> None:
        about = {"updates": progress.updates, "metric": self.recipe.train.metric, "value": progress.best}
        metadata = {"run": self._run, **self._belongs, **about}
        save_tensors(self.folder / name, dict(self.model.named_parameters()), metadata)

    def _save_checkpoint(self, progress: Progress) -> None:
        tensors: dict[str, torch.Tensor] = {
            _WEIGHT + name: parameter for name, parameter in self.model.named_parameters()
        }
        for index, state in self.optimiser.state_dict()["state"].items():
            for key, value in state.items():
                tensors[f"{_MOMENT}{index}.{key}"] = torch.as_tensor(value)
        tensors[_RANDOM] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors[_RANDOM_CUDA] = torch.cuda.get_rng_state()
        metadata = {
            "run": self._run,
            **self._belongs,
            "train": self.recipe.train.model_dump(),
            "data": dict(self.data),
            "progress": progress.as_json(),
            "scaler": None if self.scaler is None else self.scaler.state_dict(),
        }
        save_tensors(self.folder / CHECKPOINT, tensors, metadata)

    def _follow(self, progress: Progress) -> None:
        """What follows from the checkpoint of a validation."""
        if not 0 < progress.updates == progress.validated_updates:
            return
        if progress.best_updates == progress.updates:
            self._save_weights(WEIGHTS, progress)
        if keep := self.recipe.train.keep:
            try:
                (self.folder / KEPT).mkdir(exist_ok=True)
                self._save_weights(kept_file(progress.updates), progress)
                for path in kept_files(self.folder)[:-keep]:
                    path.unlink()
            except OSError as error:
                raise RunError(f"{self.folder / KEPT}: cannot be written: {error.strerror or error}") from error

    def _check(self, path: Path, metadata: Mapping[str, Any]) -> None:
        check_vocabulary(path, metadata, self.codec)
        check_model(path, metadata, self.recipe)
        saved = metadata.get("data")
        saved = saved if isinstance(saved, dict) else {}
        for name in (*self.data, *saved):
            if saved.get(name) != self.data.get(name):
                raise RunError(f"{path}: was trained on other {name} than those given; resume needs the same")

    def _check_train(self, path: Path, train: Mapping[str, Any]) -> None:
        for key in ("optimiser", "metric"):
            new = getattr(self.recipe.train, key)
            if train[key] != new:
                raise RecipeError(
                    f"{path}: cannot be resumed with another {key}: expected train.{key} = {train[key]!r}, got {new!r}"
                )

    def _check_best(self, progress: Progress, run: str) -> None:
        """The best weights are this run's, and those that the checkpoint tells of."""
        path = self.folder / WEIGHTS
        tensors, metadata = load_tensors(path)
        check_vocabulary(path, metadata, self.codec)
        set_weights(self.model, tensors, path)
        check_model(path, metadata, self.recipe)
        if metadata.get("run") != run:
            raise RunError(f"{path}: is of another run than {CHECKPOINT} beside it")
        follows = progress.best_updates == progress.updates  # the process may have been killed before it wrote them
        if metadata.get("updates") != progress.best_updates and not follows:
            raise RunError(
                f"{path}: expected the weights after {progress.best_updates} updates, of which {CHECKPOINT} tells, "
                f"got those after {metadata.get('updates')}"
            )

    def _put_back(self, path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, Any]) -> None:
        weights: dict[str, torch.Tensor] = {}
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(_WEIGHT):
                weights[key.removeprefix(_WEIGHT)] = value
            elif key.startswith(_MOMENT):
                index, name = key.removeprefix(_MOMENT).split(".", 1)
                state.setdefault(int(index), {})[name] = value
            elif key not in (_RANDOM, _RANDOM_CUDA):
                raise ValueError(f"{key!r}")
        set_weights(self.model, weights, path)
        check_state(state, self.optimiser, self.recipe.train)
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})
        if self.scaler is not None and metadata["scaler"]:
            self.scaler.load_state_dict(metadata["scaler"])
        self._run = metadata["run"]
        torch.set_rng_state(tensors[_RANDOM])
        if _RANDOM_CUDA in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors[_RANDOM_CUDA])
