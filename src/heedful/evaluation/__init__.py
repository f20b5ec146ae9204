"""How good outputs are: error rates with one definition each, and their signatures."""

from heedful.evaluation.metrics import Scores, evaluate_texts

__all__ = ["Scores", "evaluate_texts"]
