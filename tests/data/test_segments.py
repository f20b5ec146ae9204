"""Where sources are cut, for every tokeniser, and what becomes of the numbers."""

import pytest

from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.segments import make_segmenter, segmenter_from_json, segmenters
from heedful.data.tokens import make_tokeniser
from heedful.errors import RecipeError

TEXT = "It rained. Did it? !\n Yes ...\n\nno"
PAIRS = [Pair(TEXT, "x", ("t",), 1)]


def cut(way: str, by: str, text: str = TEXT, **options) -> list[str]:
    """What each segment holds, side by side."""
    tokeniser = make_tokeniser(by, {"vocabulary_size": 270} if by == "bpe" else {})
    tokeniser.train([TEXT])
    pieces = tokeniser.split(text)
    numbers = make_segmenter(way, options).cut(text, tokeniser, pieces)
    assert len(numbers) == len(pieces)
    labels = tokeniser.labels_of(pieces)
    found = [[label for label, own in zip(labels, numbers, strict=True) if own == n] for n in sorted(set(numbers))]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, len(found) + 1))
    return [(" " if by == "whitespace" else "").join(part) for part in found]


@pytest.mark.parametrize("tokens", ["characters", "graphemes", "bpe"])
def test_lines_end_with_their_line_feed(tokens):
    assert cut("line", tokens) == ["It rained. Did it? !\n", " Yes ...\n\n", "no"]


def test_lines_where_white_space_is_no_token():
    assert cut("line", "whitespace") == ["It rained. Did it? !", "Yes ...", "no"]
    assert cut("line", "whitespace", "a b") == ["a b"]


def test_lines_by_a_separator_that_is_a_token():
    assert cut("line", "whitespace", "a | b c | d", separator="|") == ["a |", "b c |", "d"]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("characters", ["It rained.", " Did it?", " !", "\n Yes ...", "\n\nno"]),
        ("whitespace", ["It rained.", "Did it? !", "Yes ...", "no"]),
    ],
)
def test_marks_end_a_segment_and_rows_of_them_are_one(tokens, expected):
    assert cut("marks", tokens) == expected


def test_marks_of_ones_own():
    assert cut("marks", "whitespace", "a; b c. d ; e", marks=";") == ["a;", "b c. d ;", "e"]


def test_lengths():
    assert cut("length", "whitespace", "a b c d e f g", tokens=3) == ["a b c", "d e f", "g"]


@pytest.mark.parametrize("way", segmenters.names())
def test_every_way_is_kept_in_the_codec_and_cuts_nothing_into_nothing(way):
    codec = Codec.build(PAIRS, source_tokens=("whitespace", {}), segments=(way, {}))
    again = Codec.from_json(codec.to_json())
    assert again.segmenter is not None
    assert (
        again.segmenter.to_json()
        == codec.segmenter.to_json()
        == segmenter_from_json(codec.to_json()["segments"]).to_json()
    )
    assert again.encode_source(TEXT, ["t"]).segments == codec.encode_source(TEXT, ["t"]).segments
    assert codec.encode_source("", ["t"]).segments == [0, 0]
    assert "segments" not in Codec.build(PAIRS).to_json()


def test_numbers_go_as_the_source_is_read():
    for reverse, expected in ((False, [0, 1, 1, 1, 2, 2, 0]), (True, [0, 1, 1, 2, 2, 2, 0])):
        options = {"segments": ("length", {"tokens": 3}), "reverse_source": reverse}
        encoded = Codec.build(PAIRS, **options).encode_source("abcde", ["t"])
        assert encoded.segments == expected
        assert len(encoded.ids) == len(expected)


def test_batches_pad_them_with_0():
    codec = Codec.build(PAIRS, segments=("length", {"tokens": 2}))
    batch = collate([Example(codec.encode_source(text), None, 0) for text in ("abc", "a")])
    assert batch.sources[0].segments.tolist() == [[1, 1, 2, 0], [1, 0, 0, 0]]
    plain = Codec.build(PAIRS)
    assert collate([Example(plain.encode_source("abc"), None, 0)]).sources[0].segments is None


@pytest.mark.parametrize(
    ("way", "options", "message"),
    [
        ("line", {"separator": ""}, "segments 'line': expected a separator of one character or more"),
        ("marks", {"marks": " "}, "segments 'marks': expected one character or more, got ' '"),
        ("length", {"tokens": 0}, "segments 'length': expected tokens of at least 1, got 0"),
        ("lines", {}, "unknown segments 'lines'; did you mean 'line'"),
        ("length", {"token": 3}, "segments 'length' has no option 'token'; did you mean 'tokens'"),
    ],
)
def test_what_makes_no_sense(way, options, message):
    with pytest.raises(RecipeError, match=message):
        make_segmenter(way, options)
