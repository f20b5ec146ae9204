"""Work that is done in processes of their own: measured alone, or several at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Lock
from typing import Any

import heedful.errors as errors
from heedful.errors import RunError
from heedful.series.parent import environment

Job = dict[str, Any]
"""What JSON can hold; ``job["do"]`` is one of those in `heedful.api.comparing.child`."""


class Processes:
    """One for each job.

    Args:
        threads: of each; None for as many as PyTorch takes.
    """

    def __init__(self, threads: int | None) -> None:
        self._threads = threads
        self._lock = Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def ask(self, job: Job) -> dict[str, Any]:
        """Do it, and wait for the result.

        Raises:
            HeedfulError: what the job raised; RunError too where its process ended otherwise.
        """
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-m", "heedful.api.comparing.child"]
        with self._lock:
            if self._stopped:
                raise RunError(f"{job['do']}: stopped")
            child = subprocess.Popen(command, env=environment(self._threads), text=True, encoding="utf-8", **pipes)  # pyright: ignore[reportCallIssue, reportArgumentType]
            self._running.add(child)
        try:
            out, err = child.communicate(json.dumps(job))
        finally:
            child.kill()
            with self._lock:
                self._running.discard(child)
        if child.returncode:
            told = " ".join(err.split()[-60:])
            raise RunError(f"{job['do']}: its process ended with code {child.returncode}: {told or 'it said nothing'}")
        result = json.loads(out)
        if "error" in result:
            name, text = result["error"]
            raise getattr(errors, name)(text)
        return result

    def together(self, jobs: Sequence[Job], at_once: int, done: Callable[[Job], object]) -> None:
        """Do them all, so many at once; `done` is called with each when it is over. Ctrl-C, or an error, stops all."""
        with ThreadPoolExecutor(at_once) as pool:
            futures = {pool.submit(self.ask, job): job for job in jobs}
            for future, job in futures.items():
                future.add_done_callback(lambda over, job=job: over.cancelled() or over.exception() or done(job))
            try:
                over, _ = wait(futures, return_when=FIRST_EXCEPTION)
                failed = [problem for future in over if (problem := future.exception()) is not None]
            finally:
                self._stop(futures)
        if failed:
            raise failed[0]

    def _stop(self, futures: Any) -> None:
        for future in futures:
            future.cancel()
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.terminate()
