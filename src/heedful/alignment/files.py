"""Alignments in files: JSON lines, and one NPZ for many matrices of any sizes. docs/alignments.md has the formats."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from heedful.alignment.alignment import VERSION, Alignment
from heedful.alignment.links import placed_lines
from heedful.errors import DataError, HeedfulError, excerpt
from heedful.files import replace_atomically, write_atomically

JSON_LINES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
NPZ = (".npz",)


def save_alignments(alignments: Iterable[Alignment], path: str | os.PathLike[str]) -> None:
    """Write all of them to one file, whose suffix says the format: ``.jsonl`` (``.gz`` too) or ``.npz``.

    `load_alignments` gives back the same bits. The file is whole or not there.

    Raises:
        DataError: another suffix.
        RunError: the file cannot be written.
    """
    if _format(path) == "npz":
        arrays = _arrays(list(alignments))
        replace_atomically(path, lambda temporary: _write_npz(temporary, arrays))
    else:
        write_text(path, (json.dumps(alignment.to_json(), ensure_ascii=False) for alignment in alignments))


def load_alignments(path: str | os.PathLike[str]) -> list[Alignment]:
    """What `save_alignments` wrote, or ``heedful align --json`` printed.

    Raises:
        DataError: another suffix, no such file, a damaged one, or one of a newer version; names path and line.
    """
    return _load_npz(os.fspath(path)) if _format(path) == "npz" else _load_json_lines(path)


def write_text(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Write lines as UTF-8, compressed where the name ends in ``.gz``; whole or not there.

    Half a surrogate pair, which UTF-8 cannot write, becomes what JSON reads as the same: ``\\udc80``.

    Raises:
        RunError: the file cannot be written.
    """
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    packed = os.fspath(path).lower().endswith(".gz")
    write_atomically(path, gzip.compress(data, 6, mtime=0) if packed else data)  # the same content is the same file


