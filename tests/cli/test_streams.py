"""Standard streams that somebody waits at, that are closed, full, or of another encoding; and Ctrl-C."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import heedful
from cli.waiting import soon
from heedful.cli.show import write
from training.cases import TINY, write_pairs

# Python's own buffers are on, as they mostly are: what is in them must neither wait nor be forgotten.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

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


def test_an_output_that_takes_a_little_at_a_time(monkeypatch):
    """As a disk that is nearly full does where Python's own buffers are switched off."""
    taken = bytearray()

    class Little(io.RawIOBase):
        def write(self, data) -> int:
            taken.extend(data[:5])
            return min(5, len(data))

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=Little()))
    write("नमस्ते", "", "abc")
    assert taken.decode() == "नमस्ते\n\nabc\n"


@pytest.mark.parametrize("verb", ["predict", "align", "score", "evaluate", "recipes"])
def test_standard_output_that_is_closed(run, pairs, verb, monkeypatch, capsys):
    from heedful.cli import run as cli

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc\n")))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # so it is with >&-
        assert cli([str(argument) for argument in verbs(run, pairs)[verb]]) == 2
    assert capsys.readouterr().err == "heedful: standard output: cannot be written: it is closed\n"


@pytest.mark.parametrize("closed", [True, False])
def test_remarks_that_nobody_can_read_disturb_nothing(cli, run, closed, monkeypatch):
    """Least of all the answers, among which Python would print them."""
    expected = cli("predict", run, stdin=b"abq\nfed\n")
    assert "never seen in training" in expected.err
    reader, writer = os.pipe()
    os.close(reader)
    with monkeypatch.context() as patch, open(writer, "w", buffering=1, encoding="ascii") as broken:
        patch.setattr(sys, "stderr", None if closed else broken)
        assert cli("predict", run, stdin=b"abq\nfed\n")[:2] == expected[:2]
        assert cli("predict", run, stdin=b"\xff\n")[:2] == (2, b"")


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("person", ["stdin", "stdout", None])
def test_a_bar_is_not_in_the_way_of_a_person(run, person, monkeypatch):
    """Who types lines, or reads answers as they come, at the terminal that shows it."""
    from heedful.cli import run as cli

    monkeypatch.setenv("TERM", "xterm")
    screen = io.BytesIO()
    for name, stream in (("stdin", io.BytesIO(b"abc\n")), ("stdout", io.BytesIO()), ("stderr", screen)):
        kind = Terminal if name in (person, "stderr") else io.TextIOWrapper
        monkeypatch.setattr(sys, name, kind(stream, encoding="utf-8"))
    assert cli(["predict", str(run)]) == 0
    assert (b"predicting" in screen.getvalue()) == (person is None)


SEVERAL = """
import sys
from heedful.cli import run
for arguments in sys.argv[1:]:
    if code := run(arguments.split("|")):
        sys.exit(code)
    sys.stdout.buffer.write(b"--\\n")
"""


def without_numbers(output: bytes) -> bytes:
    """Two processes may differ in the last digit."""
    return re.sub(rb"\d+\.\d+(e-\d+)?", b"#", output)


def test_devanagari_and_ipa_in_any_locale(cli, tmp_path):
    """Trained, predicted and judged with neither a locale nor UTF-8 mode, and under a code page: the same bytes."""
    pairs = [("नमस्ते", "n ə m ə s t eː"), ("क्षि", "k ʂ ɪ"), ("ज्ञान", "ɡ j aː n"), ("हिन्दी", "ɦ ɪ n d iː")]
    data = write_pairs(tmp_path / "pairs.tsv", pairs * 6)
    source = tmp_path / "words.txt"
    source.write_text("".join(word + "\n" for word, _ in pairs) + "ж\n", "utf-8")
    out = tmp_path / "run"
    settings = {"train.updates": 90, "train.learning_rate": 0.04, "train.batch_tokens": 999, "model.decoder_size": 32}
    settings["train.validate_every"] = 10.0
    sets = [f"--set={key}={value}" for key, value in {**TINY, **settings}.items()]
    train = ["train", str(data), f"--dev={data}", "--recipe=tiny", f"--out={out}", *sets]
    verbs = [["predict", out, source], ["predict", out, source, "--json"], ["evaluate", out, data, "--json"]]
    verbs += [[verb, out, data, *flag] for verb in ("score", "align") for flag in ([], ["--json"])]

    def several(*commands: list[object], **changes: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**BUFFERED, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        environment.pop("PYTHONIOENCODING", None)
        arguments = ["|".join(map(str, command)) for command in commands]
        done = subprocess.run(
            [sys.executable, "-c", SEVERAL, *arguments],
            capture_output=True,
            env={**environment, **changes},
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done

    c_locale = several(train, *verbs)
    code_page = several(*verbs, PYTHONIOENCODING="cp1252")
    expected = [cli(*verb).out for verb in verbs]
    assert expected[0].decode().split("\n")[:-2] == [phones for _, phones in pairs]
    whole = without_numbers(b"".join(output + b"--\n" for output in expected))
    assert without_numbers(c_locale.stdout).removeprefix(b"--\n") == whole
    assert without_numbers(code_page.stdout) == whole
    for done in (c_locale, code_page):
        assert rb"1 of 22 source symbols were never seen in training: '\u0436'" in done.stderr


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


@pytest.mark.slow
def test_the_end_of_the_interpreter_is_quiet_too(run):
    """A pipe that closes early, seen from outside."""
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "predict", str(run), "--beam=1", "--batch-size=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=BUFFERED,
    )
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(b"abc\n" * 40, timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.fixture
def start():
    """``start(arguments)``: the program, on its own, with a pipe for each stream; it does not outlive the test."""
    running: list[subprocess.Popen[bytes]] = []

    def call(*arguments: object) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        running.append(subprocess.Popen(program, stdin=-1, stdout=-1, stderr=-1, env=BUFFERED))
        return running[-1]

    yield call
    for process in running:
        process.kill()
        with process:
            pass


def ask(process: subprocess.Popen[bytes], line: str) -> str:
    """The answer to one line, which has to come though no other line does."""
    process.stdin.write(line.encode() + b"\n")
    process.stdin.flush()
    return soon(process.stdout.readline).decode().removesuffix("\n")


def test_each_line_is_answered_when_it_comes(start, run):
    """`tail -f words | heedful predict RUN`; and when nobody reads the answers any more, it does not wait for more."""
    words = ["abc", "", "deadbeef", "f"]
    process = start("predict", run)
    assert [ask(process, word) for word in words] == [answer.text for answer in heedful.load(run).predict(words)]
    process.stdout.close()
    assert soon(process.wait) == 0
    assert process.stderr.read() == b""


@pytest.mark.slow
def test_ctrl_c_while_it_waits(start, run):
    """What there is to say of the answers is said."""
    process = start("predict", run, "--beam=1")
    assert ask(process, "abq")
    process.send_signal(signal.SIGINT)
    assert soon(process.wait) == 130
    said = process.stderr.read().decode().splitlines()
    assert said[0] == "heedful: 1 of 3 source symbols were never seen in training: 'q'"
    assert said[1:] == ["heedful: stopped"]  # nothing was saved
