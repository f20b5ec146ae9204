"""Readers of features: what they make of a file, and what they say of one that is none."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from heedful.data.features import Features, FeatureSide, make_reader, readers, with_features
from heedful.data.lines import BadLine
from heedful.data.pairs import Corpus, Pair, read_pairs
from heedful.errors import DataError, RecipeError

from .cases import KINDS, RATE, manifest, reader_of, tone, write_array, write_picture, write_wav

every = pytest.mark.parametrize("kind", readers.names())


@every
def test_every_reader_has_a_case_and_keeps_its_options(kind):
    options, write = KINDS[kind]
    reader = reader_of(kind)
    assert reader.options() | options == reader.options()
    assert make_reader(reader.to_json()) == reader
    assert reader.name == kind
    assert callable(write)


@every
def test_a_file_is_vectors_of_one_size_in_single_precision(kind, tmp_path):
    reader, write = reader_of(kind), KINDS[kind][1]
    short, long = (reader.read(str(write(tmp_path, name, name))) for name in ("ab", "abccb"))
    assert short.values.dtype == long.values.dtype == np.float32
    assert short.values.shape[1] == long.values.shape[1]
    assert 1 < len(short.values) < len(long.values)
    assert short.step > 0
    assert short.width >= short.step
    again = reader.read(str(tmp_path / write(tmp_path, "ab", "ab").name))
    np.testing.assert_array_equal(again.values, short.values)


@every
@pytest.mark.parametrize(
    "content", [b"", b"RIFF", b"\x93NUMPY", b"PK\x03\x04 and so on", b"\x89PNG\r\n\x1a\n", b"abc\n" * 99]
)
def test_what_is_something_else_is_told(kind, content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadLine, match=r"expected .*, got something else"):
        reader_of(kind).read(str(path))


@every
def test_a_file_that_is_cut_anywhere_is_told_or_read(kind, tmp_path):
    path = KINDS[kind][1](tmp_path, "x", "abc")
    whole, values = path.read_bytes(), reader_of(kind).read(str(path)).values
    for size in range(0, len(whole), max(1, len(whole) // 29)):
        path.write_bytes(whole[:size])
        try:
            found = reader_of(kind).read(str(path)).values
        except BadLine:
            continue
        assert kind != "array"
        # Sound that ends earlier is sound; of a picture it is but the mark of the end that is not needed.
        assert np.isfinite(found).all() if kind == "audio" else np.array_equal(found, values)


@every
def test_a_file_that_cannot_be_read_is_told(kind, tmp_path):
    with pytest.raises(BadLine, match="expected a file, got none of this name"):
        reader_of(kind).read(str(tmp_path / "nothing"))
    with pytest.raises(BadLine, match="expected a file, got a folder"):
        reader_of(kind).read(str(tmp_path))
    with pytest.raises(BadLine, match="cannot be read: embedded null byte"):
        reader_of(kind).read(str(tmp_path / "a\0b"))


def damaged(kind: str, folder: Path) -> list[bytes]:
    """Files that their libraries refuse each with another error: of sizes, syntax, compression, the file's own end."""
    whole = KINDS[kind][1](folder, "whole", "abc").read_bytes()
    if kind == "image":
        other = io.BytesIO()
        Pillow.new("L", (9, 5)).save(other, "DDS")
        strange = bytearray(other.getvalue())
        strange[80:84] = bytes(4)  # what kind of pixels they are
        return [whole[:40], bytes(strange)]
    if kind == "audio":
        return [whole[:16] + b"\x10\0\0\0" + whole[20:30], whole[:16] + b"\x03\0\0\0" + whole[20:], whole[:12]]
    heads = ("{'descr': '<f8', 'fortran_order': False, 'shape': (1" + "0" * 30 + ", 3)}", "((((", "[1] * 9")
    arrays = [b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head.encode() + bytes(48) for head in heads]
    packed = io.BytesIO()
    np.savez(packed, a=np.ones((2, 5)))
    for local, central, value in ((6, 8, 1), (8, 10, 99), (4, 6, 200)):  # encrypted; packed in an unknown way; too new
        data = bytearray(packed.getvalue())
        start = data.index(b"PK\x01\x02")
        data[local] = data[start + central] = value
        arrays.append(bytes(data))
    return arrays


@every
def test_damage_of_all_kinds_is_told_in_words(kind, tmp_path):
    for content in damaged(kind, tmp_path):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(BadLine, match=r"^expected .*, got something else: .*\w.*$"):
            reader_of(kind).read(str(tmp_path / "file"))


