"""The codec of a run: texts to ids and back, for both sides, with the labels and positions to show."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.data.encoded import Encoded, Grid
from heedful.data.features import FeatureSide, NoText, make_reader
from heedful.data.pairs import Pair
from heedful.data.segments import Segmenter, make_segmenter, segmenter_from_json
from heedful.data.tokens import Tokeniser, make_tokeniser, tokeniser_from_json
from heedful.data.vocabulary import Vocabulary, tag_label
from heedful.errors import DataError, HeedfulError, RunError
from heedful.files import write_atomically

END_LABEL = "∎"
"""What is shown for the end symbol."""

_VERSION = 1
_NO_VOCABULARY = Vocabulary(tags=(), tokens=())


@dataclass(frozen=True)
class Codec:
    """Tokenisers and vocabularies of both sides. It takes texts as they are, normalised or not.

    With `reverse_source` the model reads the tokens of a source from last to first (Sutskever et al. 2014);
    tags stay in front and END stays last. A second source has a tokeniser and a vocabulary of its own. A target whose
    tokeniser takes all of it as one token is a label: it has no END. With a `segmenter` sources, but not second ones,
    are cut into segments.

    With `source_features` sources are features, not texts: there are neither source tokens nor tags.
    """

    source_tokeniser: Tokeniser
    target_tokeniser: Tokeniser
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    reverse_source: bool = False
    source_features: FeatureSide | None = None
    second_tokeniser: Tokeniser | None = None
    second_vocabulary: Vocabulary | None = None
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
        second_source_tokens: tuple[str, Mapping[str, Any]] | None = None,
        segments: tuple[str, Mapping[str, Any]] | None = None,
    ) -> Codec:
        """Train the tokenisers, each given as (name, options), on `pairs` and count the vocabularies.

        With a reader of features, given by its name and options, their mean and deviation are
        learned of the sources. The limits of the source's vocabulary are those of the second source's too, where
        `second_source_tokens` says that there is one.

        Raises:
            RecipeError: unknown tokeniser or option; `segments`, given likewise, are no way to cut a text.
            DataError: there are no pairs, or one without target.
        """
        segmenter = None if segments is None else make_segmenter(*segments)
        if not pairs:
            raise DataError("expected at least one pair to build the vocabularies from, got none")
        second = _second_side(pairs, second_source_tokens, source_min_count, source_max_size)
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
            return cls(NoText(), target_tokeniser, _NO_VOCABULARY, target_vocabulary, False, side, *second)
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
        sides = (source_tokeniser, target_tokeniser, source_vocabulary, target_vocabulary)
        return cls(*sides, reverse_source, None, *second, segmenter)

    @property
    def has_label(self) -> bool:
        """Whether a target is one label, without an END."""
        return self.target_tokeniser.is_label

    @property
    def features_size(self) -> int | None:
        """F, where sources are features."""
        return None if self.source_features is None else self.source_features.size

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
        return self._source(self.source_tokeniser, self.source_vocabulary, text, tags, self.segmenter)

    def encode_second(self, text: str) -> Encoded:
        """The same of a second source, which has no tags."""
        assert self.second_tokeniser is not None
        assert self.second_vocabulary is not None
        return self._source(self.second_tokeniser, self.second_vocabulary, text, (), None)

    def _source(
        self,
        tokeniser: Tokeniser,
        vocabulary: Vocabulary,
        text: str,
        tags: Sequence[str],
        segmenter: Segmenter | None,
    ) -> Encoded:
        tokens = tokeniser.split(text)
        labels = tokeniser.labels_of(tokens)
        positions = list(range(1, len(tokens) + 1))
        segments = None if segmenter is None else segmenter.cut(text, tokeniser, tokens)
        if segments is not None:
            if self.reverse_source:
                last = max(segments, default=0)
                segments = [1 + last - segment for segment in reversed(segments)]
            segments = [*(0 for _ in tags), *segments, 0]
        if self.reverse_source:
            for values in (tokens, labels, positions):
                values.reverse()
        return Encoded(
            ids=[*vocabulary.ids(tokens, tags), Vocabulary.END],
            positions=[*(0 for _ in tags), *positions, 0],
            labels=[*map(tag_label, tags), *labels, END_LABEL],
            segments=segments,
        )

    def encode_target(self, text: str) -> list[int]:
        """The ids of a target, END last; of a label its id alone."""
        return [*self.target_vocabulary.ids(self.target_tokeniser.split(text)), *self._end(Vocabulary.END)]

    def _end(self, end: Any) -> list[Any]:
        return [] if self.has_label else [end]

    def end_labels(self, *, finished: bool) -> list[str]:
        """What to show behind an answer: its end symbol, if it has reached one."""
        return self._end(END_LABEL) if finished else []

    def without_end(self, ids: list[int]) -> list[int]:
        """`ids` of `encode_target` without their END."""
        return ids if self.has_label else ids[:-1]

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
        return [*self.target_tokeniser.labels(text), *self._end(END_LABEL)]

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
        second = self._second_to_json()
        if self.source_features is not None:
            return {"version": _VERSION, "source_features": self.source_features.to_json(), **target, **second}
        return {
            "version": _VERSION,
            "reverse_source": self.reverse_source,
            "source_tokeniser": self.source_tokeniser.to_json(),
            "source_vocabulary": self.source_vocabulary.to_json(),
            **({} if self.segmenter is None else {"segments": self.segmenter.to_json()}),
            **target,
            **second,
        }

    def _second_to_json(self) -> dict[str, Any]:
        if self.second_tokeniser is None or self.second_vocabulary is None:
            return {}
        return {
            "second_tokeniser": self.second_tokeniser.to_json(),
            "second_vocabulary": self.second_vocabulary.to_json(),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Codec:
        """The inverse of `to_json`."""
        if values["version"] != _VERSION:
            raise DataError(f"expected version {_VERSION} of the format, got {values['version']!r}")
        target = tokeniser_from_json(values["target_tokeniser"])
        vocabulary = Vocabulary.from_json(values["target_vocabulary"])
        second = (None, None)
        if "second_tokeniser" in values:
            second = tokeniser_from_json(values["second_tokeniser"]), Vocabulary.from_json(values["second_vocabulary"])
        if "source_features" in values:
            side = FeatureSide.from_json(values["source_features"])
            return cls(NoText(), target, _NO_VOCABULARY, vocabulary, False, side, *second)
        source = tokeniser_from_json(values["source_tokeniser"])
        source_vocabulary = Vocabulary.from_json(values["source_vocabulary"])
        segmenter = segmenter_from_json(values["segments"]) if "segments" in values else None
        sides = (source, target, source_vocabulary, vocabulary)
        return cls(*sides, bool(values["reverse_source"]), None, *second, segmenter)

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


def _second_side(
    pairs: Sequence[Pair], tokens: tuple[str, Mapping[str, Any]] | None, min_count: int, max_size: int | None
) -> tuple[Tokeniser, Vocabulary] | tuple[None, None]:
    if tokens is None:
        return None, None
    texts = [pair.second or "" for pair in pairs]
    tokeniser = make_tokeniser(*tokens)
    tokeniser.train(texts)
    splits = map(tokeniser.split, texts)
    return tokeniser, Vocabulary.build(splits, min_count=min_count, max_size=max_size, always=tokeniser.pieces())
