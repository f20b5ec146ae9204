"""Bad input gives exit code 2 and one message that says what, where and what instead. Nothing is left half-done."""

from __future__ import annotations

import os
import shutil

import pytest

from training.cases import TINY, train_tiny, write_pairs

SETS = [f"--set={key}={value}" for key, value in {**TINY, "train.updates": 3}.items()]


@pytest.fixture
def training_refused(refused, pairs, tmp_path):
    """The message of a training that must not begin."""

    def call(*arguments: object, pairs: object = pairs, recipe: object = "tiny", out: object = tmp_path / "run") -> str:
        before = sorted(os.listdir(tmp_path))
        message = refused("train", pairs, "--recipe", recipe, "--out", out, *SETS, *arguments)
        assert sorted(os.listdir(tmp_path)) == before
        return message

    return call


BAD_FILES = {
    "empty": (b"", "expected at least one line, got an empty file"),
    "blank": (b"\n \n\n", "expected at least one line, got an empty file"),
    "no TAB": (b"a\tA\nb B\n", ":2: expected at least 2 columns with a TAB between them, got 1: 'b B'"),
    "empty source": (b"a\tA\n\tB\n", ":2: expected a text as source, got a blank"),
    "empty target": (b"a\tA\nb\t \n", ":2: expected a text as target, got a blank"),
    "no UTF-8": (b"a\tA\nb\tB\xff\n", ":2: expected UTF-8, got the byte 0xff at offset 3"),
    "UTF-16": ("a\tA\n".encode("utf-16"), "expected UTF-8, got UTF-16"),
    "blank line": (b"a\tA\n\nb\tB\n", ":2: expected"),
    "cut gzip": (b"\x1f\x8b\x08\x00abc", "expected a whole gzip file"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_files_of_pairs(training_refused, refused, run, tmp_path, kind):
    content, says = BAD_FILES[kind]
    path = tmp_path / "pairs.tsv"
    path.write_bytes(content)
    for message in (
        training_refused(pairs=path),
        training_refused("--dev", path),
        refused("evaluate", run, path),
        refused("align", run, path),
        refused("score", run, path),
    ):
        assert message.startswith(f"{path}")
        assert says in message


def test_pairs_that_are_not_there(training_refused, refused, run, tmp_path):
    for name, says in {
        str(tmp_path / "nope.tsv"): "no such file, nor built-in corpus",
        "cmudcit": "did you mean 'cmudict'",
        "copy:tset": "did you mean 'test'",
        f"{tmp_path / 'a'},{tmp_path / 'b'}": "no such file",
        str(tmp_path): "got a folder",
    }.items():
        assert says in training_refused(pairs=name)
        assert says in training_refused("--dev", name)
        assert says in refused("evaluate", run, name)
        assert says in refused("align", run, name)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("trian.epochs=3", "unknown key 'trian'; did you mean 'train'?"),
        ("train.epoch=3", "unknown key 'train.epoch'; did you mean 'epochs'?"),
        ("model.hiden_size=3", "unknown key 'model.hiden_size'"),
        ("epochs=3", "a setting names its table, for instance train.epochs; got 'epochs'"),
        ("train.epochs", "a setting is KEY=VALUE"),
        ("train.epochs=many", "'train.epochs'"),
        ("train.epochs=-1", "'train.epochs'"),
        ("train.learning_rate=inf", "'train.learning_rate'"),
        ("train.updates=none", "a budget is needed"),
        ("train.optimiser=adamm", "'adam', 'adadelta' or 'sgd', got 'adamm'"),
        ("model.score=additiv", "unknown score 'additiv'; did you mean 'additive'?"),
        ("model.scope=locl_m", "did you mean 'local_m'?"),
        ("model.normaliser=sofmax", "did you mean 'softmax'?"),
        ("model.fusion=erly", "did you mean 'early'?"),
        ("model.cell=gruu", "did you mean 'gru'?"),
        ("model.readout=maxot", "did you mean 'maxout'?"),
        ("model.start=learned_men", "did you mean 'learned_mean'?"),
        ("model.initialisation=unifrom", "did you mean 'uniform'?"),
        (
            "model.score.atention_size=3",
            "score 'additive' has no option 'atention_size'; did you mean 'attention_size'?",
        ),
        ("data.source_tokens=whitspace", "did you mean 'whitespace'?"),
        ("data.source_tokens={name='bpe', vocab_size=300}", "did you mean 'vocabulary_size'?"),
        ("data.source_column=0", "'data.source_column': "),
        ("data.source_column=word", "expected the number of a column"),
    ],
)
def test_settings(training_refused, setting, says):
    assert says in training_refused(f"--set={setting}")