# Arrays.


def test_an_array_is_taken_as_it_is(tmp_path):
    values = np.arange(33, dtype=np.int16).reshape(11, 3)
    found = make_reader({"name": "array"}).read(str(write_array(tmp_path / "a.npy", values)))
    assert found.values.tolist() == values.tolist()
    assert (found.step, found.width) == (1.0, 1.0)


def test_of_several_arrays_the_key_chooses(tmp_path):
    one, two = np.ones((2, 3)), np.zeros((5, 3))
    np.savez(tmp_path / "two.npz", one=one, two=two)
    np.savez(tmp_path / "one.npz", only=two)
    plain, keyed = make_reader({"name": "array"}), make_reader({"name": "array", "key": "two"})
    assert len(keyed.read(str(tmp_path / "two.npz")).values) == 5
    assert len(plain.read(str(tmp_path / "one.npz")).values) == 5
    with pytest.raises(BadLine, match="expected one array \\(or the option key\\), got the arrays 'one', 'two'"):
        plain.read(str(tmp_path / "two.npz"))
    with pytest.raises(BadLine, match="expected an array 'two', got the arrays 'only'"):
        keyed.read(str(tmp_path / "one.npz"))


def test_what_is_no_array_in_a_npz_is_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as packed:
        packed.writestr("a.txt", "abc")
    with pytest.raises(BadLine, match=r"expected arrays of NumPy in a \.npz, got another file in it"):
        reader_of("array").read(str(tmp_path / "a.npz"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(7), r"expected an array \(S, F\).*got the shape \(7,\)"),
        (np.zeros((2, 3, 5)), r"got the shape \(2, 3, 5\)"),
        (np.zeros((0, 3)), r"got the shape \(0, 3\)"),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), "got nan at vector 1, feature 1"),
        (np.array([[1.0], [np.inf]]), "got inf at vector 1, feature 0"),
        (np.array([["a", "b"]]), "expected an array of numbers, got one of type <U1"),
        (np.array([[1e300]]), "expected finite numbers, got inf"),
    ],
)
def test_an_array_that_is_no_sequence_of_vectors_is_told(values, message, tmp_path):
    with pytest.raises(BadLine, match=message):
        make_reader({"name": "array"}).read(str(write_array(tmp_path / "a.npy", values)))


# Sound.


def loudest(frequency: float, **options) -> int:
    """The band that has most of a tone, of 13 bands at 8 kHz."""
    from heedful.data.features.audio import Sound

    reader = make_reader({"name": "audio", "rate": 8000, "mel": 13, **options})
    values = reader.features(Sound(tone(frequency, 2000, rate=8000), 8000)).values
    bands = values.argmax(1)[1:-3]
    assert len(set(bands.tolist())) == 1
    return int(bands[0])


def test_a_tone_is_loudest_in_the_band_around_it():
    """Centres of the bands: m / 14 of mel(4000), turned back by f = 700 (10 ** (mel / 2595) - 1)."""
    most = 2595 * np.log10(1 + 4000 / 700)
    for band in range(1, 13):
        centre = 700 * (10 ** ((band + 1) / 14 * most / 2595) - 1)
        assert loudest(centre) == band


def test_frames_are_as_many_as_it_takes_and_lie_where_they_say():
    """A click at 0.35 s is in the frames whose windows hold it, and in no other."""
    from heedful.data.features.audio import Sound

    reader = make_reader({"name": "audio", "rate": 1000, "mel": 3, "window_ms": 50.0, "hop_ms": 20.0})
    samples = np.zeros(507)
    samples[350] = 1.0
    found = reader.features(Sound(samples, 1000))
    assert (found.step, found.width) == (0.02, 0.05)
    assert len(found.values) == 24  # the last from 0.46 s to 0.51 s
    loud = np.flatnonzero(found.values[:, 0] > np.log(1e-8))
    inside = [j for j in range(24) if found.step * j < 0.35 < found.step * j + found.width - 0.001]
    assert loud.tolist() == inside
    for count, frames in ((1, 1), (50, 1), (51, 2), (70, 2), (71, 3)):
        assert len(reader.features(Sound(np.ones(count), 1000)).values) == frames


