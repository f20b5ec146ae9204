"""A run is a folder that another machine can load without unpickling anything.

recipe.toml              every setting
vocabulary.json          tokenisers and vocabularies
model.safetensors        the best weights so far
checkpoint.safetensors   all that is needed to go on training
log.csv                  what was measured on the way
kept/000123.safetensors  the weights of late validations, by their updates, where `train.keep` asks for them
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.data.codec import Codec
from heedful.data.features import make_reader
from heedful.errors import HeedfulError, RunError
from heedful.files import remove_unfinished, write_atomically
from heedful.fitting import check_fit
from heedful.recipes import Recipe, as_toml, load

if TYPE_CHECKING:
    from torch import Tensor

    from heedful.model import Model

RECIPE, VOCABULARY, WEIGHTS = "recipe.toml", "vocabulary.json", "model.safetensors"
CHECKPOINT, LOG, KEPT = "checkpoint.safetensors", "log.csv", "kept"
_FILES = (RECIPE, VOCABULARY, WEIGHTS, CHECKPOINT, LOG)
_KEPT_FILE = re.compile(r"\d{6,}\.safetensors")


def prepare_folder(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """A folder for a new run, without any file of an earlier one.

    Raises:
        RunError: there is a run already and `overwrite` is off, or the folder cannot be made.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a folder for the run, got a file")
    present, kept = [folder / name for name in _FILES if (folder / name).exists()], kept_files(folder)
    if not overwrite and not _never_began(folder, kept):
        raise RunError(
            f"{folder}: holds a run already; go on with it (resume), replace it (overwrite), or name another"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        for file in (*kept, *reversed(present)):
            file.unlink()
        if kept and not any((folder / KEPT).iterdir()):
            (folder / KEPT).rmdir()
    except OSError as error:
        raise RunError(f"{folder}: cannot be made: {error.strerror or error}") from None
    return folder


def _never_began(folder: Path, kept: Sequence[Path]) -> bool:
    """No weights are there, or those of a training that was killed before its first checkpoint."""
    if (folder / CHECKPOINT).exists() or kept:
        return False
    if not (folder / WEIGHTS).exists():
        return True
    try:
        return load_tensors(folder / WEIGHTS)[1].get("updates") == 0
    except RunError:
        return False


def remove_leftovers(folder: Path) -> None:
    """Remove what a training that was killed left of the files that it was writing."""
    remove_unfinished(folder, _FILES.__contains__)
    if (folder / KEPT).is_dir():
        remove_unfinished(folder / KEPT, lambda name: _KEPT_FILE.fullmatch(name) is not None)


def kept_file(updates: int) -> str:
    """Where in a run's folder the weights after so many updates are kept."""
    return f"{KEPT}/{updates:06}.safetensors"


def kept_files(folder: Path) -> list[Path]:
    """The weights that a run has kept, the oldest first."""
    files = [path for path in (folder / KEPT).glob("*") if _KEPT_FILE.fullmatch(path.name)]
    return sorted(files, key=lambda path: int(path.stem))


def save_description(folder: Path, recipe: Recipe, codec: Codec) -> None:
    """Write the recipe and the vocabularies."""
    codec.save(folder / VOCABULARY)
    save_recipe(folder, recipe)


def save_recipe(folder: Path, recipe: Recipe) -> None:
    """Write the recipe."""
    write_atomically(folder / RECIPE, as_toml(recipe))


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, Any]) -> None:
    """Write tensors and JSON metadata as one safetensors file, in one step."""
    from safetensors.torch import save

    # One entry: the library writes several in random order, and the same run should be the same bytes.
    header = {"heedful": json.dumps(metadata)}
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    # Not its own way to write a file: killed, that leaves behind what nobody can tell to be ours.
    write_atomically(path, save(copies, metadata=header))


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
            if not isinstance(metadata, dict):
                raise ValueError("its metadata are no table")
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
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
    codec = Codec.load(folder / VOCABULARY)
    with of_recipe(folder):
        _check_reader(recipe, codec)
    return Description(folder, recipe, codec)


