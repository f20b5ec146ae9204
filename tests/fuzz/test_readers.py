"""Any file either is pairs or is refused with a message that names it."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from fuzz.strategies import files, json_lines, json_values, mostly, pieces, texts
from fuzz.watch import fuzz, message_of
from heedful.data import Corpus, read_pairs
from heedful.errors import DataError

columns = mostly(st.integers(1, 3), st.integers(-1, 4), st.sampled_from(["source", "target", "x", ""]), texts)
options = st.fixed_dictionaries(
    {},
    optional={
        "source_column": columns,
        "target_column": columns,
        "tag_columns": st.lists(columns, max_size=2),
        "tag_separator": st.sampled_from([";", "|", "::", "\t", " ", "\n", "", "é"]),
        "bad_lines": st.sampled_from(["error", "skip", "skip", "warn"]),
        "need_target": st.booleans(),
    },
)
full = texts.filter(str.strip)
rows = st.lists(mostly(full, texts), min_size=2, max_size=4).map("\t".join).map(str.encode)
table_lines = mostly(rows, texts.map(str.encode), st.lists(pieces, max_size=8).map(b"".join))
blank_or_not = st.sampled_from(["\n", "\r\n"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


def read(location: Path | str, *paths: Path, **chosen: Any) -> Corpus | None:
    """The corpus if there is one; an error must name one of the files, unless an option makes no sense anywhere."""
    try:
        corpus = read_pairs(location, **chosen)
    except DataError as error:
        message_of(error, *paths, "bad_lines: ", "tag_separator: ", "columns count from 1")
        return None
    assert corpus.name == str(location)
    return corpus


def check(corpus: Corpus, size: int, *, bad_lines: str = "error", need_target: bool = True, **_: object) -> None:
    """What holds of any corpus that was read from `size` lines."""
    assert corpus.pairs or size == 0
    assert bad_lines == "skip" or not corpus.skipped
    for _, reason in corpus.skipped:
        assert "\n" not in reason
    numbers = [pair.line for pair in corpus.pairs]
    assert numbers == sorted(set(numbers))
    assert sorted(numbers + [line for line, _ in corpus.skipped]) == list(range(1, size + 1))
    for pair in corpus.pairs:
        target = () if pair.target is None else (pair.target,)
        assert not need_target or (target and pair.source.strip())
        assert all(map(str.strip, target))
        assert all(tag and tag == tag.strip() for tag in pair.tags)
        for text in (pair.source, *target, *pair.tags):
            assert unicodedata.is_normalized("NFC", text)
            text.encode("utf-8")


def count(data: bytes, chosen: dict[str, Any]) -> int:
    """How many lines a file has; where pairs are read, less the blank ones at its end."""
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not chosen.get("need_target", True):
        return len(lines) - (not lines[-1])
    return max(
        (number for number, line in enumerate(lines, start=1) if line.decode("utf-8", "replace").strip()), default=0
    )


@fuzz(short=80, slow=3000, data=files(table_lines), chosen=options, suffix=st.sampled_from([".tsv", "", ".gz", ".TSV"]))
def test_tables(folder, data, chosen, suffix):
    path = folder / f"pairs{suffix}"
    path.write_bytes(data)
    if corpus := read(path, path, **chosen):
        check(corpus, count(data, chosen), **chosen)


@fuzz(
    short=80,
    slow=3000,
    data=files(json_lines()),
    chosen=options,
    suffix=st.sampled_from([".jsonl", ".json", ".JSON.gz"]),
)
def test_json_lines(folder, data, chosen, suffix):
    path = folder / f"pairs{suffix}"
    path.write_bytes(data)
    if corpus := read(path, path, **chosen):
        check(corpus, count(data, chosen), **chosen)


@fuzz(short=40, slow=1000, source=files(rows), target=files(table_lines), chosen=options)
def test_parallel_files(folder, source, target, chosen):
    paths = [folder / "text.de", folder / "text.en"]
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    if corpus := read(f"{paths[0]},{paths[1]}", *paths, **chosen):
        check(corpus, max(count(source, {}), count(target, {})), **chosen)  # blank ends are no lines


# Files that are known to be right, against what was written into them.

cell = texts.map(lambda text: text.replace("\t", " ").replace("\n", " ").rstrip("\r"))
full_cell = cell.filter(str.strip)
nfc = "NFC"


@fuzz(
    short=80,
    slow=2000,
    table=st.lists(st.tuples(full_cell, cell, full_cell), min_size=1, max_size=5),
    ends=st.lists(blank_or_not, min_size=5, max_size=5),
    blanks=st.lists(st.sampled_from(["", " ", "\r", "\t"]), max_size=3),
    zip_it=st.booleans(),
)
def test_a_good_table_comes_back(folder, table, ends, blanks, zip_it):
    """Source in column 3, target in column 1, tags in column 2; only LF and CR LF end a line."""
    text = "\ufeff" + "".join("\t".join(row) + end for row, end in zip(table, ends, strict=False)) + "\n".join(blanks)
    path = folder / "good.tsv"
    path.write_bytes(gzip.compress(text.encode()) if zip_it else text.encode())
    corpus = read_pairs(path, source_column=3, target_column=1, tag_columns=[2])
    assert not corpus.skipped
    wanted = []
    for number, (target, tags, source) in enumerate(table, start=1):
        kept = [tag.strip() for tag in unicodedata.normalize(nfc, tags).split(";")]
        sides = [unicodedata.normalize(nfc, text) for text in (source, target)]
        wanted.append((*sides, tuple(tag for tag in kept if tag), number))
    assert [tuple(pair[:4]) for pair in corpus.pairs] == wanted


@fuzz(
    short=40,
    slow=1000,
    objects=st.lists(
        st.tuples(full, full, st.lists(texts, max_size=3), json_values),
        min_size=1,
        max_size=4,
    ),
    ascii_only=st.booleans(),
    end=blank_or_not,
)
def test_good_json_lines_come_back(folder, objects, ascii_only, end):
    """Whatever else stands in an object, escaped or not."""
    lines = []
    for source, target, tags, more in objects:
        values = {"more": more, "target": target, "tags": tags, "source": source}
        try:
            line = json.dumps(values, ensure_ascii=ascii_only).encode("utf-8")
        except UnicodeEncodeError:  # half a surrogate pair can only be written escaped
            line = json.dumps(values).encode("utf-8")
        lines.append(line + end.encode())
    path = folder / "good.jsonl"
    path.write_bytes(b"".join(lines))
    wanted = []
    for number, (source, target, tags, _) in enumerate(objects, start=1):
        kept = [unicodedata.normalize(nfc, tag).strip() for tag in tags]
        sides = [unicodedata.normalize(nfc, text) for text in (source, target)]
        wanted.append((*sides, tuple(tag for tag in kept if tag), number))
    assert [tuple(pair[:4]) for pair in read_pairs(path).pairs] == wanted
