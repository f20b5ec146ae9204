"""How good outputs are: error rates with one definition each, and their signatures."""

from heedful.evaluation.metrics import Scores, edits_to_nearest, evaluate_texts

__all__ = ["Scores", "edits_to_nearest", "evaluate_texts"]
