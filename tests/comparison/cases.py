"""Comparisons to be shown: plausible numbers that nobody measured."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from heedful.alignment import Alignment
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
    Metric,
    Part,
    PartName,
    Run,
    Validation,
)

NAMES = (
    "fixed",
    "bahdanau2015",
    "luong2015-dot",
    "luong2015-general",
    "luong2015-concat",
    "luong2015-dot-no-feeding",
    "luong2015-general-no-feeding",
    "luong2015-local-p",
    "scaled-dot",
    "location",
    "monotonic",
    "multi-head",
)
FIXED = "fixed"
LENGTHS = ("1-4", "5-6", "7-8", "9-10", "11-12", "13-14", "15-28")
METRICS: tuple[Metric, ...] = ("sequence_error", "token_error")


def make(
    names: tuple[str, ...] = NAMES[:3],
    *,
    seeds: int = 3,
    test: bool = True,
    links: bool = False,
    metrics: tuple[Metric, ...] = METRICS,
    examples: tuple[Example, ...] | None = None,
    pairs: str = "cmudict:train",
) -> Comparison:
    """A comparison of designs of that name; the one named "fixed" has no attention."""
    draw = np.random.default_rng(11)
    parts: list[PartName] = ["dev", "test"] if test else ["dev"]
    level = {metric: {name: _level(metric, name, place) for place, name in enumerate(names)} for metric in METRICS_ALL}
    designs = tuple(_design(name, place, seeds, parts, level, draw, links) for place, name in enumerate(names))
    return Comparison(
        data=Data(
            pairs=pairs,
            dev="cmudict:dev",
            test="cmudict:test" if test else None,
            links="gold.txt" if links else None,
            train_pairs=20000,
            token_name="whitespace",
        ),
        budget=Budget(updates=2000, minutes=None, seeds=tuple(range(1, seeds + 1))),
        machine=Machine(
            processor="a processor of two cores",
            cores=2,
            jobs=1,
            threads=2,
            versions={"heedful": "0.1.0", "torch": "2.13.0", "numpy": "2.3.1", "python": "3.12.4"},
        ),
        metric=metrics[0],
        designs=designs,
        parts=tuple(_part(name) for name in parts),
        judged=tuple(_judged(part, metric, names, level, designs) for part in parts for metric in metrics),
        breakdowns=tuple(
            _breakdown(by, parts[-1], metrics[0], names, level, draw) for by in ("length", "rarest", "unknown")
        ),
        examples=_examples(names, parts[-1]) if examples is None else examples,
        recommendation=(
            Finding(
                says=f"Take {names[min(1, len(names) - 1)]}: no design of this comparison makes fewer errors.",
                because="29.8 % sequence error on test (29.1 to 30.5).",
            ),
            Finding(
                says="It is not told apart from luong2015-general.", because="The difference is 0.4 points, p = 0.31."
            ),
            Finding(
                says="If speed matters most, take luong2015-dot.",
                because="It trains 1.3 times as fast, and costs 0.9 points.",
            ),
        ),
        notes=() if seeds > 1 else ("There is one seed: intervals are over sources alone.",),
        command="heedful compare cmudict:train --out out --seeds 1 2 3 --updates 2000",
        signature="heedful 0.1.0 | updates:2000 | seeds:1,2,3 | bootstrap:1000 | seed:1",
    )


METRICS_ALL: tuple[Metric, ...] = ("sequence_error", "token_error", "word_error", "bleu")


def _level(metric: Metric, name: str, place: int) -> float:
    base = {"sequence_error": 31.0, "token_error": 7.4, "word_error": 12.0, "bleu": 33.0}[metric]
    far = 14.0 if name == FIXED else 0.45 * place - 1.0
    return base + (-far if metric == "bleu" else far * base / 31)


def _answers(part: str, level: dict[str, dict[str, float]], name: str, draw: np.random.Generator) -> Answers:
    scores = {
        metric: round(float(by[name] + draw.normal(0, 0.5) + (0.6 if part == "test" else 0)), 3)
        for metric, by in level.items()
    }
    return Answers(
        texts=("N OW",),
        wrong=(False,),
        edits=(0,),
        lengths=(2,),
        word_edits=(0,),
        word_lengths=(2,),
        scores=scores,
        signature="seq_err|refs:any",
    )


def _design(
    name: str, place: int, seeds: int, parts: list[PartName], level: dict, draw: np.random.Generator, links: bool
) -> Design:
    attends = name != FIXED
    runs = tuple(
        Run(
            seed=seed,
            folder=f"{name}/seed-{seed}",
            updates=2000,
            epochs=12.8,
            minutes=round(4.1 + 0.3 * place + float(draw.uniform(0, 0.2)), 2),
            best_updates=1800,
            stopped="budget",
            dev=_answers("dev", level, name, draw),
            test=_answers("test", level, name, draw) if "test" in parts else None,
            attention=_attention(place, seed, links, draw) if attends else None,
            curve=tuple(
                Validation(
                    updates=at,
                    minutes=at / 400,
                    scores={metric: _learned(by[name], at, draw) for metric, by in level.items()},
                )
                for at in range(200, 2001, 200)
            ),
        )
        for seed in range(1, seeds + 1)
    )
    late = "luong" in name
    return Design(
        name=name,
        title="A fixed vector: the last state of the encoder at every step"
        if not attends
        else "Late fusion with input feeding"
        if late
        else "",
        settings={"model.fusion": "none" if not attends else "late" if late else "early", "model.score": name},
        recipe='# all settings\n[model]\nfusion = "late"\nscore = "general"\n\n[train]\nupdates = 2000\n',
        dimensions=Dimensions(
            order="state, then context, then word" if late else "context, then state, then word",
            score="none" if not attends else name.split("-")[1] if "-" in name else "additive",
            scope="none" if not attends else "global",
            normaliser="none" if not attends else "softmax",
            context="the first state of the decoder"
            if not attends
            else "the readout, and the next input"
            if late
            else "the recurrent cell and the readout",
        ),
        cost=Cost(
            parameters=1_234_567 + 104_000 * place,
            train_tokens_per_second=9876.5 - 512.3 * place,
            sentences_per_second=432.1 - 17 * place,
            train_memory=812.4 + 9 * place,
            predict_memory=None,
        ),
        runs=runs,
    )


def _learned(end: float, updates: int, draw: np.random.Generator) -> float:
    return round(float(end + (100 - end) * np.exp(-updates / 350) + draw.normal(0, 0.6)), 3)


def _attention(place: int, seed: int, links: bool, draw: np.random.Generator) -> Attention:
    measures = {
        "entropy": 0.21 + 0.01 * place + float(draw.uniform(0, 0.02)),
        "diagonality": 0.83 - 0.01 * place,
        "aer": 18.4 + place if links else None,
    }
    odd = place == 2 and seed == 2
    return Attention(
        measures=measures,
        verdict="not_enough" if odd else "healthy",
        sure="high",
        says="There are too few pairs to judge." if odd else "Attention is sound.",
        pairs=200,
    )


def _part(name: PartName) -> Part:
    sources = ("know", "edge", "knowledge")
    return Part(
        name=name,
        lines=4,
        sources=sources,
        references=(("N OW",), ("EH JH",), ("N AA L AH JH", "N AO L IH JH")),
        lengths=(4, 4, 9),
        rarest=(20, 3, 0),
        unknown=(0, 0, 1),
    )


def _interval(value: float, half: float) -> Interval:
    return Interval(value=round(value, 4), low=round(max(0.0, value - half), 4), high=round(value + 1.1 * half, 4))


def _judged(part: PartName, metric: Metric, names: tuple[str, ...], level: dict, designs: tuple[Design, ...]) -> Judged:
    def value(design: Design) -> float:
        found = [(run.dev if part == "dev" else run.test).scores[metric] for run in design.runs]  # type: ignore[union-attr]
        return float(np.mean(found))

    errors = [_interval(value(design), 0.9 if metric == "sequence_error" else 0.3) for design in designs]
    return Judged(part=part, metric=metric, errors=tuple(errors), differences=_differences(names, errors))


def _differences(names: tuple[str, ...], errors: list[Interval]) -> tuple[Difference, ...]:
    found = []
    for (first, one), (second, other) in combinations(zip(names, errors, strict=True), 2):
        value, half = one.value - other.value, (one.high - one.low) * 0.55
        adjusted = float(min(1.0, 1.5 * np.exp(-2.5 * abs(value) / max(half, 1e-9))))
        found.append(
            Difference(
                first=first,
                second=second,
                value=value,
                low=value - half,
                high=value + half,
                p=adjusted / 3,
                adjusted=adjusted,
                real=adjusted < 0.05,
            )
        )
    return tuple(found)


def _breakdown(
    by: str, part: PartName, metric: Metric, names: tuple[str, ...], level: dict, draw: np.random.Generator
) -> Breakdown:
    labels = {"length": LENGTHS, "rarest": ("0", "1-10", "11-100", "101 or more"), "unknown": ("0", "1", "2 or more")}[
        by
    ]
    groups = []
    for place, label in enumerate(labels):
        share = place / (len(labels) - 1)
        sources = int(1 + 900 * np.exp(-((share - 0.35) ** 2) * 9)) if by == "length" else (37, 214, 1031, 4712)[place]
        rise = 45 * share if by == "length" else 20 * (1 - share)
        errors = []
        for name in names:
            value = level[metric][name] * 0.6 + rise * (1.25 if name == FIXED else 0.45) + float(draw.normal(0, 0.8))
            errors.append(_interval(value if metric != "bleu" else 50 - 0.4 * value, 20 / np.sqrt(sources / 4)))
        groups.append(
            Group(
                label=label,
                low=place,
                high=place,
                sources=sources,
                errors=tuple(errors),
                differences=_differences(names, errors),
            )
        )
    return Breakdown(by=by, part=part, metric=metric, groups=tuple(groups))  # type: ignore[arg-type]


def alignment(source: list[str], target: list[str], *, seed: int) -> Alignment:
    """Around the diagonal, with end symbols."""
    draw = np.random.default_rng(seed)
    columns, rows = len(source) + 1, len(target) + 1
    far = np.abs(np.arange(columns) - np.linspace(0, columns - 1, rows)[:, None])
    weights = np.exp(draw.normal(0, 1, (rows, columns)) - draw.uniform(0.8, 3) * far)
    return Alignment.of(
        [*source, "∎"],
        [*target, "∎"],
        weights / weights.sum(axis=1, keepdims=True),
        source_positions=[*range(1, columns), 0],
        target_end=True,
    )


def _examples(names: tuple[str, ...], part: PartName) -> tuple[Example, ...]:
    given = (
        ("through", ("TH R UW",), "typical", ("TH R UW", "TH R UW", "TH R UW")),
        (
            "knowledge",
            ("N AA L AH JH", "N AO L AH JH"),
            "most different answers",
            ("N OW L EH", "N AA L IH JH", "K N AA L AH JH"),
        ),
        (
            "counterrevolutionary",
            ("K AW N T ER R EH V AH L UW SH AH N EH R IY",),
            "longest",
            (
                "K AW N T ER R EH V",
                "K AW N T ER R EH V AH L UW SH AH N EH R IY",
                "K AW N T ER R EH V AH L UW SH N EH R IY Z",
            ),
        ),
    )
    return tuple(
        Example(
            part=part,
            place=place,
            source=source,
            references=references,
            why=why,
            answers=tuple(
                Answered(
                    text=text,
                    wrong=text not in references,
                    alignment=None if name == FIXED else alignment(list(source), text.split(), seed=7 * place + order),
                )
                for order, name in enumerate(names)
                for text in [texts[min(order, 2)]]
            ),
        )
        for place, (source, references, why, texts) in enumerate(given)
    )
