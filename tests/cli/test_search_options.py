"""Every option of the search as a flag, and several runs as one: the same as from Python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import heedful
from api.samples import SAMPLES, edited
from heedful.decoding import Decoding
from heedful.options import ScoringOptions, option_types
from heedful.runs import load_tensors, save_tensors
from training.cases import train_tiny, words, write_pairs

WORDS = words(9, seed=8, longest=9)
STDIN = "\n".join(WORDS).encode() + b"\n"
SCORING = sorted(option_types(ScoringOptions))


def aligned(run, **options):
    """What ``align --json`` writes."""
    return [{**found.to_json(), "links": found.pharaoh()} for found in heedful.align(run, "pairs.tsv", **options)]


def flags(options: dict[str, Any]) -> list[str]:
    """``{"n_best": 3, "banned": ["A", "B"]}`` -> --n-best 3 --banned A --banned B."""
    found = []
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            found += [f"--{name.replace('_', '-')}", str(one)]
    return found


def shown(answers) -> list[tuple]:
    """What JSON has of an answer."""
    return [
        (a.text, list(a.tokens), a.score, a.log_probability, list(a.token_scores), a.alignment.pharaoh(), a.finished)
        for a in answers
    ]


def listed(objects: list[dict]) -> list[tuple]:
    names = ("text", "tokens", "score", "log_probability", "token_scores", "alignment", "finished")
    return [tuple(answer[name] for name in names) for answer in objects]


@pytest.fixture
def settings(monkeypatch):
    """Those of each search and of each scoring."""
    seen: list[Any] = []
    for name in ("search", "score"):
        original = getattr(Decoding, name)

        def spy(self, *arguments, original=original, **options):
            seen.append(self.settings)
            return original(self, *arguments, **options)

        monkeypatch.setattr(Decoding, name, spy)
    return seen


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder to be in, with a dictionary and pairs."""
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "words.tsv", [("a", "A")])
    write_pairs(tmp_path / "pairs.tsv", [(word, " ".join(word.upper())) for word in WORDS])
    return tmp_path


@pytest.mark.parametrize("name", SAMPLES)
def test_each_flag_reaches_the_search(cli, run, settings, here, name):
    options, named = SAMPLES[name]
    done = cli("predict", run, "--json", *flags(options), stdin=STDIN)
    assert done.code == 0, done.err
    usual, last = heedful.load(run).predictor.settings, settings[-1]
    for key, value in options.items():
        assert key == "dictionary" or getattr(last, key) == value
    assert {key for key, value in usual if value != getattr(last, key)} <= {*options, "unknown"}
    assert listed(done.json) == shown(heedful.predict(run, WORDS, **options))
    evaluated = cli("evaluate", run, "pairs.tsv", "--json", *flags(options))
    assert evaluated.json == [heedful.evaluate(run, "pairs.tsv", **options).as_json()]
    assert named in evaluated.json[0]["signature"]


def test_without_flags_the_recipe_counts(cli, run, tmp_path):
    """What may be repeated and is not there is no empty list."""
    other = edited(run, tmp_path / "run", banned=["A", "B"], prefix="C", beam=3)
    lines = cli("predict", other, stdin=STDIN).lines
    expected = heedful.predict(run, WORDS, banned=["A", "B"], prefix="C", beam=3)
    assert lines == [answer.text.encode() for answer in expected]
    assert all(line.startswith(b"C") and b"A" not in line for line in lines)


@pytest.mark.parametrize("name", SCORING)
def test_each_flag_of_scores_reaches_them(cli, run, settings, here, name):
    options = SAMPLES[name][0]
    done = cli("score", run, "pairs.tsv", "--json", *flags(options))
    assert done.code == 0
    assert getattr(settings[-1], name) == options[name]
    scored = heedful.score(run, "pairs.tsv", **options)
    assert listed(done.json) == shown(scored)
    assert cli("score", run, "pairs.tsv", *flags(options)).lines == [f"{one.score:.6f}".encode() for one in scored]


