"""JSON lines and NPZ: what is written is read back bit for bit, and what is damaged is told in one line."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heedful.alignment import Alignment, load_alignments, save_alignments
from heedful.errors import DataError, RunError

NAMES = ["all.jsonl", "all.jsonl.gz", "all.json", "all.npz", "ALL.NPZ"]
KINDS = [
    Alignment.of(
        ["[t]", "日本", "\0", "∎"], ["a\nb", "\u2028"], [[0.1, -0.0, 5e-324, 1 / 3], [0, 1, 2, 3]],
        convention="input", source_positions=[0, 2, 1, 0], target_end=True,
    ),
    Alignment.of([], [], np.zeros((0, 0))),
    Alignment.of(["x", "", "\udc80"], [], np.zeros((0, 3))),
    Alignment.of([], ["|||", "0-0"], np.zeros((2, 0)), convention="input"),
    Alignment.of(list("abcde"), list("ABCDEFG"), np.random.default_rng(1).random((7, 5)), target_end=True),
]  # fmt: skip
"""Labels of any characters, no rows, no columns, both conventions."""


def same(found: list[Alignment], expected: list[Alignment]) -> None:
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        assert one.weights.shape == other.weights.shape
        assert one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_many_of_all_kinds(tmp_path: Path, name: str) -> None:
    for kinds in (KINDS, KINDS[::-1], KINDS[:1], []):
        save_alignments(iter(kinds), tmp_path / name)
        same(load_alignments(str(tmp_path / name)), kinds)
    assert [path.name for path in tmp_path.iterdir()] == [name]


sizes = st.tuples(st.integers(0, 4), st.integers(0, 3))


@settings(max_examples=30)
@given(st.lists(sizes.flatmap(lambda size: arrays(np.float64, size, elements=st.floats(0, 1e9)))), st.data())
def test_any_numbers_and_labels(tmp_path_factory: pytest.TempPathFactory, matrices: list, data: st.DataObject) -> None:
    texts = st.text(st.characters(codec=None), max_size=3)
    kinds = [
        Alignment.of(
            *(data.draw(st.lists(texts, min_size=size, max_size=size)) for size in matrix.shape[::-1]),
            matrix,
            convention=data.draw(st.sampled_from(["predicted", "input"])),
            source_positions=[*range(matrix.shape[1])],
            target_end=data.draw(st.booleans()),
        )
        for matrix in matrices
    ]
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.npz", "any.jsonl"):
        save_alignments(kinds, folder / name)
        same(load_alignments(folder / name), kinds)


def test_the_documented_layout(tmp_path: Path) -> None:
    """As docs/alignments.md has it: NumPy alone, or any reader of JSON, finds the matrix of the fifth."""
    save_alignments(KINDS, tmp_path / "all.npz")
    save_alignments(KINDS, tmp_path / "all.jsonl")
    with np.load(tmp_path / "all.npz") as file:
        assert sorted(file.files) == sorted(
            ["version", "shapes", "weights", "labels", "label_bytes", "source_positions", "input", "target_end"]
        )
        assert file["version"] == 1
        shapes = file["shapes"]
        assert shapes.tolist() == [[2, 4], [0, 0], [0, 3], [2, 0], [7, 5]]
        start = shapes[:4].prod(axis=1).sum()
        matrix = file["weights"][start : start + shapes[4].prod()].reshape(shapes[4])
        ends = file["label_bytes"].cumsum()
        first = shapes[:4].sum()
        label = file["labels"][ends[first - 1] : ends[first]].tobytes().decode()
        assert file["input"].tolist() == [True, False, False, True, False]
    assert matrix.tolist() == KINDS[4].weights.tolist()
    assert label == "a"
    lines = (tmp_path / "all.jsonl").read_text("utf-8").split("\n")
    assert len(lines) == 6
    assert json.loads(lines[4])["weights"] == KINDS[4].weights.tolist()
    assert json.loads(lines[4])["version"] == 1
    assert "日本" in lines[0]


def test_what_was_written_before_there_were_versions_is_read(tmp_path: Path) -> None:
    """And what `heedful align --json` prints, which has the links too."""
    value = KINDS[4].to_json()
    del value["version"]
    path = tmp_path / "old.jsonl"
    path.write_text(json.dumps({**value, "links": KINDS[4].pharaoh()}) + "\n")
    assert load_alignments(path) == [KINDS[4]]
    assert Alignment.from_json(value) == KINDS[4]


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(json.dumps(KINDS[4].to_json()) + "\n" + json.dumps({**KINDS[4].to_json(), "version": 2}) + "\n")
    with pytest.raises(DataError, match=r"new\.jsonl:2: .*expected version 1, got 2, which a newer heedful wrote"):
        load_alignments(path)
    save_alignments(KINDS, tmp_path / "new.npz")
    np.savez(tmp_path / "new.npz", **{**arrays_of(tmp_path / "new.npz"), "version": np.array(2)})
    with pytest.raises(DataError, match=r"new\.npz: expected alignments of version 1, got 2, which a newer heedful"):
        load_alignments(tmp_path / "new.npz")


@pytest.mark.parametrize("version", ["one", "1", 0, None, 1.5])
def test_what_is_no_version_is_not_called_a_newer_one(version: Any) -> None:
    with pytest.raises(DataError, match=f"expected version 1, got {version!r}$"):
        Alignment.from_json({**KINDS[4].to_json(), "version": version})


def test_a_line_of_a_file_is_taken_as_it_is() -> None:
    assert Alignment.from_json(json.dumps(KINDS[4].to_json())) == KINDS[4]
    for text, says in (("runs/x", "expected an alignment as JSON: "), ("[1]", "as a JSON object, got '[1]'")):
        with pytest.raises(DataError) as error:
            Alignment.from_json(text)
        assert says in str(error.value)
    wrong: Any = [1]
    with pytest.raises(DataError, match=r"as a JSON object, got \[1\]"):
        Alignment.from_json(wrong)


BAD_LINES = {
    "no JSON": ("{", "expected an alignment as JSON"),
    "blank": ("", "expected an alignment as JSON"),
    "another value": ("[1, 2]", "expected an alignment as a JSON object, got '[1, 2]'"),
    "a key is missing": ('{"source": []}', "expected the key 'target'"),
    "no number": (json.dumps({**KINDS[4].to_json(), "weights": "x"}), "a matrix of numbers"),
    "other sizes": (json.dumps({**KINDS[4].to_json(), "weights": [[1]]}), "expected shape"),
    "below 0": (json.dumps({**KINDS[4].to_json(), "weights": [[0, -0.25, 0, 0, 0]] * 7}), "from 0, got -0.25 at row 0"),
    "null": (json.dumps({**KINDS[4].to_json(), "weights": [[0] * 5, [0, None, 0, 0, 0]]}), "null at row 1, column 1"),
    "null for all": (json.dumps({**KINDS[4].to_json(), "weights": None}), "a matrix of numbers; got null"),
    "NaN": (json.dumps({**KINDS[4].to_json(), "weights": [[float("nan")] * 5] * 7}), "expected finite numbers"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_bad_lines(tmp_path: Path, kind: str) -> None:
    line, says = BAD_LINES[kind]
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(KINDS[4].to_json()) + "\n" + line + "\n")
    with pytest.raises(DataError) as error:
        load_alignments(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert says in str(error.value)


def packed(**changes: Any) -> bytes:
    """An NPZ with other arrays than it should have; None leaves one out."""
    file = io.BytesIO()
    whole = {
        "version": np.array(1),
        "shapes": np.array([[1, 2]]),
        "weights": np.array([0.25, 0.75]),
        "labels": np.frombuffer(b"abc", dtype=np.uint8),
        "label_bytes": np.array([1, 1, 1]),
        "source_positions": np.array([1, 2]),
        "input": np.array([False]),
        "target_end": np.array([False]),
    }
    np.savez(file, **{name: value for name, value in {**whole, **changes}.items() if value is not None})
    return file.getvalue()


def one_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(2))
    return file.getvalue()


BAD_NPZ = {
    "empty": b"",
    "no NPZ": b"0-0 1-1\n",
    "cut": packed()[:-40],
    "cut early": packed()[:300],
    "one array": one_array(),
    "another zip": b"PK\x05\x06" + bytes(18),
    "no shapes": packed(shapes=None),
    "flat shapes": packed(shapes=np.array([1, 2])),
    "shapes that are no whole numbers": packed(shapes=np.array([[1.0, 2.0]])),
    "negative shapes": packed(shapes=np.array([[-1, -2]])),
    "too few weights": packed(weights=np.array([0.25])),
    "weights of text": packed(weights=np.array(["a", "b"])),
    "weights that are not finite": packed(weights=np.array([0.25, np.inf])),
    "weights below 0": packed(weights=np.array([0.25, -0.25])),
    "labels that are no UTF-8": packed(labels=np.frombuffer(b"\xffbc", dtype=np.uint8)),
    "too many labels": packed(label_bytes=np.array([1, 1, 1, 0])),
    "negative sizes of labels": packed(label_bytes=np.array([4, -2, 1])),
    "a convention that is a number": packed(input=np.array([7])),
    "positions that are no whole numbers": packed(source_positions=np.array([1.0, 2.5])),
    "labels that are no bytes": packed(labels=np.array([97, 98, 99])),
    "positions that do not fit": packed(source_positions=np.array([1, 3])),
    "a version that is none": packed(version=np.array([1, 2])),
    "pickled": packed(labels=np.array(["a", None], dtype=object)),
}


def test_the_npz_that_the_bad_ones_are_made_of_is_good(tmp_path: Path) -> None:
    (tmp_path / "good.npz").write_bytes(packed())
    assert load_alignments(tmp_path / "good.npz") == [Alignment.of(["a", "b"], ["c"], [[0.25, 0.75]])]


@pytest.mark.parametrize("kind", BAD_NPZ)
def test_bad_npz(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(BAD_NPZ[kind])
    with pytest.raises(DataError) as error:
        load_alignments(path)
    assert str(error.value).startswith(f"{path}: ")
    assert str(error.value).count(str(path)) == 1
    if kind == "one array":
        assert "it holds a single array (.npy)" in str(error.value)


def test_a_byte_that_is_damaged_anywhere(tmp_path: Path) -> None:
    """Told as an error of ours, or not noticed where nothing depends on it; the checksums of zip see to that."""
    save_alignments(KINDS, tmp_path / "all.npz")
    whole = (tmp_path / "all.npz").read_bytes()
    told: list[str] = []
    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        (tmp_path / "bad.npz").write_bytes(damaged)
        try:
            same(load_alignments(tmp_path / "bad.npz"), KINDS)
        except DataError as error:
            told.append(str(error))
    assert all(text.startswith(f"{tmp_path / 'bad.npz'}: ") for text in told)
    assert len(told) > len(whole) / 11 / 3


@pytest.mark.parametrize("name", ["all.txt", "all", "all.npz.gz", "all.npy", "all.csv"])
def test_other_names_are_refused_both_ways(tmp_path: Path, name: str) -> None:
    for use in (lambda path: save_alignments(KINDS, path), load_alignments):
        with pytest.raises(DataError, match=r"alignments are in files \.jsonl, \.jsonl\.gz or \.npz"):
            use(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_alignments(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        load_alignments(tmp_path / name)
    with pytest.raises(RunError, match="cannot be written"):
        save_alignments(KINDS, tmp_path / "nowhere" / name)


def test_what_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("all.npz", "all.jsonl"):
        save_alignments(KINDS, tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    for name in ("all.npz", "all.jsonl"):
        with pytest.raises(RunError, match=f"{name}: cannot be written: No space left"):
            save_alignments(KINDS[:1], tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_same_lines_are_the_same_file(tmp_path: Path) -> None:
    """Also when they are compressed: no time and no name is in it."""
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        save_alignments(KINDS, tmp_path / name)
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()).count(b"\n") == 5
    save_alignments(KINDS, tmp_path / "all.npz")
    assert all(part.endswith(".npy") for part in zipfile.ZipFile(tmp_path / "all.npz").namelist())
