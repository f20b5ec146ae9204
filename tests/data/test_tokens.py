"""Tokenisers: join is the inverse of split, and what is shown never shows the byte alphabet."""

import json
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heedful.data.tokens import make_tokeniser, tokeniser_from_json, tokenisers
from heedful.errors import DataError, RecipeError

quick = settings(max_examples=100, deadline=None, derandomize=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TRAINING = ["the cat sat on the naïve mat", "日本 and the 日", "the bat", "new york"] * 3


@pytest.fixture(scope="module")
def bpe():
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 300})
    tokeniser.train(TRAINING)
    return tokeniser


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def test_the_names():
    assert tokenisers.names() == ["characters", "whitespace", "bpe"]


@quick
@given(texts)
@example("new york")
@example(" <s> </s> <unk> <pad> @@ ||| ")
@example("\u2028\u0085\x00\x0c\ufeff")
@example("e\u0301")
def test_characters_round_trip(text):
    tokeniser = make_tokeniser("characters")
    tokens = tokeniser.split(text)
    assert tokeniser.join(tokens) == nfc(text)
    assert all(len(token) == 1 for token in tokens)
    assert tokeniser.labels(text) == tokens


@quick
@given(texts)
@example("  <s>\t</s>\n <unk>  ")
@example("\u3000a\u00a0b\u2028c")
def test_whitespace_round_trip_up_to_spaces(text):
    tokeniser = make_tokeniser("whitespace")
    tokens = tokeniser.split(text)
    assert tokeniser.join(tokens) == " ".join(nfc(text).split())
    assert tokeniser.split(tokeniser.join(tokens)) == tokens
    assert tokeniser.labels(text) == tokens


@quick
@given(texts)
@example("the naïve 日本 👨‍👩‍👧 क्षि")
@example(" <s> </s> <unk> <pad> <|endoftext|> @@ ||| Ġ Ã¯ ")
@example("  a \u2028\u0085\x00\x0c\r\n")
@example("don't they'll I'M")
@example("日日本本é")
def test_bpe_round_trip(bpe, text):
    tokens = bpe.split(text)
    assert bpe.join(tokens) == nfc(text)
    offsets = bpe._tokenizer.encode(nfc(text)).offsets  # as the library counts them
    assert bpe.labels(text) == [nfc(text)[start:end] for start, end in offsets]
    assert len(offsets) == len(tokens)


@pytest.mark.parametrize("name", ["characters", "whitespace", "bpe"])
def test_decomposed_text_gives_the_same_tokens(name, bpe):
    tokeniser = bpe if name == "bpe" else make_tokeniser(name)
    assert tokeniser.split("nai\u0308ve") == tokeniser.split("na\u00efve")
    assert tokeniser.labels("nai\u0308ve") == tokeniser.labels("na\u00efve")
    assert tokeniser.split("") == tokeniser.labels("") == []
    assert tokeniser.join([]) == ""


def test_bpe_learns_and_merges(bpe):
    assert len(bpe.split("the")) == 1
    assert len(bpe.split("zqx")) == 3


def test_bpe_trains_on_normalised_text():
    composed, decomposed = (make_tokeniser("bpe", {"vocabulary_size": 270}) for _ in range(2))
    composed.train(["ïï naïve"] * 5)
    decomposed.train([unicodedata.normalize("NFD", "ïï naïve")] * 5)
    assert composed.to_json() == decomposed.to_json()


def test_bpe_labels_show_characters_in_part():
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 256})
    tokeniser.train([])
    assert tokeniser.labels("é!") == ["é", "é", "!"]
    first, second, mark = tokeniser.split("é!")
    # What a model may emit: half a character, and a token that stands for an unknown one.
    assert tokeniser.labels_of([first, mark, "�", second]) == ["�", "!", "�", "�"]
    assert tokeniser.join([first, mark, "�", second]) == "�!��"


def test_bpe_is_the_same_for_shuffled_texts():
    lines = [f"{a}{b} {b}{a}" for a in "abcdef" for b in "uvwxyz"]
    one, other = (make_tokeniser("bpe", {"vocabulary_size": 290}) for _ in range(2))
    one.train(lines)
    other.train(lines[::-1])
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize("name", ["characters", "whitespace", "bpe"])
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
