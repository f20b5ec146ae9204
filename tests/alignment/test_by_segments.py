"""Both levels of hierarchical attention in an alignment."""

import numpy as np
import pytest

from heedful.alignment import Alignment, by_segments, load_alignments, save_alignments
from heedful.alignment.labels import edges_of
from heedful.errors import SizeError

WEIGHTS = np.array([[0.1, 0.2, 0.3, 0.0, 0.25, 0.15], [0.0, 0.5, 0.0, 0.25, 0.25, 0.0]])
SOURCE = ("[q]", "It", "rained", "a", "lot", "∎")


def alignment(**changed) -> Alignment:
    parts = {"source_positions": (0, 1, 2, 3, 4, 0), "target_end": True, "source_segments": (0, 1, 1, 2, 2, 0)}
    return Alignment.of(SOURCE, ("y", "∎"), WEIGHTS, **{**parts, **changed})


def test_a_segments_weight_is_the_sum_of_its_words():
    found = by_segments(alignment())
    assert found.source == ("1: It .. rained", "2: a .. lot", "[q] ∎")
    assert found.source_positions == (1, 2, 0)
    np.testing.assert_allclose(found.weights, [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], atol=1e-12)
    assert found.target == ("y", "∎")
    assert found.links() == [(0, 0)]


def test_a_source_that_was_read_reversed_has_its_segments_as_written():
    order = [0, 4, 3, 2, 1, 5]
    read = Alignment.of(
        [SOURCE[column] for column in order],
        ("y", "∎"),
        WEIGHTS[:, order],
        source_positions=[0, 4, 3, 2, 1, 0],
        target_end=True,
        source_segments=[0, 1, 1, 1, 2, 0],
    )
    assert read == alignment(source_segments=(0, 1, 2, 2, 2, 0))


def test_words_keep_their_segments():
    assert alignment().without_special().source_segments == (1, 1, 2, 2)
    assert alignment().merged(source=[[0], [1, 2], [3]]).source_segments == (1, 1, 2)
    assert Alignment.of(SOURCE, ("y", "∎"), WEIGHTS).source_segments is None


def test_files_keep_them(tmp_path):
    mixed = [alignment(), alignment(source_segments=None), alignment(source_segments=[0] * 6)]
    for name in ("all.jsonl", "all.npz"):
        save_alignments(mixed, tmp_path / name)
        assert load_alignments(tmp_path / name) == mixed
    assert "source_segments" not in mixed[1].to_json()
    assert Alignment.from_json(mixed[0].to_json()) == mixed[0]


def test_where_a_heat_map_draws_a_line():
    assert edges_of(alignment().source_segments) == [0.5, 2.5, 4.5]
    assert edges_of(None) == []


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ((0, 1, 1, 2, 2), "expected one for each of the 6 source labels, got 5"),
        ((0, 2, 2, 1, 1, 0), r"expected 1, 2, .. in the order of the text, 0 aside, got \[0, 2, 2, 1, 1, 0\]"),
        (("a",) * 6, "expected whole numbers, got "),
    ],
)
def test_what_is_no_segmentation(segments, message):
    with pytest.raises(SizeError, match=f"source segments: {message}"):
        Alignment(SOURCE, ("y", "∎"), WEIGHTS, "predicted", (0, 1, 2, 3, 4, 0), True, None, segments)


def test_without_segments_there_is_no_second_level():
    with pytest.raises(SizeError, match=r"is not cut into segments; a run does so by data\.segments"):
        by_segments(alignment(source_segments=None))
