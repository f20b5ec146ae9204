"""Each measure by a matrix whose value can be seen, and the rules that hold for all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heedful.alignment import MEASURES, Alignment, measure


def words(weights, **options) -> Alignment:
    """Words alone on both sides."""
    weights = np.asarray(weights, dtype=float)
    rows, columns = weights.shape
    return Alignment.of([f"s{j}" for j in range(columns)], [f"t{i}" for i in range(rows)], weights, **options)


def with_ends(weights, *, tags: int = 0, convention: str = "predicted") -> Alignment:
    """`tags` columns first; the last column is the source's end symbol, the last row the step that writes one."""
    weights = np.asarray(weights, dtype=float)
    columns = weights.shape[1]
    positions = [*[0] * tags, *range(1, columns - tags), 0]
    return words(weights, source_positions=positions, target_end=True, convention=convention)


def random_weights(rows: int = 7, columns: int = 11, *, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(columns), size=rows)


IDENTITY = np.eye(5)


def test_the_names():
    assert set(measure(words(IDENTITY))) == set(MEASURES)
    assert all(isinstance(value, float) for value in measure(words(IDENTITY)).values())


def test_of_a_diagonal():
    found = measure(words(IDENTITY))
    assert found["entropy"] == 0.0
    assert found["focus"] == 1.0
    assert found["diagonality"] == 1.0
    assert found["monotonicity"] == 1.0
    assert found["unattended"] == found["overattended"] == found["empty_rows"] == 0.0
    assert found["one_position"] == pytest.approx(1 / 5)
    assert found["row_difference"] == pytest.approx(4 / 5)  # a row from the mean row, which is uniform
    assert found["from_uniform"] == pytest.approx(4 / 5)
    assert found["on_first"] == pytest.approx(1 / 5)
    assert math.isnan(found["on_end"])  # there is none


def test_of_uniform_weights():
    found = measure(words(np.full((3, 7), 1 / 7)))
    assert found["entropy"] == pytest.approx(1.0)
    assert found["from_uniform"] == pytest.approx(0.0)
    assert found["row_difference"] == pytest.approx(0.0)
    assert found["unattended"] == found["overattended"] == 0.0


def test_of_one_position():
    found = measure(words([[0.0, 0.0, 0.9, 0.1, 0.0]] * 4))
    assert found["one_position"] == pytest.approx(0.9)
    assert found["row_difference"] == pytest.approx(0.0)
    assert found["monotonicity"] == 1.0
    assert found["overattended"] == pytest.approx(1 / 5)  # 4.5 fair shares; the other has half of one
    assert found["unattended"] == pytest.approx(3 / 5)


