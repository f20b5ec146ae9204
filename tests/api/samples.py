"""A value for each option of the search, and runs with other ones in their recipes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

SAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "beam": ({"beam": 3}, "beam:3|lp:1"),
    "length_penalty": ({"length_penalty": 0.5}, "beam:5|lp:0.5"),
    "length_normalisation": ({"length_normalisation": "gnmt"}, "length_normalisation:gnmt"),
    "coverage_penalty": ({"coverage_penalty": 0.2}, "coverage_penalty:0.2"),
    "attention_temperature": ({"attention_temperature": 0.7}, "attention_temperature:0.7"),
    "diversity_penalty": ({"diversity_penalty": 0.3}, "diversity_penalty:0.3"),
    "min_length": ({"min_length": 4}, "min_length:4"),
    "min_length_ratio": ({"min_length_ratio": 0.9}, "min_length_ratio:0.9"),
    "max_length": ({"max_length": 9}, "max_length:9"),
    "max_length_ratio": ({"max_length_ratio": 1.5}, "max_length_ratio:1.5"),
    "max_length_extra": ({"max_length_extra": 2}, "max_length_extra:2"),
    "banned": ({"banned": ["A", "F"]}, "banned:A,F"),
    "no_repeat_ngram": ({"no_repeat_ngram": 2}, "no_repeat_ngram:2"),
    "prefix": ({"prefix": "B A"}, "prefix:B A"),
    "sampling_temperature": ({"sampling_temperature": 1.0}, "sampling:1|seed:1"),
    "top_k": ({"sampling_temperature": 1.0, "top_k": 4}, "top_k:4"),
    "top_p": ({"sampling_temperature": 0.5, "top_p": 0.9}, "sampling:0.5|seed:1|top_p:0.9"),
    "seed": ({"sampling_temperature": 1.0, "seed": 7}, "sampling:1|seed:7"),
    "unknown": ({"unknown": "avoid"}, "unknown:avoid"),
    "dictionary": ({"dictionary": "words.tsv"}, "unknown:replace|dictionary:1"),
}
"""Option -> keywords with which it is not the usual one, and how the signature of `evaluate` then names it."""


def edited(folder: Path, to: Path, **settings: Any) -> Path:
    """The run with other settings in its recipe's [predict]."""
    copy = Path(shutil.copytree(folder, to))
    lines = (copy / "recipe.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index("[predict]")
    kept = [line for line in lines[start + 1 :] if line.split(" = ")[0] not in settings]
    own = [f"{name} = {value!r}".replace("'", '"') for name, value in settings.items()]
    (copy / "recipe.toml").write_text("\n".join([*lines[: start + 1], *own, *kept]) + "\n", encoding="utf-8")
    return copy