def test_align_has_the_temperature_of_attention_alone(cli, run, here):
    found = cli("align", run, "pairs.tsv", "--json", "--attention-temperature", "0.3").json
    expected = aligned(run, attention_temperature=0.3)
    assert found == expected != aligned(run)
    assert cli("align", run, "pairs.tsv", "--coverage-penalty", "0.3").code == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--temperature", "0.5"], "there are two temperatures: sampling_temperature, .*, and attention_temperature"),
        (["--beam", "3", "--sampling-temperature", "1"], "either searched for with a beam or drawn"),
        (["--top-k", "3"], "top_k and top_p need a sampling_temperature"),
        (["--top-p", "0.3"], "top_k and top_p need a sampling_temperature"),
        (["--min-length", "9", "--max-length", "3"], "min_length 9 is above max_length 3"),
        (["--dictionary", "words.tsv", "--unknown", "leave"], "a dictionary is for unknown tokens that are replaced"),
        (["--dictionary", "nowhere.tsv"], "nowhere.tsv"),
        (["--prefix", "x"], "prefix: the target vocabulary has no token 'x'"),
        (["--banned", "A", "--banned", "x"], "banned: the target vocabulary has no token 'x'"),
        (["--prefix", "A B", "--max-length", "2"], "max_length 2 leaves no room for a prefix of 2 tokens"),
        (["--beam", "0"], "beam"),
        (["--coverage-penalty", "nan"], "coverage_penalty"),
        (["--coverage-penalty", "-1"], "coverage_penalty"),
        (["--no-repeat-ngram", "-1"], "no_repeat_ngram"),
        (["--sampling-temperature", "0"], "sampling_temperature"),
        (["--attention-temperature", "inf"], "attention_temperature"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(refused, run, here, given, says):
    for arguments in (["predict", run], ["evaluate", run, "pairs.tsv"]):
        assert re.search(says, refused(*arguments, *given, stdin=STDIN))


def test_more_answers_than_the_beam_holds(refused, cli, run):
    assert "n_best 9 needs a beam of at least 9, got beam 3" in refused("predict", run, "--n-best", 9, "--beam", 3)
    assert len(cli("predict", run, "--n-best", 9, stdin=b"abc\n").json[0]["answers"]) > 5


def test_a_bare_temperature_is_refused_where_scores_are_asked_for_too(refused, run, here):
    assert "there is an attention_temperature" in refused("score", run, "pairs.tsv", "--temperature", "1")


def test_draws_are_by_the_line_however_lines_are_read(cli, run, here):
    """From a file or a stream, in batches of any size; a blank line has its number too."""
    options = ["--sampling-temperature", "2", "--seed", "3"]
    lines = [*WORDS[:3], "", *WORDS[3:], *WORDS]
    text = "\n".join(lines).encode() + b"\n"
    (here / "lines.txt").write_bytes(text)
    expected = [answer.text.encode() for answer in heedful.predict(run, lines, sampling_temperature=2.0, seed=3)]
    for batch_size in (1, 2, 64):
        for where, stdin in ((["lines.txt"], b""), ([], text)):
            done = cli("predict", run, *where, "--batch-size", batch_size, *options, stdin=stdin)
            assert done.lines == expected
    assert cli("predict", run, "lines.txt", "--sampling-temperature", "2").lines != expected


def test_no_answer_is_cut_in_silence(cli, run):
    """Of 150 letters too: the limit grows with the source, and what is cut is counted and named, with its options."""
    text = f"{'abcdef' * 25}\nabc\n".encode()
    counts = []
    for given, limit in ([], 3 * 151 + 20), (["--max-length-ratio", 0.1], 35), (["--max-length", 2], 2):
        done = cli("predict", run, "--json", *given, stdin=text)
        cut = [answer["line"] for answer in done.json if not answer["finished"]]
        assert all(len(answer["tokens"]) <= limit for answer in done.json)
        assert all(len(answer["tokens"]) == limit for answer in done.json if answer["line"] == 1 and 1 in cut)
        assert ("answers cut" in done.err) == bool(cut)
        counts.append(len(cut))
        if cut:
            assert f"at lines {', '.join(map(str, cut))} ({len(cut)} in all); " in done.err
            assert all(name in done.err for name in ("max_length_ratio", "max_length_extra", "max_length"))
    assert counts[-1] == 2


# Several runs as one.


@pytest.fixture(scope="module")
def other(run, tmp_path_factory) -> Path:
    copy = Path(shutil.copytree(run, tmp_path_factory.mktemp("other") / "run"))
    tensors, metadata = load_tensors(copy / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    moved = {name: value + 0.3 * torch.randn(value.shape, generator=generator) for name, value in tensors.items()}
    save_tensors(copy / "model.safetensors", moved, metadata)
    return copy


@pytest.mark.parametrize("average", [None, "probabilities", "log_probabilities"])
def test_runs_with_commas_between_them_answer_as_one(cli, run, other, here, average):
    both = f"{run},{other}"
    given = [] if average is None else ["--ensemble-average", average]
    loaded = heedful.load([run, other], ensemble_average=average or "probabilities")
    expected = loaded.predict(WORDS, beam=3)
    assert listed(cli("predict", both, "--json", "--beam", 3, *given, stdin=STDIN).json) == shown(expected)
    assert shown(expected) != shown(heedful.predict(run, WORDS, beam=3))
    assert cli("evaluate", both, "pairs.tsv", "--json", *given).json == [
        heedful.evaluate(loaded, "pairs.tsv").as_json()
    ]
    assert listed(cli("score", both, "pairs.tsv", "--json", *given).json) == shown(heedful.score(loaded, "pairs.tsv"))
    alignments = aligned(loaded)
    assert cli("align", both, "pairs.tsv", "--json", *given).json == alignments


def test_runs_that_do_not_fit_together_are_refused(refused, run, here):
    strange = train_tiny(
        write_pairs(here / "strange.tsv", [("xyz" + word, "X Y Z") for word in WORDS]),
        here / "strange",
        set={"train.updates": 1, "train.validate_every": 9.0},
    )
    for command in (["predict"], ["evaluate", "pairs.tsv"], ["score", "pairs.tsv"], ["align", "pairs.tsv"]):
        message = refused(command[0], f"{run},{strange}", *command[1:], stdin=STDIN)
        assert "strange: has other vocabularies than" in message
    assert "nowhere: no such run folder" in refused("predict", f"{run},{here / 'nowhere'}", stdin=STDIN)
