"""A trained run, loaded once and used many times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack, overload

from heedful.answers import Prediction
from heedful.data.codec import Codec
from heedful.data.features import features_of
from heedful.data.features.side import check_size
from heedful.data.pairs import Pair, json_source
from heedful.data.texts import normalise
from heedful.ensemble import Ensemble
from heedful.errors import DataError, RunError
from heedful.options import EnsembleAverage, SearchOptions
from heedful.predictor import Predictor
from heedful.recipes import Recipe
from heedful.recipes.schema import PartRecipe
from heedful.runs import identity, load_description, load_model, of_recipe


@dataclass(frozen=True)
class Run:
    """``heedful.load("run")``: a model with its vocabularies. Threads may share one.

    Attributes:
        folder: where it was loaded from.
        recipe: its settings.
        codec: its tokenisers and vocabularies.
        predictor: the model at work.
    """

    folder: Path
    recipe: Recipe
    codec: Codec
    predictor: Predictor

    @overload
    def predict(
        self,
        texts: Sequence[str],
        *,
        n_best: Literal[1] = ...,
        batch_size: int | None = ...,
        with_alignment: bool = ...,
        **search: Unpack[SearchOptions],
    ) -> list[Prediction]: ...
    @overload
    def predict(
        self,
        texts: Sequence[str],
        *,
        n_best: int,
        batch_size: int | None = ...,
        with_alignment: bool = ...,
        **search: Unpack[SearchOptions],
    ) -> list[list[Prediction]]: ...
    def predict(
        self,
        texts: Sequence[str],
        *,
        n_best: int = 1,
        batch_size: int | None = None,
        with_alignment: bool = True,
        **search: Unpack[SearchOptions],
    ) -> list[Prediction] | list[list[Prediction]]:
        """The best answer to each text, or with ``n_best`` above 1 a list of answers to each; see `heedful.predict`."""
        pairs = [self.as_pair(text, line) for line, text in enumerate(as_texts(texts), start=1)]
        predictor = self.predictor.with_options(search, n_best=n_best)
        answers = predictor.predict(pairs, n_best=n_best, batch_size=batch_size, with_alignment=with_alignment)
        return answers if n_best > 1 else [best for best, *_ in answers]

    def as_pair(self, text: str, line: int, *, place: str | None = None, folder: str = "") -> Pair:
        """A line of text as a source: all of it, or its columns where the recipe has a second source or tag columns;
        the path of a file, from `folder`, where sources are features.

        Raises:
            DataError: the line lacks the columns, the recipe takes them from JSON keys, or the file cannot be read.
        """
        data, place = self.recipe.data, place or f"line {line}"
        second = () if data.second_source_column is None else (data.second_source_column,)
        if data.source_features is None:  # the path of a file is no text
            text = normalise(text, data.normalisation)
        if not (second or data.tag_columns) or not text.strip():
            return self._with_features(Pair(text, None, (), line), place, folder)
        cells = text.split("\t")
        columns = (data.source_column, *second, *data.tag_columns)
        numbers = [column for column in columns if isinstance(column, int)]
        if len(numbers) < len(columns):
            what = "second source has a JSON key" if second else "tags have JSON keys"
            raise DataError(f"{place}: this run's {what}; predict from a file of JSON lines (.jsonl)")
        if max(numbers) > len(cells):
            others = f", the second source in column {second[0]}" if second else ""
            tagged = f" and tags in {data.tag_columns}" if data.tag_columns else ""
            raise DataError(
                f"{place}: expected the source in column {data.source_column}{others}{tagged}, "
                f"as in training, got {len(cells)} columns"
            )
        separator = normalise(data.tag_separator, data.normalisation)
        source, *rest = (cells[number - 1] for number in numbers)
        tags = [tag.strip() for cell in rest[len(second) :] for tag in cell.split(separator)]
        given = normalise(rest[0], data.normalisation) if second else None
        pair = Pair(source, None, tuple(tag for tag in tags if tag), line, second=given)
        return self._with_features(pair, place, folder)

    def _with_features(self, pair: Pair, place: str, folder: str) -> Pair:
        if self.recipe.data.source_features is None:
            return pair
        side = self.codec.source_features
        assert side is not None
        features = features_of(pair.source, side.reader, folder=folder, place=place)
        if features is not None:
            check_size(features, side.size, f"{place}: {os.path.join(folder, pair.source)}")
        return pair._replace(features=features)

    def as_json_pair(self, text: str, line: int, *, place: str | None = None, folder: str = "") -> Pair:
        """One JSON line as a source, with the keys that the recipe names; a blank line is a blank source.

        Raises:
            DataError: it is no JSON object with these keys.
        """
        data, place = self.recipe.data, place or f"line {line}"
        pair = json_source(
            text,
            line,
            place=place,
            source_column=data.source_column,
            target_column=data.target_column,
            second_source_column=data.second_source_column,
            tag_columns=data.tag_columns,
            tag_separator=data.tag_separator,
            normalisation=data.normalisation,
            source_is_path=data.source_features is not None,
        )
        return self._with_features(pair, place, folder)


Runs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A run folder, or several that answer as one: a list, or their names with commas between them."""


