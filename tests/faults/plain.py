"""Attention written a second time: plain Python numbers, one loop over queries and one over positions, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

Vector = list[float]
Matrix = list[Vector]
Parameters = Mapping[str, list]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Matrix, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def additive(p: Parameters, s: Vector, h: Vector, place: int) -> float:
    left, right = times(p["query_projection.weight"], s), times(p["key_projection.weight"], h)
    return sum(v * math.tanh(a + b) for v, a, b in zip(p["v"], left, right, strict=True))


def concat(p: Parameters, s: Vector, h: Vector, place: int) -> float:
    return dot(p["v"], [math.tanh(x) for x in times(p["projection.weight"], s + h)])


SCORES: dict[str, Callable[[Parameters, Vector, Vector, int], float]] = {
    "dot": lambda p, s, h, place: dot(s, h),
    "scaled_dot": lambda p, s, h, place: dot(s, h) / math.sqrt(len(s)),
    "general": lambda p, s, h, place: dot(s, times(p["key_projection.weight"], h)),
    "additive": additive,
    "concat": concat,
    "location": lambda p, s, h, place: dot(p["query_projection.weight"][place - 1], s),
}


def softmax(e: Vector) -> Vector:
    powers = [math.exp(x - max(e)) for x in e]
    return [x / sum(powers) for x in powers]


def entmax(e: Vector, alpha: float) -> Vector:
    """The threshold at which the weights sum to 1, by halving the interval that holds it."""

    def weights(tau: float) -> Vector:
        return [max(0.0, (alpha - 1) * x - tau) ** (1 / (alpha - 1)) for x in e]

    low, high = (alpha - 1) * max(e) - 1, (alpha - 1) * max(e)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(weights(middle)) > 1 else (low, middle)
    return weights(low)


NORMALISERS: dict[str, Callable[[Vector], Vector]] = {
    "softmax": softmax,
    "sparsemax": lambda e: entmax(e, 2.0),
    "entmax15": lambda e: entmax(e, 1.5),
}


class Window(NamedTuple):
    """Where the middle is, how far it reaches on either side, and whether nearer words count more."""

    middle: float
    reach: float
    bell: bool


def local_p(p: Parameters, s: Vector, step: int, length: int, D: int) -> Window:
    inner = dot(p["v"], [math.tanh(x) for x in times(p["query_projection.weight"], s)])
    return Window(length / (1 + math.exp(-inner)), D, True)


SCOPES: dict[str, Callable[[Parameters, Vector, int, int, int], Window]] = {
    "global": lambda p, s, step, length, D: Window(0.0, math.inf, False),
    "local_m": lambda p, s, step, length, D: Window(step + 1, D, False),
    "local_p": local_p,
}


def knows(score: str, scope: str, normaliser: str) -> bool:
    """Whether these parts are written down here."""
    return score in SCORES and scope in SCOPES and normaliser in NORMALISERS


def attend(
    score: str,
    scope: str,
    normaliser: str,
    parameters: Mapping[str, Parameters],
    queries: Matrix,
    values: Matrix,
    length: int,
    *,
    D: int,
    places: int | None,
) -> tuple[Matrix, Matrix]:
    """Weights and contexts of one sentence, whose first `length` positions are words 1, 2, ...; the rest is padding.

    Args:
        D: half the window of a local scope.
        places: how many words the location score has rows for; None = any number.
    """
    all_weights, contexts = [], []
    for step, s in enumerate(queries):
        window = SCOPES[scope](parameters["scope"], s, step, length, D)
        inside, e = [], []
        for j, h in enumerate(values):
            place = j + 1
            if place <= length and abs(place - window.middle) <= window.reach and (places is None or place <= places):
                inside.append(j)
                e.append(SCORES[score](parameters["score"], s, h, place))
        row = [0.0] * len(values)
        for j, weight in zip(inside, NORMALISERS[normaliser](e) if e else [], strict=True):
            sigma = D / 2
            row[j] = weight * math.exp(-((j + 1 - window.middle) ** 2) / (2 * sigma**2)) if window.bell else weight
        all_weights.append(row)
        contexts.append([sum(a * h[k] for a, h in zip(row, values, strict=True)) for k in range(len(values[0]))])
    return all_weights, contexts
