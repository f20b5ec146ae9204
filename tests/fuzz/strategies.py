"""Texts, bytes and values of the kinds that break readers."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

from hypothesis import strategies as st


def mostly(usual: st.SearchStrategy[Any], *others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The first three times in four. (`one_of` takes each of its strategies equally often, however often named.)"""
    odd = st.one_of(others)
    return st.sampled_from([False, False, False, True]).flatmap(lambda chosen: odd if chosen else usual)


ODD = [
    *"\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\x1f\0\r",  # what some take for the end of a line
    *"\x1b\x9b\ufeff\u200b\u200d\u202e\ufffd\ufffe\U0010ffff",
    *" \xa0\u2000\u3000",  # blanks
    *"\"'`\\#,;:|=[]{}$%&<>~_▁␣∎▷",
    *"ée\u0301각\u1100\u1161\u11a8ﬃßİıſÅ\u212b\u0300",  # what NFC and changes of case do something to
    "👩‍👩‍👧",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    *["<s>", "</s>", "<unk>", "<pad>", "[V]", "@@", "|||", "None", "nan", "null", "\x1b[31m", "\\u2028", "a\u0308"],
]
letters = st.text("abcdef ", max_size=6)
texts = st.lists(st.one_of(letters, st.sampled_from(ODD), st.text(max_size=3)), max_size=6).map("".join)
"""Any text that UTF-8 can write."""

# Line ends, byte order marks, and what is no UTF-8: cut, too long, half a surrogate pair.
_PIECES = (
    b"\n,\r\n,\r,\t,\t\t,\0,\xef\xbb\xbf,\xff\xfe,\xfe\xff,\xff,\xe2\x80\xa8,\xe2\x80,\xed\xa0\x80,\xc0\x80,\x1f\x8b"
)
pieces = st.one_of(
    st.sampled_from(_PIECES.split(b",")), texts.map(str.encode), st.binary(max_size=4), letters.map(str.encode)
)

numbers = st.one_of(
    st.integers(-3, 30),
    st.sampled_from([2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400]),
    st.floats(),
)


def values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Leaves, and lists and tables of them."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=5
    )


shell = st.binary(min_size=1, max_size=6).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))
"""What a shell may hand over: any bytes but NUL, of which those that are no UTF-8 are half characters in Python."""

surrogates = st.text(st.characters(categories=["Cs", "Ll"]), max_size=3)
json_values = values(st.one_of(st.none(), st.booleans(), numbers, texts, surrogates))


@st.composite
def nested(draw: st.DrawFn, opening: str = "[", closing: str = "]") -> str:
    """Lists in lists, deeper than any parser goes, or not quite."""
    depth = draw(st.one_of(st.integers(1, 1200), st.sampled_from([5_000, 100_000])))
    return opening * depth + draw(st.sampled_from(["", "1"])) + closing * draw(st.sampled_from([depth, depth - 1, 0]))


_keys = st.one_of(st.sampled_from(["source", "target", "tags", "x", "1", ""]), surrogates)
_good = st.tuples(texts.filter(str.strip), st.booleans()).map(lambda drawn: json.dumps(drawn[0], ensure_ascii=drawn[1]))
_json = json_values.map(json.dumps)
_bad = st.one_of(
    _json, nested(), texts, texts.map(json.dumps), st.sampled_from(["9" * 5_000, '"\\ud800"', "-", "1e999"])
)


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    """A line of a file of JSON lines: objects with the right keys, often with odd values, or anything else."""
    if draw(st.integers(0, 7)) == 0:
        return draw(st.one_of(_good, _bad)).encode("utf-8")
    # Written by hand: keys may stand there twice, and values need not be JSON.
    keys = ["source", "target", *draw(st.lists(_keys, max_size=2))]
    kinds = [_bad if draw(st.integers(0, 5)) == 0 else _good for _ in keys]
    cells = [f"{json.dumps(key)}: {draw(kind)}" for key, kind in zip(keys, kinds, strict=True)]
    return ("{" + ", ".join(cells) + "}").encode("utf-8")


def zipped(data: bytes) -> st.SearchStrategy[bytes]:
    """`data`, or its gzip file: whole, cut, damaged, doubled, with something behind it."""
    whole = gzip.compress(data, compresslevel=1, mtime=0)
    places = st.integers(0, len(whole) - 1)
    return mostly(
        st.just(data),
        st.just(whole),
        st.just(whole + whole),
        places.map(lambda place: whole[:place]),
        st.tuples(places, st.integers(1, 255)).map(lambda flip: flipped(whole, *flip)),
        st.sampled_from([whole + b"\0\0", whole + b"x", whole + whole[:9]]),
    )


def flipped(data: bytes, place: int, bits: int) -> bytes:
    """`data` with some bits of one byte turned over."""
    return data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :]


def files(line: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Files of lines, perhaps zipped, perhaps with a byte order mark."""
    ends = st.sampled_from([b"\n", b"\n", b"\r\n"])
    lines = st.lists(st.tuples(line, ends).map(b"".join), max_size=5).map(b"".join)
    mark = st.sampled_from([b"", b"", b"\xef\xbb\xbf"])
    return st.tuples(mark, lines, st.one_of(st.just(b""), line)).map(b"".join).flatmap(zipped)
