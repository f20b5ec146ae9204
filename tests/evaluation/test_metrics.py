"""Error rates: cases worked out by hand, and agreement with independent implementations."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Hashable
from fractions import Fraction

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.errors import DataError, RecipeError
from heedful.evaluation import Scores, evaluate_texts

NAMES = ("sequence_error", "token_error", "word_error", "bleu", "chrf")


def score(lines: list[tuple[Hashable, str, str]], **options: object) -> Scores:
    """Lines of (source, output, reference), tokens being characters."""
    sources, outputs, references = zip(*lines, strict=True)
    return evaluate_texts(sources, outputs, references, target_split=list, **options)  # type: ignore[arg-type]


def edits(a: list[str], b: list[str]) -> int:
    """Levenshtein distance, from its definition."""
    table = [[i + j if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = a[i - 1] == b[j - 1]
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + 1 - same)
    return table[-1][-1]


def test_one_wrong_character_of_three() -> None:
    scores = score([("s", "abc", "abd")])
    assert scores.token_error == pytest.approx(100 / 3, rel=1e-12)
    assert scores.sequence_error == 100
    assert scores.word_error == 100


def test_everything_right() -> None:
    scores = score([("s", "one two three four", "one two three four"), ("t", "b", "b")])
    assert [scores.sequence_error, scores.token_error, scores.word_error] == [0, 0, 0]
    assert [scores.bleu, scores.chrf] == pytest.approx([100, 100])


def test_token_error_is_total_edits_over_total_length() -> None:
    # 1 edit of 2, and 0 of 8: 1 / 10, not the mean of 50 % and 0 %.
    assert score([("s", "ax", "ab"), ("t", "12345678", "12345678")]).token_error == 10


def test_too_long_an_output_can_err_by_more_than_all() -> None:
    assert score([("s", "abcd", "a")]).token_error == 300


def test_words_are_split_at_any_white_space() -> None:
    scores = score([("s", "the  cat\tsat", "the cat sat down")])
    assert scores.word_error == 25


def test_nearest_of_several_references_counts() -> None:
    # The second reference is equal: no error by source, one line of two is wrong, 2 edits of 2 + 0 of 3.
    scores = score([("read", "red", "ri"), ("read", "red", "red")])
    assert (scores.sequence_error, scores.token_error, scores.word_error) == (0, 0, 0)
    assert scores.sequence_error_by_line == 50
    assert scores.token_error_by_line == 40
    assert (scores.sentences, scores.sources) == (2, 1)


@pytest.mark.parametrize("references", [("ab", "abcd"), ("abcd", "ab")])
def test_of_equally_near_references_the_longer_counts(references: tuple[str, str]) -> None:
    # "abc" is one edit from both: 1 of 4.
    assert score([("s", "abc", reference) for reference in references]).token_error == 25


def test_first_output_for_a_source_counts() -> None:
    right_first = score([("s", "a", "a"), ("s", "x", "a")])
    assert (right_first.sequence_error, right_first.sequence_error_by_line) == (0, 50)
    wrong_first = score([("s", "x", "a"), ("s", "a", "a")])
    assert (wrong_first.sequence_error, wrong_first.sequence_error_by_line) == (100, 50)


def test_same_text_with_other_tags_is_another_source() -> None:
    scores = score([(("go", "PST"), "went", "went"), (("go", "FUT"), "went", "will go")])
    assert (scores.sources, scores.sequence_error) == (2, 50)


def test_empty_outputs_are_all_deletions() -> None:
    scores = score([("s", "", "ab"), ("t", "", "cd")])
    assert (scores.sequence_error, scores.token_error, scores.word_error, scores.bleu) == (100, 100, 100, 0)


def test_empty_references_do_not_divide_by_zero() -> None:
    assert score([("s", "", "")]).token_error == 0
    assert score([("s", "ab", "")]).token_error == 100
    # Beside others its edits count as usual: 2 of 4.
    assert score([("s", "ab", ""), ("t", "abcd", "abcd")]).token_error == 50


def test_composed_and_decomposed_letters_are_equal() -> None:
    scores = score([("s", "cafe\u0301", "café")])
    assert (scores.sequence_error, scores.token_error) == (0, 0)
    assert scores.bleu == score([("s", "café", "café")]).bleu


def test_texts_are_equal_where_their_tokens_are() -> None:
    phones = ["K  AE T", "K AE T "]
    scores = evaluate_texts("cc", phones, ["K AE T"] * 2, target_split=str.split)
    assert (scores.sequence_error, scores.sequence_error_by_line) == (0, 0)


def test_phone_error_counts_phones_not_letters() -> None:
    scores = evaluate_texts(["cat"], ["K AH T"], ["K AE T"], target_split=str.split)
    assert scores.token_error == pytest.approx(100 / 3, rel=1e-12)


texts = st.text(alphabet="abé ", max_size=6)


@given(st.lists(st.tuples(st.sampled_from("xyz"), texts, texts), min_size=1, max_size=6))
def test_agrees_with_the_definitions_written_out(lines: list[tuple[str, str, str]]) -> None:
    scores = score(lines)  # type: ignore[arg-type]
    wrong = total_edits = total_length = 0
    for source in {source for source, _, _ in lines}:
        output = next(output for one, output, _ in lines if one == source)
        references = [reference for one, _, reference in lines if one == source]
        wrong += output not in references
        distance = min(edits(list(output), list(reference)) for reference in references)
        total_edits += distance
        total_length += max(len(r) for r in references if edits(list(output), list(r)) == distance)
    sources = len({source for source, _, _ in lines})
    assert scores.sequence_error == pytest.approx(float(Fraction(100 * wrong, sources)))
    if total_length:
        assert scores.token_error == pytest.approx(float(Fraction(100 * total_edits, total_length)))
    by_line = sum(output != reference for _, output, reference in lines)
    assert scores.sequence_error_by_line == pytest.approx(100 * by_line / len(lines))
    length = sum(len(reference) for _, _, reference in lines)
    if length:
        line_edits = sum(edits(list(output), list(reference)) for _, output, reference in lines)
        assert scores.token_error_by_line == pytest.approx(100 * line_edits / length)


@pytest.mark.parametrize("tokenizer", ["13a", "none", "char"])
def test_bleu_and_chrf_are_sacrebleu_s_own(tokenizer: str) -> None:
    outputs = ["The cat sat on the mat, quietly.", "There is a dog in the garden.", "Hello, world!"]
    references = ["The cat sat on the mat quietly.", "A dog is in the garden.", "Hello world!"]
    scores = evaluate_texts([1, 2, 3], outputs, references, target_split=list, bleu_tokenizer=tokenizer)
    assert scores.bleu == sacrebleu.corpus_bleu(outputs, [references], tokenize=tokenizer).score
    assert 0 < scores.bleu < 100
    assert scores.chrf == sacrebleu.corpus_chrf(outputs, [references]).score
    assert f"tok:{tokenizer}" in scores.signatures["bleu"]
    assert f"version:{sacrebleu.__version__}" in scores.signatures["bleu"]
    assert scores.signatures["chrf"].startswith("chrf|")


def test_unknown_bleu_tokenizer_is_refused_with_the_nearest() -> None:
    with pytest.raises(RecipeError, match=r"unknown BLEU tokenizer 'charr'; did you mean 'char'\?"):
        score([("s", "a", "a")], bleu_tokenizer="charr")


def test_every_number_has_a_signature_of_one_line() -> None:
    scores = score([("s", "ab", "ab"), ("s", "ab", "ac"), ("t", "b", "c")], token_name="characters")
    numbers = {name for name, value in scores.as_json().items() if isinstance(value, float)}
    assert numbers == set(scores.signatures)
    assert all("\n" not in line for line in scores.signatures.values())
    assert scores.signatures["sequence_error"].startswith("seq_err|sources:2|refs:any|tok:characters|norm:nfc|v:")
    assert scores.signatures["token_error"].startswith("tok_err|sources:2|refs:nearest|tok:characters|norm:nfc|")
    assert scores.signatures["token_error_by_line"].startswith("tok_err|lines:3|refs:1|tok:characters|")
    assert scores.signatures["word_error"].startswith("word_err|sources:2|refs:nearest|tok:space|")
    for part in (
        "lines:3",
        "sources:2",
        "refs:nearest",
        "tok:characters",
        "bleu-tok:13a",
        "norm:nfc",
        f"v:{heedful.__version__}",
    ):
        assert part in scores.signature


def test_texts_are_compared_in_the_form_that_the_signature_names() -> None:
    lines: list[tuple[Hashable, str, str]] = [("s", "cafe\u0301", "caf\u00e9"), ("t", "\ufb01n", "fin")]
    for form, wrong in {"NFC": 50, "NFD": 50, "NFKC": 0, "NFKD": 0, "none": 100}.items():
        scores = score(lines, normalisation=form)
        assert scores.sequence_error == scores.sequence_error_by_line == wrong
        assert (scores.chrf == 100) == (wrong == 0)
        assert f"|norm:{form.lower()}|" in scores.signature
        own = [signature for name, signature in scores.signatures.items() if name not in ("bleu", "chrf")]
        assert all(f"|norm:{form.lower()}|" in signature for signature in own)
    assert score(lines) == score(lines, normalisation="NFC")
    with pytest.raises(DataError, match="expected 'NFC', 'NFD', 'NFKC', 'NFKD' or 'none', got 'nfc'"):
        score(lines, normalisation="nfc")


def test_json_has_every_number_and_the_signature() -> None:
    value = json.loads(json.dumps(score([("s", "a b", "a c")]).as_json()))
    assert {*NAMES, "signature", "signatures", "sentences", "sources"} <= set(value)
    assert value["word_error"] == 50


@pytest.mark.parametrize(
    ("sources", "outputs", "references", "message"),
    [
        (["s"], ["a", "b"], ["a"], "1 sources, 2 outputs and 1 references"),
        (["s"], ["a"], [], "1 sources, 1 outputs and 0 references"),
        ([], [], [], "at least one line, got none"),
    ],
)
def test_lists_that_do_not_match_are_refused(
    sources: list[str], outputs: list[str], references: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_texts(sources, outputs, references, target_split=list)


def test_nothing_is_said_about_tokenised_texts(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[tuple[Hashable, str, str]] = [(i, "a b .", "a b .") for i in range(150)]
    score(lines)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_importing_it_imports_neither_sacrebleu_nor_torch() -> None:
    code = "import sys, heedful.evaluation; print([m for m in ('torch', 'sacrebleu') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
