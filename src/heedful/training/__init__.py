"""Training: a loop that can be read from top to bottom, and what it is made of."""

from heedful.training.events import Reporter, Silent, Update, Validated
from heedful.training.train import train

__all__ = ["Reporter", "Silent", "Update", "Validated", "train"]
