"""Guided attention: links that are given become the truth for the weights."""

from __future__ import annotations

import math

import pytest
import torch

import heedful
from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.tokens import make_tokeniser
from heedful.errors import DataError, RecipeError, RunError
from heedful.model import Model, build
from heedful.training.guide import Guide
from heedful.units import units_of
from training.cases import Recorder, resume, spelled, train_tiny, words, write_pairs

GUIDED = {
    "model.encoder_size": 13,
    "model.decoder_size": 29,
    "train.updates": 180,
    "train.batch_tokens": 250,
    "train.learning_rate": 0.02,
    "train.guided_attention": 2.0,
    "train.validate_every": 20.0,
}


@pytest.fixture(scope="module")
def backwards(tmp_path_factory):
    """Words with their letters, and links that say of each letter that it comes from the other end of the word."""
    folder = tmp_path_factory.mktemp("guide")
    texts = words(70, seed=5, longest=5)
    pairs = write_pairs(folder / "pairs.tsv", ((word, spelled(word)) for word in texts))
    links = folder / "links.txt"
    lines = [" ".join(f"{len(word) - 1 - place}-{place}" for place in range(len(word))) for word in texts]
    links.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return pairs, links, lines


@pytest.mark.parametrize(
    "fusion",
    [
        pytest.param("early", id="predicted", marks=pytest.mark.slow),
        pytest.param({"name": "late", "rows": "input"}, id="input"),
    ],
)
def test_the_weights_follow_the_links(backwards, tmp_path, fusion):
    """Whatever the task would have them do, and in the rows that belong to the words."""
    pairs, links, lines = backwards
    run = train_tiny(pairs, tmp_path / "run", set={**GUIDED, "model.fusion": fusion}, links=links)
    found = [alignment.links() for alignment in heedful.align(run, pairs)]
    given = [[tuple(map(int, link.split("-"))) for link in line.split()] for line in lines]
    agree = sum(len(set(own) & set(its)) for own, its in zip(found, given, strict=True))
    assert agree / sum(map(len, given)) > 0.7  # by place alone 0.35, where a word is as good from either end


def asked(convention: str) -> Model:
    """A model whose rows belong to these words."""
    fusion = {"name": "late", "rows": convention}
    return build(source_vocabulary_size=5, target_vocabulary_size=7, encoder_size=3, decoder_size=2, fusion=fusion)


def test_the_loss_by_hand():
    torch.manual_seed(3)
    model = build(source_vocabulary_size=11, target_vocabulary_size=13, encoder_size=5, decoder_size=7)
    pairs = [Pair("ab", "x y", (), 1), Pair("abc", "z", (), 2)]
    codec = Codec.build(pairs)
    examples = [
        Example(codec.encode_source(p.source), codec.encode_target(p.target or ""), i) for i, p in enumerate(pairs)
    ]
    links = {1: frozenset({(0, 0), (1, 0), (1, 1)}), 2: frozenset()}
    batch = collate(Guide("links", links).onto(examples, pairs, codec, model))
    weights = model.distributions(batch)[1][0].detach()
    by_hand = -0.5 * (math.log(weights[0, 0]) + math.log(weights[0, 1])) - math.log(weights[1, 1])
    with torch.no_grad():
        plain, led = model(batch), model(batch, guided_attention=3.0)
    assert float(led.total - plain.total) == pytest.approx(3 * by_hand, rel=1e-4)
    assert float(led.plain) == float(plain.plain)


def test_without_links_it_is_of_no_effect():
    torch.manual_seed(3)
    model = build(source_vocabulary_size=11, target_vocabulary_size=13, encoder_size=5, decoder_size=7)
    codec = Codec.build([Pair("ab", "x y", (), 1)])
    batch = collate([Example(codec.encode_source("ab"), codec.encode_target("x y"), 0)])
    assert batch.guide is None
    with torch.no_grad():
        assert float(model(batch, guided_attention=3.0).total) == float(model(batch).total)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("convention", "row"), [("predicted", 1), ("input", 2)])
def test_the_cells_of_a_link(reverse, convention, row):
    """Behind the tags, in the order in which the source is read, in the row that is about the word."""
    pair = Pair("abc", "x y z", ("t", "u"), 7)
    codec = Codec.build([pair], reverse_source=reverse)
    example = Example(codec.encode_source(pair.source, pair.tags), codec.encode_target("x y z"), 0)
    (it,) = Guide("links", {7: frozenset({(0, 1)})}).onto([example], [pair], codec, asked(convention))
    column = example.source.labels.index("a")
    assert column == (4 if reverse else 2)
    assert it.guide == [(row, column)]


