"""Search over a step function: it never sees a model class, and no Python runs per hypothesis and step."""

from heedful.search.beam import beam
from heedful.search.hypothesis import Hypothesis, StepFunction
from heedful.search.ranking import Ranking
from heedful.search.rules import Rules
from heedful.search.walk import greedy, sample

__all__ = ["Hypothesis", "Ranking", "Rules", "StepFunction", "beam", "greedy", "sample"]
