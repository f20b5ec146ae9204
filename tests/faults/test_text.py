"""Text in, text out, of whole runs: symbols, blanks, accents and locales."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import heedful
from heedful.api.run import Run
from heedful.data import NORMALISATIONS, Codec, read_pairs
from heedful.data.split import split
from heedful.errors import DataError
from heedful.recipes import load
from heedful.training.reading import read
from heedful.training.train import digest, make_codec
from training.cases import TINY, train_tiny, words, write_pairs

SYMBOLS = ["<s>", "</s>", "<unk>", "<pad>", "@@", "|||", "∎", "\N{REPLACEMENT CHARACTER}", "[TAG]", "UNK"]
TEXTS = [
    *SYMBOLS,
    "<s> </s>",
    "a ||| b",
    "@@ <unk>",
    "new york",
    "Hello, World!",
    "hello, world!",
    "aaabbbccc",
    "abababab",
]


@pytest.mark.parametrize("tokens", ["characters", pytest.param("whitespace", marks=pytest.mark.slow)])
def test_what_looks_like_a_symbol_is_learned_and_copied(cli, tmp_path, tokens):
    """So are spaces, also at the ends, large and small letters, and repeats; the labels are those of the texts."""
    texts = [*TEXTS, "  two  spaces "] if tokens == "characters" else TEXTS
    pairs = write_pairs(tmp_path / "pairs.tsv", ((text, text) for text in texts * 3))
    settings = {
        "data.source_tokens": tokens,
        "data.target_tokens": tokens,
        "train.updates": 120,
        "train.batch_tokens": 1500,
        "train.learning_rate": 0.03,
        "train.validate_every": 999.0,
        "model.embedding_size": 32,
        "model.encoder_size": 32,
        "model.decoder_size": 64,
    }
    folder = train_tiny(pairs, tmp_path / "run", dev=pairs, set=settings)
    run = heedful.load(folder)
    for beam in (1, 4):
        assert [answer.text for answer in run.predict(texts, beam=beam)] == texts
    assert heedful.evaluate(run, pairs).sequence_error == 0
    for text, answer in zip(texts, run.predict(texts), strict=True):
        labels = (*(text if tokens == "characters" else text.split()), "∎")
        assert answer.tokens == labels[:-1]
        assert answer.alignment is not None
        assert answer.alignment.source == answer.alignment.target == labels
    done = cli("predict", folder, "--beam", 1, stdin="".join(f"{text}\n" for text in texts).encode())
    assert (done.code, done.out.decode(), done.err) == (0, "".join(f"{text}\n" for text in texts), "")


def rich_in_repeats(rng: random.Random) -> str:
    """``aaabbbcc`` or ``abcabcabc``, of up to 20 letters."""
    if rng.random() < 0.5:
        return "".join(letter * rng.randint(2, 5) for letter in rng.sample("abcdef", rng.randint(1, 4)))
    return "".join(rng.sample("abcdef", rng.randint(2, 3))) * rng.randint(2, 6)


@pytest.mark.slow
def test_repeats_are_copied_in_full(tmp_path):
    """Strings that were never seen: none of several equal letters is lost, and no letter is added."""
    rng = random.Random(1)
    several = list(dict.fromkeys(rich_in_repeats(rng) for _ in range(4000)))
    unseen = ["aaabbbccc", "abababab", *several[:100]]
    trained = [text for text in several if text not in unseen]
    trained += ["".join(rng.choices("abcdef", k=rng.randint(1, 20))) for _ in range(1000)]
    pairs = write_pairs(tmp_path / "pairs.tsv", ((text, text) for text in trained))
    dev = write_pairs(tmp_path / "dev.tsv", ((text, text) for text in unseen))
    settings = {"train.epochs": 7, "train.learning_rate": 0.01, "train.batch_tokens": 500, "train.validate_every": 99}
    run = heedful.load(heedful.train(pairs, dev=dev, out=tmp_path / "run", recipe="tiny", set=settings))
    assert [answer.text for answer in run.predict(unseen, beam=1)] == unseen


# One accent, however it is written.

LINES = [
    "e\u0301\u212b\ufb01\tV\u0308;\uff30",
    "\u00e9\u00c5fi\t\u1e7c\u037eP",
    "\uff21\u3099 b\t;\u0308 ;x",
    " \u00a0\t\u3000",
]


@pytest.mark.parametrize("form", NORMALISATIONS)
def test_a_line_to_be_answered_is_read_like_a_line_of_pairs(tmp_path, form):
    """The same source and the same tags, in each form of Unicode, and blank in the one if blank in the other."""
    path = tmp_path / "pairs.tsv"
    for written in NORMALISATIONS:
        lines = [line if written == "none" else unicodedata.normalize(written, line) for line in LINES]  # type: ignore[arg-type]
        path.write_text("".join(f"{line}\tx\n" for line in lines), "utf-8")
        for separator in (";", "\uff1b"):
            settings = {
                "data.normalisation": form,
                "data.tag_columns": [2],
                "data.target_column": 3,
                "data.tag_separator": separator,
            }
            recipe = load("tiny", settings)
            run = Run(tmp_path, recipe, None, None)  # type: ignore[arg-type]
            pairs = read_pairs(
                path,
                target_column=3,
                tag_columns=[2],
                tag_separator=separator,
                normalisation=form,  # type: ignore[arg-type]
                need_target=False,
            ).pairs
            asked = [run.as_pair(line, number) for number, line in enumerate(lines, start=1)]
            assert [pair[:1] + pair[2:] for pair in asked[:-1]] == [pair[:1] + pair[2:] for pair in pairs[:-1]]
            assert not asked[-1].source.strip()
            assert not pairs[-1].source.strip()


def test_composed_and_decomposed_files_are_the_same_data(tmp_path):
    """What is held out, and what a resumed training knows its pairs by."""
    found = []
    for form in ("NFC", "NFD"):
        rows = [tuple(unicodedata.normalize(form, cell) for cell in (f"{word}é", f"ö {word}")) for word in words(80)]
        pairs = read_pairs(write_pairs(tmp_path / f"{form}.tsv", rows)).pairs
        found.append((split(pairs, 0.2), digest(pairs)))
    assert (tmp_path / "NFC.tsv").read_bytes() != (tmp_path / "NFD.tsv").read_bytes()
    assert found[0] == found[1]


def test_without_normalisation_another_spelling_is_told(cli, tmp_path):
    """Where the recipe says "none", a decomposed letter is two symbols that were never seen, and that is said."""
    pairs = write_pairs(tmp_path / "pairs.tsv", ((f"{word}é", "A Ä") for word in words(30)))
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 3, "data.normalisation": "none"})
    composed, decomposed = (unicodedata.normalize(form, "éab\n").encode() for form in ("NFC", "NFD"))
    assert cli("predict", folder, stdin=composed).err == ""
    done = cli("predict", folder, stdin=decomposed)
    assert done.err == "heedful: 1 of 4 source symbols were never seen in training: '\u0301'\n"
    (line,) = cli("predict", folder, "--json", stdin=decomposed).json
    assert line["source"] == "e\u0301ab"
    assert "norm:none" in heedful.evaluate(folder, pairs).signature


# Blank.

BLANK = ["", " ", "\t", "\u3000", "\u00a0", "\u2003\u2028\x85", "\x0b\x0c\x1c"]
SEEN = ["\u200b", "\ufeff", "\u2060", "\u00ad", "\u2800", "\x00", "\u3164"]  # nothing to see, and no white space


@pytest.mark.parametrize("form", ["NFC", "NFKD", "none"])
def test_readers_and_predict_agree_on_what_is_blank(run, tmp_path, form):
    path = tmp_path / "pairs.tsv"
    asked = heedful.load(run)
    asked = Run(asked.folder, load(asked.recipe, {"data.normalisation": form}), asked.codec, asked.predictor)
    for text in (*BLANK, *SEEN):
        if "\t" not in text:
            path.write_bytes(f"a\tx\n{text}\tx\n".encode())
            if text in BLANK:
                with pytest.raises(DataError, match=":2: expected a text as source, got a blank"):
                    read_pairs(path, normalisation=form)  # type: ignore[arg-type]
            else:
                assert len(read_pairs(path, normalisation=form).pairs) == 2  # type: ignore[arg-type]
        (answer,) = asked.predict([text], beam=1)
        assert (len(answer.token_scores) == 0) == (text in BLANK)
        assert answer.text == "" or text in SEEN


def test_json_lines_that_are_blank_are_answered_with_a_blank(cli, run, tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text('{"source": "abc"}\n\n{"source": " \\u3000"}\n{"source": "fed"}\n{"source": ""}\n\n', "utf-8")
    done = cli("predict", run, path)
    assert done.code == 0
    assert [bool(line) for line in done.lines] == [True, False, False, True, False, False]
    assert [line["line"] for line in cli("predict", run, path, "--json").json] == [1, 2, 3, 4, 5, 6]
    path.write_text("", "utf-8")
    assert cli("predict", run, path).lines == []


# The locale.

PROGRAM = """
import locale, sys, warnings
assert locale.getencoding().lower() == sys.argv[1], locale.getencoding()
warnings.filterwarnings("error", category=EncodingWarning, module="heedful")
from heedful.cli import run
for arguments in sys.argv[2:]:
    code = run(arguments.split("|"))
    if code: sys.exit(code)
