"""Links of a statistical aligner as the truth that attention is guided by in training."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heedful.alignment import read_links
from heedful.data.batches import Example
from heedful.data.codec import Codec
from heedful.data.pairs import Corpus, Pair
from heedful.errors import DataError, RecipeError
from heedful.model import Model
from heedful.units import units_of

Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Guide:
    """The links of each line of a corpus.

    They count what the tokenisers call a token, but words where they cut these into pieces (BPE): then each piece of a
    word is linked with each piece of the other.

    Args:
        name: of the file, for messages.
        links: by the number of the line.
    """

    name: str
    links: Mapping[int, Links]

    @classmethod
    def read(cls, path: str | os.PathLike[str], corpus: Corpus, *, precision: str = "no") -> Guide:
        """From a file with a line for each line of `corpus`.

        Raises:
            DataError: the file cannot be read, or has not as many lines as the corpus.
            RecipeError: the training is in half precision, in which the logarithm of a weight has no gradient.
        """
        if precision == "fp16":
            raise RecipeError("links cannot guide a training with train.precision = 'fp16'; 'bf16' can be guided")
        name, links = os.fspath(path), read_links(path)
        lines = max([pair.line for pair in corpus.pairs] + [line for line, _ in corpus.skipped])
        if len(links) != lines:
            raise DataError(
                f"{name}: expected a line of links for each of the {lines} lines of {corpus.name}, "
                f"got {len(links)} lines"
            )
        return cls(name, dict(enumerate(links, start=1)))

    def onto(self, examples: Sequence[Example], pairs: Sequence[Pair], codec: Codec, model: Model) -> list[Example]:
        """`examples`, which `pairs` are, with the cells of the model's weights that their links stand for.

        Raises:
            DataError: a link points behind the end of a sentence.
            RecipeError: the model has no attention.
        """
        if not model.has_attention:
            raise RecipeError("links guide attention, and the model has none (fusion 'none')")
        shift = 0 if model.row_convention == "predicted" else 1  # the row after the word has been read
        return [
            replace(example, guide=self._cells(example, pair, codec, shift))
            for example, pair in zip(examples, pairs, strict=True)
        ]

    def _cells(self, example: Example, pair: Pair, codec: Codec, shift: int) -> list[tuple[int, int]]:
        sources = units_of(codec.source_tokeniser, pair.source)
        targets = units_of(codec.target_tokeniser, pair.target or "")
        column_of = {position: column for column, position in enumerate(example.source.positions)}
        cells = []
        for source, target in sorted(self.links[pair.line]):
            if source >= len(sources) or target >= len(targets):
                raise DataError(
                    f"{self.name}:{pair.line}: expected links from 0-0 to {len(sources) - 1}-{len(targets) - 1}, "
                    f"got {source}-{target}"
                )
            cells += [(row + shift, column_of[place + 1]) for row in targets[target] for place in sources[source]]
        return cells
