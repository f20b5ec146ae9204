"""Vocabularies: the numbers of tags and tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heedful.errors import DataError

UNKNOWN_LABEL = "\N{REPLACEMENT CHARACTER}"
"""What is shown for an id that stands for no text."""


def tag_label(tag: str) -> str:
    """How a tag is shown among tokens."""
    return f"[{tag}]"


class Vocabulary:
    """Ids for tags and tokens, in this order: PAD, START, END, UNKNOWN, tags, tokens.

    The first four are ids and nothing else: they have no spelling, so a text may hold ``<s>`` or ``<pad>`` as
    an ordinary token. Tags have a name space of their own.

    Raises:
        DataError: a tag or a token stands there twice.
    """

    PAD = 0
    START = 1
    END = 2
    UNKNOWN = 3

    def __init__(self, *, tags: Sequence[str], tokens: Sequence[str]) -> None:
        self._tags = tuple(tags)
        self._tokens = tuple(tokens)
        first = self.UNKNOWN + 1
        self._id_of_tag = {tag: first + n for n, tag in enumerate(self._tags)}
        self._id_of_token = {token: first + len(self._tags) + n for n, token in enumerate(self._tokens)}
        for entries, ids in ((self._tags, self._id_of_tag), (self._tokens, self._id_of_token)):
            if len(ids) < len(entries):
                twice = Counter(entries).most_common(1)[0][0]
                raise DataError(f"vocabulary: expected every entry once, got {twice!r} twice")
        self._labels = (UNKNOWN_LABEL,) * first + tuple(map(tag_label, self._tags)) + self._tokens

    @classmethod
    def build(
        cls,
        token_lists: Iterable[Sequence[str]],
        *,
        tag_lists: Iterable[Sequence[str]] = (),
        min_count: int = 1,
        max_size: int | None = None,
        always: Sequence[str] = (),
    ) -> Vocabulary:
        """Count tokens and tags; the most frequent come first, and equals in the order of their code points.

        Args:
            token_lists: the tokens of each text.
            tag_lists: the tags of each text; all of them are kept.
            min_count: tokens that are rarer are left out.
            max_size: how many tokens to keep at most, not counting tags and the four special ids.
            always: tokens to keep whatever their count and `max_size`.
        """
        if min_count < 1 or (max_size is not None and max_size < 1):
            raise DataError(
                f"vocabulary: expected min_count and max_size of at least 1, got {min_count} and {max_size}"
            )
        tokens = [token for token, count in _by_frequency(token_lists) if count >= min_count]
        kept = dict.fromkeys([*tokens[:max_size], *always])
        return cls(tags=[tag for tag, _ in _by_frequency(tag_lists)], tokens=list(kept))

    def ids(self, tokens: Iterable[str], tags: Iterable[str] = ()) -> list[int]:
        """The ids of `tags`, then of `tokens`; UNKNOWN for each that is not there. No END is added."""
        tag_ids = [self._id_of_tag.get(tag, self.UNKNOWN) for tag in tags]
        return tag_ids + [self._id_of_token.get(token, self.UNKNOWN) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id; a tag as ``[tag]``, and UNKNOWN_LABEL for the four special ids.

        Raises:
            DataError: an id that is not in the vocabulary.
        """
        ids = list(ids)
        for i in ids:
            if not 0 <= i < len(self):
                raise DataError(f"vocabulary: expected ids from 0 to {len(self) - 1}, got {i}")
        return [self._labels[i] for i in ids]

    def unknown(self, tokens: Iterable[str]) -> list[str]:
        """Those of `tokens` that are not in the vocabulary, in order, as often as they come."""
        return [token for token in tokens if token not in self._id_of_token]

    def __len__(self) -> int:
        return len(self._labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (self._tags, self._tokens) == (other._tags, other._tokens)

    def __hash__(self) -> int:
        return hash((self._tags, self._tokens))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self._tags)} tags, {len(self._tokens)} tokens)"

    def to_json(self) -> dict[str, list[str]]:
        """Tags and tokens in the order of their ids."""
        return {"tags": list(self._tags), "tokens": list(self._tokens)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Vocabulary:
        """The inverse of `to_json`."""
        for key in ("tags", "tokens"):
            if not isinstance(values[key], list) or not all(isinstance(entry, str) for entry in values[key]):
                raise DataError(f"vocabulary: expected a list of strings as {key}")
        return cls(tags=values["tags"], tokens=values["tokens"])


def _by_frequency(lists: Iterable[Sequence[str]]) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for entries in lists:
        counts.update(entries)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