def test_energy_does_not_depend_on_the_window_s_length():
    """Noise of one loudness, in windows of one and of four lengths: the same energy on average."""
    from heedful.data.features.audio import Sound

    noise = np.random.default_rng(1).normal(size=40_000) / 10
    sizes = [
        make_reader({"name": "audio", "rate": 8000, "mel": 5, "window_ms": length}).features(Sound(noise, 8000)).values
        for length in (20.0, 80.0)
    ]
    bands = [np.log(np.exp(values.astype(np.float64)).mean(0)) for values in sizes]
    # A window four times as long has four times as many bins in each triangle.
    np.testing.assert_allclose(bands[1] - bands[0], np.log(4), atol=0.15)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_samples_of_all_widths_are_the_same_sound(width, channels, tmp_path):
    reader = reader_of("audio")
    samples = tone(170.0, 300)
    # Channels of 1.5, 1.0 and 0.5 of it, say; on average it is itself.
    factors = {1: [1.0], 2: [1.2, 0.8], 3: [1.2, 1.0, 0.8]}[channels]
    together = np.stack([factor * samples for factor in factors], axis=1).reshape(-1)
    path = write_wav(tmp_path / "a.wav", together, width=width, channels=channels)
    sound = reader.load(str(path))
    np.testing.assert_allclose(sound.samples, samples, atol=0.01 if width == 1 else 1e-4)
    assert sound.rate == RATE


def test_another_sampling_rate_and_silence_of_no_length_are_told(tmp_path):
    with pytest.raises(BadLine, match=r"expected sound of 1000 samples a second \(option rate\), got 2000"):
        reader_of("audio").read(str(write_wav(tmp_path / "a.wav", tone(60, 90), rate=2000)))
    with pytest.raises(BadLine, match="expected sound, got no samples"):
        reader_of("audio").read(str(write_wav(tmp_path / "b.wav", [])))


def test_sound_that_is_not_pcm_is_told(tmp_path):
    path = write_wav(tmp_path / "a.wav", tone(60, 90))
    data = bytearray(path.read_bytes())
    assert data[20:22] == b"\x01\x00"
    data[20] = 3  # floating-point
    path.write_bytes(data)
    with pytest.raises(BadLine, match="expected a WAV file with PCM samples, got something else: unknown format: 3"):
        reader_of("audio").read(str(path))


@pytest.mark.parametrize("width", [2, 3])
def test_sound_with_the_extensible_header_is_the_same(width, tmp_path):
    path = write_wav(tmp_path / "a.wav", tone(60, 90), width=width)
    expected = reader_of("audio").load(str(path)).samples
    data = path.read_bytes()
    assert data[12:22] == b"fmt \x10\x00\x00\x00\x01\x00"
    pcm = b"\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
    more = b"\x16\x00" + bytes([8 * width, 0]) + bytes(4) + pcm
    wide = tmp_path / "b.wav"
    size = (len(data) - 8 + 24).to_bytes(4, "little")
    wide.write_bytes(data[:4] + size + data[8:16] + b"\x28\x00\x00\x00\xfe\xff" + data[22:36] + more + data[36:])
    np.testing.assert_array_equal(reader_of("audio").load(str(wide)).samples, expected)
    wide.write_bytes(wide.read_bytes().replace(pcm, b"\x03" + pcm[1:]))  # floating-point
    with pytest.raises(BadLine, match="expected a WAV file with PCM samples, got something else"):
        reader_of("audio").load(str(wide))


def test_sound_that_is_cut_off_is_told_but_not_a_stream_of_unknown_length(tmp_path):
    path = write_wav(tmp_path / "a.wav", np.zeros(500))
    data = path.read_bytes()
    path.write_bytes(data[:-400])
    with pytest.raises(BadLine, match="expected 500 samples, as its header says, got 300: it is cut off"):
        reader_of("audio").load(str(path))
    path.write_bytes(data[:40] + b"\xff\xff\xff\xff" + data[44:])
    assert len(reader_of("audio").load(str(path)).samples) == 500


def test_silence_is_finite(tmp_path):
    assert np.isfinite(reader_of("audio").read(str(write_wav(tmp_path / "a.wav", np.zeros(500)))).values).all()


# Pictures.


def test_patches_are_columns_from_top_to_bottom(tmp_path):
    pixels = np.arange(35).reshape(5, 7) / 255
    reader = make_reader({"name": "image", "height": 5, "width": 3, "stride": 2})
    found = reader.read(str(write_picture(tmp_path / "a.png", pixels)))
    assert found.values.shape == (3, 15)
    np.testing.assert_allclose(found.values[1], pixels[:, 2:5].T.reshape(-1), atol=1e-6)
    assert (found.step, found.width) == (2.0, 3.0)


