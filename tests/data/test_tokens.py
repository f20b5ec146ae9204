"""Tokenisers: join is the inverse of split, and what is shown never shows the byte alphabet."""

import json
import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heedful.data.tokens import make_tokeniser, tokeniser_from_json, tokenisers
from heedful.errors import DataError, RecipeError

quick = settings(max_examples=100, deadline=None, derandomize=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
anything = st.text(st.characters(), max_size=40)  # half surrogate pairs too
NAMES = ["characters", "decomposed", "graphemes", "whitespace", "label", "bpe"]
TRAINING = ["the cat sat on the naïve mat", "日本 and the 日", "the bat", "new york"] * 3


@pytest.fixture(scope="module")
def bpe():
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 300})
    tokeniser.train(TRAINING)
    return tokeniser


def test_the_names():
    assert tokenisers.names() == ["characters", "decomposed", "graphemes", "whitespace", "label", "bpe"]


@quick
@given(anything)
@example("new york")
@example(" <s> </s> <unk> <pad> @@ ||| ∎ \N{REPLACEMENT CHARACTER} [TAG] ")
@example("\u2028\u0085\x00\x0c\ufeff\r\n")
@example("e\u0301")
def test_characters_and_graphemes_round_trip(text):
    points, clusters = (make_tokeniser(name) for name in ("characters", "graphemes"))
    assert points.split(text) == list(text)
    assert "" not in clusters.split(text)
    for tokeniser in (points, clusters):
        tokens = tokeniser.split(text)
        assert tokeniser.join(tokens) == text
        assert tokeniser.labels(text) == tokens


@quick
@given(anything.map(lambda text: unicodedata.normalize("NFC", text)))
@example("가게 cộng ガ")
def test_decomposed_texts_come_back_composed(text):
    tokeniser = make_tokeniser("decomposed")
    tokens = tokeniser.split(text)
    assert "".join(tokens) == unicodedata.normalize("NFD", text)
    assert tokeniser.join(tokens) == text


def test_a_syllable_is_its_letters_and_signs_stand_on_a_circle():
    tokeniser = make_tokeniser("decomposed")
    assert tokeniser.labels("각é") == ["\u1100", "\u1161", "\u11a8", "e", "\u25cc\u0301"]


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("new york", list("new york")),
        ("क्षि", ["क्षि"]),
        ("नमस्ते", ["न", "म", "स्ते"]),
        ("👨‍👩‍👧!", ["👨‍👩‍👧", "!"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("ne\u0301e", ["n", "e\u0301", "e"]),
        ("n\u00e9e", ["n", "\u00e9", "e"]),
        ("\u1100\u1161\u11a8\u1100\u1161", ["\u1100\u1161\u11a8", "\u1100\u1161"]),
        ("a\r\nb\n\n", ["a", "\r\n", "b", "\n", "\n"]),
        ("", []),
    ],
)
def test_graphemes_are_what_a_reader_counts(text, clusters):
    """Where a cluster is several code points, "characters" tears it apart and "graphemes" does not; both come back."""
    tokeniser = make_tokeniser("graphemes")
    assert tokeniser.split(text) == clusters
    assert tokeniser.join(clusters) == text
    assert make_tokeniser("characters").split(text) == [point for cluster in clusters for point in cluster]


@quick
@given(texts)
@example("  <s>\t</s>\n <unk>  ")
@example("\u3000a\u00a0b\u2028c")
def test_whitespace_round_trip_up_to_spaces(text):
    tokeniser = make_tokeniser("whitespace")
    tokens = tokeniser.split(text)
    assert tokeniser.join(tokens) == " ".join(text.split())
    assert tokeniser.split(tokeniser.join(tokens)) == tokens
    assert tokeniser.labels(text) == tokens


@quick
@given(texts)
@example("e\u0301")
@example("the naïve 日本 👨‍👩‍👧 क्षि")
@example(" <s> </s> <unk> <pad> <|endoftext|> @@ ||| Ġ Ã¯ ")
@example("  a \u2028\u0085\x00\x0c\r\n")
@example("don't they'll I'M")
@example("日日本本é")
def test_bpe_round_trip(bpe, text):
    tokens = bpe.split(text)
    assert bpe.join(tokens) == text
    offsets = bpe._tokenizer.encode(text).offsets  # as the library counts them
    assert bpe.labels(text) == [text[start:end] for start, end in offsets]
    assert len(offsets) == len(tokens)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "decomposed"])  # whose business is a form
