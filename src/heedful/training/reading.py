"""Pairs as a recipe says that they are to be read."""

from __future__ import annotations

import os

from heedful.data.features import check_texts, make_reader, with_features
from heedful.data.pairs import Corpus, read_pairs
from heedful.recipes import DataRecipe


def read(
    pairs: str | os.PathLike[str],
    data: DataRecipe,
    *,
    line: int | None = None,
    features_size: int | None = None,
    need_target: bool = True,
) -> Corpus:
    """`pairs` as the recipe says that its columns, and the files that they name, are to be read.

    Args:
        line: leave out all others, and do not read their files.
        features_size: of each vector; by default what the first has.
        need_target: as in `read_pairs`.
    """
    corpus = read_pairs(
        pairs,
        source_column=data.source_column,
        target_column=data.target_column,
        second_source_column=data.second_source_column,
        tag_columns=tuple(data.tag_columns),
        tag_separator=data.tag_separator,
        normalisation=data.normalisation,
        bad_lines=data.bad_lines,
        need_target=need_target,
        source_is_path=data.source_features is not None,
    )
    if line is not None:
        corpus = corpus._replace(pairs=tuple(pair for pair in corpus.pairs if pair.line == line))
    if data.source_features is None:
        check_texts(corpus)
        return corpus
    reader = make_reader(data.source_features.model_dump())
    return with_features(corpus, reader, size=features_size, bad_lines=data.bad_lines)
