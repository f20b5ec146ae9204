"""Links of a statistical aligner as the truth that attention is guided by in training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from heedful.alignment import read_links
from heedful.data.batches import Example
from heedful.data.codec import Codec
from heedful.data.pairs import Corpus, Pair
from heedful.errors import DataError

Links = frozenset[tuple[int, int]]


def links_of_lines(path: str | os.PathLike[str], corpus: Corpus) -> dict[int, Links]:
    """The links of each line of `corpus`, by the line's number.

    Raises:
        DataError: the file cannot be read, or has not as many lines as the corpus.
    """
    links = read_links(path)
    lines = max([pair.line for pair in corpus.pairs] + [line for line, _ in corpus.skipped])
    if len(links) != lines:
        raise DataError(
            f"{os.fspath(path)}: expected a line of links for each of the {lines} lines of {corpus.name}, "
            f"got {len(links)} lines"
        )
    return dict(enumerate(links, start=1))


def guided(
    examples: Sequence[Example],
    pairs: Sequence[Pair],
    links: dict[int, Links],
    codec: Codec,
    *,
    convention: str,
    name: str,
) -> list[Example]:
    """`examples` with the cells that their links stand for.

    Links count what the tokenisers call a token, but words where they cut these into pieces (BPE): then each piece of a
    word is linked with each piece of the other.

    Args:
        convention: which word a row of the model's weights belongs to.
        name: of the file of links, for messages.

    Raises:
        DataError: a link points behind the end of a sentence.
    """
    return [
        replace(example, guide=_cells(example, pair, links[pair.line], codec, convention=convention, name=name))
        for example, pair in zip(examples, pairs, strict=True)
    ]


def _cells(
    example: Example, pair: Pair, links: Links, codec: Codec, *, convention: str, name: str
) -> list[tuple[int, int]]:
    sources = codec.source_tokeniser.units(pair.source)
    targets = codec.target_tokeniser.units(pair.target or "")
    column_of = {position: column for column, position in enumerate(example.source.positions)}
    shift = 0 if convention == "predicted" else 1  # the row after the word has been read
    cells = []
    for source, target in sorted(links):
        if source >= len(sources) or target >= len(targets):
            raise DataError(
                f"{name}:{pair.line}: expected links from 0-0 to {len(sources) - 1}-{len(targets) - 1}, "
                f"got {source}-{target}"
            )
        cells += [(row + shift, column_of[place + 1]) for row in targets[target] for place in sources[source]]
    return cells