def test_texts_are_taken_as_they_are(name, bpe):
    """Normalising is done where texts come in; whoever wants none gets none."""
    tokeniser = bpe if name == "bpe" else make_tokeniser(name)
    for text in ("nai\u0308ve", "na\u00efve", "\N{LATIN SMALL LIGATURE FI}\N{ANGSTROM SIGN}"):
        assert tokeniser.join(tokeniser.split(text)) == text
    assert tokeniser.split("") == tokeniser.labels("") == []
    assert tokeniser.join([]) == ""


def test_bpe_learns_and_merges(bpe):
    assert len(bpe.split("the")) == 1
    assert len(bpe.split("zqx")) == 3


def test_bpe_trains_on_texts_as_they_are():
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 270})
    tokeniser.train(["nai\u0308ve"] * 5)
    assert tokeniser.labels("nai\u0308ve") == ["nai", "\u0308", "ve"]
    assert len(tokeniser.split("\u0308")) == 1
    assert len(tokeniser.split("\u00ef")) == 2  # which it has never seen


def test_bpe_labels_show_characters_in_part():
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 256})
    tokeniser.train([])
    assert tokeniser.labels("é!") == ["é", "é", "!"]
    first, second, mark = tokeniser.split("é!")
    # What a model may emit: half a character, and a token that stands for an unknown one.
    assert tokeniser.labels_of([first, mark, "�", second]) == ["�", "!", "�", "�"]
    assert tokeniser.join([first, mark, "�", second]) == "�!��"


def test_bpe_is_the_same_for_shuffled_texts():
    """However many pairs are equally frequent, in other processes, on one thread or five."""
    code = """
import hashlib, json, random, sys
from heedful.data import make_tokeniser
digest = hashlib.sha256()
for case in range(60):  # few letters, long words: many ties, and many ways to spell one piece
    draw = random.Random(case)
    texts = ["".join(draw.choices("abc "[: draw.randint(1, 4)], k=draw.randint(1, 40))) for _ in range(40)]
    random.Random(f"{case} {sys.argv[1]}").shuffle(texts)
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": draw.choice([260, 300, 700])})
    tokeniser.train(texts)
    digest.update(json.dumps(tokeniser.to_json()).encode())
print(digest.hexdigest())
"""
    found = set()
    for seed, threads in ("01", "15", "25"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", code, seed], env=environment, capture_output=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("name", NAMES)
def test_json_round_trip(name, bpe):
    tokeniser = bpe if name == "bpe" else make_tokeniser(name)
    again = tokeniser_from_json(json.loads(json.dumps(tokeniser.to_json())))
    assert again.to_json() == tokeniser.to_json()
    assert type(again) is type(tokeniser)
    for text in (*TRAINING, "something new ÿ"):
        assert again.split(text) == tokeniser.split(text)


def test_untrained_bpe():
    tokeniser = make_tokeniser("bpe")
    with pytest.raises(DataError, match="must be trained"):
        tokeniser.split("a")
    with pytest.raises(DataError, match="must be trained"):
        tokeniser_from_json(tokeniser.to_json()).split("a")


def test_half_a_surrogate_pair(bpe):
    with pytest.raises(DataError, match="half a surrogate pair"):
        bpe.split("a\ud800")


def test_bad_names_and_options():
    with pytest.raises(RecipeError, match=r"unknown tokeniser 'character'; did you mean 'characters'\?"):
        make_tokeniser("character")
    with pytest.raises(RecipeError, match=r"no option 'vocab_size'; did you mean 'vocabulary_size'\?"):
        make_tokeniser("bpe", {"vocab_size": 300})
    for size in (255, 0, "300", 300.0):
        with pytest.raises(RecipeError, match=r"expected a whole number of at least 256|must be of type int"):
            make_tokeniser("bpe", {"vocabulary_size": size})
