"""Is this attention healthy? Measures over a corpus, experiments on the model, and a verdict in words."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heedful.diagnosis.health import HEALTH, attention_health, not_formed

if TYPE_CHECKING:
    from heedful.diagnosis.agreement import Others
    from heedful.diagnosis.diagnose import Diagnosis, examine
    from heedful.diagnosis.subject import Subject
    from heedful.diagnosis.sweep import temperatures_of

# These need torch; the others are for whoever has alignments only.
_HOMES = {
    "Diagnosis": "diagnose",
    "Others": "agreement",
    "Subject": "subject",
    "examine": "diagnose",
    "temperatures_of": "sweep",
}

__all__ = ["HEALTH", "Diagnosis", "Others", "Subject", "attention_health", "examine", "not_formed", "temperatures_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'heedful.diagnosis' has no attribute {name!r}")
    return getattr(import_module(f"heedful.diagnosis.{_HOMES[name]}"), name)
