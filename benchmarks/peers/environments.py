"""A virtual environment for each toolkit: made once, then used again as long as what is pinned for it is the same.

PyTorch comes with what it needs. Everything else is pinned one by one in requirements/ and installed without asking for
its own wishes, since some of them name an older PyTorch that they run without.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

TORCH = "torch==2.13.0"
_REQUIREMENTS = Path(__file__).parent / "requirements"
_STAMP = "made-by-peers.txt"
_EMPTY = {"opennmt": ["fasttext"]}
"""Modules that are imported at start and never called: an empty file stands in, where the real one does not install."""


class NotInstalled(Exception):
    """The environment could not be made; the message says why."""


def interpreter(toolkit: str, folder: Path) -> Path:
    """The Python that has this toolkit. heedful's is the one that runs this: it measures the checkout.

    Raises:
        NotInstalled: no Python 3.11, or a package did not install.
    """
    if toolkit == "heedful":
        return Path(sys.executable)
    home = folder.absolute() / toolkit
    pins = (_REQUIREMENTS / f"{toolkit}.txt").read_text("utf-8")
    stamp = hashlib.sha256(f"{TORCH}\n{pins}".encode()).hexdigest()
    python = home / "bin" / "python"
    if (home / _STAMP).is_file() and (home / _STAMP).read_text("utf-8") == stamp:
        return python
    if home.exists():
        shutil.rmtree(home)
    folder.mkdir(parents=True, exist_ok=True)
    _run([_python311(), "-m", "venv", str(home)])
    _run([str(python), "-m", "pip", "install", "--quiet", TORCH])
    _run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(_REQUIREMENTS / f"{toolkit}.txt")])
    for module in _EMPTY.get(toolkit, []):
        (home / "lib" / "python3.11" / "site-packages" / f"{module}.py").write_text("", "utf-8")
    (home / _STAMP).write_text(stamp, "utf-8")
    return python


def _python311() -> str:
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    found = shutil.which("python3.11")
    if found is None:
        raise NotInstalled("no python3.11 on the path, which the toolkits need")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or ["no message"]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise NotInstalled(f"{' '.join(command[1:5])} ...: {errors[-1]}")
