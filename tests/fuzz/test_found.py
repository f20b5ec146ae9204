"""What was found once, each with the smallest input that shows it."""

from __future__ import annotations

import pytest

from fuzz.watch import HangError, message_of, watch
from heedful.attention import normalisers
from heedful.errors import DataError, HeedfulError, RecipeError, excerpt
from heedful.recipes import Recipe, as_toml, load, parse
from heedful.registry import Registry

TRAIN = "[train]\nupdates = 1\n"


def refused(path, text: str, settings=()) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load(path, settings)
    return message_of(caught.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.toml"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[str]\n" + TRAIN, "unknown key 'str'"),
        (f"{TRAIN}seed = {'9' * 5000}\n", "not valid TOML: Exceeds the limit"),
        (f"{TRAIN}seed = 0x{'f' * 5000}\n", "'train.seed': "),
        (f"{TRAIN}[model]\nscore = {{name = 'dot', x = 0x{'f' * 5000}}}\n", "option 'x' must be between "),
        (f"{TRAIN}[predict]\nno_repeat_ngram = 0x{'f' * 5000}\n", "'predict.no_repeat_ngram': "),
        (f"{TRAIN}warmup_updates = {2**63}\n", "'train.warmup_updates': "),
        (f"{TRAIN}seed = {'[' * 5000}\n", "not valid TOML: lists or tables stand too deep"),
        (f"{TRAIN}seed = {2**63}\n", "'train.seed': "),
        (f"{TRAIN}batch_tokens = {2**63}\n", "'train.batch_tokens': "),
        (f"{TRAIN}[model]\nencoder_size = {2**40}\n", "'model.encoder_size': "),
        ("[train]\nupdates = true\n", "'train.updates': input should be a valid integer, got True"),
        ("[train]\nupdates = '1'\n", "'train.updates': input should be a valid integer, got '1'"),
        (TRAIN + "tensorboard = 1\n", "'train.tensorboard': input should be a valid boolean, got 1"),
        (TRAIN + "[model]\nscore = {name = 'dot', x = {name = 'y'}}\n", "option 'x' must be a number, a text, "),
        (TRAIN + "[model]\nscore = {name = 'dot', x = 2024-02-29}\n", "option 'x' must be a number, a text, "),
    ],
)
def test_recipes(path, text, says):
    message = refused(path, text)
    assert message.startswith(f"{path}: ")
    assert says in message
    assert len(message) < len(str(path)) + 300  # what was got is not repeated to its end


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("train.updates=1\n[model]", "'train.updates': "),  # the second line is not dropped in silence
        ("train.updates=1\nepochs=2", "'train.updates': "),
        (f"train.updates={'[' * 5000}", "'train.updates': "),
        ("data.source_column=\udcff", "half a surrogate pair: source_column = "),
    ],
)
def test_settings(path, setting, says):
    message = refused(path, TRAIN, [setting])
    assert says in message
    assert len(message) < len(str(path)) + 300


def test_a_tuple_is_a_list():
    """From Python; in the file and in the recipe it is one."""
    recipe = parse({"train": {"updates": 1}, "data": {"tag_columns": (3, "x")}}, "recipe")
    assert recipe.data.tag_columns == [3, "x"]
    assert isinstance(load(recipe), Recipe)
    assert 'tag_columns = [\n    3,\n    "x",\n]' in as_toml(recipe)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -(2.0**63), 2**63, 10**400])
def test_options_that_are_no_numbers_to_calculate_with(value):
    with pytest.raises(RecipeError, match=r"'softmax': option 'temperature' must be between -2\*\*63 and 2\*\*63"):
        normalisers.build("softmax", {"temperature": value}, {})


def test_of_what_pytorch_says_the_first_line_is_told():
    parts: Registry[object] = Registry("part")

    @parts.register("large")
    class Large:
        def __init__(self, *, size: int = 1) -> None:
            raise RuntimeError("no memory\nframe #0: c10::Error")

    with pytest.raises(RecipeError) as caught:
        parts.build("large", {"size": 3}, {})
    assert message_of(caught.value) == "part 'large' cannot be made with {'size': 3}: no memory"


def test_messages_are_one_line_that_a_terminal_can_show():
    """Names of files, and what other libraries say, may hold line ends, colours and half characters."""
    for kind in (DataError, RecipeError):
        assert str(kind("a\nb\r\x1b[31m\x9b\u2028\u202e\udcff\t é 한 'x' \\n")) == (
            "a\\nb\\r\\x1b[31m\\x9b\\u2028\\u202e\\udcff\\t é 한 'x' \\n"
        )
    assert str(HeedfulError()) == ""


def test_excerpts():
    assert excerpt("a\n") == "'a\\n'"
    assert excerpt("x" * 200, 10) == "'xxxxxx..."
    assert len(excerpt("x" * 200)) == 80
    assert excerpt([16**5000]) == "a number too long to be written"


def test_the_watch_sees_what_hangs():
    def hang() -> None:
        with watch(0.05):
            while True:
                pass

    with pytest.raises(HangError):
        hang()
    with watch(0.05):
        pass
