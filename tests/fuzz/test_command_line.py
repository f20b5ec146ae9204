"""Whatever is typed: exit code 0, or 2 with one message; never a traceback, and nothing written on the way."""

from __future__ import annotations

import os

import pytest
import typer
from hypothesis import strategies as st

from fuzz.command import call
from fuzz.strategies import mostly, shell, texts
from fuzz.watch import fuzz
from heedful.cli.commands import app

# Nothing that is another folder's file.
words = st.one_of(texts, shell).map(lambda text: text.replace("\0", "").replace("/", "_").replace("..", "_"))
nowhere = st.one_of(
    words.map(lambda text: f"no such {text}"),
    st.sampled_from(["nowhere", "", ".", "nowhere.tsv,nowhere", ",", "cmudict:x", "copy:", "tiny", "-"]),
)
numbers = st.sampled_from(
    ["1", "0", "-1", "1.5", "1e400", "nan", "-inf", "9" * 30, "٣", "1_0", "0x1", "", " 1", "none"]
)
values = st.one_of(
    numbers, words, st.sampled_from(["probabilities", "gnmt", "replace", "train.epochs=1", "=", "g2p", "x.png"])
)


def commands(group, path=()):
    """Every command: how it is called, and its parameters."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
FLAGS = {path: [o for p in command.params for o in p.opts if o.startswith("-")] for path, command in COMMANDS.items()}
ALL_FLAGS = sorted({flag for flags in FLAGS.values() for flag in flags})


@pytest.fixture(scope="module", autouse=True)
def somewhere(tmp_path_factory):
    """An empty folder to stand in."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("empty"))
    yield
    os.chdir(before)


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    """A command with as many arguments as it wants, or not quite, and flags of its own and others', in any order."""
    path = draw(st.sampled_from([*COMMANDS, ()]))
    if path == ("demo",):  # it needs no argument to begin an hour's work: only what is refused
        return [*path, f"--minutes={draw(st.sampled_from(['0', '-1', 'nan', 'inf', 'x', '']))}"]
    flags = st.sampled_from(FLAGS.get(path) or ALL_FLAGS)
    one_flag = mostly(flags, st.sampled_from([*ALL_FLAGS, "--help", "-h", "--x", "--", "-", "---"]))
    with_value = st.tuples(one_flag, values).map(lambda pair: list(pair) if len(pair[0]) < 3 else ["=".join(pair)])
    given = mostly(with_value, one_flag.map(lambda flag: [flag]))
    wanted = sum(not parameter.opts[0].startswith("-") for parameter in COMMANDS[path].params) if path else 1
    arguments = [[draw(nowhere)] for _ in range(max(0, wanted + draw(st.sampled_from([0, 0, 0, -1, 1]))))]
    if path == ("recipes", "copy") and draw(st.integers(0, 3)):
        return [*path, "tiny", draw(words)]
    pieces = draw(st.permutations([*arguments, *draw(st.lists(given, max_size=4))]))
    if path == ("train",) and draw(st.booleans()):
        pieces.append([f"--out={draw(nowhere)}"])
    return [*path, *(word for piece in pieces for word in piece)]


@fuzz(short=80, slow=2000, arguments=calls())
def test_any_arguments(arguments):
    for file in os.listdir():
        os.unlink(file)
    done = call(*arguments, stdin=b"")
    assert done.code in (0, 2)
    if done.code == 2:
        assert done.err
        if not done.err.startswith(("Usage: ", "Error: ", "Learning English ")):
            assert done.message
    if arguments[:2] != ["recipes", "copy"]:
        assert not os.listdir()
