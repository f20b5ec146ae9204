"""Lines as they come: how they are cut, when they are given out, and how many are held at once."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import random
import select
import threading
from collections.abc import Iterable

import pytest

from cli.waiting import soon
from heedful.cli.chunks import LONGEST_LINE, read_chunks
from heedful.errors import DataError


class Pieces(io.BufferedIOBase):
    """A stream that gives one piece with each read, and remembers how many."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)
        self.given = 0

    def read1(self, size: int = -1) -> bytes:
        piece = next(self.pieces, b"")
        self.given += bool(piece)
        assert len(piece) <= size
        return piece


def numbered(text: str, number: int) -> tuple[int, str]:
    return number, text


def chunks(stream, most: int = 1000, **arguments):
    return read_chunks(stream, "words", numbered, most=most, **arguments)


def read(data: bytes, most: int = 1000) -> list[str]:
    """All lines of `data`; their numbers must be right."""
    found = [line for chunk in chunks(io.BytesIO(data), most) for line in chunk]
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    return [text for _, text in found]


def refused(data: bytes, most: int = 1000) -> tuple[list[str], str]:
    """The lines before a bad one, and what is said of it."""
    found: list[str] = []
    try:
        for chunk in chunks(io.BytesIO(data), most):
            found += [text for _, text in chunk]
    except DataError as error:
        return found, str(error)
    pytest.fail("nothing was refused")


@pytest.fixture
def pipe():
    """(what reads, the descriptor that writes) of a pipe."""
    reader, writer = os.pipe()
    with open(reader, "rb") as stream:
        yield stream, writer
        try:
            os.close(writer)
        except OSError:  # the test did
            pass


# How they are cut.

ODD = "a\u2028b\x85c\n\x0c\n\x00\n\n\r\n \r\n\x1cd\x0be\n\"f\n'g\rh\r\r\n\u3000\ni\ufeff\n|||\n<s>\n"


def test_only_line_feeds_end_a_line():
    expected = ["a\u2028b\x85c", "\x0c", "\x00", "", "", " ", "\x1cd\x0be", '"f', "'g\rh\r", "\u3000", "i\ufeff"]
    assert read(ODD.encode()) == [*expected, "|||", "<s>"]
    assert read(ODD.encode().removesuffix(b"\n")) == [*expected, "|||", "<s>"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\r\nb\r", ["a", "b\r"]),  # what no LF follows is no end of a line
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
    ],
)
def test_ends_and_the_start(data, expected):
    assert read(data) == expected


@pytest.mark.parametrize("seed", range(5))
def test_how_the_bytes_come_changes_nothing(seed):
    """In pieces that cut characters, CR LF and the byte order mark in two; and packed or not."""
    rng = random.Random(seed)
    data = ("\ufeff" + "".join(rng.choices([*ODD, "\n", "é", "\r\n", "𝄞"], k=2000))).encode()
    cuts = [0, *sorted(rng.choices(range(1, len(data)), k=rng.choice([5, 100, 5000]))), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(cuts) if start < end]
    whole = read(data)
    assert len(whole) == data.count(b"\n") + (not data.endswith(b"\n"))
    assert [text for chunk in chunks(Pieces(pieces), 7) for _, text in chunk] == whole
    assert read(gzip.compress(data), 7) == whole
    assert read(gzip.compress(data[:999]) + gzip.compress(data[999:])) == whole  # as `cat a.gz b.gz` makes them


# How many are held.