def test_entropy_is_over_that_of_all_columns():
    found = measure(words([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    assert found["entropy"] == pytest.approx((math.log(2) / math.log(4) + 0) / 2)


def test_a_reversed_diagonal_goes_back_at_every_step():
    found = measure(words(IDENTITY[::-1]))
    assert found["monotonicity"] == 0.0
    assert found["diagonality"] == pytest.approx(1 / 5)
    assert found["focus"] == 1.0


def test_rows_without_a_single_largest_weight_are_no_steps():
    """The arg-max of equals is the first of them, which would make uniform rows monotonic."""
    rounding = 1 + 1e-7 * np.random.default_rng(1).standard_normal((7, 5))
    for weights in (np.full((7, 5), 0.2), (0.2 * rounding).astype(np.float32)):
        assert math.isnan(measure(words(weights))["monotonicity"])
    one = np.array([[0.1, 0.2, 0.7]])
    two = np.array([[0.4, 0.2, 0.4]])
    three = np.array([[0.8, 0.1, 0.1]])
    assert math.isnan(measure(words(np.concatenate([one, two, two])))["monotonicity"])
    assert measure(words(np.concatenate([one, two, three])))["monotonicity"] == 0.0  # from the first to the last
    assert measure(words(np.concatenate([three, two, one, one])))["monotonicity"] == 1.0
    assert measure(words([[0.2, 0.2001, 0.2], [0.2, 0.2, 0.2001]]))["monotonicity"] == 1.0  # flat, but pointing


@pytest.mark.parametrize(("rows", "columns"), [(5, 10), (10, 5), (13, 4), (6, 30)])
def test_the_band_follows_the_length_ratio(rows, columns):
    weights = np.zeros((rows, columns))
    for row in range(rows):
        weights[row, int((row + 0.5) * columns / rows)] = 1.0
    assert measure(words(weights))["diagonality"] == 1.0


def test_the_band_is_one_word_to_each_side_or_a_tenth_of_the_source():
    weights = np.full((5, 5), 1 / 5)
    in_band = [2, 3, 3, 3, 2]
    assert measure(words(weights))["diagonality"] == pytest.approx(sum(in_band) / 25)
    weights = np.full((30, 30), 1 / 30)  # three to each side
    assert measure(words(weights))["diagonality"] == pytest.approx((30 * 7 - 2 * (3 + 2 + 1)) / 900)


def test_empty_rows_keep_the_places_of_the_others():
    weights = np.eye(9)
    weights[:4] = 0.0
    found = measure(words(weights))
    assert found["diagonality"] == 1.0
    assert found["empty_rows"] == pytest.approx(4 / 9)
    assert found["focus"] == 1.0


def test_rows_are_divided_by_their_sums():
    weights = random_weights()
    scaled = weights * np.linspace(0.1, 0.9, len(weights))[:, None]
    assert measure(words(scaled)) == pytest.approx(measure(words(weights)), nan_ok=True)


def test_special_symbols():
    """A tag, two words, the end symbol; two target words, and the step that writes the end."""
    found = measure(with_ends([[0.1, 0.6, 0.1, 0.2], [0.1, 0.1, 0.4, 0.4], [0.0, 0.0, 0.0, 1.0]], tags=1))
    assert found["on_end"] == pytest.approx((0.2 + 0.4) / 2)  # the last row is right to look there
    assert found["on_first"] == pytest.approx((0.6 + 0.1) / 2)
    assert found["focus"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["monotonicity"] == 1.0  # of the words, not of the end symbol


def test_rows_about_the_input_word():
    """Row 0 is about no word: it is left out, and the step that writes the end symbol is not."""
    weights = [[0.0, 0.0, 1.0], [0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]
    found = measure(with_ends(weights, convention="input"))
    assert found["on_end"] == 0.0
    assert found["focus"] == pytest.approx((0.9 + 0.8) / 2)


def test_coverage_is_of_words_alone():
    weights = [[0.01, 0.0, 0.0, 0.99]] * 2 + [[0.0, 0.0, 0.0, 1.0]]
    found = measure(with_ends(weights))
    assert found["unattended"] == pytest.approx(2 / 3)
    assert found["overattended"] == 0.0  # exactly three fair shares


ONE_COLUMN = {"entropy", "from_uniform", "diagonality", "monotonicity", "unattended", "overattended"}
SINGLE_ROW = {"one_position", "row_difference", "monotonicity"}


@pytest.mark.parametrize(
    ("alignment", "undefined"),
    [
        (Alignment.of((), (), np.zeros((0, 0))), set(MEASURES)),
        (words(np.ones((3, 1))), {*ONE_COLUMN, "on_end"}),
        (words(np.full((1, 5), 0.2)), SINGLE_ROW | {"diagonality", "on_end"}),
        (words(np.full((2, 3), 1 / 3)), {"diagonality", "monotonicity", "on_end"}),
        (words(np.zeros((3, 5))), set(MEASURES) - {"empty_rows"}),
        (with_ends([[1.0], [1.0]]), ONE_COLUMN | SINGLE_ROW | {"on_first"}),  # no source word at all
        (with_ends(np.full((1, 4), 0.25)), set(MEASURES)),  # no target word
    ],
)
def test_what_is_not_defined_is_nan(alignment, undefined):
    assert {name for name, value in measure(alignment).items() if math.isnan(value)} == undefined


def test_a_single_sharp_row_is_not_one_position_at_every_step():
    found = measure(words([[0.0, 1.0, 0.0]]))
    assert found["focus"] == 1.0
    assert math.isnan(found["one_position"])


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_shares(seed):
    found = measure(with_ends(random_weights(seed=seed)))
    assert all(0 <= value <= 1 for value in found.values())


def test_one_position_and_end_agree():
    weights = np.zeros((5, 4))
    weights[:, 3] = 1.0
    found = measure(with_ends(weights))
    assert found["one_position"] == found["on_end"] == 1.0
    assert math.isnan(found["monotonicity"])  # no row has any weight on a word


def test_permuting_the_source_keeps_what_does_not_look_at_order():
    weights = random_weights()
    order = np.random.default_rng(5).permutation(weights.shape[1])
    one, other = measure(words(weights)), measure(words(weights[:, order]))
    for name in ("entropy", "focus", "one_position", "row_difference", "from_uniform", "unattended", "overattended"):
        assert one[name] == pytest.approx(other[name])
