"""Two sources through texts: every verb, from TSV and from JSON lines, in batches and alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import heedful
from heedful.data.pairs import Pair, read_pairs
from heedful.errors import DataError, RecipeError, RunError, SizeError
from training.cases import TINY

LINES = [f"{first}\t{second}\t{first[0]} {second[-1]}" for first in ("ab", "cab", "d") for second in ("xy", "z", "yxz")]
SETTINGS = {
    **TINY,
    "data.second_source_column": 2,
    "data.target_column": 3,
    "data.dev_share": 0.5,
    "train.updates": 20,
    "train.guided_attention": 0.0,
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "two.tsv"
    path.write_text("".join(f"{line}\n" for line in LINES), "utf-8")
    return path


def trained(pairs, how, *, name="run", **more):
    settings = {**SETTINGS, "model.second": how, **more}
    return heedful.train(pairs, out=pairs.parent / name, recipe="tiny", set=settings, dev=pairs, overwrite=True)


@pytest.fixture(scope="module")
def both(pairs):
    """Looks at both."""
    return heedful.load(trained(pairs, "concat", name="both"))


@pytest.fixture(scope="module")
def asked(pairs):
    """Asks the first with the second."""
    return heedful.load(trained(pairs, "query", name="asked"))


def test_answers_depend_on_both_and_not_on_company(both):
    sources = [line.rsplit("\t", 1)[0] for line in LINES]
    together = both.predict(sources, n_best=2)
    for source, found in zip(sources, together, strict=True):
        (own,) = both.predict([source], n_best=2)
        assert [one.text for one in own] == [one.text for one in found]
        for one, other in zip(own, found, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-5)
            for name in ("alignment", "second_alignment"):
                mine, its = getattr(one, name), getattr(other, name)
                assert (mine.source, mine.target) == (its.source, its.target)
                np.testing.assert_allclose(mine.weights, its.weights, atol=1e-5)
    scores = {source: found[0].score for source, found in zip(sources, together, strict=True)}
    assert len(set(scores.values())) == len(scores)


def test_an_answer_has_an_alignment_to_each(both):
    (answer,) = both.predict(["cab\tyxz"])
    assert answer.alignment.source == ("c", "a", "b", "∎")
    assert answer.second_alignment.source == ("y", "x", "z", "∎")
    for alignment in (answer.alignment, answer.second_alignment):
        np.testing.assert_allclose(alignment.weights.sum(-1), 1.0, atol=1e-5)
    assert both.predict(["cab\tyxz"], with_alignment=False)[0].second_alignment is None


def test_forced_scores_and_alignments_are_those_of_search(both, pairs, tmp_path):
    (answer,) = both.predict(["cab\tyxz"], beam=1)
    path = tmp_path / "given.tsv"
    path.write_text(f"cab\tyxz\t{answer.text}\n", "utf-8")
    (forced,) = heedful.score(both, path)
    assert forced.score == pytest.approx(answer.score, abs=1e-5)
    (first,), (second,) = heedful.align(both, path), heedful.align(both, path, second=True)
    np.testing.assert_allclose(first.weights, answer.alignment.weights, atol=1e-5)
    np.testing.assert_allclose(second.weights, answer.second_alignment.weights, atol=1e-5)
    assert second.source == ("y", "x", "z", "∎")
    (words,) = heedful.align(both, path, second=True, words=True)
    assert words.source == ("yxz",)
    (later,) = heedful.align(both, path, posterior=True)
    assert later.source == ("c", "a", "b", "∎")


def test_a_query_is_no_memory(asked, pairs):
    one, other = asked.predict(["cab\tyxz", "cab\tz"])
    assert one.score != other.score
    assert one.alignment.source == ("c", "a", "b", "∎")
    assert one.second_alignment is None
    with pytest.raises(RunError, match="does not look at a second source"):
        heedful.align(asked, pairs, second=True)


def test_coverage_and_replacement_are_of_the_first(both):
    """The second source need not be looked at all over."""
    plain, covered = both.predict(["cab\tyxz"], beam=1), both.predict(["cab\tyxz"], beam=1, coverage_penalty=0.5)
    weights = plain[0].alignment.weights[:, :3].sum(0).clip(max=1.0)
    assert covered[0].score == pytest.approx(plain[0].score + 0.5 * np.log(weights).sum(), abs=1e-4)
    wide = both.predict(["cab\tyxz"], beam=3, coverage_penalty=0.5)
    assert wide[0].score >= covered[0].score - 1e-5


def test_the_other_verbs(both, asked, pairs, tmp_path):
    for run in (both, asked):
        scores = heedful.evaluate(run, pairs)
        assert scores.sources == len(LINES)  # the same first source with another second one is another source
        diagnosis = heedful.diagnose(run, pairs)
        assert diagnosis.measures["on_padding"] == 0
        assert diagnosis.measures["beside_others"] < 1e-4
        assert diagnosis.measures["gradient_state"] > 0
        with pytest.raises(RunError, match=r"a trace follows one source, .* \(model.second = '(concat|query)'\)"):
            heedful.trace(run, "cab\tyxz")
    report = heedful.look(both, pairs, out=tmp_path / "report.html")
    assert [one.caption for one in report.entries[0].maps] == ["source", "second source"]
    assert report.entries[0].source == "ab | xy"
    heedful.look(both, source="cab\tyxz", out=tmp_path / "map.png")
    with pytest.raises(SizeError, match="leave second or posterior out"):
        heedful.align(both, pairs, second=True, posterior=True)


def test_json_lines_by_key(pairs, tmp_path):
    path = tmp_path / "two.jsonl"
    rows = [dict(zip(("source", "hint", "target"), line.split("\t"), strict=True)) for line in LINES]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    corpus = read_pairs(path, second_source_column="hint")
    assert corpus.pairs[1] == Pair("ab", "a z", (), 2, second="z")
    out = heedful.train(
        path,
        out=tmp_path / "run",
        recipe="tiny",
        dev=path,
        set={**SETTINGS, "model.second": "gate", "data.second_source_column": "hint", "data.target_column": 2},
    )
    run = heedful.load(out)
    pair = run.as_json_pair('{"source": "ab", "hint": "z"}', 1)
    assert pair == Pair("ab", None, (), 1, second="z")
    assert run.predictor.predict([pair])[0][0].finished in (True, False)
    with pytest.raises(DataError, match="this run's second source has a JSON key; predict from a file of JSON lines"):
        run.predict(["ab\tz"])


def test_what_a_line_must_have(both, pairs, tmp_path):
    with pytest.raises(DataError, match="expected the source in column 1, the second source in column 2, as in"):
        both.predict(["ab"])
    for text, message in (("a\t \tb\n", "expected a text as second source, got a blank"), ("a\tb\n", "3 columns")):
        path = tmp_path / "bad.tsv"
        path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=message):
            heedful.evaluate(both, path)
    assert both.predict(["", "ab\t"])[0].text == ""
    with pytest.raises(DataError, match="expected a column from 1 to 2, got column 3"):
        heedful.train("copy", out=tmp_path / "no", recipe="tiny", set={**SETTINGS, "model.second": "concat"})


def test_resuming_asks_for_the_same_second_sources(pairs, tmp_path):
    path = tmp_path / "two.tsv"
    path.write_text(pairs.read_text("utf-8"), "utf-8")
    out = trained(path, "concat")
    path.write_text(pairs.read_text("utf-8").replace("yxz", "yxx"), "utf-8")
    with pytest.raises(RunError, match="pairs"):
        heedful.train(path, out=out, resume=True, dev=pairs, set={"train.updates": 30})
    path.write_text(pairs.read_text("utf-8"), "utf-8")
    heedful.train(path, out=out, resume=True, dev=path, set={"train.updates": 30})


def test_what_does_not_go_together(pairs, both, asked):
    for settings, message in (
        ({"model.second": "none"}, "names a second source, of which model.second = 'none' has no use"),
        ({"data.second_source_column": 3}, "are both 3: the target would be asked with itself"),
        ({"data.second_source_column": "none"}, "model.second = 'concat' needs a second source"),
        ({"model.fusion": "none"}, "fusion 'none' has no attention"),
        ({"model.second": "query", "model.start": "zero"}, "start 'zero' makes that of no source"),
    ):
        with pytest.raises(RecipeError, match=message):
            trained(pairs, "concat", name="no", **settings)
    with pytest.raises(RecipeError, match="an ensemble needs attention to the same sources"):
        heedful.load([both.folder, asked.folder])
    twice = heedful.load([both.folder, both.folder])
    (one,), (other,) = twice.predict(["cab\tyxz"]), both.predict(["cab\tyxz"])
    np.testing.assert_allclose(one.second_alignment.weights, other.second_alignment.weights, atol=1e-6)


def test_from_the_command_line(both, pairs, cli, refused, tmp_path):
    """A line without its second source; one with an empty one; keys where there are columns, and others than wanted."""
    folder, lines = both.folder, tmp_path / "lines.txt"
    lines.write_text("cab\tyxz\nab\n", "utf-8")
    done = cli("predict", folder, lines)
    assert (done.code, done.err) == (
        2,
        f"heedful: {lines}:2: expected the source in column 1, the second source in column 2, as in training, got 1 "
        "columns\n",
    )
    lines.write_text("cab\t\n", "utf-8")
    (found,) = cli("predict", folder, lines, "--json").json
    assert (found["second_source"], found["second_alignment"]) == ("", "")
    keyed = tmp_path / "keys.jsonl"
    keyed.write_text('{"source": "ab", "target": "a y"}\n', "utf-8")
    says = "JSON lines: expected the name of a JSON key (or 1: source, 2: target), got 3"
    assert refused("predict", folder, keyed) == f"{keyed}:1: {says}"
    rows = [dict(zip(("source", "hint", "target"), line.split("\t"), strict=True)) for line in LINES]
    keyed.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    by_key = {**SETTINGS, "model.second": "query", "data.second_source_column": "hint", "data.target_column": 2}
    run = heedful.train(keyed, out=tmp_path / "run", recipe="tiny", set={**by_key, "train.updates": 1}, dev=keyed)
    keyed.write_text('{"source": "ab", "hunt": "y", "target": "a y"}\n', "utf-8")
    for verb in ("predict", "evaluate", "align"):
        says = "expected a value for the key 'hint', got the keys 'source', 'hunt', 'target'"
        assert refused(verb, run, keyed) == f"{keyed}:1: {says}"
