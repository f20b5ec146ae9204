"""The codec of a run: texts to ids and back, for both sides, with the labels and positions to show."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.data.features import FeatureSide, NoText, make_reader
from heedful.data.pairs import Pair
from heedful.data.segments import Segmenter, make_segmenter, segmenter_from_json
from heedful.data.tokens import Tokeniser, make_tokeniser, tokeniser_from_json
from heedful.data.vocabulary import Vocabulary, tag_label
from heedful.errors import DataError, HeedfulError, RunError
from heedful.files import write_atomically

if TYPE_CHECKING:
    import numpy as np

END_LABEL = "∎"
"""What is shown for the end symbol."""

_VERSION = 1
_NO_VOCABULARY = Vocabulary(tags=(), tokens=())


class Grid(NamedTuple):
    """Where vector j of a source of features lies, j from 0: from ``step * j`` to ``step * j + width``."""

    step: float
    width: float
    unit: str


class Encoded(NamedTuple):
    """A source as the model gets it; all three have the same length.

    `ids` are tags, tokens, END. `positions` tell the place 1..n of each token in the text as it was written,
    and are 0 for tags and END. `labels` are what to show. `segments` are the numbers of each token's segment, from 1 as
    they are read, and 0 for tags and END; None where texts are not cut into segments.

    Of a source of features `ids` is the array (S, F) float32 of normalised vectors, without an END; `positions` are
    1..S, and `grid` says where they lie, in place of labels.
    """

    ids: list[int] | np.ndarray
    positions: Sequence[int]
    labels: list[str]
    grid: Grid | None = None
    segments: list[int] | None = None

    def columns(self, shortening: int = 1) -> Columns:
        """What attention's columns show, where the model makes one source state of so many positions."""
        if self.grid is None:
            return Columns(self.labels, self.positions, None, self.segments)
        step, width, unit = self.grid
        size = len(self.ids)
        firsts = range(0, size, shortening)
        spans = [(step * first, step * (min(first + shortening, size) - 1) + width) for first in firsts]
        return Columns([_label(start, unit) for start, _ in spans], range(1, len(spans) + 1), spans)


class Columns(NamedTuple):
    """The columns of an `Alignment`: labels, positions; of features where each lies, of texts the segments."""

    labels: Sequence[str]
    positions: Sequence[int]
    spans: list[tuple[float, float]] | None
    segments: Sequence[int] | None = None


def _label(start: float, unit: str) -> str:
    """``"0.12 s"``, ``"17 px"``, ``"3"``."""
    text = f"{start:.2f}" if unit == "s" else f"{start:.4g}" if start < 1000 else f"{start:.0f}"
    return f"{text} {unit}".rstrip()


