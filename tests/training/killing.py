"""A process that trains in children and has them killed: what a training imports is imported once, before the forks.

Reads requests, a line of JSON each, and answers each with one: see `Server`. Started by `test_kill.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKPOINT = "checkpoint.safetensors"
TRACED = ("/heedful/training/", "/heedful/runs.py", "/heedful/files.py")


class Events:
    """A reporter that writes what it is told to a file at once, since its process may die at any moment.

    It kills its process itself when it is told of the update `die_at`.
    """

    def __init__(self, path: Path, die_at: int | None = None) -> None:
        from heedful.model import Model

        self.die_at = die_at
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.batch: tuple[int, ...] = ()
        self.began = 0.0
        self.honest = honest = Model.forward

        def forward(model: Model, batch: Any, **settings: Any) -> Any:
            if model.training:
                self.batch = batch.indices
            return honest(model, batch, **settings)

        Model.forward = forward

    def message(self, text: str) -> None:
        pass

    def update(self, update: Any) -> None:
        self.began = self.began or time.monotonic()
        event = [update.updates, update.epoch, self.batch, update.learning_rate, update.share, update.loss]
        os.write(self.file, (json.dumps(event) + "\n").encode())
        if update.updates == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def validated(self, validated: Any) -> None:
        pass

    def close(self) -> None:
        from heedful.model import Model

        Model.forward = self.honest
        os.close(self.file)


class DiesInLine:
    """Kills its process at a line of what writes files, counted from when there is a checkpoint; or only counts."""

    def __init__(self, checkpoint: Path, die_at: int | None) -> None:
        self.checkpoint, self.die_at, self.count, self.begun = checkpoint, die_at, 0, False

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        return self.line if any(part in frame.f_code.co_filename for part in TRACED) else None

    def line(self, frame: Any, event: str, _: Any) -> Any:
        self.begun = self.begun or self.checkpoint.exists()
        if self.begun:
            if self.count == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
        return self.line


def forked(work: Callable[[], Any], answer: Path) -> int:
    """The id of a child that does `work` and leaves what came of it in the file `answer`."""
    child = os.fork()
    if child:
        return child
    try:
        found: Any = {"answer": work()}
    except BaseException:
        found = {"error": traceback.format_exc()}
    answer.write_text(json.dumps(found))
    os._exit(0)


def alive(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def state_of(out: Path) -> dict[str, Any]:
    """All that must be the same whether a training was killed or not."""
    from training.cases import progress_of, rows, tensors_of

    def digest(path: Path) -> str:
        total = hashlib.sha256()
        for name, tensor in sorted(tensors_of(path)[0].items()):
            total.update(repr((name, tensor.dtype, tensor.shape)).encode() + tensor.numpy().tobytes())
        return total.hexdigest()

    files = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    tensors = {name: digest(out / name) for name in files if name.endswith(".safetensors")}
    texts = {name: (out / name).read_text() for name in ("recipe.toml", "vocabulary.json")}
    best = tensors_of(out / "model.safetensors")[1]
    return {
        "files": files,
        "tensors": tensors,
        "rows": rows(out),
        "progress": progress_of(out),
        "best": best,
        **texts,
    }


class Server:
    """Trains straight once; then, as often as it is asked, in children: killed, loaded, resumed, or killed again."""

    def __init__(self, pairs: Path, folder: Path, settings: dict[str, Any]) -> None:
        self.pairs, self.folder, self.settings = pairs, folder, settings

    def train(self, out: Path, *, resume: bool = False, trace: bool = False, **die_at: int) -> Any:
        """Train `out` here, to die at a ``line=`` or ``update=``; the seconds since the first update, and the lines."""
        import heedful

        watch = DiesInLine(out / CHECKPOINT, die_at.get("line"))
        reporter = Events(out.with_suffix(".events"), die_at.get("update"))
        sys.settrace(watch if trace or "line" in die_at else None)
        if resume:
            heedful.train(self.pairs, out=out, resume=True, reporter=reporter)
        else:
            heedful.train(self.pairs, out=out, recipe="tiny", set=self.settings, reporter=reporter)
        sys.settrace(None)
        reporter.close()
        return time.monotonic() - reporter.began, watch.count

    def straight(self, request: dict[str, Any]) -> dict[str, Any]:
        """Never killed. It is done here, so that the children have all that it imports."""
        again, out = self.folder / "again", self.folder / "straight"
        _, lines = self.train(again, trace=True)
        seconds, _ = self.train(out)
        same = (state_of(out), events(out)) == (state_of(again), events(again))
        return {**state_of(out), "events": events(out), "seconds": seconds, "lines": lines, "same_again": same}

    def killed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Killed at each of the request's moments, loaded after each; then resumed to the end."""
        out = self.folder / request["name"]
        for number, (kind, moment) in enumerate(request["moments"]):
            while not self.kill(out, kind, moment, resume=number > 0):  # it was faster
                assert number == 0, "it ended before it could be killed again"
                shutil.rmtree(out)
                out.with_suffix(".events").unlink()
                moment /= 2
            left = sorted(path.name for path in out.rglob("*-unfinished-*"))
            loaded = self.ask(lambda: predicted(out), out)
        state = self.ask(lambda: (self.train(out, resume=True), state_of(out))[1], out)
        return {**state, "events": events(out), "left": left, "loaded": loaded}

    def kill(self, out: Path, kind: str, moment: float, *, resume: bool) -> bool:
        """Whether a training died by SIGKILL: in a line, at an update, after some seconds, while a file was written."""
        die_at = {kind: int(moment)} if kind in ("line", "update") else {}
        child = forked(lambda: self.train(out, resume=resume, **die_at), out.with_suffix(".answer"))
        if not die_at:
            while not (out / CHECKPOINT).exists() and alive(child):
                pass
            if kind == "seconds":
                time.sleep(moment)
            else:  # so many files have been seen while they were being written
                seen: set[str] = set()
                while len(seen) <= moment and alive(child):
                    seen.update(name for name in os.listdir(out) if "-unfinished-" in name)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            found = json.loads(out.with_suffix(".answer").read_text())
            assert "error" not in found, found["error"]
        return os.WIFSIGNALED(status)

    def ask(self, work: Callable[[], Any], out: Path) -> Any:
        """What `work` gives, done in a child."""
        answer = out.with_suffix(".answer")
        os.waitpid(forked(work, answer), 0)
        found = json.loads(answer.read_text())
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["answer"]


def predicted(out: Path) -> float:
    """That a run can be loaded and used."""
    import heedful

    return heedful.load(out).predict(["abc"], beam=2)[0].score


def events(out: Path) -> list[Any]:
    """The updates that were reported, those that were done twice too."""
    return [json.loads(line) for line in out.with_suffix(".events").read_text().splitlines()]


def main() -> None:
    import torch

    torch.set_num_threads(1)
    first = json.loads(sys.stdin.readline())
    server = Server(Path(first["pairs"]), Path(first["folder"]), first["settings"])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            found: Any = getattr(server, request["do"])(request)
        except Exception:
            found = {"error": traceback.format_exc()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
