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
    from heedful.api.aer import aer
    from heedful.api.align import align
    from heedful.api.average import average
    from heedful.api.compare import compare
    from heedful.api.diagnose import diagnose
    from heedful.api.evaluate import evaluate
    from heedful.api.look import look
    from heedful.api.predict import predict
    from heedful.api.run import Run, load
    from heedful.api.score import score
    from heedful.api.symmetrise import symmetrise
    from heedful.api.trace import trace
    from heedful.api.train import train
    from heedful.api.tune import tune
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
    "compare",
    "diagnose",
    "evaluate",
    "load",
    "look",
    "predict",
    "score",
    "symmetrise",
    "trace",
    "train",
    "tune",
]

# Where each is imported from, when it is first used: torch alone takes seconds.
_HOMES = {
    **{verb: f"heedful.api.{verb}" for verb in __all__ if verb.islower()},
    **dict.fromkeys(("Run", "load"), "heedful.api.run"),
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
