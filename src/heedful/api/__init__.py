"""The verbs: train, predict, evaluate, score, align, symmetrise, aer, average.

Each is also a command with the same names.
"""

from heedful.api.aer import aer
from heedful.api.align import align
from heedful.api.average import average
from heedful.api.diagnose import diagnose
from heedful.api.evaluate import evaluate
from heedful.api.look import look
from heedful.api.predict import predict
from heedful.api.run import Run, load
from heedful.api.score import score
from heedful.api.symmetrise import symmetrise
from heedful.api.trace import trace
from heedful.api.train import train

__all__ = [
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
