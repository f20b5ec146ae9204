"""How long heedful takes to start: the help, the import, and the answer to one word, each in a process of its own.

    python benchmarks/start_up.py [--run RUN] [--repeats 9]

Prints medians with the fastest and the slowest, the sides taking turns, after one round that is not counted (in it
Python writes its compiled files). What `predict` takes is also given as more than `import torch` took just before.
Without a run, one of the recipe g2p's sizes is made by two updates. heedful must be installed, the machine idle.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORD = "abacus\n"


def commands(run: str, word: Path) -> dict[str, list[str]]:
    """What is timed, by its name; `import torch` directly before `predict`."""
    return {
        "python -c pass": ["-c", "pass"],
        "import heedful": ["-c", "import heedful"],
        "heedful --help": ["-m", "heedful", "--help"],
        "import torch": ["-c", "import torch"],
        "heedful predict": ["-m", "heedful", "predict", run, str(word)],
    }


def make_run(folder: Path) -> str:
    """A run of the default sizes that has learned next to nothing."""
    import heedful

    budget = {"train.minutes": "none", "train.updates": 2, "train.validation_size": 1}
    return str(heedful.train("copy:dev", out=folder / "run", recipe="g2p", set=budget))


def seconds(command: list[str]) -> float:
    """Of one process, from its start to its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
    taken = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return taken


def line(name: str, times: list[float]) -> str:
    return f"{name:40}{statistics.median(times):7.3f} s  ({min(times):.3f} to {max(times):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", help="a run to predict with; by default one is made")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        word = folder / "word.txt"
        word.write_text(WORD, encoding="utf-8")
        timed = commands(given.run or make_run(folder), word)
        times: dict[str, list[float]] = {name: [] for name in timed}
        for _ in range(given.repeats + 1):
            for name, command in timed.items():
                times[name].append(seconds(command))
    counted = {name: each[1:] for name, each in times.items()}
    for name, each in counted.items():
        print(line(name, each))
    more = [predict - torch for predict, torch in zip(counted["heedful predict"], counted["import torch"], strict=True)]
    print(line("heedful predict, more than import torch", more))
    from importlib.metadata import version

    print(
        f"start_up | medians of {given.repeats} | {'a run that was given' if given.run else 'recipe g2p'} | "
        f"torch {version('torch')}, Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.machine()}"
    )


if __name__ == "__main__":
    main()
