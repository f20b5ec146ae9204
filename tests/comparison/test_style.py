"""The colours of the page can be told apart and read, in light and dark, and on paper."""

from __future__ import annotations

import re
from importlib.resources import files

from plots.test_report import contrast


def palettes(package: str, name: str) -> list[dict[str, str]]:
    style = files(package).joinpath("template", name).read_text("utf-8")
    return [
        dict(re.findall(r"--(\w+): (#\w{6})", block))
        for block in re.findall(r":root[^{]*\{([^}]*)\}", style, re.DOTALL)
    ]


def test_texts_and_marks_can_be_read() -> None:
    """AA: 4.5 to 1 for text, 3 to 1 for marks. Dark colours stand twice and are the same; paper has the light ones."""
    light, dark, system_dark, paper = palettes("heedful.comparison.report", "comparison.css")
    below = palettes("heedful.plots", "report.css")
    assert dark == system_dark
    assert paper == {**below[0], **light}
    for own, base in ((light, below[0]), (dark, below[1])):
        for ground in ("paper", "card"):
            for mark in ("c0", "c1", "c2", "c3", "c4", "c5"):
                assert contrast(own[mark], base[ground]) >= 3, (mark, ground)
            for ink in ("c1", "c2"):  # of errors, and of what is right
                assert contrast(own[ink], base[ground]) >= 4.5, (ink, ground)
        for ground in ("good", "bad"):
            assert contrast(base["ink"], own[ground]) >= 4.5
