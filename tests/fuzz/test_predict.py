"""A line in, a line out, whatever stands in the line and whichever options are given."""

from __future__ import annotations

import gzip
import math
import re
import unicodedata
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import strategies as st

import heedful
from fuzz.command import call
from fuzz.strategies import files, json_lines, mostly, pieces, shell, texts
from fuzz.watch import fuzz
from heedful.options import option_types
from training.cases import LETTERS

RUNS = ["letters", "letters", "pieces", "fixed"]

words = st.text(LETTERS, max_size=7)
blanks = st.text(" \t\x0b\x0c\x1c\x85\xa0\u2000\u2028\u3000", max_size=3)
long = st.tuples(texts.filter(bool), st.integers(100, 2000)).map(lambda drawn: (drawn[0] * 2000)[: drawn[1]])
one = st.integers(0, 39).flatmap(lambda place: long if place == 0 else st.one_of(words, texts, blanks))
lines = one.map(lambda text: text.replace("\n", " "))
ends = st.sampled_from(["\n", "\n", "\r\n"])

# Options that make sense together, for any of the runs.
searches = st.fixed_dictionaries(
    {"max_length": st.integers(1, 25)},
    optional={
        "beam": st.sampled_from([1, 1, 2, 3, 5, 40]),
        "batch_size": st.integers(1, 9),
        "length_penalty": st.sampled_from([0.0, 0.5, 1.0, 2.5]),
        "length_normalisation": st.sampled_from(["power", "gnmt"]),
        "no_repeat_ngram": st.integers(0, 3),
        "diversity_penalty": st.sampled_from([0.0, 0.3]),
        "unknown": st.sampled_from(["leave", "replace", "avoid"]),
        "attention_temperature": st.sampled_from([0.5, 1.0, 3.0]),
    },
)


def flags(options: dict[str, Any]) -> list[str]:
    """As the command line has them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


@pytest.fixture(scope="module")
def loaded(trained):
    return {name: heedful.load(folder) for name, folder in trained.items()}


@pytest.fixture(scope="module")
def precise(trained):
    """In double precision, so that a long line's steps do not add up to a difference that a mistake could make."""
    runs = {name: heedful.load(folder) for name, folder in trained.items()}
    for run in runs.values():
        run.predictor.model.double()
    return runs


def check_answer(answer: dict[str, Any], blank: bool) -> None:
    """One answer as JSON."""
    assert len(answer["token_scores"]) == len(answer["tokens"]) + answer["finished"] * (not blank)
    assert math.isclose(sum(answer["token_scores"]), answer["log_probability"], rel_tol=1e-5, abs_tol=1e-5)
    assert answer["log_probability"] <= 1e-6
    assert not blank or answer["text"] == ""


@fuzz(
    short=20,
    slow=1000,
    name=st.sampled_from(RUNS),
    asked=st.lists(st.tuples(lines, ends), max_size=12),
    rest=st.one_of(st.just(""), lines),
    search=searches,
    as_json=st.booleans(),
    n_best=st.sampled_from([1, 1, 2, 5]),
)
def test_every_line_is_answered(trained, name, asked, rest, search, as_json, n_best):
    text = "".join(line + end for line, end in asked) + rest
    given = [line for line, _ in asked] + [rest] * bool(rest)
    if name == "fixed":
        search.pop("unknown", None)
        search.pop("attention_temperature", None)
    if search.get("beam", 1) == 1:  # also the runs' own
        search.pop("diversity_penalty", None)
    if n_best > search.get("beam", 5):
        n_best = 1
    more = ["--json"] * as_json + [f"--n-best={n_best}"]
    done = call("predict", trained[name], *flags(search), *more, stdin=text.encode("utf-8"))
    assert done.code == 0, done.err
    assert isinstance(done.notes, list)
    if text.startswith("\ufeff"):  # a byte order mark
        given = [given[0][1:], *given[1:]] if text != "\ufeff" else []
    assert len(done.lines) == len(given)
    if not as_json and n_best == 1:
        for line, answer in zip(given, done.lines, strict=True):
            assert line.strip() or not answer
            assert b"\r" not in answer
            answer.decode("utf-8")
        return
    for number, (line, found) in enumerate(zip(given, done.objects, strict=True), start=1):
        assert found["line"] == number
        assert found["source"].strip() == unicodedata.normalize("NFC", line).strip()
        answers = found["answers"] if n_best > 1 else [found]
        assert 1 <= len(answers) <= n_best
        for answer in answers:
            check_answer(answer, blank=not line.strip())
        scores = [answer["score"] for answer in answers]
        assert scores == sorted(scores, reverse=True)


@fuzz(
    short=10,
    slow=600,
    name=st.sampled_from(RUNS),
    asked=st.lists(lines, min_size=2, max_size=9),
    beam=st.sampled_from([1, 2, 5, 40]),
    batch_size=st.integers(1, 9),
    n_best=st.integers(1, 3),
)
def test_neighbours_do_not_matter(precise, name, asked, beam, batch_size, n_best):
    """Each line alone has the answers that it has among the others."""
    run, n_best = precise[name], min(beam, n_best)
    options = {"beam": beam, "n_best": n_best, "max_length": 25}
    together = run.predict(asked, batch_size=batch_size, **options)
    for text, found in zip(asked, together, strict=True):
        (alone,) = run.predict([text], **options)
        pairs = zip(found, alone, strict=True) if n_best > 1 else [(found, alone)]
        for one, other in pairs:
            assert one.text == other.text
            assert one.score == pytest.approx(other.score, abs=1e-9)
            assert one.token_scores == pytest.approx(other.token_scores, abs=1e-9)
            assert (one.alignment is None) == (other.alignment is None)
            if one.alignment is not None and other.alignment is not None:
                assert one.alignment.weights == pytest.approx(other.alignment.weights, abs=1e-9)


