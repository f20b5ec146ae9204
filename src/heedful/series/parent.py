"""Trainings in processes of their own: begun, listened to, and stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import heedful.errors as errors
from heedful.errors import TrainingError
from heedful.registry import modules_of
from heedful.series.trial import Finished, Trial, folder_of
from heedful.series.watcher import Watcher
from heedful.training import Update, Validated


def environment(threads: int | None) -> dict[str, str]:
    """That of a process that trains: it finds this package, and uses so many threads."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {**os.environ, "PYTHONPATH": path}
    own.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command line has it
    return own if threads is None else {**own, "OMP_NUM_THREADS": str(threads)}


def _names(value: Any) -> Iterator[str]:
    """All texts in a recipe, the names of parts among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names(item)


class Children:
    """Processes that train, one thread of this process for each.

    Args:
        out: the folder of the series.
        watcher: told what they tell.
    """

    def __init__(self, out: Path, watcher: Watcher) -> None:
        self._out, self._watcher = out, watcher
        self._lock = Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def train(self, trial: Trial, resume: bool) -> Finished:
        """Train, and wait for it.

        Raises:
            HeedfulError: what the training raised; TrainingError too where its process was ended.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as remarks:
            child = self._begin(trial, resume, remarks)
            try:
                last = self._listen(child, trial)
            finally:
                child.wait()
                with self._lock:
                    self._running.discard(child)
            if "finished" in last:
                done = Finished(**{**last["finished"], "folder": folder_of(trial, self._out)})
                with self._lock:
                    self._watcher.ended(trial, done)
                return done
            if "error" in last:
                name, text = last["error"]
                raise getattr(errors, name)(f"{trial}: {text}")
            remarks.seek(0)
            told = " ".join(remarks.read().split()[-60:])
            raise TrainingError(f"{trial}: its process ended with code {child.returncode}; {told or 'it said nothing'}")

    def _begin(self, trial: Trial, resume: bool, remarks: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "heedful.series.child"]
        job = {
            "name": trial.name,
            "recipe": trial.recipe.model_dump(),
            "pairs": trial.pairs,
            "dev": trial.dev,
            "links": trial.links,
            "folder": str(folder_of(trial, self._out)),
            "resume": resume,
            "modules": modules_of(set(_names(trial.recipe.model_dump()))),
            "path": sys.path,
        }
        with self._lock:
            if self._stopped:
                raise TrainingError(f"{trial}: not begun")
            child = subprocess.Popen(
                command,
                env=environment(threads=1),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=remarks,
                text=True,
                encoding="utf-8",
            )
            self._running.add(child)
            self._watcher.began(trial, resumed=resume)
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(job))
            child.stdin.close()
        except BrokenPipeError:  # it has ended: what it said will tell
            pass
        return child

    def _listen(self, child: subprocess.Popen[str], trial: Trial) -> dict[str, Any]:
        """Pass on what it tells; returns the last line, if that says how it ended."""
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                event = json.loads(line)
                if "finished" in event or "error" in event:
                    return event
                with self._lock:
                    self._tell(trial, event)
        return {}

    def _tell(self, trial: Trial, event: dict[str, Any]) -> None:
        if "message" in event:
            self._watcher.message(trial, event["message"])
        elif "update" in event:
            self._watcher.update(trial, Update(**event["update"]))
        elif "validated" in event:
            self._watcher.validated(trial, Validated(**event["validated"]))

    def stop(self) -> None:
        """End all that still run: what they have saved is whole."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for child in running:
            child.terminate()