@dataclass(frozen=True)
class Codec:
    """Tokenisers and vocabularies of both sides. It takes texts as they are, normalised or not.

    With `reverse_source` the model reads the tokens of the source from last to first (Sutskever et al. 2014);
    tags stay in front and END stays last. With a `segmenter` sources are cut into segments.

    With `source_features` sources are features, not texts: there are neither source tokens nor tags.
    """

    source_tokeniser: Tokeniser
    target_tokeniser: Tokeniser
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    reverse_source: bool = False
    source_features: FeatureSide | None = None
    segmenter: Segmenter | None = None

    @classmethod
    def build(
        cls,
        pairs: Sequence[Pair],
        *,
        source_tokens: tuple[str, Mapping[str, Any]] = ("characters", {}),
        target_tokens: tuple[str, Mapping[str, Any]] = ("whitespace", {}),
        source_min_count: int = 1,
        target_min_count: int = 1,
        source_max_size: int | None = None,
        target_max_size: int | None = None,
        reverse_source: bool = False,
        source_features: Mapping[str, Any] | None = None,
        segments: tuple[str, Mapping[str, Any]] | None = None,
    ) -> Codec:
        """Train the tokenisers, each given as (name, options), on `pairs` and count the vocabularies.

        With a reader of features, given by its name and options, their mean and deviation are
        learned of the sources.

        Raises:
            RecipeError: unknown tokeniser or option; `segments`, given likewise, are no way to cut a text.
            DataError: there are no pairs, or one without target.
        """
        segmenter = None if segments is None else make_segmenter(*segments)
        if not pairs:
            raise DataError("expected at least one pair to build the vocabularies from, got none")
        targets: list[str] = []
        for pair in pairs:
            if pair.target is None:
                raise DataError(f"line {pair.line}: expected a pair to learn from, got no target")
            targets.append(pair.target)
        target_tokeniser = make_tokeniser(*target_tokens)
        target_tokeniser.train(targets)
        target_vocabulary = Vocabulary.build(
            map(target_tokeniser.split, targets),
            min_count=target_min_count,
            max_size=target_max_size,
            always=target_tokeniser.pieces(),
        )
        if source_features is not None:
            side = FeatureSide.of(make_reader(source_features), [(pair.features, pair.line) for pair in pairs])
            return cls(NoText(), target_tokeniser, _NO_VOCABULARY, target_vocabulary, False, side)
        sources = [pair.source for pair in pairs]
        source_tokeniser = make_tokeniser(*source_tokens)
        source_tokeniser.train(sources)
        source_vocabulary = Vocabulary.build(
            map(source_tokeniser.split, sources),
            tag_lists=[pair.tags for pair in pairs],
            min_count=source_min_count,
            max_size=source_max_size,
            always=source_tokeniser.pieces(),
        )
        return cls(
            source_tokeniser,
            target_tokeniser,
            source_vocabulary,
            target_vocabulary,
            reverse_source,
            segmenter=segmenter,
        )

    def source_of(self, pair: Pair) -> Encoded:
        """The source of a pair as the model gets it: text or features.

        Raises:
            DataError: it has another number of features than in training.
        """
        if self.source_features is None:
            return self.encode_source(pair.source, pair.tags)
        assert pair.features is not None
        values = self.source_features.normalised(pair.features, f"line {pair.line}: {pair.source}")
        grid = Grid(pair.features.step, pair.features.width, self.source_features.reader.unit)
        return Encoded(values, range(1, len(values) + 1), [], grid)

    def source_size(self, pair: Pair) -> int:
        """How many tokens the source of a pair has, or how many vectors of features."""
        if self.source_features is None:
            return len(self.source_tokeniser.split(pair.source))
        return 0 if pair.features is None else len(pair.features.values)

    def encode_source(self, text: str, tags: Sequence[str] = ()) -> Encoded:
        """The ids, positions and labels of a source; an unknown tag or token has the id UNKNOWN."""
        tokens = self.source_tokeniser.split(text)
        labels = self.source_tokeniser.labels_of(tokens)
        positions = list(range(1, len(tokens) + 1))
        segments = None if self.segmenter is None else self.segmenter.cut(text, self.source_tokeniser, tokens)
        if segments is not None:
            if self.reverse_source:
                last = max(segments, default=0)
                segments = [1 + last - segment for segment in reversed(segments)]
            segments = [*(0 for _ in tags), *segments, 0]
        if self.reverse_source:
            for values in (tokens, labels, positions):
                values.reverse()
        return Encoded(
            ids=[*self.source_vocabulary.ids(tokens, tags), Vocabulary.END],
            positions=[*(0 for _ in tags), *positions, 0],
            labels=[*map(tag_label, tags), *labels, END_LABEL],
            segments=segments,
        )

    def encode_target(self, text: str) -> list[int]:
        """The ids of a target, END last."""
        return [*self.target_vocabulary.ids(self.target_tokeniser.split(text)), Vocabulary.END]

    def decode_target(self, ids: Iterable[int]) -> str:
        """The text of `ids` up to the first END, or all of them if there is none."""
        tokens, _ = self._target_tokens(ids)
        return self.target_tokeniser.join(tokens)

    def target_labels(self, ids: Iterable[int]) -> list[str]:
        """What to show for each of `ids` up to and with the first END."""
        tokens, ended = self._target_tokens(ids)
        return self.target_tokeniser.labels_of(tokens) + [END_LABEL] * ended

    def target_labels_of(self, text: str) -> list[str]:
        """What to show for each of ``encode_target(text)``: the text's own tokens, also those that are unknown."""
        return [*self.target_tokeniser.labels(text), END_LABEL]

    def _target_tokens(self, ids: Iterable[int]) -> tuple[list[str], bool]:
        """The tokens before the first END, and whether there was one."""
        ids = list(ids)
        ended = Vocabulary.END in ids
        return self.target_vocabulary.tokens(ids[: ids.index(Vocabulary.END)] if ended else ids), ended

    def to_json(self) -> dict[str, Any]:
        """The whole codec as JSON values."""
        target = {
            "target_tokeniser": self.target_tokeniser.to_json(),
            "target_vocabulary": self.target_vocabulary.to_json(),
        }
        if self.source_features is not None:
            return {"version": _VERSION, "source_features": self.source_features.to_json(), **target}
        return {
            "version": _VERSION,
            "reverse_source": self.reverse_source,
            "source_tokeniser": self.source_tokeniser.to_json(),
            "source_vocabulary": self.source_vocabulary.to_json(),
            **({} if self.segmenter is None else {"segments": self.segmenter.to_json()}),
            **target,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Codec:
        """The inverse of `to_json`."""
        if values["version"] != _VERSION:
            raise DataError(f"expected version {_VERSION} of the format, got {values['version']!r}")
        target = tokeniser_from_json(values["target_tokeniser"])
        vocabulary = Vocabulary.from_json(values["target_vocabulary"])
        if "source_features" in values:
            side = FeatureSide.from_json(values["source_features"])
            return cls(NoText(), target, _NO_VOCABULARY, vocabulary, False, side)
        return cls(
            tokeniser_from_json(values["source_tokeniser"]),
            target,
            Vocabulary.from_json(values["source_vocabulary"]),
            vocabulary,
            bool(values["reverse_source"]),
            segmenter=segmenter_from_json(values["segments"]) if "segments" in values else None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the codec into the file `path` (``vocabulary.json`` of a run), in one step.

        Raises:
            RunError: the file cannot be written.
        """
        write_atomically(path, json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Codec:
        """Read the file `path`.

        Raises:
            RunError: there is no such file, or it holds no codec.
        """
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except OSError as error:
            raise RunError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise RunError(f"{os.fspath(path)}: expected JSON: {error}") from error
        try:
            return cls.from_json(values)
        except KeyError as error:
            raise RunError(f"{os.fspath(path)}: expected a codec: no key {error}") from error
        except HeedfulError as error:
            raise RunError(f"{os.fspath(path)}: {error}") from error
        except Exception as error:  # the library `tokenizers` raises a plain Exception
            raise RunError(f"{os.fspath(path)}: expected a codec: {error}") from error
