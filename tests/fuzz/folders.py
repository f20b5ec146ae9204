"""A run's folder in which something has been changed."""

from __future__ import annotations

import json
import math
import shutil
import struct
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import heedful
from fuzz.strategies import flipped
from fuzz.watch import message_of
from heedful.errors import HeedfulError, RunError

NAMES = ["recipe.toml", "vocabulary.json", "model.safetensors"]
ASKED = ["abc", "", "ff ☃"]


class Folder:
    """A copy of a run whose files are put back before each example."""

    def __init__(self, original: Path, path: Path) -> None:
        self.path = path
        shutil.copytree(original, path)
        self.files = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}

    def fresh(self) -> Path:
        """As it was."""
        for file in self.path.iterdir():
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()
        for name, data in self.files.items():
            (self.path / name).write_bytes(data)
        return self.path

    def now(self) -> dict[str, bytes]:
        """What is in the files."""
        return {file.name: file.read_bytes() for file in self.path.iterdir() if file.is_file()}


def asked(path: Path) -> bool:
    """Whether a run can be loaded; if so, it answers or says that it cannot."""
    try:
        run = heedful.load(path)
    except RunError as error:
        message_of(error, path)
        return False
    try:
        answers = run.predict([text if not run.recipe.data.tag_columns else "a\t\tUP" for text in ASKED], max_length=9)
    except HeedfulError as error:
        message_of(error)
        return True
    assert len(answers) == len(ASKED)
    for answer in answers:
        assert math.isfinite(answer.score)
        answer.text.encode("utf-8")
    return True


damages = st.one_of(
    st.tuples(st.just("flip"), st.floats(0, 1, exclude_max=True), st.integers(1, 255)),
    st.tuples(st.just("head"), st.integers(0, 400), st.integers(1, 255)),  # where formats say what they are
    st.tuples(st.just("cut"), st.floats(0, 1, exclude_max=True), st.just(0)),
    st.tuples(st.just("add"), st.floats(0, 1), st.binary(min_size=1, max_size=9)),
    st.tuples(st.just("other"), st.sampled_from([*NAMES, "checkpoint.safetensors", "log.csv"]), st.just(0)),
    st.tuples(
        st.just("fill"), st.sampled_from([b"", b"\n", b"null", b"[]", b"{}", b"\0" * 64, b"\xff" * 64]), st.just(0)
    ),
)


def damaged(data: bytes, damage: tuple[str, Any, Any], files: dict[str, bytes]) -> bytes:
    """A file's content after something happened to it."""
    kind, what, more = damage
    if kind == "flip":
        return flipped(data, int(what * len(data)), more)
    if kind == "head":
        return flipped(data, min(what, len(data) - 1), more)
    if kind == "cut":
        return data[: int(what * len(data))]
    if kind == "add":
        place = int(what * len(data))
        return data[:place] + more + data[place:]
    return files[what] if kind == "other" else what


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def changed_json(value: Any, place: float, new: Any, kind: str) -> Any:
    """A JSON value in which one thing was replaced, left out, or put there twice; more often one that is not deep."""
    value = json.loads(json.dumps(value))
    ways = sorted(places(value)[1:], key=len)
    *outer, last = ways[int(place**3 * len(ways))]
    inner = value
    for key in outer:
        inner = inner[key]
    if kind == "drop":
        del inner[last]
    elif kind == "replace":
        inner[last] = new
    elif isinstance(inner, list):
        inner.insert(0, inner[last])
    else:
        inner[f"{last}2"] = inner[last]
    return value


kinds = st.sampled_from(["replace", "replace", "drop", "double"])
shares = st.floats(0, 1, exclude_max=True)


# The tensors' file: eight bytes that tell the length of a JSON header, the header, the data.


def parts_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def without_more(header: dict[str, Any]) -> dict[str, Any]:
    """What a header says about tensors; other keys mean nothing."""
    keys = ("dtype", "shape", "data_offsets")
    return {name: {key: about[key] for key in keys} for name, about in header.items() if name != "__metadata__"}


def joined(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode("utf-8")
    return struct.pack("<Q", len(text)) + text + data