def _format(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    if name.endswith(NPZ):
        return "npz"
    if name.endswith(JSON_LINES):
        return "jsonl"
    raise DataError(f"{path}: alignments are in files .jsonl, .jsonl.gz or .npz, got the name {excerpt(name)}")


# ---------------------------------------------------------------- JSON lines


def _load_json_lines(path: str | os.PathLike[str]) -> list[Alignment]:
    return [_placed(place, line) for place, line in placed_lines(path)]


def _placed(place: str, line: str) -> Alignment:
    try:
        return Alignment.from_json(line)
    except HeedfulError as error:
        raise DataError(f"{place}: {error}") from None


# ---------------------------------------------------------------- NPZ

# The arrays beside "version", each with NumPy's letters for its type: whole numbers, numbers, truth values.
_KINDS = {
    "shapes": "iu",
    "weights": "f",
    "labels": "u",
    "label_bytes": "iu",
    "source_positions": "iu",
    "input": "b",
    "target_end": "b",
}
_LATER_KINDS = {  # only where a source is no text, or is cut into segments; -1 for those that are not
    "spanned": "b",
    "source_spans": "f",
    "source_segments": "i",
}


def _arrays(alignments: Sequence[Alignment]) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file: everything one behind the other, with the sizes to cut it."""
    shapes = np.array([alignment.weights.shape for alignment in alignments], dtype=np.int64).reshape(-1, 2)
    labels = [label.encode("utf-8", "surrogatepass") for one in alignments for label in (*one.source, *one.target)]
    positions = [position for one in alignments for position in one.source_positions]
    spans = {
        "spanned": np.array([one.source_spans is not None for one in alignments], dtype=bool),
        "source_spans": np.array(
            [span for one in alignments for span in one.source_spans or ()], dtype=np.float64
        ).reshape(-1, 2),
    }
    segments = [n for one in alignments for n in one.source_segments or [-1] * len(one.source)]
    return {
        "version": np.array(VERSION),
        "shapes": shapes,
        "weights": np.concatenate([np.zeros(0), *(one.weights.ravel() for one in alignments)]),
        "labels": np.frombuffer(b"".join(labels), dtype=np.uint8),
        "label_bytes": np.array([len(label) for label in labels], dtype=np.int64),
        "source_positions": np.array(positions, dtype=np.int64),
        "input": np.array([one.convention == "input" for one in alignments], dtype=bool),
        "target_end": np.array([one.target_end for one in alignments], dtype=bool),
        **(spans if spans["spanned"].any() else {}),
        **({"source_segments": np.array(segments, dtype=np.int64)} if any(n >= 0 for n in segments) else {}),
    }


def _write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]


def _load_npz(path: str) -> list[Alignment]:
    try:
        arrays = _read_npz(path)
        return _alignments(arrays)
    except FileNotFoundError:
        raise DataError(f"no such file: {path!r}") from None
    except HeedfulError as error:
        raise DataError(f"{path}: {error}") from None
    # All that NumPy and zipfile say of damaged files; a size that is damaged may ask for more memory than there is.
    except (ValueError, KeyError, TypeError, EOFError, MemoryError, NotImplementedError) as error:
        raise _damaged(path, error) from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _damaged(path: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(f"{path}: expected alignments as NPZ, got a damaged file or another: {reason}")


def _read_npz(path: str) -> dict[str, np.ndarray]:
    with open(path, "rb") as file:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it holds a single array (.npy)")
        with loaded:
            version = loaded["version"].tolist()
            if not isinstance(version, int):
                raise ValueError(f"its version is {version!r}")
            if version > VERSION:
                raise DataError(
                    f"expected alignments of version {VERSION}, got {version}, which a newer heedful wrote; upgrade"
                )
            later = [name for name in _LATER_KINDS if name in loaded.files]
            arrays = {name: loaded[name] for name in (*_KINDS, *later)}
    for name, array in arrays.items():
        if array.dtype.kind not in {**_KINDS, **_LATER_KINDS}[name]:
            raise ValueError(f"its {name} are of the type {array.dtype}")
    return arrays


def _alignments(arrays: dict[str, np.ndarray]) -> list[Alignment]:
    shapes = arrays["shapes"]
    if shapes.ndim != 2 or shapes.shape[1] != 2:
        raise ValueError(f"its shapes are not (number, 2) sizes, but {excerpt(shapes.tolist(), 40)}")
    rows, columns = shapes.T.tolist()
    weights = _cut(arrays["weights"], [row * column for row, column in zip(rows, columns, strict=True)], "weights")
    ends = arrays["label_bytes"].tolist()
    texts = [part.tobytes().decode("utf-8", "surrogatepass") for part in _cut(arrays["labels"], ends, "labels")]
    sizes = [size for shape in zip(columns, rows, strict=True) for size in shape]  # source labels, then target labels
    labels = _cut(np.array(texts, dtype=object), sizes, "label_bytes")
    positions = _cut(arrays["source_positions"], columns, "source_positions")
    segments = _cut(arrays.get("source_segments", np.full(sum(columns), -1)), columns, "source_segments")
    inputs, target_ends = (_cut(arrays[name], [1] * len(rows), name) for name in ("input", "target_end"))
    spans = _spans(arrays, columns)
    return [
        Alignment(
            tuple(labels[2 * i]),
            tuple(labels[2 * i + 1]),
            weights[i].reshape(rows[i], columns[i]),
            "input" if inputs[i][0] else "predicted",
            tuple(positions[i].tolist()),
            bool(target_ends[i][0]),
            spans[i],
            tuple(segments[i].tolist()) if (segments[i] >= 0).all() else None,
        )
        for i in range(len(rows))
    ]


def _spans(arrays: dict[str, np.ndarray], columns: Sequence[int]) -> list[Any]:
    """The source spans of each alignment, None where it has none."""
    if not {"spanned", "source_spans"} <= set(arrays):
        return [None] * len(columns)
    spanned = [bool(has) for (has,) in _cut(arrays["spanned"], [1] * len(columns), "spanned")]
    sizes = [2 * count if has else 0 for has, count in zip(spanned, columns, strict=True)]
    found = _cut(arrays["source_spans"].reshape(-1), sizes, "source_spans")
    return [own.reshape(-1, 2).tolist() if has else None for has, own in zip(spanned, found, strict=True)]


def _cut(values: np.ndarray, sizes: Sequence[int], name: str) -> list[np.ndarray]:
    """`values` in pieces of these sizes, which must use it up."""
    if values.ndim != 1 or len(values) != sum(sizes) or any(size < 0 for size in sizes):
        raise ValueError(f"its {name} have shape {values.shape}, expected {sum(sizes)} in one row")
    ends = np.cumsum([0, *sizes], dtype=np.int64).tolist()
    return [values[start:end] for start, end in pairwise(ends)]
