"""Any text, table or setting gives a recipe that can be written down and read again, or is refused in one line."""

from __future__ import annotations

import datetime
import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import strategies as st

from fuzz.strategies import mostly, nested, numbers, shell, surrogates, texts, values
from fuzz.watch import fuzz, message_of
from heedful.errors import RecipeError
from heedful.recipes import Recipe, as_toml, load
from heedful.recipes.load import built_in

TABLES = list(Recipe.model_fields)
KEYS = {table: list(field.annotation.model_fields) for table, field in Recipe.model_fields.items()}
PATHS = [(table, key) for table, keys in KEYS.items() for key in keys]
WORDS = [
    "additive",
    "dot",
    "early",
    "late",
    "none",
    "bpe",
    "characters",
    "adam",
    "token",
    "loss",
    "error",
    "auto",
    "name",
]

moments = [datetime.datetime(2024, 2, 29, 1, 2, 3), datetime.date(1, 1, 1), datetime.time(23, 59, 59, 999999)]
words = st.one_of(st.sampled_from(WORDS), st.sampled_from([key for _, key in PATHS]))
scalars = st.one_of(words, st.booleans(), numbers, texts, st.sampled_from(moments))
parts = st.builds(
    lambda name, options: {"name": name, **options},
    st.one_of(words, scalars),
    st.dictionaries(words, scalars, max_size=2),
)
odd_values = st.one_of(scalars, parts, values(scalars))
paths = mostly(
    st.sampled_from(PATHS),
    st.tuples(st.sampled_from(TABLES), words),
    st.tuples(st.sampled_from(PATHS), words).map(lambda both: (*both[0], both[1])),
    st.tuples(st.one_of(st.sampled_from([*TABLES, "str"]), texts)),
    st.lists(st.one_of(words, texts), min_size=1, max_size=4).map(tuple),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("recipes") / "mine.toml"


def check(file, settings: Any = ()) -> Recipe | None:
    """The recipe in `file`, if it is one."""
    try:
        recipe = load(file, settings)
    except RecipeError as error:
        message_of(error)
        return None
    text = as_toml(recipe)
    file.write_bytes(text.encode("utf-8"))
    again = load(file)
    assert repr(again) == repr(recipe)  # nan is not equal to itself, but its name is
    assert as_toml(again) == text
    assert repr(load(recipe)) == repr(recipe)
    return recipe


def put(tables: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set, or with None remove, what stands at `path`."""
    *outer, last = path
    for name in outer:
        if not isinstance(tables.get(name), dict):
            tables[name] = {}
        tables = tables[name]
    if value is None:
        tables.pop(last, None)
    else:
        tables[last] = value


changes = st.lists(st.tuples(paths, mostly(odd_values, st.none())), max_size=3)


@fuzz(short=80, slow=2500, name=st.sampled_from(list(built_in())), changed=changes)
def test_built_in_recipes_with_other_values(file, name, changed):
    tables = tomllib.loads(built_in()[name])
    for path, value in changed:
        put(tables, path, value)
    file.write_bytes(tomli_w.dumps(tables).encode("utf-8"))
    check(file)


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """The text of a recipe with pieces taken out, doubled, moved or put in."""
    data = draw(st.sampled_from(list(built_in().values()))).encode("utf-8")
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = draw(mostly(snippets, st.just(data[start:end] * 2), st.just(b"")))
        data = data[:start] + piece + data[end:]
    return data


PIECES = b"""\n[train]\n|\n[str]\n|\n[[data]]\n|[a.b.c]|\r|\r\n|\0|\xff|\xef\xbb\xbf|= |\"\"\"|{name="dot"}"""
snippets = st.one_of(
    st.sampled_from(PIECES.split(b"|")),
    st.builds(
        lambda path, value: f"\n{'.'.join(path)} = {value}\n".encode(errors="replace"),
        st.one_of(st.sampled_from(PATHS), st.tuples(words)),
        st.one_of(
            nested(),
            nested("{a = ", "}"),
            st.sampled_from(["9" * 5000, "0x" + "f" * 5000, "1e999", "-0.0", "nan", "1979-99-99", "24:61:00", "1_0"]),
        ),
    ),
    texts.map(str.encode),
    st.binary(max_size=4),
)


@fuzz(short=60, slow=1500, data=mostly(edited(), st.lists(snippets, max_size=6).map(b"".join)))
def test_any_text(file, data):
    file.write_bytes(data)
    check(file)


setting_values = st.one_of(
    words,
    texts,
    shell,
    nested(),
    st.sampled_from(
        [
            "none",
            "true",
            "9" * 5000,
            "0x" + "f" * 5000,
            "1e999",
            "1\n[train]",
            "1\nvalue2 = 2",
            "{name = 'dot'}",
            "[3]",
            "3 # three",
        ]
    ),
    st.one_of(numbers, parts).map(lambda value: tomli_w.dumps({"value": value}).partition("=")[2].strip()),
)
setting_keys = mostly(
    st.sampled_from(PATHS).map(".".join),
    st.tuples(st.sampled_from(PATHS).map(".".join), words).map(".".join),
    st.lists(st.one_of(words, texts, shell), max_size=4).map(".".join),
)
pairs = st.tuples(setting_keys, setting_values).map("=".join)
settings = mostly(pairs, mostly(pairs, texts))


@fuzz(short=80, slow=2000, name=st.sampled_from(list(built_in())), given=st.lists(settings, max_size=3))
def test_settings(file, name, given):
    file.write_text(built_in()[name], encoding="utf-8")
    check(file, given)


@fuzz(short=30, slow=500, path=paths, value=st.one_of(odd_values, st.none(), surrogates))
def test_settings_from_python(file, path, value):
    file.write_text(built_in()["tiny"], encoding="utf-8")
    check(file, {".".join(path): value})
