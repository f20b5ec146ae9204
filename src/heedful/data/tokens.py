"""Tokenisers: from a text to the strings that a vocabulary counts, and back without loss."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import combining, normalize

from heedful.errors import DataError, RecipeError
from heedful.registry import Registry

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Tokeniser(ABC):
    """Cuts a text into tokens; ``join(split(text))`` is the text.

    It takes texts as they are: they are normalised where they come in (`heedful.data.normalise`), not here.
    """

    name: str
    cuts_words = False  # whether its tokens are pieces of words, so that links count words instead
    is_label = False  # whether a text is one token: as a target it is a label, and has no end symbol

    def train(self, texts: Iterable[str]) -> None:  # noqa: B027 - most have nothing to learn
        """Learn from `texts`; does nothing for a tokeniser that has nothing to learn."""

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """The tokens of `text`, as they stand in a vocabulary."""

    def pieces(self) -> Sequence[str]:
        """Tokens that belong into the vocabulary whether or not the training texts have them."""
        return ()

    @abstractmethod
    def join(self, tokens: Sequence[str]) -> str:
        """The text that `tokens` spell: the inverse of `split`."""

    def labels(self, text: str) -> list[str]:
        """What to show for each token of ``split(text)``."""
        return self.labels_of(self.split(text))

    def labels_of(self, tokens: Sequence[str]) -> list[str]:
        """What to show for each of `tokens`."""
        return list(tokens)

    def to_json(self) -> dict[str, Any]:
        """All there is to know, as JSON values; `tokeniser_from_json` makes an equal tokeniser of it."""
        return {"name": self.name}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Tokeniser:
        """The inverse of `to_json`."""
        return cls()


tokenisers: Registry[Tokeniser] = Registry("tokeniser")


def make_tokeniser(name: str, options: Mapping[str, Any] | None = None) -> Tokeniser:
    """A new, untrained tokeniser by its registered name.

    Raises:
        RecipeError: unknown name or option, or an option that does not fit.
    """
    return tokenisers.build(name, options or {}, {})


def tokeniser_from_json(values: Mapping[str, Any]) -> Tokeniser:
    """The tokeniser that `Tokeniser.to_json` wrote down."""
    return tokenisers[values["name"]].from_json(values)


@tokenisers.register("characters")
class Characters(Tokeniser):
    """Every code point is a token, spaces too."""

    name = "characters"

    def split(self, text: str) -> list[str]:
        return list(text)

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)


@tokenisers.register("decomposed")
class Decomposed(Tokeniser):
    """Like `characters`, after all that is composed was taken apart: the letters of a Hangul syllable, accents.

    Rare syllables and letters are then made of common ones (Unicode Standard Annex 15, form D). Joined texts are
    composed again, so a text comes back as it was if it was in form C, which `data.normalisation` sees to by default.
    """

    name = "decomposed"

    def split(self, text: str) -> list[str]:
        return list(normalize("NFD", text))

    def join(self, tokens: Sequence[str]) -> str:
        return normalize("NFC", "".join(tokens))

    def labels_of(self, tokens: Sequence[str]) -> list[str]:
        """Signs that stand on a letter stand on a dotted circle."""
        return ["\u25cc" + token if combining(token) else token for token in tokens]


@tokenisers.register("graphemes")
class Graphemes(Tokeniser):
    """What a reader takes for one character is a token: a letter with its signs (क्षि), a composed emoji, a space.

    Extended grapheme clusters (Unicode Standard Annex 29), by the library ``regex``, whose version decides on
    characters that are newer than it is.
    """

    name = "graphemes"

    def split(self, text: str) -> list[str]:
        from regex import findall

        return findall(r"\X", text)

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)


@tokenisers.register("whitespace")
class Whitespace(Tokeniser):
    """Tokens are what stands between runs of white space; joined by one space each."""

    name = "whitespace"

    def split(self, text: str) -> list[str]:
        return text.split()

    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)


@tokenisers.register("label")
class Label(Tokeniser):
    """The whole text is one token, spaces too: a label as the target, or an item as a source."""

    name = "label"
    is_label = True

    def split(self, text: str) -> list[str]:
        return [text] if text else []

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)


def _byte_alphabet() -> dict[str, int]:
    """The printable characters that stand for the 256 bytes in byte-level tokens, with their bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTES = _byte_alphabet()


