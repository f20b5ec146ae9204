"""Texts in, tensors out: pairs, tokenisers, vocabularies, codecs and batches.

Names are loaded when they are first used: only those of `heedful.data.batches` import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.data.batches import Batch, Example, Sequences, collate, in_order, plan, shortened
    from heedful.data.codec import END_LABEL, Codec, Encoded
    from heedful.data.corpora import gold_alignment
    from heedful.data.features import readers
    from heedful.data.pairs import Corpus, Pair, read_pairs
    from heedful.data.segments import segmenters
    from heedful.data.split import held_out
    from heedful.data.texts import NORMALISATIONS, normalise
    from heedful.data.tokens import Tokeniser, make_tokeniser, tokeniser_from_json, tokenisers
    from heedful.data.vocabulary import UNKNOWN_LABEL, Vocabulary

# `split.split` is missing on purpose: the name belongs to the module.
_HOMES = {
    "batches": ("Batch", "Example", "Sequences", "collate", "in_order", "plan", "shortened"),
    "codec": ("END_LABEL", "Codec", "Encoded"),
    "corpora": ("gold_alignment",),
    "features": ("readers",),
    "pairs": ("Corpus", "Pair", "read_pairs"),
    "segments": ("segmenters",),
    "split": ("held_out",),
    "texts": ("NORMALISATIONS", "normalise"),
    "tokens": ("Tokeniser", "make_tokeniser", "tokeniser_from_json", "tokenisers"),
    "vocabulary": ("UNKNOWN_LABEL", "Vocabulary"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "END_LABEL",
    "NORMALISATIONS",
    "UNKNOWN_LABEL",
    "Batch",
    "Codec",
    "Corpus",
    "Encoded",
    "Example",
    "Pair",
    "Sequences",
    "Tokeniser",
    "Vocabulary",
    "collate",
    "gold_alignment",
    "held_out",
    "in_order",
    "make_tokeniser",
    "normalise",
    "plan",
    "read_pairs",
    "readers",
    "segmenters",
    "shortened",
    "tokeniser_from_json",
    "tokenisers",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
