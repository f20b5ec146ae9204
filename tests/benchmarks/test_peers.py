"""The script that measures heedful against other toolkits: its data, its turns, its tables. No other toolkit is run."""

import gzip
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def corpus(folder, count=2003):
    sources = [f'Word{number % 7} said: "one{number % 2 * number}"' for number in range(count)]
    targets = [f"Wort{number % 5}!" for number in range(count)]
    source, target = folder / "all.src.gz", folder / "all.trg"
    source.write_bytes(gzip.compress("".join(f"{line}\n" for line in sources).encode()))
    target.write_text("".join(f"{line}\n" for line in targets))
    return source, target


def prepared(tmp_path, **options):
    from peers.corpora import TASKS, prepare

    sizes = prepare(TASKS["translation"], *corpus(tmp_path), tmp_path / "data", most=options.get("most", 1000))
    return sizes, {path.name: path.read_text().splitlines() for path in (tmp_path / "data").iterdir()}


def test_words_are_lower_case_and_rare_ones_are_one(tmp_path):
    sizes, files = prepared(tmp_path, most=10**6)
    assert sizes.pairs == len(files["train.src"]) == 2003 - 500
    assert {line.split()[0] for line in files["train.src"]} == {f"word{number}" for number in range(7)}
    assert {line.split()[-2] for line in files["train.src"]} == {"one0", "RARE"}  # no other stands there twice
    assert not any('"' in line for line in files["train.tsv"] + files["test.src"])
    assert sizes.source_symbols == 7 + len({"said", ":", "''", "one0", "RARE"})
    assert sizes.target_symbols == 5 + 1
    assert sizes.target_length == 3  # wort, !, and the end symbol
    assert files["train.tsv"] == ["\t".join(pair) for pair in zip(files["train.src"], files["train.trg"], strict=True)]