"""


def made_locale(name: str, folder: Path) -> dict[str, str]:
    """The environment of a process in the locale `name`, which is made where the machine has none."""
    if name != "C":
        maker = shutil.which("localedef")
        _, charmap = name.split(".")
        made = maker and subprocess.run([maker, "-i", "en_US", "-f", charmap, folder / name], capture_output=True)
        if not made or made.returncode:
            pytest.skip(f"no locale {name} can be made here")
    environment = {**os.environ, "LC_ALL": name, "LOCPATH": str(folder)}
    environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONWARNDEFAULTENCODING": "1"}
    for one in ("PYTHONIOENCODING", "LANG", "LANGUAGE"):
        environment.pop(one, None)
    return environment


WORDS = [
    ("नमस्ते", "n ə m ə s t eː"),
    ("क्षि", "k ʂ ɪ"),
    ("ज्ञान", "ɡ j aː n"),
    ("हिन्दी", "ɦ ɪ n d iː"),
    ("cafe\u0301", "k a f e"),
]


@pytest.mark.slow  # tests/cli/test_streams.py trains and predicts without a locale and under a code page every time
@pytest.mark.parametrize(
    ("name", "encoding"),
    [("C", "ansi_x3.4-1968"), ("en_US.CP1252", "cp1252")],
)
def test_the_locale_changes_no_byte(cli, tmp_path, name, encoding):
    """Trained, predicted, judged and aligned in another locale, from files in a folder that it cannot spell.

    No file is opened without a word on its encoding: that is made an error.
    """
    environment = made_locale(name, tmp_path)
    folder = tmp_path / "हिन्दी-ā"
    folder.mkdir()
    data = write_pairs(folder / "pairs.tsv", WORDS * 5)
    source = folder / "words.txt"
    source.write_text("".join(f"{word}\n" for word, _ in WORDS) + "\nxyz é\n", "utf-8")
    settings = {**TINY, "data.source_tokens": "graphemes", "train.updates": 10, "train.validate_every": 99.0}
    sets = "|".join(f"--set={key}={value}" for key, value in settings.items())

    out = folder / "run"
    train = f"train|{data}|--dev={data}|--recipe=tiny|--out={out}|{sets}"
    verbs = [f"predict|{out}|{source}", f"predict|{out}|{source}|--json", f"evaluate|{out}|{data}|--json"]
    verbs.append(f"align|{out}|{data}|--plot|{folder / 'map.svg'}")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, encoding, train, *verbs], capture_output=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "स्ते" in (folder / "map.svg").read_text("utf-8")
    answers = cli("predict", out, source).out
    assert answers.count(b"\n") == len(WORDS) + 2
    assert done.stdout.startswith(answers)
    expected = b"".join(cli(*verb.split("|")).out for verb in verbs)
    assert "क्षि".encode() in expected
    assert without_numbers(done.stdout) == without_numbers(expected)
    recipe = load(out / "recipe.toml")
    assert recipe == load("tiny", settings)
    codec = make_codec(read(data, recipe.data).pairs, recipe.data)
    assert Codec.load(out / "vocabulary.json").to_json() == codec.to_json()


def without_numbers(output: bytes) -> bytes:
    """Two processes may differ in the last digit."""
    return re.sub(rb"-?\d+\.\d+(e-\d+)?", b"#", output)


def test_a_vocabulary_is_the_same_for_every_order_of_the_lines(tmp_path):
    """All of it, as a training writes it: of what is trained on after the development part is held out."""
    found = set()
    for order in (1, -1):
        pairs = write_pairs(tmp_path / f"{order}.tsv", [(word, f"{word}z") for word in words(60)][::order])
        out = train_tiny(pairs, tmp_path / f"run{order}", set={"train.updates": 1, "data.source_tokens": "graphemes"})
        found.add((out / "vocabulary.json").read_bytes())
        assert len(json.loads((out / "vocabulary.json").read_text("utf-8"))["target_vocabulary"]["tokens"]) > 40
    assert len(found) == 1
