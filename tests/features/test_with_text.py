"""Features as the first source and text as the second: every verb, from Python and from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import heedful
from heedful.data.features import readers
from heedful.errors import DataError, RecipeError, RunError
from training.cases import Recorder, write_pairs

from .cases import SETTINGS, manifest, strings, train_on

QUESTIONS = ("first", "what is last")


def asked(folder: Path, kind: str) -> Path:
    """``asked.tsv``: a file of letters, which of them is wanted, and that letter."""
    paths = [line.split("\t")[0] for line in manifest(folder, kind).read_text("utf-8").splitlines()]
    rows = []
    for number, (path, letters) in enumerate(zip(paths, strings(24), strict=True)):
        question = QUESTIONS[number % 2]
        rows.append((path, question, letters[0 if question == "first" else -1]))
    return write_pairs(folder / "asked.tsv", rows)


OF_TWO = {
    "data.second_source_column": 2,
    "data.second_source_tokens": "whitespace",
    "data.target_column": 3,
    "data.dev_share": 0.4,
}


def trained(pairs: Path, kind: str, second: str, *, label: bool = False, name: str = "run", **more):
    target = {"data.target_tokens": "label" if label else "characters", "model.second": second}
    front = {"name": "convolution", "stride": 2}
    return train_on(pairs, pairs.parent / name, kind, front=front, set={**OF_TWO, **target, **more}, overwrite=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, tuple[Path, Path]]:
    """For each way its pairs and a run; the readers in turn. Not to be changed."""
    found = {}
    for number, (second, label) in enumerate([("query", True), ("concat", False), ("gate", True)]):
        kind = readers.names()[number % len(readers.names())]
        pairs = asked(tmp_path_factory.mktemp(second), kind)
        found[second] = pairs, trained(pairs, kind, second, label=label, **{"train.updates": 30})
    return found


ways = pytest.mark.parametrize("second", ["query", "concat", "gate"])


def lines_of(pairs: Path) -> list[list[str]]:
    return [line.split("\t") for line in pairs.read_text("utf-8").splitlines()]


def sources(pairs: Path) -> list[str]:
    return [f"{pairs.parent / path}\t{question}" for path, question, _ in lines_of(pairs)]


@ways
def test_alone_as_in_a_batch_and_scored_as_searched(made, second, tmp_path):
    pairs, folder = made[second]
    run = heedful.load(folder)
    together = run.predict(sources(pairs), n_best=2, batch_size=7)
    for source, (found, *_) in zip(sources(pairs), together, strict=True):
        (own,) = run.predict([source])
        assert own.text == found.text
        assert own.score == pytest.approx(found.score, abs=1e-5)
        np.testing.assert_allclose(own.alignment.weights, found.alignment.weights, atol=1e-5)
        assert own.alignment.source_spans is not None
        assert (own.second_alignment is None) == (second == "query")
        if own.second_alignment is not None:
            assert own.second_alignment.source == (*source.split("\t")[1].split(), "∎")
            assert own.second_alignment.source_spans is None
    kept = [(*line.split("\t"), found.text) for line, (found, *_) in zip(sources(pairs), together, strict=True)]
    kept = [line for line in kept if line[2]]
    assert kept
    given = write_pairs(tmp_path / "given.tsv", kept)
    answers = run.predict(["\t".join(line[:2]) for line in kept])
    for scored, answer in zip(heedful.score(run, given), answers, strict=True):
        if answer.finished:
            assert scored.score == pytest.approx(answer.score, abs=1e-5)


@ways
def test_the_second_source_has_a_say(made, second):
    pairs, folder = made[second]
    path = sources(pairs)[2].split("\t")[0]
    one, other = heedful.predict(folder, [f"{path}\t{question}" for question in QUESTIONS])
    assert one.score != other.score


@ways
def test_every_verb(made, second, tmp_path):
    pairs, folder = made[second]
    assert heedful.evaluate(folder, pairs).sources == 24
    for posterior in (False, True):
        aligned = heedful.align(folder, pairs, posterior=posterior)
        assert len(aligned) == 24
        assert all(one.source_spans for one in aligned)
    diagnosis = heedful.diagnose(folder, pairs)
    assert diagnosis.measures["on_padding"] == 0
    assert diagnosis.measures["beside_others"] < 1e-4
    heedful.look(folder, pairs, out=tmp_path / "maps.html", line="1-3")
    heedful.look(folder, source=sources(pairs)[0], out=tmp_path / "map.png")
    with pytest.raises(RunError, match="a trace begins with the symbols of a text"):
        heedful.trace(folder, sources(pairs)[0])
    twice = heedful.load([folder, folder])
    (one,), (other,) = twice.predict(sources(pairs)[:1]), heedful.predict(folder, sources(pairs)[:1])
    assert one.score == pytest.approx(other.score, abs=1e-5)


def test_diagnosis_pads_both_sources(made):
    """Beside one that is longer than any of them, on either side."""
    from heedful.data.batches import Example
    from heedful.diagnosis.padding import _longer
    from heedful.training.train import read

    pairs, folder = made["concat"]
    run = heedful.load(folder)
    example = Example.of(read(pairs, run.recipe.data).pairs[1], run.codec, 0)
    longer = _longer(example)
    assert len(longer.source.ids) == 2 * len(example.source.ids) + 1
    assert longer.second.ids == [*example.second.ids[:-1], *example.second.ids]


@ways
def test_from_the_command_line(made, second, cli, tmp_path):
    pairs, folder = made[second]
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{line}\n" for line in sources(pairs)), "utf-8")
    found = cli("predict", folder, lines)
    assert found.code == 0, found.err
    expected = heedful.predict(folder, sources(pairs))
    assert [line.decode() for line in found.lines] == [one.text for one in expected]
    for verb in ("evaluate", "score", "align", "diagnose"):
        done = cli(verb, folder, pairs)
        assert done.code == 0, done.err
    done = cli("look", folder, pairs, "--out", tmp_path / "one.png", "--line", "1-2")
    assert done.code == 0, done.err


def test_json_lines(tmp_path, cli):
    """A key for each; `predict` takes them too."""
    pairs = asked(tmp_path, "array")
    rows = [dict(zip(("source", "q", "target"), line, strict=True)) for line in lines_of(pairs)]
    path = tmp_path / "asked.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settings = {"data.second_source_column": "q", "data.target_column": 2}
    folder = trained(path, "array", "query", label=True, **settings)
    same = trained(pairs, "array", "query", label=True, name="same")
    found = cli("predict", folder, path, "--json")
    assert found.code == 0, found.err
    assert [row["text"] for row in found.json] == [one.text for one in heedful.predict(same, sources(pairs))]


def test_what_was_never_seen_in_the_question_is_told(made, cli, tmp_path):
    pairs, folder = made["query"]
    path = sources(pairs)[0].split("\t")[0]
    done = cli("predict", folder, stdin=f"{path}\twhat is lost\n".encode())
    assert done.err == "heedful: 1 of 3 source symbols were never seen in training: 'lost'\n"


def test_training_tells_of_unknown_words_of_the_question(tmp_path):
    pairs = asked(tmp_path, "array")
    dev = write_pairs(tmp_path / "dev.tsv", [(path, "who is last", "a") for path, *_ in lines_of(pairs)[:3]])
    recorder = Recorder()
    set_ = {**SETTINGS, **OF_TWO, "model.second": "query", "data.target_tokens": "label", "train.updates": 1}
    train_on(pairs, tmp_path / "run", "array", set=set_, dev=dev, reporter=recorder)
    assert "3 of 9 second source tokens for development are unknown: 'who'" in recorder.messages


def test_bad_lines_are_told(made, refused, tmp_path):
    pairs, folder = made["query"]
    path = lines_of(pairs)[0][0]
    listed = pairs.parent / "lines.txt"
    for line, message in (
        (path, "expected the source in column 1, the second source in column 2, as in training, got 1 columns"),
        ("nothing.npy\tfirst", f"{pairs.parent}/nothing.npy: expected a file, got none of this name"),
    ):
        listed.write_text(f"{line}\n")
        assert refused("predict", folder, listed) == f"{listed}:1: {message}"
    bad = write_pairs(pairs.parent / "bad.tsv", [(path, " ", "a")])
    assert refused("evaluate", folder, bad) == f"{bad}:1: expected a text as second source, got a blank"


def test_what_features_do_not_go_with(made):
    _, folder = made["concat"]
    with pytest.raises(RecipeError, match=r"unknown = 'replace' does not go with data.source_features: .* have none"):
        heedful.predict(folder, [], unknown="replace")
    with pytest.raises(DataError, match=r"are features .* and have no tokens"):
        heedful.align(folder, made["concat"][0], words=True)
    (words, *_) = heedful.align(folder, made["concat"][0], words=True, second=True)
    assert words.source == ("first",)
