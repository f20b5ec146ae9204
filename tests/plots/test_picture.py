"""Heat maps under a spectrogram or an image: columns stand under what they are about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from heedful.alignment import Alignment
from heedful.errors import DataError, SizeError
from heedful.plots import Entry, Map, Picture, draw, load_report, save, save_report
from heedful.plots.over import overlays

from .cases import report


def shortened() -> tuple[Alignment, Picture]:
    """Seven frames of 0.01 s in windows of 0.025 s, two to a column: the last column has one."""
    values = np.arange(35.0).reshape(5, 7)
    spans = [(0.0, 0.035), (0.02, 0.055), (0.04, 0.075), (0.06, 0.085)]
    weights = [[0.1, 0.2, 0.6, 0.1], [0.0, 0.0, 0.25, 0.75]]
    labels = ["0.00 s", "0.02 s", "0.04 s", "0.06 s"]
    alignment = Alignment.of(labels, ["A", "B"], weights, source_spans=spans)
    return alignment, Picture(values, end=0.07, unit="s", frequencies=(50, 100, 200, 500, 1000))


def test_columns_of_weights_stand_under_their_frames() -> None:
    alignment, picture = shortened()
    axes = draw(alignment, picture=picture)
    [mesh], [above] = axes.collections[:1], axes.child_axes
    edges = np.asarray(mesh.get_coordinates())[0, :, 0]
    np.testing.assert_allclose(edges, [0, 0.02, 0.04, 0.06, 0.07])
    np.testing.assert_array_equal(np.asarray(mesh.get_array()), alignment.weights)
    assert tuple(above.images[0].get_extent()) == (0, 0.07, -0.5, 4.5)
    axes.figure.canvas.draw()
    # The end of the second column is that of the fourth frame, on the page too.
    for place in (0, 0.04, 0.07):
        own, other = (one.transData.transform((place, 0))[0] for one in (axes, above))
        assert own == pytest.approx(other, abs=1e-6)
    [dots] = [line for line in axes.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots.get_xdata(), [0.05, 0.065])
    assert mesh.get_clim() == (0, 0.75)
    assert (axes.get_xlabel(), above.get_ylabel()) == ("time (s)", "kHz")


def test_low_frequencies_are_below_and_rows_of_images_go_down() -> None:
    alignment, picture = shortened()
    above = draw(alignment, picture=picture).child_axes[0]
    assert above.transData.transform((0, 4))[1] > above.transData.transform((0, 0))[1]
    image = draw(alignment, picture=Picture(picture.values, "image", end=0.07)).child_axes[0]
    assert image.transData.transform((0, 4))[1] < image.transData.transform((0, 0))[1]


def test_gaps_between_columns_stay_empty_and_no_spans_are_equal_shares() -> None:
    picture = Picture(np.eye(3, 12), "image")
    gaps = Alignment.of(["a", "b"], ["A"], [[0.25, 0.75]], source_spans=[(1, 4), (6, 12)])
    mesh = draw(gaps, picture=picture).collections[0]
    np.testing.assert_allclose(np.asarray(mesh.get_coordinates())[0, :, 0], [1, 4, 6, 12])
    assert np.ma.getmaskarray(mesh.get_array()).tolist() == [[False, True, False]]
    assert picture.cells(Alignment.of(["a", "b"], ["A"], [[0.25, 0.75]])) == [(0, 6), (6, 12)]


def test_patches_that_overlap_are_drawn_around_their_middles() -> None:
    """Of the four columns of a patch, the next has two: each is drawn under what is around its own middle."""
    spans = [(0, 4), (2, 6), (4, 8), (9, 13)]
    alignment = Alignment.of(list("abcd"), ["A"], np.full((1, 4), 0.25), source_spans=spans)
    assert Picture(np.eye(3, 12), "image").cells(alignment) == [(0, 3), (3, 5), (5, 8), (9, 12)]
    assert Picture(np.eye(3, 12)).cells(alignment) == [(0, 2), (2, 4), (4, 8), (9, 12)]


def test_images_keep_their_proportions() -> None:
    alignment = Alignment.of(list("abcdef"), ["A"], np.full((1, 6), 1 / 6))
    for shape in ((5, 60), (20, 30), (40, 30)):
        axes = draw(alignment, picture=Picture(np.eye(*shape), "image"))
        axes.figure.canvas.draw()
        box = axes.child_axes[0].get_window_extent()
        assert box.height / box.width == pytest.approx(shape[0] / shape[1], rel=1e-3)


@pytest.mark.parametrize(("columns", "unit"), [(50, "s"), (211, "px"), (2000, "s")])
def test_ticks_are_few_whatever_the_length(columns: int, unit: str) -> None:
    alignment = Alignment.of(["x"] * columns, ["A"], np.full((1, columns), 1 / columns))
    axes = draw(alignment, picture=Picture(np.eye(3, columns), end=columns / 100, unit=unit))
    axes.figure.canvas.draw()
    assert 2 <= len(axes.get_xticks()) <= 16
    assert axes.get_figure().get_size_inches()[0] < 15


def test_given_axes_get_the_picture_above_them() -> None:
    alignment, picture = shortened()
    axes = Figure(figsize=(6, 6)).add_axes((0.1, 0.1, 0.8, 0.4))
    assert draw(alignment, axes, picture=picture) is axes
    assert axes.child_axes[0].get_window_extent().y0 > axes.get_window_extent().y1


def test_an_image_for_each_symbol_is_tinted_where_its_weights_are() -> None:
    alignment, picture = shortened()
    figure, _ = overlays(alignment, picture)
    assert len(figure.axes) == 2
    tints = [[(one.get_x(), one.get_width(), one.get_alpha()) for one in axes.patches] for axes in figure.axes]
    first, second = tints
    np.testing.assert_allclose(first, [(0, 0.02, 0.125), (0.02, 0.02, 0.25), (0.04, 0.02, 0.75), (0.06, 0.01, 0.125)])
    np.testing.assert_allclose(second, [(0.04, 0.02, 0.25), (0.06, 0.01, 0.75)])
    assert [text.get_text() for text in figure.axes[1].texts] == ["B", "0.75"]


def test_files(tmp_path: Path) -> None:
    alignment, picture = shortened()
    for name, each in (("under.png", False), ("each.png", True), ("under.svg", False)):
        save(alignment, tmp_path / name, picture=picture, each=each, title="$t$")
        assert (tmp_path / name).stat().st_size > 1000
    assert imread(tmp_path / "under.png").shape != imread(tmp_path / "each.png").shape
    with pytest.raises(DataError, match="needs the picture"):
        save(alignment, tmp_path / "none.png", each=True)
    many = Alignment.of(["a"], ["A"] * 13, np.ones((13, 1)))
    with pytest.raises(SizeError, match="1 to 12 of them, got 13 rows"):
        save(many, tmp_path / "none.png", picture=picture, each=True)
    assert not (tmp_path / "none.png").exists()


def test_what_is_no_picture_is_refused() -> None:
    alignment, _ = shortened()
    with pytest.raises(SizeError, match="finite"):
        Picture(np.array([[np.nan]]))
    with pytest.raises(DataError, match="'image'"):
        Picture(np.ones((2, 3)), "imag")
    with pytest.raises(SizeError, match="2 ascending frequencies"):
        Picture(np.ones((2, 3)), frequencies=(2, 1))
    with pytest.raises(DataError, match=r"between 0 and 0\.05, got position 4 from 0\.06"):
        draw(alignment, picture=Picture(np.ones((2, 3)), end=0.05))


def test_a_report_gives_pictures_back(tmp_path: Path) -> None:
    alignment, picture = shortened()
    shown = report(Entry(1, "a.wav", "A B", (Map(alignment, "A B", picture=picture), Map(alignment, "A B"))))
    save_report(shown, tmp_path / "report.html")
    with_it, without = load_report(tmp_path / "report.html").entries[0].maps
    assert with_it.picture is not None
    assert without.picture is None
    np.testing.assert_allclose(with_it.picture.values, picture.values, atol=34 / 510)
    assert (with_it.picture.frequencies, with_it.picture.length) == (picture.frequencies, 0.07)
    assert with_it.alignment.source_spans == alignment.source_spans