def load(run: Runs, *, device: str = "cpu", ensemble_average: EnsembleAverage = "probabilities") -> Run:
    """Load a run folder, or several as an ensemble.

    Args:
        run: the folder; or several of runs with the same vocabularies, as a list or with commas between them. The
            first one's settings count.
        device: where to decode: "cpu", "cuda", "mps".
        ensemble_average: what an ensemble averages at each step: its members' "probabilities" or "log_probabilities".

    Raises:
        RunError: there is no such folder, it is incomplete or damaged, its weights are not its own, or the runs of an
            ensemble have not the same vocabularies.
    """
    folders = _folders(run)
    (folder, recipe, codec), *others = [load_description(folder) for folder in folders]
    for other in others:
        for key in _READING:
            own, its = _said(recipe, key), _said(other.recipe, key)
            if own != its:
                raise RunError(
                    f"{other.folder}: reads with data.{key} = {its!r}, {folder} with {own!r}; they cannot answer as one"
                )
        if identity(other.codec) != identity(codec):
            raise RunError(f"{other.folder}: has other vocabularies than {folder}; they cannot answer as one")
    models = [load_model(own, its, codec) for own, its in ((folder, recipe), *(other[:2] for other in others))]
    try:
        models = [model.to(device) for model in models]
    except (RuntimeError, AssertionError) as error:  # how PyTorch says that there is none
        raise RunError(f"device {device!r} cannot be used: {str(error).splitlines()[0]}") from None
    ensemble = Ensemble(models, average=ensemble_average)
    model = models[0] if len(models) == 1 else ensemble
    with of_recipe(folder):
        predictor = Predictor(model, codec, recipe.predict, normalisation=recipe.data.normalisation)
    return Run(folder, recipe, codec, predictor)


_READING = (
    "source_column", "target_column", "second_source_column", "tag_columns", "tag_separator", "normalisation",
    "source_features", "segments", "source_tokens", "target_tokens",
)  # fmt: skip
"""What texts become; vocabularies are compared after it, which say less of what is wrong."""


def _said(recipe: Recipe, key: str) -> object:
    """A setting of [data] as a recipe may say it."""
    value = getattr(recipe.data, key)
    if isinstance(value, PartRecipe):
        return value.model_dump() if value.model_extra else value.name
    return "none" if value is None else value


def _folders(run: Runs) -> list[str]:
    if isinstance(run, str | os.PathLike):
        name = os.fspath(run)
        folders = [name] if "," not in name or os.path.exists(name) else name.split(",")
    elif isinstance(run, Sequence):
        folders = [os.fspath(folder) for folder in run]
    else:
        folders = []
    if not folders or not all(folders):
        raise RunError(f"expected a run folder, or several with commas between them, got {run!r}")
    return folders


def loaded(run: Run | Runs, ensemble_average: EnsembleAverage = "probabilities") -> Run:
    """`run` itself, or the run in that folder."""
    return run if isinstance(run, Run) else load(run, ensemble_average=ensemble_average)


def as_texts(texts: Sequence[str]) -> Sequence[str]:
    """Refuse a bare string, which would be taken for a list of its characters."""
    if isinstance(texts, str):
        raise DataError(f"expected a list of texts, got one text; write [{texts!r}]")
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError(f"expected a list of texts, got {text!r} as number {number}")
    return texts
