"""``heedful align`` with its options, ``symmetrise`` and ``aer``, and the weights that ``predict`` can give."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import heedful
from heedful.alignment import Alignment, load_alignments, read_links
from heedful.alignment.files import JSON_LINES, NPZ
from heedful.cli.align import _PHARAOH
from training.cases import write_pairs

PAIRS = [("abc", "A B C"), ("fedcba", "F E D C B A"), ("a", "A"), ("bade", "B A D E")]


@pytest.fixture
def few(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "few.tsv", PAIRS)


@pytest.fixture
def alignments(run: Path, few: Path) -> list[Alignment]:
    return heedful.align(run, few)


@pytest.mark.parametrize(
    ("flags", "rule", "options"),
    [
        ([], "argmax", {}),
        (["--links", "one_to_one"], "one_to_one", {}),
        (["--links", "one_to_one", "--threshold", 0.3], "one_to_one", {"threshold": 0.3}),
        (["--links", "threshold", "--threshold", 0.25], "threshold", {"threshold": 0.25}),
        (["--links", "relative", "--threshold", 0.9], "relative", {"threshold": 0.9}),
    ],
)
def test_links_by_every_rule(cli, run, few, alignments, tmp_path, flags, rule, options):
    """On standard output, in JSON and in files: what the method of an alignment says."""
    expected = [one.pharaoh(rule, **options) for one in alignments]
    assert [line.decode() for line in cli("align", run, few, *flags).lines] == expected
    in_json = cli("align", run, few, *flags, "--json").json
    assert [line.pop("links") for line in in_json] == expected
    assert [Alignment.from_json(line) for line in in_json] == alignments
    out = tmp_path / "links.pharaoh"
    done = cli("align", run, few, *flags, "--out", out)
    assert (done.code, done.out, done.err) == (0, b"", f"{out} has the alignments, 4 in all\n")
    assert out.read_text().splitlines() == expected
    assert len(set(expected)) == 4


def test_links_that_are_turned(cli, run, few, alignments, tmp_path):
    expected = "".join(one.pharaoh(swap=True) + "\n" for one in alignments)
    assert cli("align", run, few, "--swap").out.decode() == expected
    assert cli("align", run, few, "--swap", "--out", tmp_path / "links.txt").code == 0
    assert (tmp_path / "links.txt").read_text() == expected != "".join(one.pharaoh() + "\n" for one in alignments)


def test_json_says_that_weights_are_posterior(cli, run, few):
    done = cli("align", run, few, "--posterior", "--json").json
    assert [line["posterior"] for line in done] == [True] * 4
    assert [Alignment.from_json(line) for line in done] == heedful.align(run, few, posterior=True)
    assert not any("posterior" in line for line in cli("align", run, few, "--json").json)


def test_rules_differ(cli, run, few):
    ways = [["--links", "one_to_one"], ["--links", "relative", "--threshold", 0.2], ["--threshold", 0.5], []]
    assert len({cli("align", run, few, *flags).out for flags in ways}) == 4


@pytest.mark.parametrize("name", ["all.txt", "all.txt.gz", "all.jsonl", "all.jsonl.gz", "all.npz"])
def test_files(cli, run, few, alignments, tmp_path, name):
    """The same numbers and the same links come back; an old file is replaced."""
    out = tmp_path / name
    out.write_bytes(b"old")
    assert cli("align", run, few, "--out", out).code == 0
    assert out.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    if ".txt" in name:
        assert read_links(out) == [frozenset(one.links()) for one in alignments]
    else:
        assert load_alignments(out) == alignments
    if name == "all.jsonl":
        assert out.read_bytes() == cli("align", run, few, "--json").out
    if name == "all.txt.gz":
        assert gzip.decompress(out.read_bytes()) == cli("align", run, few).out


def test_words_and_conventions_are_those_of_the_function(cli, run, few):
    done = cli("align", run, few, "--words", "--convention", "input", "--json").json
    expected = heedful.align(run, few, words=True, convention="input")
    assert [Alignment.from_json(line) for line in done] == expected
    assert expected[0].source == ("abc",)  # letters are pieces, white space is between words
    assert expected[0].target == tuple("ABC")
    assert cli("align", run, few, "--convention", "input").out != cli("align", run, few).out


def test_a_picture_beside_a_file(cli, run, few, tmp_path):
    done = cli("align", run, few, "--words", "--plot", tmp_path / "map.svg", "--out", tmp_path / "all.npz")
    assert (done.code, done.out) == (0, b"")
    assert b">abc<" in (tmp_path / "map.svg").read_bytes()
    assert f"{tmp_path / 'map.svg'} shows line 1" in done.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--links", "threshold"], "links by 'threshold' need a threshold from 0 to 1, got none"),
        (["--threshold", "2"], "threshold: expected a number from 0 to 1, got 2.0"),
        (["--out", "{}/links"], "/links: expected a name with one of " + ", ".join((*_PHARAOH, *JSON_LINES, *NPZ))),
        (["--out", "{}/nowhere/all.npz"], "there is no folder"),
        (["--out", "{}/all.npz", "--swap"], ".npz holds weights and no links"),
        (["--out", "{}/all.npz", "--links", "one_to_one"], ".npz holds weights and no links"),
        (["--out", "{}/all.jsonl", "--json"], "--json is for standard output"),
        (["--json", "--swap"], "--swap turns links, but not the weights that JSON has beside them"),
        (["--out", "{}/all.jsonl.gz", "--swap"], "--swap turns links, but not the weights"),
        (["--line", "1"], "--line says which pair --plot draws: add --plot FILE"),
        (["--plot", "{}/nowhere/map.png"], "/nowhere/map.png: there is no folder"),
        (["--plot", "{}/map.pdf", "--line", "2"], "/map.pdf: expected a name with one of .png, .svg"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(refused, tmp_path, flags, says):
    """Even before the run is looked for."""
    message = refused("align", tmp_path / "no run", "pairs", *(flag.format(tmp_path) for flag in flags))
    assert says in message
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_has_the_name(refused, run, few, tmp_path):
    (tmp_path / "all.npz").mkdir()
    assert "all.npz: cannot be written" in refused("align", run, few, "--out", tmp_path / "all.npz")


def test_weights_of_every_answer(cli, run):
    """What `align` says of the same text as a given target; implies --json."""
    (first, blank) = cli("predict", run, "--n-best", 3, "--with-weights", stdin=b"abcdef\n\n").json
    answers = heedful.load(run).predict(["abcdef"], n_best=3)[0]
    found = [Alignment.from_json(answer["weights"]) for answer in first["answers"]]
    assert len(found) == 3
    for answer, alignment, expected in zip(first["answers"], found, answers, strict=True):
        assert alignment == expected.alignment
        assert answer["alignment"] == alignment.pharaoh()
    assert blank["answers"][0]["weights"] is None
    (alone,) = cli("predict", run, "--with-weights", stdin=b"abcdef\n").json
    assert alone["weights"] == first["answers"][0]["weights"]
    assert "weights" not in cli("predict", run, "--json", stdin=b"abcdef\n").json[0]


# ---------------------------------------------------------------- symmetrise, aer


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "forward": "0-0 1-1 4-4 3-0\n\n0-1\n",
        "backward": "0-0 0-1\n2-0\n0-1\n",
        "turned": "0-0 1-0\n0-2\n1-0\n",
        "sure": "0-0 1-1\n1-0\n\n",
        "possible": "0-1\n\n\n",
        "short": "0-0\n",
        "bad": "0-0\n0:0\n\n",
        "gold.wa": "1 1 1 S\n1 2 2\n1 1 2 P\n2 2 1 S\n3 0 1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


def test_symmetrise(cli, files):
    done = cli("symmetrise", files["forward"], files["backward"])
    assert (done.code, done.err) == (0, "")
    assert done.lines == [b"0-0 0-1 1-1 4-4", b"2-0", b"0-1"]
    assert cli("symmetrise", files["forward"], files["turned"], "--swap-backward") == done
    assert cli("symmetrise", files["forward"], files["backward"], "--method", "intersection").lines == [
        b"0-0",
        b"",
        b"0-1",
    ]


def test_aer(cli, files, tmp_path):
    (tmp_path / "links").write_bytes(cli("symmetrise", files["forward"], files["backward"]).out)
    done = cli("aer", tmp_path / "links", "--sure", files["sure"], "--possible", files["possible"])
    signature = f"lines:3|links:6|sure:3|possible:4|v:{heedful.__version__}"
    assert (done.code, done.err) == (0, "")
    assert [line.decode() for line in done.lines] == [
        f"AER               44.44 %  aer|{signature}",
        f"precision         50.00 %  precision|{signature}",
        f"recall            66.67 %  recall|{signature}",
        f"F1                57.14 %  f1|{signature}",
    ]
    assert cli("aer", tmp_path / "links", "--wa", files["gold.wa"]) == done
    (scores,) = cli("aer", tmp_path / "links", "--wa", files["gold.wa"], "--json").json
    assert scores == {
        "aer": pytest.approx(400 / 9),
        "precision": 50.0,
        "recall": pytest.approx(200 / 3),
        "f1": pytest.approx(400 / 7),
        "links": 6,
        "sure": 3,
        "possible": 4,
        "sentences": 3,
        "signature": signature,
    }
    gold = ("--sure", files["sure"], "--possible", files["possible"])
    assert cli("aer", files["turned"], *gold, "--swap").out == cli("aer", files["backward"], *gold).out
    assert cli("aer", files["turned"], *gold).out != cli("aer", files["backward"], *gold).out


def test_aer_of_no_links_is_json_all_the_same(cli, tmp_path, files):
    (tmp_path / "none").write_text("\n\n\n")
    done = cli("aer", tmp_path / "none", "--sure", files["sure"], "--json")
    (scores,) = [json.loads(line, parse_constant=pytest.fail) for line in done.lines]
    assert (scores["aer"], scores["precision"]) == (100.0, None)
    text = cli("aer", tmp_path / "none", "--sure", files["sure"]).out.decode()
    assert text.startswith("AER              100.00 %  aer|")
    assert "\nprecision       not defined: there are no links  precision|lines:3|links:0" in text
    assert cli("aer", tmp_path / "none", "--sure", tmp_path / "none").out.count(b"not defined: there are no links") == 4
    text = cli("aer", files["forward"], "--sure", tmp_path / "none").out.decode()
    assert "\nprecision          0.00 %" in text
    assert "\nrecall          not defined: there are no sure links  recall|" in text
    assert "nan" not in text


def test_links_on_standard_input(cli, refused, files):
    text = files["forward"].read_bytes()
    gold = ("--sure", files["sure"])
    assert cli("aer", "-", *gold, stdin=text) == cli("aer", files["forward"], *gold)
    done = cli("symmetrise", "-", files["backward"], stdin=text)
    assert done == cli("symmetrise", files["forward"], files["backward"])
    assert done.code == 0
    message = "standard input:2: expected links such as 0-0 1-2, got '0:0'"
    assert message in refused("aer", "-", *gold, stdin=files["bad"].read_bytes())


def test_files_of_weights_are_no_links(refused, files):
    for command in (("aer", "all.npz", "--sure", files["sure"]), ("symmetrise", "all.jsonl", files["backward"])):
        assert "got a file of weights; take `heedful align --out x.txt`" in refused(*command)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("symmetrise forward short", "as many lines in both directions, got 3 in {forward} and 1 in {short}"),
        ("symmetrise forward bad", "{bad}:2: expected links such as 0-0 1-2, got '0:0'"),
        ("symmetrise forward nowhere", "no such file"),
        ("aer forward", "expected gold links, either as sure (and possible) or as wa"),
        ("aer forward --sure sure --wa gold.wa", "expected gold links, either"),
        ("aer forward --sure short", "for each line of {forward}, which has 3, got 1 in {short}"),
        ("aer short --wa gold.wa", "for each line of {short}, which has 1, got 3 in {gold.wa}"),
        ("aer forward --sure gold.wa", "{gold.wa}:1: expected links such as 0-0 1-2, got '1'"),
        (
            "aer forward --wa forward",
            "{forward}:1: column 1, the number of the sentence: expected 1 to 999,999,999, got '0-0'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(refused, files, tmp_path, command, says):
    arguments = [str(files.get(word, tmp_path / word if word == "nowhere" else word)) for word in command.split()]
    for name, path in files.items():
        says = says.replace(f"{{{name}}}", str(path))
    assert says in refused(*arguments)