def test_a_chunk_holds_no_more_than_agreed():
    sizes = [len(chunk) for chunk in chunks(io.BytesIO(b"abc\n" * 100_000), 1024)]
    assert sizes == [1024] * (100_000 // 1024) + [100_000 % 1024]


def test_long_lines_make_smaller_chunks(monkeypatch):
    monkeypatch.setattr("heedful.cli.chunks.MOST_BYTES", 1000)
    assert [len(chunk) for chunk in chunks(io.BytesIO((b"a" * 300 + b"\n") * 11))] == [4, 4, 3]


def test_no_more_is_read_than_is_asked_for():
    """Of an endless stream."""
    stream = Pieces(b"%d\n" % n for n in itertools.count())
    reading = chunks(stream, 5)
    for rounds in (1, 2, 3):
        assert len(next(reading)) == 5
        assert stream.given == 5 * rounds


def test_a_line_without_an_end_does_not_fill_the_memory():
    stream = Pieces(b"a" * 50_000 for _ in itertools.count())
    with pytest.raises(DataError, match=r"^words:1: expected a line of at most 1,048,576 bytes, got a longer one$"):
        next(chunks(stream))
    assert stream.given == LONGEST_LINE // 50_000 + 1


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\nabc\n"])
def test_the_longest_line(end):
    longest = b"a" * LONGEST_LINE
    assert read(b"b\n" + longest + end)[1] == longest.decode()
    found, says = refused(b"b\n" + longest + b"a" + end)
    assert found == ["b"]
    assert says.startswith("words:2: expected a line of at most")


# When they are given out.


def test_all_that_is_waiting_and_no_more(pipe):
    """Whoever writes and waits gets an answer; a line counts when its end has come."""
    stream, writer = pipe
    reading = chunks(stream)
    for written, expected in [
        (b"a\n", ["a"]),
        (b"b\nc\n\n", ["b", "c", ""]),
        (b"d\ne", ["d"]),
        (b"f\r\n\xc3", ["ef"]),
        (b"\xa9\n", ["é"]),
    ]:
        os.write(writer, written)
        assert [text for _, text in soon(lambda: next(reading))] == expected
    os.write(writer, b"rest")
    os.close(writer)
    assert soon(lambda: next(reading)) == [(8, "rest")]
    assert soon(lambda: next(reading, "the end")) == "the end"


def test_what_is_left_of_a_read_is_not_forgotten(pipe):
    """The third chunk needs no further input, though none of it is in the pipe any more."""
    stream, writer = pipe
    os.write(writer, b"a\nb\nc\nd\ne\nf")
    reading = chunks(stream, 2)
    assert [[text for _, text in soon(lambda: next(reading))] for _ in range(3)] == [["a", "b"], ["c", "d"], ["e"]]


def test_a_full_chunk_does_not_wait_for_the_end(pipe):
    stream, writer = pipe
    reading = chunks(stream, 3)
    os.write(writer, b"a\n" * 30_000)  # less than a pipe holds
    assert len(soon(lambda: next(reading))) == 3


def test_a_pipe_that_does_not_block_is_waited_for(pipe):
    """As a program may leave a pipe that it shares: nothing there yet is not the end."""
    stream, writer = pipe
    os.set_blocking(stream.fileno(), False)
    later = threading.Timer(0.3, os.write, (writer, b"a\n"))
    later.start()
    assert soon(lambda: next(chunks(stream), "the end")) == [(1, "a")]
    later.join()


def test_a_terminal():
    """Each line is given out when it is entered; Ctrl-D ends them."""
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    try:
        with open(terminal, "rb") as stream:
            reading = chunks(stream)
            for number, text in enumerate(("abc", "", "fed"), start=1):
                os.write(keyboard, text.encode() + b"\n")
                assert soon(lambda: next(reading)) == [(number, text)]
            os.write(keyboard, b"\x04")
            assert soon(lambda: next(reading, "the end")) == "the end"
    finally:
        os.close(keyboard)


def test_a_file_is_read_in_full_chunks(tmp_path):
    """It is always ready."""
    path = tmp_path / "words.txt"
    path.write_bytes(b"abc\n" * 50_000)
    with open(path, "rb") as stream:
        assert [len(chunk) for chunk in chunks(stream, 20_000)] == [20_000, 20_000, 10_000]


def test_a_system_that_cannot_be_asked(pipe, tmp_path, monkeypatch):
    """On Windows a pipe has what one read brings, and a file is always ready."""
    monkeypatch.delattr(select, "poll")
    stream, writer = pipe
    reading = chunks(stream)
    os.write(writer, b"a\nb\nc")
    assert [text for _, text in soon(lambda: next(reading))] == ["a", "b"]
    test_a_file_is_read_in_full_chunks(tmp_path)


def test_waiting_ends_when_nobody_reads(pipe):
    """`(echo abc; sleep 1000) | heedful predict RUN | head -1`: there is no next answer to find that out."""
    stream, writer = pipe
    reader, output = os.pipe()
    reading = chunks(stream, output=output)
    os.write(writer, b"a\n")
    assert soon(lambda: next(reading)) == [(1, "a")]
    later = threading.Timer(0.3, os.close, (reader,))
    later.start()
    with pytest.raises(BrokenPipeError):
        soon(lambda: next(reading))
    later.join()
    os.close(output)


def test_an_output_that_is_no_pipe_is_no_matter(pipe, tmp_path):
    stream, writer = pipe
    os.write(writer, b"a\n")
    with open(tmp_path / "answers", "wb") as file:
        assert soon(lambda: next(chunks(stream, output=file.fileno()))) == [(1, "a")]


# What is no line.


def test_lines_before_a_bad_one_are_given_out():
    says = "words:3: expected UTF-8, got the byte 0xff at offset 2 of the line"
    assert refused(b"a\nb\n\xc3\xa9\xff\nd\n") == (["a", "b"], says)
    assert refused(b"a\nb\n\xc3\xa9\xff\nd\n", most=2) == (["a", "b"], says)
    assert refused(b"a\nb\n\xc3\xa9\xff") == (["a", "b"], says)
    assert refused("abc\n".encode("utf-16")) == (
        [],
        "words: expected UTF-8, got UTF-16 (its byte order mark is at the start)",
    )


def test_lines_before_one_that_is_refused_are_given_out():
    def parse(text: str, number: int) -> int:
        if text == "x":
            raise DataError(f"words:{number}: no number")
        return int(text)

    reading = read_chunks(io.BytesIO(b"1\n2\nx\n4\n"), "words", parse, most=1000)
    assert next(reading) == [1, 2]
    with pytest.raises(DataError, match="words:3: no number"):
        next(reading)


@pytest.mark.parametrize("damage", ["cut", "changed", "more"])
def test_damaged_gzip(damage):
    packed = gzip.compress(b"abc\nfed\n")
    data = {"cut": packed[:-9], "changed": packed[:-8] + bytes(8), "more": packed + b"abc\n"}[damage]
    found, says = refused(data)
    assert found == ["abc", "fed"]
    assert says.startswith("words: expected a whole gzip file, got a damaged one: ")


def test_a_small_gzip_file_that_is_huge():
    """It is unpacked no further than a line may be long."""
    found, says = refused(gzip.compress(b"abc\n" + bytes(30 * LONGEST_LINE)))
    assert (found, says.partition(" expected")[0]) == (["abc"], "words:2:")


def test_a_stream_that_cannot_be_read():
    class Broken(io.BufferedIOBase):
        def read1(self, size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(DataError, match=r"^words: cannot be read: Input/output error$"):
        next(chunks(Broken()))