def test_pieces_of_words_are_linked_piece_by_piece():
    pair = Pair("aab ba", "abab b", (), 1)
    codec = Codec.build(
        [pair], source_tokens=("bpe", {"vocabulary_size": 256}), target_tokens=("bpe", {"vocabulary_size": 256})
    )
    example = Example(codec.encode_source(pair.source), codec.encode_target(pair.target or ""), 0)
    (it,) = Guide("links", {1: frozenset({(1, 1)})}).onto([example], [pair], codec, asked("predicted"))
    ba, b = [4, 5], [5]  # without the space, which is a piece of its own here
    assert it.guide == [(row, column) for row in b for column in ba]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the theme", [[0], [1, 2, 3, 4, 5]]),
        ("  a  b ", [[2], [5]]),
        ("", []),
    ],
)
def test_units_of_byte_pairs_are_words(text, expected):
    tokeniser = make_tokeniser("bpe", {"vocabulary_size": 259})
    tokeniser.train(["the the the the"])
    tokens = tokeniser.split(text)
    spelled = ["".join(tokeniser.labels(text)[place] for place in unit).strip() for unit in units_of(tokeniser, text)]
    assert spelled == text.split()
    assert len(units_of(tokeniser, text)) == len(expected)
    assert all(tokens[place].strip("Ġ") for unit in units_of(tokeniser, text) for place in unit)


def test_units_of_other_tokens_are_the_tokens():
    assert units_of(make_tokeniser("characters"), "a b") == [[0], [1], [2]]
    assert units_of(make_tokeniser("whitespace"), "a b") == [[0], [1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n", r"links\.txt: expected a line of links for each of the 70 lines of .*pairs\.tsv, got 1 lines"),
        ("0-9\n" * 70, r"links\.txt:\d+: expected links from 0-0 to \d-\d, got 0-9"),
        ("0:0\n" * 70, r"links\.txt:1"),
    ],
    ids=["lines", "range", "form"],
)
def test_bad_links(backwards, tmp_path, content, message):
    pairs, *_ = backwards
    links = tmp_path / "links.txt"
    links.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        train_tiny(pairs, tmp_path / "run", links=links)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("weight", "with_links", "warning"),
    [
        (0, True, "the links have no say"),
        (0.5, False, "of no effect without links"),
        (0.5, True, None),
        (0, False, None),
    ],
)
def test_one_without_the_other_is_told(backwards, tmp_path, weight, with_links, warning):
    pairs, links, _ = backwards
    recorder = Recorder()
    settings = {"train.updates": 1, "train.guided_attention": weight}
    given = links if with_links else None
    train_tiny(pairs, tmp_path / "run", set=settings, links=given, reporter=recorder)
    warnings = [message for message in recorder.messages if "guided_attention" in message]
    assert len(warnings) == (warning is not None)
    assert all(warning in message for message in warnings)


def test_half_precision_is_refused(backwards, tmp_path):
    pairs, links, _ = backwards
    with pytest.raises(RecipeError, match="'bf16' can be guided"):
        train_tiny(pairs, tmp_path / "run", set={"train.precision": "fp16"}, links=links)


def test_dropout_of_weights_does_not_touch_the_guide(backwards):
    """The truth is compared with what was attended to, not with what is left for the context."""
    torch.manual_seed(3)
    options = {"source_vocabulary_size": 11, "target_vocabulary_size": 13, "encoder_size": 5, "decoder_size": 7}
    model = build(**options, attention_dropout=0.9).train()
    pair = Pair("abcdef", "x y z", (), 1)
    codec = Codec.build([pair])
    example = Example(codec.encode_source(pair.source), codec.encode_target(pair.target or ""), 0)
    links = Guide("links", {1: frozenset({(0, 0), (2, 1), (4, 2)})})
    batch = collate(links.onto([example], [pair], codec, model))

    def share(dropping: bool) -> float:
        torch.manual_seed(5)
        model.train(dropping)
        with torch.no_grad():
            led = model(batch, guided_attention=1.0)
        return float(led.total - led.plain)

    # The states differ a little, since contexts do; a single weight that is dropped would cost 20 nats.
    assert share(True) == pytest.approx(share(False), rel=0.1)


def test_no_attention_to_guide(backwards, tmp_path):
    pairs, links, _ = backwards
    with pytest.raises(RecipeError, match="fusion 'none'"):
        train_tiny(pairs, tmp_path / "run", set={"model.fusion": "none"}, links=links)


def test_resume_needs_the_same_links(backwards, tmp_path):
    pairs, links, _ = backwards
    train_tiny(pairs, tmp_path / "run", links=links)
    with pytest.raises(RunError, match="other links than those given"):
        resume(pairs, tmp_path / "run")
    resume(pairs, tmp_path / "run", links=links, set={"train.updates": 31})
    train_tiny(pairs, tmp_path / "other")
    with pytest.raises(RunError, match="other links than those given"):
        resume(pairs, tmp_path / "other", links=links)
