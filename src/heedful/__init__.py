"""heedful: sequence-to-sequence models with Bahdanau and Luong attention that a person can train, measure and look at.

>>> import heedful
>>> run = heedful.load("run")                                            # doctest: +SKIP
>>> run.predict(["attention"])[0].text                                   # doctest: +SKIP
'AH T EH N SH AH N'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.alignment import Alignment
    from heedful.answers import Prediction
    from heedful.api import (
        Run,
        aer,
        align,
        average,
        diagnose,
        evaluate,
        load,
        look,
        predict,
        score,
        symmetrise,
        trace,
        train,
    )
    from heedful.errors import HeedfulError

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "HeedfulError",
    "Prediction",
    "Run",
    "aer",
    "align",
    "average",
    "diagnose",
    "evaluate",
    "load",
    "look",
    "predict",
    "score",
    "symmetrise",
    "trace",
    "train",
]

# Where each is imported from, when it is first used: torch alone takes seconds.
_HOMES = {
    **dict.fromkeys(__all__, "heedful.api"),
    "Alignment": "heedful.alignment",
    "HeedfulError": "heedful.errors",
    "Prediction": "heedful.answers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'heedful' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