def test_what_a_last_patch_lacks_is_black(tmp_path):
    pixels = np.ones((2, 6))
    found = make_reader({"name": "image", "height": 2, "width": 4, "stride": 3}).read(
        str(write_picture(tmp_path / "a.png", pixels))
    )
    assert found.values.tolist() == [[1.0] * 8, [1.0] * 6 + [0.0] * 2]


def test_a_picture_is_brought_to_its_height_and_places_are_its_own_columns(tmp_path):
    pixels = np.zeros((20, 60))
    pixels[:, 30:] = 1
    found = make_reader({"name": "image", "height": 5}).read(str(write_picture(tmp_path / "a.png", pixels)))
    assert found.values.shape == (15, 5)
    assert found.step == found.width == 4.0
    bright = found.values.mean(1)
    assert bright[:6].max() < 0.01
    assert bright[9:].min() > 0.99


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "1", "P", "LA", "I;16"])
def test_pictures_of_all_modes_are_grey_values(mode, tmp_path):
    pixels = np.zeros((5, 8), dtype=np.uint8)
    pixels[:, 4:] = 255
    if mode == "I;16":
        picture = Pillow.fromarray(pixels.astype(np.uint16) * 257)
    else:
        picture = Pillow.fromarray(pixels).convert(mode)
    assert picture.mode == mode
    picture.save(tmp_path / "a.png")
    found = make_reader({"name": "image", "height": 5}).read(str(tmp_path / "a.png"))
    np.testing.assert_allclose(found.values[:, 0], [0] * 4 + [1] * 4, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_numbers_without_a_white_are_told(dtype, tmp_path):
    Pillow.fromarray(np.ones((5, 8), dtype)).save(tmp_path / "a.tif")
    with pytest.raises(BadLine, match=r"expected grey values or colours of 1 to 16 bits, got numbers of 32 bits"):
        reader_of("image").read(str(tmp_path / "a.tif"))


def test_what_pillow_warns_of_is_read_all_the_same(tmp_path, recwarn):
    grey = Pillow.fromarray(np.full((5, 8), 255, np.uint8))
    grey.convert("P").save(tmp_path / "a.png", transparency=b"\0\x10\x20")
    grey.save(tmp_path / "b.jpg", exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff and so on")
    for name in ("a.png", "b.jpg"):
        assert reader_of("image").read(str(tmp_path / name)).values[:3].mean() > 0.99
    assert not recwarn.list


# Options.


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"name": "image", "height": 0}, "height must be from 1 to 10000, got 0"),
        ({"name": "image", "width": 2, "stride": 3}, "stride 3 leaves out what is between patches of width 2"),
        ({"name": "audio", "mel": 0}, "mel of 1 to 1000"),
        ({"name": "audio", "hop_ms": 0.0}, "hops of at least 1"),
        ({"name": "audio", "window_ms": 0.01}, "windows of at least 2 samples"),
        ({"name": "audio", "rate": 1.5}, "'rate' must be of type int"),
        ({"name": "adio"}, "unknown reader of features 'adio'; did you mean 'audio'"),
        ({"name": "image", "heigth": 3}, "no option 'heigth'; did you mean 'height'"),
    ],
)
def test_options_that_make_no_sense_are_told(wanted, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        make_reader(wanted)


def test_more_bands_than_a_window_can_tell_apart_are_told(tmp_path):
    reader = make_reader({"name": "audio", "rate": RATE, "mel": 99, "window_ms": 10.0})
    with pytest.raises(RecipeError, match=r"99 mel bands are finer than windows of 10.0 ms tell apart"):
        reader.read(str(write_wav(tmp_path / "a.wav", tone(60, 90))))


# Statistics.


def test_normalised_training_features_have_mean_0_and_deviation_1():
    generator = np.random.default_rng(3)
    arrays = [generator.normal(5, 3, size=(size, 3)).astype(np.float32) * [1, 100, 0] + 7 for size in (11, 5, 2)]
    sources = [(Features(array.astype(np.float32)), line) for line, array in enumerate(arrays, 1)]
    side = FeatureSide.of(reader_of("array"), sources)
    joined = np.concatenate([side.normalised(features, "x") for features, _ in sources]).astype(np.float64)
    np.testing.assert_allclose(joined.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(joined.std(0), [1, 1, 0], atol=1e-5)  # one that never changes is left as it is
    assert FeatureSide.from_json(side.to_json()) == side


def test_a_side_with_damaged_numbers_is_refused():
    values = FeatureSide(reader_of("array"), (1.0, 2.0), (1.0, 3.0)).to_json()
    for key, numbers in (("mean", [1.0]), ("deviation", [1.0, 0.0]), ("mean", [])):
        with pytest.raises(DataError, match="a mean and a deviation above 0"):
            FeatureSide.from_json({**values, key: numbers})


# From pairs.


def corpus(tmp_path, *lines: str) -> Corpus:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return read_pairs(path, source_is_path=True)


def test_paths_are_from_the_folder_of_the_pairs_or_absolute(tmp_path):
    (tmp_path / "in").mkdir()
    write_array(tmp_path / "in" / "a.npy", np.ones((2, 3)))
    write_array(tmp_path / "b.npy", np.ones((5, 3)))
    found = with_features(corpus(tmp_path, "in/a.npy\tx", f"{tmp_path}/b.npy\ty"), reader_of("array"))
    assert [len(pair.features.values) for pair in found.pairs] == [2, 5]
    assert found.pairs[0].source == "in/a.npy"


def test_names_keep_the_unicode_form_that_they_have(tmp_path):
    """On most systems a name in another form is another file."""
    name = "u\u0308.npy"
    write_array(tmp_path / name, np.ones((2, 3)))
    found = with_features(corpus(tmp_path, f"{name}\tu\u0308"), reader_of("array"))
    assert found.pairs[0].features is not None
    assert found.pairs[0].target == "\xfc"


def test_what_is_wrong_names_the_pairs_the_line_and_the_path(tmp_path):
    write_array(tmp_path / "a.npy", np.ones((2, 3)))
    write_array(tmp_path / "b.npy", np.ones(3))
    lines = corpus(tmp_path, "a.npy\tx", "b.npy\ty", "c.npy\tz")
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/pairs.tsv:2: {tmp_path}/b.npy: expected an array (S")):
        with_features(lines, reader_of("array"))
    left = with_features(lines, reader_of("array"), bad_lines="skip")
    assert [pair.line for pair in left.pairs] == [1]
    assert [line for line, _ in left.skipped] == [2, 3]
    with pytest.raises(DataError, match=r"no usable line: 2 bad, the first is line 2: .*b.npy: expected an array"):
        with_features(lines._replace(pairs=lines.pairs[1:]), reader_of("array"), bad_lines="skip")


def test_another_number_of_features_is_a_bad_line(tmp_path):
    for name, size in (("a", 3), ("b", 5), ("c", 3)):
        write_array(tmp_path / f"{name}.npy", np.ones((2, size)))
    lines = corpus(tmp_path, "a.npy\tx", "b.npy\ty", "c.npy\tz")
    told = f"{tmp_path}/b.npy: expected 3 features in each vector, got 5"
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/pairs.tsv:2: {told}")):
        with_features(lines, reader_of("array"))
    assert with_features(lines, reader_of("array"), bad_lines="skip").skipped == ((2, told),)
    with pytest.raises(DataError, match=re.escape("pairs.tsv:1: ") + ".*a.npy: expected 5 features .* got 3"):
        with_features(lines, reader_of("array"), size=5)


def test_a_json_line_names_a_file_too(tmp_path):
    write_array(tmp_path / "a.npy", np.ones((2, 3)))
    (tmp_path / "pairs.jsonl").write_text('{"source": "a.npy", "target": "x"}\n', "utf-8")
    found = with_features(read_pairs(tmp_path / "pairs.jsonl", source_is_path=True), reader_of("array"))
    assert len(found.pairs[0].features.values) == 2


def test_another_number_of_features_is_told(tmp_path):
    sources = [(Features(np.ones((2, size), np.float32)), line) for line, size in ((1, 3), (2, 5))]
    with pytest.raises(DataError, match="line 2: expected 3 features in each vector, got 5"):
        FeatureSide.of(reader_of("array"), sources)


def test_built_in_corpora_of_text_have_no_features():
    with pytest.raises(DataError, match=r"copy:dev: its sources are texts, and data.source_features reads 'array'"):
        with_features(Corpus("copy:dev", (Pair("a", "a", (), 1),), ()), reader_of("array"))


@every
def test_a_manifest_of_every_kind_is_read(kind, tmp_path):
    found = with_features(read_pairs(manifest(tmp_path, kind), source_is_path=True), reader_of(kind))
    assert len(found.pairs) == 24
    assert len({pair.features.values.shape[1] for pair in found.pairs}) == 1