def test_what_is_held_out_is_never_trained_on_and_sorted(tmp_path):
    from peers.corpora import TASKS, prepare

    lines = [" ".join(f"{number}") + " x" * (number % 3) for number in range(2000)]
    for name in ("s", "t"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    prepare(TASKS["g2p"], tmp_path / "s", tmp_path / "t", tmp_path / "data", most=1200)
    train, test = ((tmp_path / "data" / name).read_text().splitlines() for name in ("train.src", "test.src"))
    assert (len(train), len(test)) == (1200, 500)
    assert not set(train) & set(test)
    assert [len(line.split()) for line in test] == sorted(len(line.split()) for line in test)
    assert max(int(line.replace(" ", "").rstrip("x")) for line in train) > 1990  # from all over the file


def test_files_of_other_lengths_are_refused(tmp_path):
    from peers.corpora import TASKS, prepare

    source, target = corpus(tmp_path)
    target.write_text("one\n")
    with pytest.raises(SystemExit, match=r"2003 lines, .* 1: expected as many"):
        prepare(TASKS["g2p"], source, target, tmp_path / "data", most=1)


class Script:
    """Stands where the parent is: gives commands and keeps the answers."""

    def __init__(self, *commands):
        self.commands, self.answers = [*commands, {"do": "stop"}], []

    def read(self):
        return self.commands.pop(0)

    def say(self, **answer):
        self.answers.append(answer)


def serve(tmp_path, monkeypatch, *commands, length=12):
    """What a child answers whose toolkit has 5 target tokens in each update."""
    from peers import child

    asked = []

    class Side:
        parameters = 23

        def __init__(self, job):
            pass

        def train(self, updated):
            while True:
                updated(5)

        def decode(self, sources, beam):
            asked.append((beam, sources))
            return [["a"] * length for _ in sources]

    (tmp_path / "test.src").write_text("".join(f"{'a ' * number}\n" for number in range(500)))
    monkeypatch.setitem(sys.modules, "peers.pretended", SimpleNamespace(VERSION="7", Side=Side))
    script = Script(*commands)
    child._serve(script, child.Job("pretended", "plain", tmp_path, tmp_path, threads=1, batch=3, steps=12))
    return script.answers, asked


TRAIN = {"do": "train", "seconds": 0.0}
DECODE = {"do": "decode", "beam": 5, "seconds": 1e-9, "patience": 100.0}


def test_a_child_trains_in_segments_and_then_decodes(tmp_path, monkeypatch):
    answers, asked = serve(tmp_path, monkeypatch, TRAIN, TRAIN, DECODE, DECODE)
    ready, *segments, first, second = answers
    assert (ready["version"], ready["parameters"], ready["threads"]) == ("7", 23, 1)
    assert [(part["tokens"], part["updates"]) for part in segments] == [(5, 1)] * 2
    assert [part["sentences"] for part in (first, second)] == [64, 64]
    assert [(beam, len(sources)) for beam, sources in asked] == [(5, 2), (5, 64), (5, 64)]  # two sentences to try
    assert len(asked[1][1][0]) < len(asked[2][1][0])  # it goes on where it stopped: other lengths


def test_where_two_sentences_take_long_no_more_are_decoded_at_once(tmp_path, monkeypatch):
    answers, asked = serve(tmp_path, monkeypatch, {**DECODE, "patience": 0.0})
    assert answers[-1]["batch"] == answers[-1]["sentences"] == 2
    assert {len(sources) for _, sources in asked} == {2}


def test_answers_that_were_not_forced_are_no_figures(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match="expected answers of 12 symbols"):
        serve(tmp_path, monkeypatch, DECODE, length=10)


def test_batches_of_decoding_are_all_sources_once(tmp_path, monkeypatch):
    _, asked = serve(tmp_path, monkeypatch, *[DECODE] * 8)
    assert sorted(source for _, sources in asked[1:] for source in sources) == sorted(
        (tmp_path / "test.src").read_text().splitlines()
    )


def test_a_toolkit_that_does_not_install_is_said_to_be_out(tmp_path, monkeypatch):
    from peers import conduct
    from peers.corpora import TASKS, Sizes
    from peers.environments import NotInstalled
    from peers.sides import SIDES
    from peers.table import report

    def refuse(toolkit, folder):
        raise NotInstalled(f"no {toolkit} here")

    monkeypatch.setattr(conduct, "interpreter", refuse)
    told = []
    figures = conduct.compare(
        SIDES[3:4],
        TASKS["g2p"],
        data=tmp_path,
        environments=tmp_path,
        folder=tmp_path,
        plan=conduct.Plan(["train"], 1, 0.1, 1),
        tell=told.append,
    )
    assert told[0] == "g2p: yoyodyne-soft is out: no yoyodyne here"
    text = report(TASKS["g2p"], Sizes(1, 2, 3, 4.0), figures)
    assert "- yoyodyne-soft could not be run: no yoyodyne here" in text


def test_ratios_are_medians_over_rounds():
    from peers.corpora import TASKS, Sizes
    from peers.table import report

    def side(*speeds):
        train = [{"tokens": 100 * speed, "updates": 4, "seconds": 2.0} for speed in speeds]
        return {"version": "1", "parameters": 7654, "torch": "2", "threads": 2, "peak_mib": 1234.5, "train": train}

    # Rounds: 2, 4.9 and 90 times; the ratio of the medians would be 9.8.
    figures = {"heedful-bahdanau": side(20, 98, 900), "yoyodyne-soft": side(10, 20, 10)}
    figures["heedful-bahdanau"]["beam 5"] = [{"sentences": 64, "seconds": 4.0}]
    text = report(TASKS["g2p"], Sizes(1, 2, 3, 4.0), figures)
    assert "heedful-bahdanau to yoyodyne-soft: **4.90 times** (2.00 to 90.00; asked: 5, NOT met)" in text
    assert "| heedful | early, additive, GRU; readout [s; c] | 1 | 7,654 | 4,900 | 500 | 1,234 | - | 16 |" in text


def test_what_a_side_was_measured_at_before_it_failed_is_said():
    from peers.corpora import TASKS, Sizes
    from peers.table import report

    part = {"version": "1", "parameters": 7654, "peak_mib": 1.0, "train": [{"tokens": 6, "updates": 1, "seconds": 2.0}]}
    text = report(TASKS["g2p"], Sizes(1, 2, 3, 4.0), {"yoyodyne-soft": {**part, "failed": "no memory"}})
    assert "readout s | 1 | 7,654 | 3 | 2,000 | 1 | - | - |" in text
    assert "- yoyodyne-soft could not be run to the end: no memory" in text


def test_a_ratio_says_where_batches_of_decoding_differ():
    from peers.corpora import TASKS, Sizes
    from peers.table import report

    def side(size):
        decoded = [{"sentences": size, "seconds": 1.0}]
        return {"version": "1", "parameters": 1, "beam 5": decoded, "batches": {"beam 5": size}}

    figures = {"heedful-bahdanau": side(64), "yoyodyne-soft": side(2)}
    text = report(TASKS["g2p"], Sizes(1, 2, 3, 4.0), figures)
    assert "**32.00 times** (32.00 to 32.00; 64 against 2 sentences at once)" in text


@pytest.mark.parametrize(("name", "said"), [("--json=none/x.json", "no folder"), ("--task=g2p", "no file none")])
def test_files_that_are_not_there_are_told_at_once(tmp_path, monkeypatch, capsys, name, said):
    spec = spec_from_file_location("peers_script", BENCHMARKS / "peers.py")  # a package has its name
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").touch()
    data = ["here", "none"] if "task" in name else ["here", "here"]
    with pytest.raises(SystemExit) as stopped:
        script._arguments([*data, name, "--task=g2p", "--environments=x"])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_heedful_alone_through_the_command(tmp_path):
    files = list(map(str, corpus(tmp_path)))
    command = [sys.executable, str(BENCHMARKS / "peers.py"), *files, "--task", "translation", "--quick"]
    command += ["--environments", str(tmp_path / "none"), "--toolkits", "heedful", "--threads", "1"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| heedful |")]
    assert len(rows) == 3, done.stdout + done.stderr
    assert not any(" - |" in row for row in rows)
    assert not (tmp_path / "none").exists()  # heedful needs no environment of its own
