"""How answers are searched for: the settings that a call or a command may change for itself.

Each, but the dictionary, is also a key of the recipe's ``[predict]`` table, which has its default and its limits. Here,
where nothing heavy is imported, are their names, types and meanings; functions take them as keywords, the command line
makes its options of them, and the documentation its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict, get_args, get_type_hints

EnsembleAverage = Literal["probabilities", "log_probabilities"]
"""How runs that answer as one agree: by the arithmetic mean of their probabilities, or by the geometric mean, which is
made to sum to 1 again."""

Convention = Literal["predicted", "input"]
"""Which target word a row of attention weights is about: the one that its step writes, or the one that it has just read
(Luong, Pham and Manning 2015, footnote 14)."""

LinkRule = Literal["argmax", "threshold", "relative", "one_to_one"]
"""Which weights are links. argmax: the largest of each row. threshold: all of at least the threshold. relative: all of
at least the threshold times the largest of their row. one_to_one: the largest of all, then the largest in another row
and another column, and so on."""

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
"""How the links of two directions become one set; see `heedful.alignment.symmetrise`."""


class ScoringOptions(TypedDict, total=False):
    """What an answer's score is: keyword arguments of `heedful.score`, and of all that takes `SearchOptions`."""

    length_penalty: Annotated[
        float | None, "The alpha of length normalisation: 0 is none, 1 the mean where it is by power."
    ]
    length_normalisation: Annotated[
        Literal["power", "gnmt"] | None,
        "Scores are log-probability / lp: lp is length ** alpha (power) or ((5 + length) / 6) ** alpha (gnmt).",
    ]
    coverage_penalty: Annotated[
        float | None, "The beta of GNMT: scores get beta * sum over source tokens of log min(attention in all, 1)."
    ]
    attention_temperature: Annotated[
        float | None, "Another temperature of the attention weights than in training; below 1 sharpens them."
    ]


class SearchOptions(ScoringOptions, total=False):
    """Keyword arguments of `heedful.predict` and `heedful.evaluate`; what is left out is as in the run's recipe.

    A length is counted in target symbols, the end symbol among them.
    """

    beam: Annotated[int | None, "Hypotheses kept at each step; 1 is greedy search."]
    diversity_penalty: Annotated[
        float | None, "The r-th best continuation of one hypothesis, r from 0, counts r times this less in the beam."
    ]
    min_length: Annotated[int | None, "The least length of an answer."]
    min_length_ratio: Annotated[float | None, "The least length, as a multiple of the source's."]
    max_length: Annotated[int | None, "The most length of an answer, beside the next two."]
    max_length_ratio: Annotated[float | None, "The most length is this times the source's, and max_length_extra more."]
    max_length_extra: Annotated[int | None, "See max_length_ratio."]
    banned: Annotated[list[str] | None, "Target tokens that are never written."]
    no_repeat_ngram: Annotated[int | None, "No sequence of so many tokens comes twice in an answer; 0 is no such rule."]
    prefix: Annotated[str | None, "Every answer begins with this text; its score counts."]
    sampling_temperature: Annotated[
        float | None, "Draw answers at this temperature instead of searching; 1 is the model's own distribution."
    ]
    top_k: Annotated[int | None, "Draw from the so many most probable tokens only."]
    top_p: Annotated[float | None, "Draw from the fewest tokens that have this probability together."]
    seed: Annotated[int | None, "Of the draws; each line has its own, whatever its neighbours."]
    unknown: Annotated[
        Literal["leave", "replace", "avoid"] | None,
        "What is done where the model writes the unknown token: leave it, replace it by the source token that was "
        "attended to most, or avoid it in the search.",
    ]
    dictionary: Annotated[
        str | Mapping[str, str] | None,
        "A TSV file, source token and target token: unknown target tokens are replaced, and translated where it can.",
    ]


def option_types(options: type = SearchOptions) -> dict[str, tuple[Any, str]]:
    """Name -> (type, meaning) of every option, in order."""
    hints = get_type_hints(options, include_extras=True)
    first = sorted(hints, key=lambda name: name != "beam")  # what is asked for most
    return {name: (get_args(hints[name])[0], get_args(hints[name])[1]) for name in first}
