"""Tuning: the ranges of a recipe searched for what does best on development pairs."""

from heedful.tuning.ask import ask
from heedful.tuning.events import TuneReporter, Unheard
from heedful.tuning.loop import check_numbers, tune
from heedful.tuning.propose import need_optuna
from heedful.tuning.result import Tuning
from heedful.tuning.space import Choices, Interval, Ranges
from heedful.tuning.trials import Trial

__all__ = [
    "Choices",
    "Interval",
    "Ranges",
    "Trial",
    "TuneReporter",
    "Tuning",
    "Unheard",
    "ask",
    "check_numbers",
    "need_optuna",
    "tune",
]