@fuzz(
    short=12,
    slow=500,
    rows=st.lists(
        st.tuples(lines, words, st.lists(st.sampled_from(["UP", "UP2", "X", "", " "]), max_size=3)), max_size=6
    ),
    damaged=st.booleans(),
)
def test_lines_with_tags(trained, rows, damaged):
    """Text, target and tags in columns; a line with too few of them is an error that names it."""
    table = [f"{text.replace(chr(9), ' ')}\t{target}\t{';'.join(tags)}".rstrip("\r") for text, target, tags in rows]
    stdin = "".join(row + "\n" for row in [*table, *["a"] * damaged])
    done = call("predict", trained["tags"], "--beam=2", "--max-length=25", stdin=stdin.encode("utf-8"))
    if damaged:
        assert done.code == 2
        assert done.notes[-1].startswith(f"standard input:{len(table) + 1}: expected the source in column 1")
        assert len(done.lines) == len(table)
        return
    assert done.code == 0
    assert len(done.lines) == len(table)
    for (text, *_), answer in zip(rows, done.lines, strict=True):
        assert text.strip() or not answer


LINES = mostly(words.map(str.encode), st.lists(pieces, max_size=5).map(b"".join))


@fuzz(
    short=20,
    slow=900,
    asked=st.one_of(
        st.tuples(st.sampled_from(["letters", "tags"]), st.just("any bytes"), files(LINES)),
        st.tuples(st.just("letters"), st.just("any.jsonl"), files(json_lines())),
    ),
    standard_input=st.booleans(),
    as_json=st.booleans(),
)
def test_any_bytes(trained, asked, standard_input, as_json):
    """Answers, or an error that names the line behind those that have been answered."""
    name, file, data = asked
    path = trained["letters"].parent / file
    path.write_bytes(data)
    where = [] if standard_input and file == "any bytes" else [path]
    done = call("predict", trained[name], *where, *["--json"] * as_json, "--beam=1", "--max-length=9", stdin=data)
    answers = done.objects if as_json else done.lines
    if done.code == 0:
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        given = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        assert len(answers) == len(given) - (not given[-1])
        return
    assert done.code == 2
    message = done.notes[-1].removeprefix(str(path) if where else "standard input")
    assert message.startswith(":")
    if number := re.match(r":(\d+): |: line (\d+): ", message):
        assert len(answers) == int(number[1] or number[2]) - 1


full = one.map(lambda text: text.replace("\n", " ").replace("\t", " ")).filter(str.strip)


@fuzz(
    short=4,
    slow=250,
    name=st.sampled_from(["letters", "pieces"]),
    given=st.lists(st.tuples(full, full.map(lambda text: text[:40] or "a").filter(str.strip)), min_size=1, max_size=5),
    batch_size=st.integers(1, 5),
)
def test_given_targets(trained, name, given, batch_size):
    """Each pair has its line of scores and of links, and its share in the whole."""
    path = trained["letters"].parent / "given.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{source}\t{target}\n" for source, target in given).encode("utf-8"))
    size = f"--batch-size={batch_size}"
    plain = [float(line) for line in call("score", trained[name], path, size).lines]
    scored = call("score", trained[name], path, "--json").objects
    assert plain == pytest.approx([answer["score"] for answer in scored], abs=2e-5)
    for answer in scored:
        check_answer(answer, blank=False)
    links = call("align", trained[name], path, size).lines
    matrices = call("align", trained[name], path, size, "--json").objects
    assert len(links) == len(matrices) == len(plain) == len(given)
    (scores,) = call("evaluate", trained[name], path, size, "--json", "--max-length=20").objects
    assert scores["sentences"] == len(given)


# Any value of any option.


def odd(kind: Any) -> st.SearchStrategy[Any]:
    """Values that an option of this type may be given by somebody."""
    kinds = [one for one in get_args(kind) if one is not type(None)] if type(None) in get_args(kind) else [kind]
    found = []
    for one in kinds:
        if get_origin(one) is Literal:
            found.append(st.sampled_from([*get_args(one), "x", ""]))
        elif one is int:
            found.append(st.one_of(st.integers(-2, 9), st.sampled_from([2**50, 2**63, -(2**63), 10**30])))
        elif one is float:
            found.append(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 99.9, 1e-300, 1e300]), st.floats()))
        else:
            found.append(st.one_of(st.sampled_from(["A", "B C", "", " ", "/nowhere", "/"]), texts, shell))
    return st.one_of(found)


OPTIONS = {name: odd(kind) for name, (kind, _) in option_types().items()}
any_options = st.lists(st.sampled_from(list(OPTIONS)), unique=True, max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: OPTIONS[name] for name in names})
)


@fuzz(
    short=30,
    slow=1200,
    name=st.sampled_from(RUNS),
    search=any_options,
    n_best=st.sampled_from([1, 1, 2, 0, -1, 2**40]),
    batch_size=st.sampled_from([1, 64, 0, -1, 2**63]),
)
def test_any_options(trained, name, search, n_best, batch_size):
    search.setdefault("max_length", 12)
    more = {"n_best": n_best, "batch_size": batch_size}
    done = call("predict", trained[name], *flags({**search, **more}), stdin=b"abc\n\nf\n")
    if done.code == 0:
        assert len(done.lines) == 3
        return
    assert done.code == 2
    assert done.out == b""
    if not done.err.startswith(("Usage: ", "Error: ")):
        assert done.message
