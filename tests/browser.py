"""Pages in a browser: an installed Chromium, headless; nothing is downloaded, and no page may ask for anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("HEEDFUL_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@contextmanager
def launched() -> Iterator[Any]:
    """The browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome is installed, and HEEDFUL_CHROMIUM names none")
    with playwright.sync_playwright() as running:
        # Root, as which continuous integration runs, has no sandbox.
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def watched(browser: Any, path: Path, *, width: int = 1200, height: int = 900, **options: Any) -> Iterator[Any]:
    """The page at `path`: fails if it complains, asks anybody, or runs what is in its texts."""
    seen: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(5000)
    page = context.new_page()
    page.on("console", lambda message: seen.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: seen.append(f"error: {error}"))
    page.on("request", lambda request: seen.append(f"request: {request.url}"))
    page.on("dialog", lambda dialog: (seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    try:
        page.goto(path.as_uri())
        yield page
        page.wait_for_timeout(30)
    finally:
        context.close()
    assert seen == [f"request: {path.as_uri()}"]
