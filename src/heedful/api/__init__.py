"""The verbs: train, predict, evaluate, score, align, average. Each is also a command with the same names."""

from heedful.api.align import align
from heedful.api.average import average
from heedful.api.evaluate import evaluate
from heedful.api.predict import predict
from heedful.api.run import Run, load
from heedful.api.score import score
from heedful.api.train import train

__all__ = ["Run", "align", "average", "evaluate", "load", "predict", "score", "train"]
