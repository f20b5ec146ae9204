"""The cheap look while training: curves, and a warning that is given only where it is plain."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heedful.alignment import MEASURES, Alignment, measure
from heedful.diagnosis import HEALTH, attention_health, not_formed
from heedful.diagnosis import thresholds as at


def of(weights) -> Alignment:
    """Five words and an end symbol on both sides, unless there are more or fewer."""
    weights = np.asarray(weights, dtype=float)
    rows, columns = weights.shape
    return Alignment.of(
        ["s"] * columns, ["t"] * rows, weights, source_positions=[*range(1, columns), 0], target_end=True
    )


def rows(kind: str, *, rows: int = 6, columns: int = 6) -> np.ndarray:
    flat = np.full((rows, columns), 1 / columns)
    one = np.zeros((rows, columns))
    one[:, -1] = 1.0
    first = np.zeros((rows, columns))
    first[:, 0] = 1.0
    query = np.random.default_rng(1).dirichlet(np.full(columns, 0.5))
    return {
        "frozen": flat,
        "flat": 0.8 * flat + 0.2 * np.eye(rows, columns),
        "lazy": 0.95 * one + 0.05 * flat,
        "lazy on the first": 0.95 * first + 0.05 * flat,
        "blind": np.tile(query, (rows, 1)),
        "good": 0.1 * flat + 0.9 * np.eye(rows, columns),
        "reversed": 0.1 * flat + 0.9 * np.eye(rows, columns)[::-1],
    }[kind]


def health_of(kind: str, count: int = 20, **sizes: int) -> dict[str, float]:
    return attention_health([of(rows(kind, **sizes))] * count)


def test_means_of_measures():
    some = [of(rows("good")), of(rows("lazy"))] * 10
    found = attention_health(some)
    assert tuple(found) == HEALTH
    assert set(HEALTH) <= set(MEASURES)
    assert math.isnan(measure(some[1])["monotonicity"])  # its words have all the same
    for name in HEALTH:
        assert found[name] == pytest.approx(np.nanmean([measure(each)[name] for each in some[:2]])), name


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("frozen", "never left uniform"),
        ("flat", "nearly flat"),
        ("lazy", "(mostly the end symbol)"),
        ("lazy on the first", "one source position takes 9"),
        ("blind", "the same at every step"),
    ],
)
def test_what_has_not_formed(kind, says):
    assert says in (not_formed(health_of(kind)) or "")


@pytest.mark.parametrize("kind", ["good", "reversed"])
def test_what_has(kind):
    assert not_formed(health_of(kind)) is None


def test_lazy_on_the_first_word_is_not_said_to_be_on_the_end():
    assert "end symbol" not in (not_formed(health_of("lazy on the first")) or "")


@pytest.mark.parametrize("sizes", [{"columns": 2}, {"columns": 3}, {"rows": 2}])
def test_short_pairs_have_no_choice(sizes):
    """One or two source words, one target word: whatever the weights, nothing is said."""
    found = health_of("lazy", **sizes)
    assert all(math.isnan(value) for value in found.values())
    assert not_formed(found) is None


def test_few_alignments_say_nothing():
    assert not_formed(health_of("frozen", count=at.FEWEST_ALIGNMENTS - 1)) is None
    assert not_formed(attention_health([])) is None


def test_short_pairs_do_not_count():
    many = [of(rows("good"))] * 20 + [of(rows("lazy", columns=2))] * 500
    assert attention_health(many) == health_of("good")


def test_empty_alignments_are_passed_over():
    """Of answers without a token, and local windows that are off the sentence."""
    nothing = Alignment.of((), (), np.zeros((0, 0)))
    off = of(np.zeros((6, 6)))
    assert attention_health([nothing, off, *[of(rows("good"))] * 20]) == health_of("good")


def test_a_local_window_that_follows_the_steps_has_formed():
    """Uniform in a window of five of thirteen words: what it cannot help."""
    weights = np.zeros((13, 14))
    for row in range(13):
        weights[row, max(0, row - 2) : min(13, row + 3)] = 1.0
    assert not_formed(attention_health([of(weights / weights.sum(1, keepdims=True))] * 20)) is None


def test_health_needs_no_torch():
    import subprocess
    import sys

    code = "import sys, heedful.diagnosis, heedful.alignment; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
