"""Standard streams that are closed, full, or of another encoding; and Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import heedful
from training.cases import TINY, write_pairs

SETS = [f"--set={key}={value}" for key, value in TINY.items()]


@pytest.fixture
def to(monkeypatch, capsys):
    """``to(descriptor, arguments)``: (exit code, standard error) of a command whose standard output is `descriptor`."""
    from heedful.cli import run

    def call(descriptor: int, arguments: list[object], stdin: bytes = b"abc\n" * 50) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with monkeypatch.context() as patch, open(descriptor, "w", encoding="ascii") as stream:
            patch.setattr(sys, "stdout", stream)
            code = run([str(argument) for argument in arguments])
        return code, capsys.readouterr().err

    return call


def verbs(run: Path, pairs: Path) -> dict[str, list[object]]:
    return {
        "predict": ["predict", run, "--beam", 1],
        "predict --json": ["predict", run, "--json"],
        "align": ["align", run, pairs],
        "score": ["score", run, pairs],
        "evaluate": ["evaluate", run, pairs],
        "recipes": ["recipes"],
    }


@pytest.mark.parametrize("verb", ["predict", "predict --json", "align", "score", "evaluate", "recipes"])
def test_who_has_read_enough_may_leave(to, run, pairs, verb):
    """`heedful ... | head -1` is no error: 0, and not a word."""
    reader, writer = os.pipe()
    os.close(reader)
    assert to(writer, verbs(run, pairs)[verb]) == (0, "")


@pytest.mark.parametrize("verb", ["predict", "predict --json", "align", "score", "evaluate", "recipes"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_with_a_message(to, run, pairs, verb):
    code, err = to(os.open("/dev/full", os.O_WRONLY), verbs(run, pairs)[verb])
    assert code == 2
    assert err.startswith("heedful: ")
    assert "No space left on device" in err
    assert err.count("\n") == 1


def test_standard_input_that_is_closed(run, monkeypatch, capsys):
    from heedful.cli import run as cli

    monkeypatch.setattr(sys, "stdin", None)  # so it is with <&-
    assert cli(["predict", str(run)]) == 2
    assert capsys.readouterr().err.startswith("heedful: standard input")


PIPE = """
import sys
from heedful.cli import run
for arguments in (a.split("|") for a in sys.argv[1:]):
    code = run(arguments)
    if code: sys.exit(code)
"""


def test_devanagari_and_ipa_in_the_c_locale(tmp_path):
    """Trained, predicted and written to a file with neither a locale nor UTF-8 mode, as plain ASCII would have it."""
    pairs = [("नमस्ते", "n ə m ə s t eː"), ("क्षि", "k ʂ ɪ"), ("ज्ञान", "ɡ j aː n"), ("हिन्दी", "ɦ ɪ n d iː")]
    data = write_pairs(tmp_path / "pairs.tsv", pairs * 6)
    source = tmp_path / "words.txt"
    source.write_text("".join(word + "\n" for word, _ in pairs) + "xyz\n", "utf-8")
    out = tmp_path / "run"
    settings = {"train.updates": 90, "train.learning_rate": 0.04, "train.batch_tokens": 999, "model.decoder_size": 32}
    settings["train.validate_every"] = 10.0
    sets = [f"--set={key}={value}" for key, value in {**TINY, **settings}.items()]
    train = ["train", str(data), f"--dev={data}", "--recipe=tiny", f"--out={out}", *sets]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment.pop("PYTHONIOENCODING", None)
    done = subprocess.run(
        [sys.executable, "-c", PIPE, "|".join(train), f"predict|{out}|{source}"],
        capture_output=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    expected = [answer.text for answer in heedful.load(out).predict([word for word, _ in pairs])]
    assert done.stdout.decode("utf-8").split("\n")[:-2] == expected == [phones for _, phones in pairs]
    assert b"source symbols were never seen in training" in done.stderr


# A shell starts its background jobs deaf to Ctrl-C, and this test may run in one.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from heedful.cli import main
main()
"""


def test_ctrl_c(pairs, tmp_path):
    """130, a word about it, and what was saved can be used and gone on with."""
    out = tmp_path / "run"
    endless = [*SETS, "--set=train.updates=1000000", "--set=train.validate_every=1"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "train", str(pairs), "--recipe=tiny", f"--out={out}", *endless],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (out / "log.csv").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert stderr.rstrip().endswith("heedful: stopped; what was saved is whole")
    assert heedful.load(out).predict(["abc"], beam=2)[0].score < 0
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
    done = int((out / "log.csv").read_text().splitlines()[-1].split(",")[0])
    heedful.train(pairs, out=out, resume=True, set={"train.updates": done + 2})


def test_the_end_of_the_interpreter_is_quiet_too(run):
    """A pipe that closes early, seen from outside."""
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "predict", str(run), "--beam=1", "--batch-size=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(b"abc\n" * 40, timeout=60)
    assert (process.returncode, err) == (0, b"")
