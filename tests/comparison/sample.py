"""A small comparison that looks like a real one: spelling to sound, four designs, two seeds, made-up answers."""

from __future__ import annotations

import numpy as np

from heedful.alignment import Alignment
from heedful.comparison import (
    Answered,
    Answers,
    Attention,
    Budget,
    Comparison,
    Cost,
    Data,
    Design,
    Dimensions,
    Example,
    Finding,
    Judged,
    Machine,
    Part,
    Run,
)
from heedful.comparison.counts import answers_of, rate_of, sums_of
from heedful.comparison.groups import breakdowns
from heedful.comparison.statistics import judge
from heedful.evaluation import evaluate_texts

# name, title, errors a letter, order, score, scope, context, thousands of parameters
DESIGNS = (
    ("fixed", "no attention: one fixed vector", 0.06, "none", "-", "-", "the last state, at every step", 801),
    ("early", "attention before the step (Bahdanau)", 0.03, "early", "additive", "global", "the cell's input", 933),
    ("late_dot", "attention after the step (Luong), dot", 0.035, "late", "dot", "global", "before the output", 867),
    ("local_p", "a window that the model places", 0.08, "late", "general", "local_p", "before the output", 899),
)
SEEDS = (1, 2)


def sample_part(name: str, count: int, random: np.random.Generator) -> Part:
    words = ["".join(random.choice(list("aeiostrnlk"), size=random.integers(3, 15))) for _ in range(count)]
    words = list(dict.fromkeys(words))
    return Part(
        name=name,  # type: ignore[arg-type]
        lines=len(words) + 3,
        sources=tuple(words),
        references=tuple((" ".join(word.upper()),) for word in words),
        lengths=tuple(map(len, words)),
        rarest=tuple(int(random.integers(0, 900)) if random.random() < 0.9 else 0 for _ in words),
        unknown=tuple(int(random.random() < 0.1) for _ in words),
    )


def sample_answers(part: Part, error: float, growth: float, random: np.random.Generator) -> Answers:
    """Each letter is wrong with a probability, which grows along the word."""
    texts = []
    for (reference,) in part.references:
        letters = reference.split()
        chances = error * (1 + growth * np.arange(len(letters)))
        wrong = random.random(len(letters)) < chances
        texts.append(" ".join("X" if bad else letter for letter, bad in zip(letters, wrong, strict=True)))
    firsts = [first for first, *_ in part.references]
    scores = evaluate_texts(part.sources, texts, firsts, target_split=str.split, token_name="whitespace")
    names = ("sequence_error", "token_error", "word_error", "bleu", "chrf")
    return answers_of(
        texts,
        part.references,
        target_split=str.split,
        scores={name: getattr(scores, name) for name in names},
        signature=scores.signature,
    )


def sample_alignment(source: str, target: str, blur: float) -> Alignment:
    """Near the diagonal, more or less sharp."""
    rows, columns = [*target.split(), "</s>"], [*source, "</s>"]
    distance = np.arange(len(rows))[:, None] * len(columns) / len(rows) - np.arange(len(columns))
    weights = np.exp(-(distance**2) / blur)
    weights /= weights.sum(axis=1, keepdims=True)
    positions = [*range(1, len(source) + 1), 0]
    return Alignment.of(columns, rows, weights, source_positions=positions, target_end=True)


def sample_design(number: int, parts: tuple[Part, Part], random: np.random.Generator) -> Design:
    name, title, error, order, score, scope, context, parameters = DESIGNS[number]
    none = order == "none"
    attention = Attention(
        measures={"entropy": 0.1 + 0.05 * number, "focus": 0.8, "diagonality": 0.9, "monotonicity": 0.95, "aer": None},
        verdict="healthy",
        sure="high",
        says="Attention looks where it should.",
        pairs=200,
    )
    runs = tuple(
        Run(
            seed=seed,
            folder=f"{name}/seed-{seed}",
            updates=2000,
            epochs=7.31,
            minutes=2.4 + 0.3 * number,
            best_updates=1900,
            stopped="budget",
            dev=sample_answers(parts[0], error + 0.004 * seed, 0.3 if none else 0.0, random),
            test=sample_answers(parts[1], error + 0.004 * seed, 0.3 if none else 0.0, random),
            attention=None if none else attention,
        )
        for seed in SEEDS
    )
    return Design(
        name=name,
        title=title,
        settings={"model.fusion": order, "model.score": score, "model.scope": scope},
        recipe=f'[model]\nfusion = "{order}"\n',
        dimensions=Dimensions(order=order, score=score, scope=scope, normaliser="softmax", context=context),
        cost=Cost(
            parameters=1000 * parameters,
            train_tokens_per_second=9500.0 - 700 * number,
            sentences_per_second=410.0 - 30 * number,
            train_memory=512.5 + 10 * number,
            predict_memory=401.0,
        ),
        runs=runs,
    )


def sample_comparison(*, sources: int = 120) -> Comparison:
    """The same one every time."""
    random = np.random.default_rng(7)
    parts = (sample_part("dev", sources // 2, random), sample_part("test", sources, random))
    designs = tuple(sample_design(number, parts, random) for number in range(len(DESIGNS)))
    names = [design.name for design in designs]

    def sums(part: Part, metric: str) -> list[np.ndarray]:
        each = [[getattr(run, part.name) for run in design.runs] for design in designs]
        return [sums_of(answers, part, metric) for answers in each]  # type: ignore[arg-type]

    judged = []
    for part in parts:
        for metric in ("sequence_error", "token_error", "word_error"):
            errors, differences = judge(names, sums(part, metric), rate_of(metric))
            judged.append(Judged(part=part.name, metric=metric, errors=errors, differences=differences))
    test = parts[1]
    by = breakdowns(names, sums(test, "sequence_error"), rate_of("sequence_error"), part=test, metric="sequence_error")
    return Comparison(
        data=Data(pairs="words.tsv", dev=None, test=None, links=None, train_pairs=18_000, token_name="whitespace"),
        budget=Budget(updates=2000, minutes=None, seeds=SEEDS),
        machine=Machine(
            processor="A processor", cores=2, jobs=2, threads=1, versions={"heedful": "0.1.0", "torch": "2.13.0"}
        ),
        metric="sequence_error",
        designs=designs,
        parts=parts,
        judged=tuple(judged),
        breakdowns=by,
        examples=sample_examples(test, designs),
        recommendation=(
            Finding(says="Take early.", because="Its sequence error, 24.1 % (21.0 to 27.3), is the lowest of all."),
            Finding(says="Attention is worth it.", because="fixed is 31.0 points worse; on long words 60."),
        ),
        notes=("Two seeds: intervals are wider than with more.",),
        signature="compare|seeds:2|updates:2000|heedful:0.1.0",
    )


def sample_examples(part: Part, designs: tuple[Design, ...]) -> tuple[Example, ...]:
    found = []
    for place, why in ((3, "most different answers"), (8, "most different answers"), (11, "typical"), (0, "longest")):
        answers = []
        for number, design in enumerate(designs):
            first = design.runs[0].test
            assert first is not None
            weights = sample_alignment(part.sources[place], first.texts[place], 0.3 + 0.8 * number)
            answers.append(
                Answered(
                    text=first.texts[place],
                    wrong=first.wrong[place],
                    alignment=None if design.name == "fixed" else weights,
                )
            )
        found.append(
            Example(
                part="test",
                place=place,
                source=part.sources[place],
                references=part.references[place],
                why=why,
                answers=tuple(answers),
            )
        )
    return tuple(found)