@tokenisers.register("bpe")
class BytePairs(Tokeniser):
    """Byte-pair encoding over bytes (Sennrich et al. 2016; bytes as in GPT-2), by the library ``tokenizers``.

    Any text can be spelled, for all 256 bytes are tokens; there are no special tokens.

    Args:
        vocabulary_size: how many different tokens there may be, the 256 bytes among them.

    Raises:
        RecipeError: `vocabulary_size` is not a whole number of at least 256.
    """

    name = "bpe"
    cuts_words = True

    def __init__(self, vocabulary_size: int = 8000) -> None:
        if not isinstance(vocabulary_size, int) or vocabulary_size < 256:
            raise RecipeError(
                f"tokeniser 'bpe': vocabulary_size: expected a whole number of at least 256 (the bytes), "
                f"got {vocabulary_size!r}"
            )
        self.vocabulary_size = vocabulary_size
        self._tokenizer: Tokenizer | None = None

    def train(self, texts: Iterable[str]) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # pyright: ignore[reportAttributeAccessIssue]
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary_size,
            special_tokens=[],
            initial_alphabet=list(_BYTES),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        self._tokenizer = tokenizer

    def split(self, text: str) -> list[str]:
        if self._tokenizer is None:
            raise DataError("the tokeniser 'bpe' must be trained before it can split a text")
        try:
            return self._tokenizer.encode(text).tokens
        except TypeError:  # what the library says to a string that UTF-8 cannot write
            raise DataError(f"expected a text, got half a surrogate pair in {text!r}") from None

    def pieces(self) -> Sequence[str]:
        return () if self._tokenizer is None else sorted(self._tokenizer.get_vocab())

    def join(self, tokens: Sequence[str]) -> str:
        return b"".join(map(_to_bytes, tokens)).decode("utf-8", "replace")

    def labels_of(self, tokens: Sequence[str]) -> list[str]:
        """For each token the characters that it spells, whole or in part."""
        pieces = [_to_bytes(token) for token in tokens]
        # Bytes that are no UTF-8 become one surrogate each, so that every byte knows its character.
        text = b"".join(pieces).decode("utf-8", "surrogateescape")
        character_of = [i for i, c in enumerate(text) for _ in c.encode("utf-8", "surrogateescape")]
        text = "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text)
        labels, start = [], 0
        for piece in pieces:
            end = start + len(piece)
            labels.append(text[character_of[start] : character_of[end - 1] + 1] if piece else "")
            start = end
        return labels

    def to_json(self) -> dict[str, Any]:
        model = json.loads(self._tokenizer.to_str()) if self._tokenizer is not None else None
        return {"name": self.name, "vocabulary_size": self.vocabulary_size, "model": model}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BytePairs:
        tokeniser = cls(values["vocabulary_size"])
        if values["model"] is not None:
            from tokenizers import Tokenizer

            ids = values["model"]["model"]["vocab"].values()
            if not set(ids) <= set(range(len(ids))):  # the library counts up to the largest
                raise DataError(f"tokeniser 'bpe': expected the ids 0 to {len(ids) - 1} for its pieces")
            tokeniser._tokenizer = Tokenizer.from_str(json.dumps(values["model"]))
        return tokeniser


def _to_bytes(token: str) -> bytes:
    """The bytes of a byte-level token; a character that stands for no byte (an unknown token's) is itself."""
    return b"".join(bytes([_BYTES[c]]) if c in _BYTES else c.encode("utf-8") for c in token)
