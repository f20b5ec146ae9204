"""One HTML file that needs nothing else: a template, styles, scripts, data, and a policy that allows these alone."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from heedful.plots.colours import THEMES, ramp, theme_of


def page(
    template: str,
    data: Mapping[str, Any],
    *,
    title: str,
    style: str,
    script: str,
    body: str = "",
    theme: str | None = None,
) -> bytes:
    """The file; the same arguments give the same bytes.

    Args:
        template: HTML with ``{{title}}``, ``{{theme}}``, ``{{policy}}``, ``{{style}}``, ``{{script}}``, ``{{data}}``
            and, where it wants it, ``{{body}}`` in it.
        data: what the script finds as JSON in ``{{data}}``; any text is safe in it.
        title: any text.
        style, script: of ours. The page's content security policy names their hashes, and nothing else may run or be
            asked for.
        body: HTML, escaped already.
        theme: ``"light"`` or ``"dark"``: the colours at first. Without it they are as the reader's system has them.

    Raises:
        DataError: there is no such theme.
    """
    if theme is not None:
        theme_of(theme)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    parts = {
        "title": escape(title),
        "theme": "" if theme is None else f' data-theme="{theme}"',
        "policy": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        "style": style,
        "script": script,
        # No "<" is left that could end the element.
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "body": body,
    }
    text = re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], template)
    # Half a surrogate pair has no UTF-8; as a backslash escape it is the same to JSON.
    return text.encode("utf-8", "backslashreplace")


def part(name: str, *, package: str = "heedful.plots") -> str:
    """The text of a file in the folder ``template`` of that package."""
    return files(package).joinpath("template", name).read_text("utf-8")


def ramps() -> dict[str, str]:
    """For each theme 256 colours of three bytes each, in base64."""
    return {name: b64encode(ramp(theme).tobytes()).decode("ascii") for name, theme in THEMES.items()}


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
