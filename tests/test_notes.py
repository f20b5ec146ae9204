"""What a user is told beside the answers: all is counted, the first are named, and nothing grows with the input."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from heedful.data import Codec, Corpus, Pair
from heedful.notes import Notes, skipped


@pytest.fixture
def codec():
    tokens = ("whitespace", {})
    return Codec.build([Pair("a b", "c", ("V",), 1)], source_tokens=tokens, target_tokens=tokens)


def told(notes: Notes) -> list[str]:
    messages: list[str] = []
    notes.tell(messages.append)
    return messages


def add(notes: Notes, source: str, *, line: int = 1, tags: tuple[str, ...] = (), finished: bool = True) -> None:
    notes.add(Pair(source, None, tags, line), [SimpleNamespace(finished=finished)])


def test_nothing_to_say(codec):
    notes = Notes(codec)
    add(notes, "a b a", tags=("V",))
    add(notes, " \u3000")  # a blank source is not read
    assert told(notes) == []


def test_unknown_symbols_and_tags(codec):
    """Each once, in the order in which they came, and dots only where something is left out."""
    notes = Notes(codec)
    add(notes, "x b", tags=("N", "V"))
    add(notes, "y x a")
    assert told(notes) == ["4 of 7 source symbols were never seen in training: 'N', 'x', 'y'"]
    for n in range(7):
        add(notes, f"q{n} x")
    ten = "'N', 'x', 'y', 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6'"
    assert told(notes) == [f"18 of 21 source symbols were never seen in training: {ten}"]
    add(notes, "q7 x")
    assert told(notes) == [f"20 of 23 source symbols were never seen in training: {ten}, ..."]


def test_a_symbol_as_long_as_a_page(codec):
    notes = Notes(codec)
    add(notes, "x" * 100_000)
    assert told(notes) == [f"1 of 1 source symbols were never seen in training: '{'x' * 37}...'"]


def test_answers_that_were_cut(codec):
    notes = Notes(codec)
    for line in range(1, 41, 2):
        add(notes, "a", line=line)
        add(notes, "a", line=line + 1, finished=False)
    (message,) = told(notes)
    lines = ", ".join(map(str, range(2, 41, 2)))
    assert message.startswith(f"answers cut before their end at lines {lines} (20 in all); max_length_ratio")
    add(notes, "a", line=99, finished=False)
    assert told(notes)[0].startswith(f"answers cut before their end at lines {lines}, ... (21 in all); ")


def size(thing: object) -> int:
    """How many things it holds, things within things."""
    if isinstance(thing, dict):
        return sum(map(size, itertools.chain(thing, thing.values())))
    return sum(map(size, vars(thing).values())) if type(thing).__module__ == "heedful.notes" else 1


def test_an_endless_stream_fills_no_memory(codec):
    notes = Notes(codec)
    sizes = []
    for line in range(1, 501):
        add(notes, f"x{line}", line=line, finished=False)
        sizes.append(size(notes))
    assert sizes[1] > sizes[0]
    assert sizes[-1] == sizes[30]


def test_skipped_lines():
    assert skipped(Corpus("words", (), ())) is None
    bad = tuple((line, "no TAB") for line in range(1, 21))
    lines = ", ".join(map(str, range(1, 21)))
    assert skipped(Corpus("words", (), bad)) == f"words: bad lines skipped, 20 in all: {lines}"
    assert skipped(Corpus("words", (), (*bad, (99, "")))) == f"words: bad lines skipped, 21 in all: {lines}, ..."
