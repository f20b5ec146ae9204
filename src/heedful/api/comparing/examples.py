"""The same sources for all designs: where their answers differ most, a typical one, a long one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import heedful.comparison.values as values
from heedful.api.comparing.answers import distinct
from heedful.api.run import load
from heedful.comparison import Answered, Design, Example, Part
from heedful.data.pairs import Corpus

DIFFERENT, TYPICAL = 4, 2
LONGEST_SHOWN = 60
"""Source tokens: a heat map of more cannot be read."""


def examples(
    part: Part, corpus: Corpus, designs: Sequence[Design], *, out: Path, target_split: Callable[[str], list[str]]
) -> tuple[Example, ...]:
    """Each design's first run answers them again, with the weights kept."""
    firsts = [first_answers(design, part.name) for design in designs]
    places = pick(part, [answers.texts for answers in firsts], target_split)
    pairs = [distinct(corpus)[0][place] for place in places]
    predictions = [
        load(out / design.runs[0].folder).predictor.predict(pairs, with_alignment=True) for design in designs
    ]
    found = []
    for number, (place, why) in enumerate(places.items()):
        best = [each[number][0] for each in predictions]
        answered = [
            Answered(text=answer.text, wrong=answers.wrong[place], alignment=answer.alignment)
            for answer, answers in zip(best, firsts, strict=True)
        ]
        found.append(
            Example(
                part=part.name,
                place=place,
                source=part.sources[place],
                references=part.references[place],
                why=why,
                answers=tuple(answered),
            )
        )
    return tuple(found)


def first_answers(design: Design, part: values.PartName) -> values.Answers:
    """Of a design's first seed."""
    found = design.runs[0].dev if part == "dev" else design.runs[0].test
    assert found is not None
    return found


def pick(part: Part, texts: Sequence[Sequence[str]], target_split: Callable[[str], list[str]]) -> dict[int, str]:
    """Places of the examples, each with the reason; no source twice.

    Args:
        texts: for each design its answers.
    """
    short = [place for place, length in enumerate(part.lengths) if 0 < length <= LONGEST_SHOWN]
    apart = {place: _apart([target_split(answers[place]) for answers in texts]) for place in short}
    by_difference = sorted((place for place in short if apart[place] > 0), key=lambda place: -apart[place])
    chosen = dict.fromkeys(by_difference[:DIFFERENT], "most different answers")
    lengths = sorted(part.lengths[place] for place in short)
    middle = lengths[len(lengths) // 2] if lengths else 0
    others = [place for place in short if place not in chosen]
    typical = sorted(others, key=lambda place: abs(part.lengths[place] - middle))[:TYPICAL]
    chosen |= dict.fromkeys(typical, "typical")
    longest = max((place for place in others if place not in chosen), key=part.lengths.__getitem__, default=None)
    return chosen if longest is None else {**chosen, longest: "longest"}


def _apart(answers: Sequence[list[str]]) -> float:
    """How far answers are from one another: the mean over pairs of edits over the longer one's length."""
    from rapidfuzz.distance import Levenshtein

    pairs = list(combinations(answers, 2))
    return sum(Levenshtein.normalized_distance(one, other) for one, other in pairs) / max(len(pairs), 1)
