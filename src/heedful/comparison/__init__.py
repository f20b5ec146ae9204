"""What a comparison of designs found: values, their file, and what follows from the numbers. No torch here."""

from heedful.comparison.results import (
    Answered,
    Breakdown,
    Comparison,
    Difference,
    Example,
    Finding,
    Group,
    Interval,
    Judged,
)
from heedful.comparison.values import (
    Answers,
    Attention,
    Budget,
    Cost,
    Data,
    Design,
    Dimensions,
    Machine,
    Part,
    Run,
    Validation,
)

__all__ = [
    "Answered",
    "Answers",
    "Attention",
    "Breakdown",
    "Budget",
    "Comparison",
    "Cost",
    "Data",
    "Design",
    "Difference",
    "Dimensions",
    "Example",
    "Finding",
    "Group",
    "Interval",
    "Judged",
    "Machine",
    "Part",
    "Run",
    "Validation",
]
