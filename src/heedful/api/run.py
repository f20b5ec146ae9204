"""A trained run, loaded once and used many times."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.errors import DataError
from heedful.predictor import Prediction, Predictor
from heedful.recipes import Recipe
from heedful.runs import load_description, load_model


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
        beam: int | None = ...,
        n_best: Literal[1] = ...,
        length_penalty: float | None = ...,
        batch_size: int | None = ...,
        with_alignment: bool = ...,
    ) -> list[Prediction]: ...
    @overload
    def predict(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = ...,
        n_best: int,
        length_penalty: float | None = ...,
        batch_size: int | None = ...,
        with_alignment: bool = ...,
    ) -> list[list[Prediction]]: ...
    def predict(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        batch_size: int | None = None,
        with_alignment: bool = True,
    ) -> list[Prediction] | list[list[Prediction]]:
        """The best answer to each text, or with ``n_best`` above 1 a list of answers to each; see `heedful.predict`."""
        pairs = [self.as_pair(text, line) for line, text in enumerate(as_texts(texts), start=1)]
        answers = self.predictor.predict(
            pairs,
            beam_size=check_beam(beam, n_best, self.recipe.predict.beam),
            n_best=n_best,
            length_penalty=length_penalty,
            batch_size=batch_size,
            with_alignment=with_alignment,
        )
        return answers if n_best > 1 else [best for best, *_ in answers]

    def as_pair(self, text: str, line: int) -> Pair:
        """A line of text as a source: all of it, or its columns where the recipe has tag columns.

        Raises:
            DataError: the line lacks the columns, or the recipe takes its tags from JSON keys.
        """
        data = self.recipe.data
        if not data.tag_columns or not text.strip():
            return Pair(_normal(text), None, (), line)
        cells = text.split("\t")
        columns = [column for column in (data.source_column, *data.tag_columns) if isinstance(column, int)]
        if len(columns) <= len(data.tag_columns):
            raise DataError(f"line {line}: this run's tags have JSON keys; predict from a file of JSON lines (.jsonl)")
        if max(columns) > len(cells):
            raise DataError(
                f"line {line}: expected the source in column {data.source_column} and tags in "
                f"{data.tag_columns}, as in training, got {len(cells)} columns"
            )
        tags = [tag.strip() for column in columns[1:] for tag in cells[column - 1].split(data.tag_separator)]
        return Pair(_normal(cells[columns[0] - 1]), None, tuple(tag for tag in tags if tag), line)


def load(run: str | os.PathLike[str], *, device: str = "cpu") -> Run:
    """Load a run folder.

    Args:
        run: the folder.
        device: where to decode: "cpu", "cuda", "mps".

    Raises:
        RunError: there is no such folder, it is incomplete or damaged, or its weights are not its own.
    """
    folder, recipe, codec = load_description(run)
    model = load_model(folder, recipe, codec).to(device)
    return Run(folder, recipe, codec, Predictor(model, codec, recipe.predict))


def loaded(run: Run | str | os.PathLike[str]) -> Run:
    """`run` itself, or the run in that folder."""
    return run if isinstance(run, Run) else load(run)


def check_beam(beam: int | None, n_best: int, default: int) -> int:
    """The beam to use; refused at once where it is too narrow for the n best."""
    width = beam if beam is not None else max(default, n_best)
    if width < 1 or n_best < 1:
        raise DataError(f"beam and n_best must be at least 1, got beam {width} and n_best {n_best}")
    if n_best > width:
        raise DataError(f"n_best {n_best} needs a beam of at least {n_best}, got beam {width}")
    return width


def as_texts(texts: Sequence[str]) -> Sequence[str]:
    """Refuse a bare string, which would be taken for a list of its characters."""
    if isinstance(texts, str):
        raise DataError(f"expected a list of texts, got one text; write [{texts!r}]")
    return texts


def _normal(text: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFC", text)
