"""``heedful look`` on runs whose sources are features: what the model gets is drawn over its heat map."""

import numpy as np
import pytest

import heedful
from heedful.api.sources import picture_of, picture_of_line
from heedful.data.features import Array, make_reader
from heedful.data.features.reader import Features
from heedful.data.pairs import read_pairs
from heedful.plots import load_report, save

from .cases import RATE, reader_of, tone, write_wav


@pytest.mark.parametrize("kind", ["array", "audio", "image"])
def test_pictures_end_where_their_columns_end(made, kind, tmp_path) -> None:
    pairs, run = made[kind]
    heedful.look(run, pairs, out=tmp_path / "page.png", line=[1, 2])
    heedful.look(run, pairs, out=tmp_path / "page.html", line=[1, 2])
    assert (tmp_path / "page.png").stat().st_size > 1000
    for entry in load_report(tmp_path / "page.html").entries:
        [shown] = entry.maps
        spans = shown.alignment.source_spans
        assert (shown.picture.kind, shown.picture.unit) == {
            "array": ("spectrogram", ""),
            "audio": ("spectrogram", "s"),
            "image": ("image", "px"),
        }[kind]
        # Windows of sound reach over the start of the next: the picture ends with the last start and a hop.
        assert shown.picture.length == pytest.approx(spans[-1][1] - (0.01 if kind == "audio" else 0))
        assert len(shown.picture.cells(shown.alignment)) == len(shown.alignment.source)


@pytest.mark.parametrize("kind", ["array", "audio", "image"])
def test_align_draws_a_line_under_what_its_source_is(made, kind, cli, tmp_path) -> None:
    """The very picture that `save` makes; of all other lines no file is read again."""
    pairs, run = made[kind]
    chosen = read_pairs(pairs, source_is_path=True).pairs[6]
    done = cli("align", run, pairs, "--plot", tmp_path / "map.png", "--line", 7)
    assert (done.code, done.err.splitlines()[-1]) == (0, f"{tmp_path / 'map.png'} shows line 7")
    picture = picture_of(reader_of(kind).read(str(pairs.parent / chosen.source)), reader_of(kind))
    save(heedful.align(run, pairs)[6], tmp_path / "expected.png", picture=picture)
    assert (tmp_path / "map.png").read_bytes() == (tmp_path / "expected.png").read_bytes()


def test_the_files_of_other_lines_are_left_alone(made, monkeypatch) -> None:
    pairs, run = made["array"]
    read = []
    monkeypatch.setattr(Array, "load", lambda self, path: read.append(path) or np.ones((2, 5)))
    loaded = heedful.load(run)
    assert picture_of_line(loaded, pairs, 3).values.shape == (5, 2)
    assert len(read) == 1
    assert picture_of_line(loaded, pairs, 999) is None


@pytest.mark.parametrize(("width", "stride"), [(1, 1), (3, 1), (3, 2), (4, 4)])
def test_an_image_is_put_together_from_its_patches(width, stride) -> None:
    pixels = np.random.default_rng(3).random((5, 13)).astype(np.float32)
    reader = make_reader({"name": "image", "height": 5, "width": width, "stride": stride})
    picture = picture_of(reader.features(pixels), reader)
    np.testing.assert_array_equal(picture.values[:, :13], pixels)
    assert not picture.values[:, 13:].any()  # what a last patch lacks
    assert picture.length == picture.values.shape[1]


def test_an_image_that_was_scaled_has_the_places_of_its_file() -> None:
    reader = make_reader({"name": "image", "height": 5, "width": 2, "stride": 2})
    assert picture_of(reader.features(np.ones((10, 28), np.float32)), reader).length == 28


def test_the_loudest_band_of_a_tone_is_at_its_frequency(tmp_path) -> None:
    reader = make_reader({"name": "audio", "rate": RATE, "mel": 11, "window_ms": 100.0, "hop_ms": 50.0})
    for frequency in (100.0, 230.0, 390.0):
        picture = picture_of(reader.read(str(write_wav(tmp_path / "a.wav", tone(frequency, 500)))), reader)
        loudest = picture.frequencies[int(picture.values.mean(axis=1).argmax())]
        assert abs(loudest - frequency) < 40


def test_a_blank_source_has_no_picture_and_vectors_go_from_left_to_right() -> None:
    reader = reader_of("array")
    assert picture_of(None, reader) is None
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert picture_of(Features(values), reader).values.tolist() == [[0, 2, 4], [1, 3, 5]]