def _check_reader(recipe: Recipe, codec: Codec) -> None:
    """Refuse a recipe that reads its sources otherwise than the run was trained to."""
    spec, side = recipe.data.source_features, codec.source_features
    own = None if spec is None else make_reader(spec.model_dump())
    trained = None if side is None else side.reader
    if own != trained:
        has, says = ("none" if reader is None else json.dumps(reader.to_json()) for reader in (trained, own))
        raise RunError(f"data.source_features: expected {has}, as in {VOCABULARY}, got {says}")


def make_model(recipe: Recipe, codec: Codec, *, initialised: bool = True) -> Model:
    """The model that a recipe describes, for these vocabularies; `initialised` as the recipe says, unless its weights
    will be overwritten at once."""
    from heedful.model import build

    settings: dict[str, Any] = {
        name: dict(value) if isinstance(value, dict) else value for name, value in recipe.model.model_dump().items()
    }
    if not initialised:
        settings["initialisation"] = None
    features = codec.source_features
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary) if features is None else None,
        source_features_size=None if features is None else features.size,
        target_vocabulary_size=len(codec.target_vocabulary),
        second_vocabulary_size=None if codec.second_vocabulary is None else len(codec.second_vocabulary),
        **settings,
    )
    check_fit(recipe, codec, model)
    return model


@contextmanager
def of_recipe(folder: Path) -> Iterator[None]:
    """What is wrong in here is told as what it is: a mistake in the run's recipe."""
    try:
        yield
    except HeedfulError as error:
        raise RunError(f"{folder / RECIPE}: {error}") from None


def load_model(folder: Path, recipe: Recipe, codec: Codec, file: str = WEIGHTS) -> Model:
    """The model with its saved weights.

    Args:
        file: of the folder; also one of those that were kept, ``kept/000123.safetensors``.

    Raises:
        RunError: weights are missing, damaged, no numbers or of other sizes, or belong to other vocabularies or to
            another model.
    """
    import torch

    tensors, metadata = load_tensors(folder / file)
    check_vocabulary(folder / file, metadata, codec)
    with of_recipe(folder), torch.random.fork_rng(devices=[]):  # what is drawn here is overwritten at once
        model = make_model(recipe, codec, initialised=False)
    set_weights(model, tensors, folder / file)
    check_model(folder / file, metadata, recipe)
    return model.eval()


def set_weights(model: Model, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Load `tensors` into `model`.

    Raises:
        RunError: a name, size or type is another than the model's, or a weight is infinite or no number.
    """
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
        if parameter.dtype != tensors[name].dtype:
            raise RunError(f"{path}: expected {name!r} in {parameter.dtype}, got {tensors[name].dtype}")
        if not tensors[name].isfinite().all():
            raise RunError(f"{path}: expected finite weights, got NaN or infinity in {name!r}")
    model.load_state_dict(tensors, strict=False)


def belongs(recipe: Recipe, codec: Codec) -> dict[str, Any]:
    """What stands in the metadata of weights, to tell whose they are: the vocabularies' digest, the table [model]."""
    return {"vocabulary": identity(codec), "model": recipe.model.model_dump()}


def identity(codec: Codec) -> str:
    """A digest of tokenisers and vocabularies."""
    text = json.dumps(codec.to_json(), ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_vocabulary(path: Path, metadata: Mapping[str, Any], codec: Codec) -> None:
    """Refuse weights that were trained with other vocabularies."""
    if metadata.get("vocabulary") != identity(codec):
        raise RunError(f"{path}: was trained with other vocabularies than {VOCABULARY} beside it")


def check_model(path: Path, metadata: Mapping[str, Any], recipe: Recipe) -> None:
    """Refuse weights of another model, of which all sizes may agree: an attention by another normaliser, say."""
    own = recipe.model.model_dump()
    trained = metadata.get("model")
    for key, value in trained.items() if isinstance(trained, dict) else ():
        if own.get(key) != value:
            raise RunError(
                f"{path}: not this recipe's weights: trained with model.{key} = {json.dumps(value)}, "
                f"but {RECIPE} says {json.dumps(own.get(key))}"
            )
