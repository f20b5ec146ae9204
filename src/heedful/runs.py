"""A run is a folder that another machine can load without unpickling anything.

recipe.toml              every setting
vocabulary.json          tokenisers and vocabularies
model.safetensors        the best weights so far
checkpoint.safetensors   all that is needed to go on training
log.csv                  what was measured on the way
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.data.codec import Codec
from heedful.errors import HeedfulError, RunError
from heedful.files import replace_atomically, write_atomically
from heedful.recipes import Recipe, as_toml, load

if TYPE_CHECKING:
    from torch import Tensor

    from heedful.model import Model

RECIPE, VOCABULARY, WEIGHTS = "recipe.toml", "vocabulary.json", "model.safetensors"
CHECKPOINT, LOG = "checkpoint.safetensors", "log.csv"


def prepare_folder(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """A folder for a new run.

    Raises:
        RunError: there is a run already and `overwrite` is off, or the folder cannot be made.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a folder for the run, got a file")
    present = [name for name in (RECIPE, VOCABULARY, WEIGHTS, CHECKPOINT, LOG) if (folder / name).exists()]
    if {WEIGHTS, CHECKPOINT} & set(present) and not overwrite:
        raise RunError(
            f"{folder}: holds a run already; go on with it (resume), replace it (overwrite), or name another"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in reversed(present):
            (folder / name).unlink()
    except OSError as error:
        raise RunError(f"{folder}: cannot be made: {error.strerror or error}") from None
    return folder


def save_description(folder: Path, recipe: Recipe, codec: Codec) -> None:
    """Write the recipe and the vocabularies."""
    codec.save(folder / VOCABULARY)
    write_atomically(folder / RECIPE, as_toml(recipe))


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write tensors and JSON metadata as one safetensors file, in one step."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    # One entry: the library writes several in random order, and the same run should be the same bytes.
    header = {"heedful": json.dumps(metadata)}
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}

    def write(temporary: str) -> None:
        try:
            save_file(copies, temporary, metadata=header)
        except SafetensorError as error:  # how the library tells of a full disk
            raise OSError(str(error)) from error

    replace_atomically(path, write)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The inverse of `save_tensors`.

    Raises:
        RunError: the file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise RunError(f"{path}: is missing; expected a run folder with {RECIPE}, {VOCABULARY} and {path.name}")
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = json.loads((file.metadata() or {}).get("heedful", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise RunError(f"{path}: expected a whole safetensors file, got a damaged one: {error}") from None


class Description(NamedTuple):
    """What a run is, without its weights."""

    folder: Path
    recipe: Recipe
    codec: Codec


def load_description(path: str | os.PathLike[str]) -> Description:
    """Folder, recipe and vocabularies of a run.

    Raises:
        RunError: there is no such folder, or it is incomplete or damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such run folder")
    missing = [name for name in (RECIPE, VOCABULARY) if not (folder / name).is_file()]
    if missing:
        raise RunError(f"{folder}: not a complete run: {' and '.join(missing)} missing")
    try:
        recipe = load(folder / RECIPE)
    except HeedfulError as error:
        raise RunError(str(error)) from None
    return Description(folder, recipe, Codec.load(folder / VOCABULARY))


def make_model(recipe: Recipe, codec: Codec) -> Model:
    """The model that a recipe describes, for these vocabularies, newly initialised."""
    from heedful.model import build

    settings: dict[str, Any] = {
        name: dict(value) if isinstance(value, dict) else value for name, value in recipe.model.model_dump().items()
    }
    return build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        **settings,
    )


def load_model(folder: Path, recipe: Recipe, codec: Codec, file: str = WEIGHTS) -> Model:
    """The model with its saved weights.

    Raises:
        RunError: weights are missing, damaged, of other sizes, or belong to other vocabularies.
    """
    import torch

    tensors, metadata = load_tensors(folder / file)
    check_identity(folder / file, metadata, codec)
    with torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten at once
        model = make_model(recipe, codec)
    set_weights(model, tensors, folder / file)
    return model.eval()


def set_weights(model: Model, tensors: dict[str, Tensor], path: Path) -> None:
    """Load `tensors` into `model`; every name and size must agree."""
    own = dict(model.named_parameters())  # tied weights stand there once
    if missing := sorted(set(own) - set(tensors)):
        raise RunError(f"{path}: not this recipe's weights: expected {missing[0]!r}, which is missing")
    if more := sorted(set(tensors) - set(own)):
        raise RunError(f"{path}: not this recipe's weights: got {more[0]!r}, which the recipe's model has not")
    for name, parameter in own.items():
        if parameter.shape != tensors[name].shape:
            raise RunError(
                f"{path}: not this recipe's weights: expected {name!r} of size {tuple(parameter.shape)}, "
                f"got {tuple(tensors[name].shape)}"
            )
    model.load_state_dict(tensors, strict=False)


def identity(codec: Codec) -> str:
    """A digest of tokenisers and vocabularies; it stands in the weights' metadata."""
    text = json.dumps(codec.to_json(), ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_identity(path: Path, metadata: dict[str, Any], codec: Codec) -> None:
    """Refuse weights that were trained with other vocabularies."""
    if metadata.get("vocabulary") != identity(codec):
        raise RunError(f"{path}: was trained with other vocabularies than {VOCABULARY} beside it")
