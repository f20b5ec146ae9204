"""Lines out of a stream of bytes, a chunk at a time: as many as are there, and never more than can be held."""

from __future__ import annotations

import gzip
import os
import select
import stat
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase, RawIOBase
from typing import TYPE_CHECKING, TypeVar

from heedful.data.lines import MARK, BadLine, decode, without_mark
from heedful.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Item = TypeVar("Item")

LONGEST_LINE = 1 << 20
"""Bytes that a line may have. More is no text, and is refused before it has filled the memory."""

MOST_BYTES = 1 << 20
"""A chunk that has reached this many bytes is full, however few lines it has."""

_BLOCK = 1 << 16
_GZIP = b"\x1f\x8b"


def read_chunks(
    stream: BufferedIOBase,
    name: str,
    parse: Callable[[str, int], Item],
    *,
    most: int,
    output: int | None = None,
) -> Iterator[list[Item]]:
    """What `parse` makes of each line of `stream`, in order, in lists that are never empty.

    A list ends when it holds `most` lines or `MOST_BYTES`, when the input does, or when no more input is waiting: so
    whoever writes a line and waits for the answer gets it. A line counts when its end has come, or that of the input.
    Only LF and CR LF end a line. A byte order mark at the start is dropped, and gzip is unpacked.

    Pipes, terminals and sockets can be asked whether input is waiting, but on Windows not: there a list also ends with
    what one read has brought.

    Args:
        stream: what to read, for instance ``sys.stdin.buffer``, from its start. It is not closed.
        name: of the stream, for messages.
        parse: called with the text of a line and its number, counted from 1.
        most: how many lines a list may hold.
        output: the descriptor that the answers go to. If it is a pipe that nobody reads any more, waiting for input
            ends; without it, that is found out by the next answer.

    Raises:
        DataError: a line is not UTF-8, is longer than `LONGEST_LINE` or is refused by `parse`, or the stream cannot be
            read to its end. The lines before are given out first.
        BrokenPipeError: nobody reads `output`.
    """
    chunk: list[Item] = []
    size = 0
    try:
        for line in _lines(_Source(stream, name, output), name):
            if line is not None:
                number, raw = line
                chunk.append(parse(_decoded(raw, name, number), number))
                size += len(raw)
            if chunk and (line is None or len(chunk) >= most or size >= MOST_BYTES):
                yield chunk
                chunk, size = [], 0
    except DataError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def _lines(source: _Source, name: str) -> Iterator[tuple[int, bytes] | None]:
    """Each line with its number and without its end; None where no more input is waiting."""
    number = 1
    held = bytearray()  # of a line whose end has not come yet
    for block in source.blocks():
        held += block
        if b"\n" in block:
            *ended, rest = bytes(held).split(b"\n")
            held = bytearray(rest)
            for line in ended:
                _check_length(line, name, number)
                yield number, line.removesuffix(b"\r")
                number += 1
        _check_length(held, name, number)
        if not source.waiting():
            yield None
    if held and (number > 1 or held != MARK):
        yield number, bytes(held)


def _check_length(line: bytes | bytearray, name: str, number: int) -> None:
    if len(line) > LONGEST_LINE:
        raise DataError(f"{name}:{number}: expected a line of at most {LONGEST_LINE:,} bytes, got a longer one")


def _decoded(raw: bytes, name: str, number: int) -> str:
    try:
        return decode(without_mark(raw, name) if number == 1 else raw)
    except BadLine as bad:
        raise DataError(f"{name}:{number}: {bad.reason}") from None


class _Source:
    """The bytes of a stream as they come, and whether there are more already."""

    def __init__(self, stream: BufferedIOBase, name: str, output: int | None) -> None:
        self._stream = stream
        self._name = name
        self._ready = _readiness(stream, output)

    def waiting(self) -> bool:
        """Whether a read would return at once."""
        return self._ready(0)

    def blocks(self) -> Iterator[bytes]:
        """Whatever is there, up to the end of the stream."""
        stream = self._stream
        try:
            self._ready(None)
            block = stream.read1(_BLOCK)
            if block.startswith(_GZIP):
                stream, self._ready = gzip.GzipFile(fileobj=_Whole(block, stream)), _always
                block = stream.read1(_BLOCK)
            while block:
                yield block
                self._ready(None)
                block = stream.read1(_BLOCK)
        except BrokenPipeError:
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{self._name}: expected a whole gzip file, got a damaged one: {error}") from None
        except OSError as error:
            raise DataError(f"{self._name}: cannot be read: {error.strerror or error}") from None


class _Whole(RawIOBase):
    """A stream with its start put back."""

    def __init__(self, start: bytes, rest: BufferedIOBase) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        data = self._start[: len(room)] or self._rest.read1(len(room))
        self._start = self._start[len(room) :]
        room[: len(data)] = data
        return len(data)


def _readiness(stream: BufferedIOBase, output: int | None) -> Callable[[int | None], bool]:
    """``ready(milliseconds)``: waits so long, or with None for as long as it takes, and tells if there is input."""
    try:
        source = stream.fileno()
        if stat.S_ISREG(os.fstat(source).st_mode):
            return _always
    except OSError:  # it is only in memory
        return _always
    if not hasattr(select, "poll"):
        return _never
    poll = select.poll()
    poll.register(source, select.POLLIN)
    if output is not None:
        poll.register(output, 0)  # there is nothing to wait for but its end

    def ready(milliseconds: int | None) -> bool:
        events = dict(poll.poll(milliseconds))
        if output is not None and events.get(output, 0) & (select.POLLERR | select.POLLHUP):
            raise BrokenPipeError
        return bool(events.get(source, 0) & ~select.POLLNVAL)

    return ready


def _always(milliseconds: int | None) -> bool:
    return True


def _never(milliseconds: int | None) -> bool:
    return False
