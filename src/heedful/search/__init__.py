"""Search over a step function: it never sees a model class, and no Python runs per hypothesis and step."""

from heedful.search.beam import beam
from heedful.search.greedy import greedy
from heedful.search.hypothesis import Hypothesis, StepFunction

__all__ = ["Hypothesis", "StepFunction", "beam", "greedy"]
