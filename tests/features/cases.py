"""Small files of every reader, written with NumPy, the standard library and Pillow; and tiny runs on them."""

from __future__ import annotations

import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import heedful
from heedful.data.features import Reader
from training.cases import TINY

RATE = 1000
"""Of the tests' sound, low so that it is small."""


def write_wav(path: Path, samples: Sequence[float], *, rate: int = RATE, width: int = 2, channels: int = 1) -> Path:
    """PCM of `width` bytes; `samples` from -1 to 1, those of several channels one behind the other."""
    values = np.clip(np.asarray(samples, dtype=np.float64), -1, 1)
    if width == 1:
        data = np.round(values * 127 + 128).astype(np.uint8).tobytes()
    else:
        whole = np.round(values * (2 ** (8 * width - 1) - 1)).astype("<i4")
        data = whole[:, None].view(np.uint8)[:, :width].tobytes()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(data)
    return path


def write_array(path: Path, values: np.ndarray) -> Path:
    np.save(path, values)
    return path


def write_picture(path: Path, pixels: np.ndarray) -> Path:
    """Grey values from 0 to 1."""
    Image.fromarray(np.round(pixels * 255).astype(np.uint8)).save(path)
    return path


def tone(frequency: float, count: int, *, rate: int = RATE) -> np.ndarray:
    return 0.8 * np.sin(2 * np.pi * frequency * np.arange(count) / rate)


# What the three letters are in each kind of file, from first to last.
_TONES = {"a": 60.0, "b": 170.0, "c": 400.0}
_ROWS = {"a": [1, 0, 0, 0, 1], "b": [0, 1, 0, 1, 0], "c": [0, 0, 1, 1, 1]}


def _array(folder: Path, name: str, letters: str) -> Path:
    rows = [_ROWS[letter] for letter in letters for _ in range(3)]
    return write_array(folder / f"{name}.npy", np.array(rows, dtype=np.float64))


def _sound(folder: Path, name: str, letters: str) -> Path:
    return write_wav(folder / f"{name}.wav", np.concatenate([tone(_TONES[letter], 90) for letter in letters]))


def _picture(folder: Path, name: str, letters: str) -> Path:
    rows = np.array([_ROWS[letter] for letter in letters for _ in range(4)], dtype=np.float64)
    return write_picture(folder / f"{name}.png", rows.T)


# For each registered reader: its options here, and what writes letters as a file that it reads.
KINDS: dict[str, tuple[dict[str, Any], Callable[[Path, str, str], Path]]] = {
    "array": ({}, _array),
    "audio": ({"rate": RATE, "mel": 7, "window_ms": 40.0, "hop_ms": 30.0}, _sound),
    "image": ({"height": 5, "width": 3, "stride": 1}, _picture),
}


def strings(count: int, *, seed: int = 1, longest: int = 3) -> list[str]:
    generator = np.random.default_rng(seed)
    return ["".join(generator.choice(list("abc"), generator.integers(1, longest + 1))) for _ in range(count)]


def manifest(folder: Path, kind: str, count: int = 24, *, seed: int = 1) -> Path:
    """``pairs.tsv`` in `folder`, its files beside it in ``files``; sources are letters, targets the same apart."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    lines = []
    for number, letters in enumerate(strings(count, seed=seed), start=1):
        path = KINDS[kind][1](folder / "files", f"{kind}-{seed}-{number}", letters)
        lines.append(f"files/{path.name}\t{' '.join(letters.upper())}\n")
    path = folder / "pairs.tsv"
    path.write_text("".join(lines), "utf-8")
    return path


def spec(kind: str) -> dict[str, Any]:
    return {"name": kind, **KINDS[kind][0]}


def reader_of(kind: str) -> Reader:
    from heedful.data.features import make_reader

    return make_reader(spec(kind))


SETTINGS = {**TINY, "train.updates": 6}


def train_on(
    pairs: Path, out: Path, kind: str, *, front: Any = "linear", set: dict[str, Any] | None = None, **more: Any
):
    settings = {**SETTINGS, "data.source_features": spec(kind), "model.front": front, **(set or {})}
    return heedful.train(pairs, out=out, recipe="tiny", set=settings, **more)