def test_recipes(training_refused, tmp_path):
    assert "did you mean 'tiny'?" in training_refused(recipe="tinny")
    assert "no such file, nor built-in recipe" in training_refused(recipe=tmp_path / "nope.toml")
    mine = tmp_path / "mine.toml"
    for content, says in (
        (b"[train\n", "not valid TOML"),
        (b"\xff", "UTF-8"),
        (b"[train]\nepochs = 3\nepochs = 4\n", "not valid TOML"),
        (b"[model]\nhiden_size = 3\n[train]\nepochs = 1\n", "unknown key 'model.hiden_size'"),
    ):
        mine.write_bytes(content)
        message = training_refused(recipe=mine)
        assert message.startswith(str(mine))
        assert says in message


def test_copying_recipes(refused, tmp_path):
    assert "did you mean 'tiny'?" in refused("recipes", "copy", "tinny", tmp_path / "x.toml")
    (tmp_path / "x.toml").write_text("mine")
    assert "exists already" in refused("recipes", "copy", "tiny", tmp_path / "x.toml")
    assert (tmp_path / "x.toml").read_text() == "mine"
    message = refused("recipes", "copy", "tiny", tmp_path / "nowhere" / "x.toml")
    assert str(tmp_path / "nowhere" / "x.toml") in message


def test_the_out_folder(refused, training_refused, run, pairs, tmp_path):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert "holds a run already" in training_refused(out=run)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    assert "no such run folder" in refused("train", pairs, "--out", tmp_path / "nothing", "--resume")
    assert "choose one" in refused("train", pairs, "--out", run, "--resume", "--overwrite")
    assert "only change settings of [train]" in refused(
        "train", pairs, "--out", run, "--resume", "--set", "model.cell=lstm"
    )
    (tmp_path / "file").write_text("")
    assert "expected a folder for the run, got a file" in training_refused(out=tmp_path / "file")


def test_development_pairs_that_are_none(training_refused):
    """A share of 0 leaves nothing to validate on: a message, not a division by zero."""
    assert "dev" in training_refused("--set=data.dev_share=0")


# Searching.


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--n-best", 3, "--beam", 2], "n_best 3 needs a beam of at least 3, got beam 2"),
        (["--n-best", 0], "at least 1"),
        (["--beam", 0], "'beam': "),
        (["--beam", -1], "'beam': "),
        (["--batch-size", 0], "batch_size"),
        (["--batch-size", -1], "batch_size"),
        (["--length-penalty", -0.5], "length_penalty"),
        (["--length-penalty", -0.5, "--beam", 1], "length_penalty"),
        (["--length-penalty", "nan"], "length_penalty"),
        (["--length-penalty", "inf"], "length_penalty"),
        (["--length-penalty", 1000], "length_penalty"),
    ],
)
def test_options_of_search(refused, run, flags, says):
    assert says in refused("predict", run, *flags, stdin=b"abc\nd\n")


def test_options_of_search_in_evaluate(refused, run, pairs):
    assert "'beam': " in refused("evaluate", run, pairs, "--beam", 0)
    assert "batch_size" in refused("evaluate", run, pairs, "--batch-size", 0)
    assert "length_penalty" in refused("evaluate", run, pairs, "--length-penalty", -1)


def test_options_are_refused_before_anything_is_read(refused, run):
    """Not when the first line comes, an hour later."""
    assert "batch_size" in refused("predict", run, "--batch-size", 0, stdin=b"")


def test_files_that_are_none(refused, run, tmp_path):
    assert refused("predict", run, tmp_path / "nope.txt") == f"no such file: {str(tmp_path / 'nope.txt')!r}"
    assert refused("predict", run, tmp_path) == f"{tmp_path}: expected a file, got a folder"


def test_lines_that_are_no_text(cli, run, tmp_path):
    """Those before it are answered."""
    answer = cli("predict", run, stdin=b"abc\n").out
    path = tmp_path / "lines.txt"
    path.write_bytes(b"abc\nde\xfff\nfed\n")
    says = "expected UTF-8, got the byte 0xff at offset 2 of the line"
    assert cli("predict", run, path) == (2, answer, f"heedful: {path}:2: {says}\n")
    assert cli("predict", run, stdin=path.read_bytes()) == (2, answer, f"heedful: standard input:2: {says}\n")


