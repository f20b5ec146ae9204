"""From the paths that stand in pairs to their features."""

from __future__ import annotations

import os
from typing import Any, Literal

from heedful.data import corpora
from heedful.data.features.reader import Features, Reader
from heedful.data.lines import BadLine
from heedful.data.pairs import Corpus, Pair
from heedful.errors import DataError


def with_features(
    corpus: Corpus, reader: Reader, *, size: int | None = None, bad_lines: Literal["error", "skip"] = "error"
) -> Corpus:
    """`corpus` with the features of each source: a path from the folder that the file of the pairs is in, or a part of
    a built-in corpus of pictures. A blank source has none.

    Args:
        size: F, which all must have; by default that of the first.
        bad_lines: as in `read_pairs`; a line with a bad source is a bad line.

    Raises:
        DataError: a source cannot be read; names the file of the pairs, the line and the path.
    """
    contents = _contents(corpus.name, reader)
    folder = os.path.dirname(corpus.name.partition(",")[0] if not os.path.exists(corpus.name) else corpus.name)
    pairs: list[Pair] = []
    skipped = list(corpus.skipped)
    for pair in corpus.pairs:
        try:
            content = None if contents is None else contents[pair.source]
            features = _features(pair.source, reader, folder, content)
            size = _checked_size(features, size)
            pairs.append(pair._replace(features=features))
        except BadLine as bad:
            reason = f"{os.path.join(folder, pair.source)}: {bad.reason}"
            if bad_lines == "error":
                raise DataError(f"{corpus.name}:{pair.line}: {reason}") from None
            skipped.append((pair.line, reason))
    if corpus.pairs and not pairs:
        line, reason = min(skipped)
        raise DataError(f"{corpus.name}: no usable line: {len(skipped)} bad, the first is line {line}: {reason}")
    return Corpus(corpus.name, tuple(pairs), tuple(sorted(skipped)))


def check_texts(corpus: Corpus) -> None:
    """Refuse a built-in corpus whose sources are no texts, where texts are wanted.

    Raises:
        DataError: it is one.
    """
    built_in = None if os.path.exists(corpus.name) else corpora.find(corpus.name)
    if built_in is not None and built_in[0] in corpora.PICTURES:
        raise DataError(f"{corpus.name}: its sources are pictures: set data.source_features, or take the recipe image")


def features_of(path: str, reader: Reader, *, folder: str, place: str) -> Features | None:
    """Of one source, whose path is from `folder`; none of a blank. `place` is what an error calls its line.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return _features(path, reader, folder, None)
    except BadLine as bad:
        raise DataError(f"{place}: {os.path.join(folder, path)}: {bad.reason}") from None


def _checked_size(features: Features | None, size: int | None) -> int | None:
    """`size`, or the first that there is."""
    own = size if features is None else features.values.shape[1]
    if own != size and size is not None:
        raise BadLine(f"expected {size} features in each vector, got {own}")
    return own


def _features(path: str, reader: Reader, folder: str, content: Any) -> Features | None:
    if not path.strip():
        return None
    return reader.read(os.path.join(folder, path)) if content is None else reader.checked(content)


def _contents(name: str, reader: Reader) -> dict[str, Any] | None:
    """Of a built-in corpus what its sources hold, by their names; None for a file."""
    built_in = None if os.path.exists(name) else corpora.find(name)
    if built_in is None:
        return None
    contents = corpora.pictures(*built_in)
    if contents is None or reader.name != "image":
        kind = "texts" if contents is None else "pictures"
        raise DataError(f"{name}: its sources are {kind}, and data.source_features reads {reader.name!r}")
    return contents