def test_lines_without_their_tags(cli, tmp_path):
    """As those that are no text; the run was trained on three columns."""
    pairs = write_pairs(tmp_path / "pairs.tsv", ((word, word.upper(), "X;Y") for word in "abcdefg" * 9))
    folder = train_tiny(pairs, tmp_path / "run", set={"data.tag_columns": [3], "train.updates": 2})
    done = cli("predict", folder, stdin=b"a\t\tX\n \nb\nc\t\tY\n")
    assert (done.code, len(done.lines)) == (2, 2)
    says = "expected the source in column 1 and tags in [3], as in training, got 1 columns"
    assert done.err == f"heedful: standard input:3: {says}\n"


def test_pictures(refused, run, tmp_path):
    two = write_pairs(tmp_path / "two.tsv", [("abc", "A B C"), ("de", "D E")])
    message = refused("align", run, two, "--plot", tmp_path / "map.gif")
    assert f"{tmp_path / 'map.gif'}: expected a name with one of .png, .svg" in message
    for line in (0, 3, -1):
        assert "must be from 1 to 2" in refused("align", run, two, "--plot", tmp_path / "map.png", "--line", line)
    message = refused("align", run, two, "--plot", tmp_path / "nowhere" / "map.png")
    assert str(tmp_path / "nowhere" / "map.png") in message
    assert os.listdir(tmp_path) == ["two.tsv"]


def test_a_model_without_attention(refused, cli, pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"model.fusion": "none", "train.updates": 2})
    assert refused("align", folder, pairs) == (
        f"{folder}: its model has no attention (fusion 'none'), so there is nothing to align"
    )
    assert cli("predict", folder, "--json", stdin=b"abc\n").json[0]["alignment"] is None


# Run folders that are not whole, or not of one piece.


def test_no_run(refused, tmp_path):
    for verb, more in (("predict", []), ("evaluate", ["copy:dev"]), ("align", ["copy:dev"])):
        assert "no such run folder" in refused(verb, tmp_path / "nope", *more)
        assert "recipe.toml and vocabulary.json missing" in refused(verb, tmp_path, *more)


@pytest.fixture
def copied(run, tmp_path):
    return shutil.copytree(run, tmp_path / "copied")


@pytest.mark.parametrize("name", ["recipe.toml", "vocabulary.json", "model.safetensors"])
def test_each_file_is_missed(refused, copied, name):
    path = copied / name
    whole = path.read_bytes()
    path.unlink()
    message = refused("predict", copied, stdin=b"abc\n")
    assert str(copied) in message
    assert name in message
    assert "missing" in message
    cuts = {"recipe.toml": (0, len(whole) // 2)}.get(name, (0, 1, len(whole) // 2, len(whole) - 2))
    for cut in cuts:
        path.write_bytes(whole[:cut])
        assert refused("predict", copied, stdin=b"abc\n").startswith(str(path))
    path.write_bytes(b"\xff\xfe" + whole)
    assert refused("predict", copied, stdin=b"abc\n").startswith(str(path))


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "log.csv"])
def test_what_only_training_needs_may_be_deleted(cli, run, copied, name):
    (copied / name).unlink()
    assert cli("predict", copied, stdin=b"abc\n") == cli("predict", run, stdin=b"abc\n")


def test_weights_of_other_sizes(refused, copied):
    path = copied / "recipe.toml"
    text = path.read_text()
    path.write_text(text.replace("decoder_size = 16", "decoder_size = 13"))
    message = refused("predict", copied, stdin=b"abc\n")
    assert message.startswith(f"{copied / 'model.safetensors'}: not this recipe's weights: expected ")
    assert " of size " in message
    path.write_text(text.replace('cell = "gru"', 'cell = "lstm"'))
    assert "not this recipe's weights" in refused("predict", copied, stdin=b"abc\n")
    path.write_text(text.replace('fusion = "early"', 'fusion = "none"'))
    assert "not this recipe's weights" in refused("predict", copied, stdin=b"abc\n")


def test_weights_of_other_vocabularies(refused, cli, copied, tmp_path):
    """Even if all sizes agree: the same letters in another order would be another language."""
    pairs = write_pairs(tmp_path / "pairs.tsv", ((word, word.upper()) for word in "uvwxyz" * 9))
    settings = {"train.updates": 2, "model.encoder_size": 16, "model.decoder_size": 16}
    other = train_tiny(pairs, tmp_path / "other", dev=pairs, set=settings)
    shutil.copy(other / "model.safetensors", copied)
    assert "other vocabularies" in refused("predict", copied, stdin=b"abc\n")
    shutil.copy(other / "vocabulary.json", copied)
    shutil.copy(other / "recipe.toml", copied)
    assert cli("predict", copied, stdin=b"uv\n") == cli("predict", other, stdin=b"uv\n")
