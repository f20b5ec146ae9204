"""Reports as files: what is read back is what was written, and nothing in it is code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.alignment import MEASURES, Alignment, measure
from heedful.errors import DataError, HeedfulError, RunError, SizeError
from heedful.plots import Entry, Map, Report, load_report, save_report
from heedful.plots.colours import MARK, THEMES, ramp
from heedful.plots.packing import pack, unpack
from heedful.plots.report import entropies

from .cases import entry, random_alignment, report, words

NASTY = ["</script><script>alert(1)</script>", "<!--", "{{data}}", "\\", '"', "\u2028", "\ud800", "\x00", "東", ""]


def data_of(path: Path) -> dict:
    """What the page's script is given."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("convention", ["predicted", "input"])
def test_read_back_to_a_255th(tmp_path: Path, convention: str) -> None:
    alignment = random_alignment(words("s", 7), words("t", 5), seed=1, convention=convention)
    tagged = replace(alignment, source_positions=(0, 1, 2, 3, 4, 5, 6, 0), target_end=False)
    nothing = Alignment.of((), (), np.zeros((0, 0)))
    maps = tuple(
        Map(one, "text", "caption", score) for one, score in ((alignment, -1.25), (tagged, None), (nothing, 0))
    )
    made = Report("title", (("run", "runs/a"),), (Entry(3, "source", None, maps), Entry(9, "", "given", maps[:1])))
    save_report(made, tmp_path / "report.html")
    found = load_report(tmp_path / "report.html")
    for one, other in zip(found.alignments, made.alignments, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=0.5 / 255 + 1e-12)
        assert replace(one, weights=other.weights) == other
    entries = [
        replace(
            new, maps=tuple(replace(one, alignment=two.alignment) for one, two in zip(new.maps, old.maps, strict=True))
        )
        for new, old in zip(found.entries, made.entries, strict=True)
    ]
    assert (found.title, found.facts, tuple(entries)) == (made.title, made.facts, made.entries)


@given(st.lists(st.sampled_from([0, 0, 0, 1, 7, 255]), max_size=700), st.sampled_from([0, 255, 256, 600]))
def test_packing(levels: list[int], zeros: int) -> None:
    """Exact for what has 255 levels, whatever the runs of zeros."""
    weights = np.array([*levels, *[0] * zeros, *levels]) / 255
    np.testing.assert_array_equal(unpack(pack(weights), weights.shape), weights)


def test_packed_zeros_are_short() -> None:
    assert len(b64decode(pack(np.zeros((51, 100))))) == 40
    assert b64decode(pack(np.array([1, 0, 0, 0, 0.2]))) == bytes([255, 0, 3, 51])


@pytest.mark.parametrize("text", ["!", "AA", pack(np.ones(5)), pack(np.zeros(7)), 3])
def test_packed_weights_that_are_damaged(text: str) -> None:
    with pytest.raises(DataError, match="report: expected"):
        unpack(text, (2, 3))


def test_weights_are_from_0_to_1(tmp_path: Path) -> None:
    """But rounding errors are no error."""
    fine = Map(Alignment.of(["x", "y"], ["A"], [[1 + 1e-7, 0]]))
    save_report(report(Entry(1, "", None, (fine,))), tmp_path / "fine.html")
    assert load_report(tmp_path / "fine.html").alignments[0].weights.tolist() == [[1, 0]]
    wrong = Map(Alignment.of(["x"], ["A"], [[1.01]]))
    with pytest.raises(SizeError, match=r"expected attention weights from 0 to 1, got 1\.01"):
        save_report(report(Entry(1, "", None, (wrong,))), tmp_path / "wrong.html")
    assert not (tmp_path / "wrong.html").exists()


def test_measures_entropy_and_links_are_those_of_the_alignment(tmp_path: Path) -> None:
    made = report(entry(1, words("s", 7), words("t", 5)), entry(2, ["x"], ["A"]))
    save_report(made, tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert [tuple(pair) for pair in data["measures"]] == list(MEASURES.items())
    for pair, alignment in zip(data["pairs"], made.alignments, strict=True):
        (found,) = pair["maps"]
        wanted = [measure(alignment)[name] for name in MEASURES]
        np.testing.assert_allclose(
            [np.nan if value is None else value for value in found["measures"]], wanted, rtol=0, atol=5.1e-5
        )
        assert [(row, column) for row, column in enumerate(found["peaks"]) if column >= 0] == alignment.peaks()
        np.testing.assert_allclose(unpack(found["entropy"], (len(alignment.target),)), entropies(alignment), atol=0.002)
    assert None in data["pairs"][1]["maps"][0]["measures"]  # diagonality of one word; NaN is no JSON


def test_entropy_of_rows() -> None:
    """By hand: one position, all alike, two of four, and a row without weight; sums do not matter."""
    rows = [[0, 1, 0, 0], [0.1] * 4, [0.5, 0.5, 0, 0], [0] * 4]
    np.testing.assert_allclose(entropies(Alignment.of("abcd", "ABCD", rows)), [0, 1, 0.5, 0], atol=1e-12)
    assert entropies(Alignment.of("a", "A", [[1.0]])).tolist() == [0]
    one = random_alignment(words("s", 7), words("t", 5), seed=2)
    # What the health check means, which leaves the row of the end symbol out.
    assert entropies(one)[:-1].mean() == pytest.approx(measure(one)["entropy"])


class Elements(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def elements(path: Path) -> Elements:
    parser = Elements()
    parser.feed(path.read_text("utf-8"))
    return parser


def test_tokens_are_never_elements(tmp_path: Path) -> None:
    """The page of hostile tokens has the elements of any other; and they are read back."""
    one = Entry(1, NASTY[0], NASTY[0], (Map(random_alignment(NASTY, NASTY, seed=3), NASTY[0], NASTY[0]),))
    made = Report(NASTY[0], ((NASTY[0], NASTY[1]),), (one,))
    save_report(made, tmp_path / "nasty.html")
    save_report(report(entry(1, ["x"], ["A"])), tmp_path / "plain.html")
    assert elements(tmp_path / "nasty.html").names == elements(tmp_path / "plain.html").names
    found = load_report(tmp_path / "nasty.html")
    assert (found.title, found.facts) == (made.title, made.facts)
    assert found.alignments[0].source == made.alignments[0].source
    # Nothing that could end the data stands in it.
    assert (
        "<" not in re.findall(r'type="application/json">(.*)</script>', (tmp_path / "nasty.html").read_text("utf-8"))[0]
    )


def test_the_page_asks_for_nothing(tmp_path: Path) -> None:
    """No address of anything, and a policy that allows its own script and style by their hashes only."""
    save_report(report(entry(1, ["x"], ["A"])), tmp_path / "report.html")
    page = elements(tmp_path / "report.html")
    assert not {name for name, _ in page.attributes} & {"src", "href", "srcset", "action", "style", "onclick", "onload"}
    (policy,) = [value for name, value in page.attributes if name == "content" and "default-src" in (value or "")]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='", policy or ""
    )
    text = (tmp_path / "report.html").read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//cdn|@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML|eval\(", text)


def test_same_report_is_the_same_file(tmp_path: Path) -> None:
    for name in ("1.html", "2.html"):
        save_report(report(entry(1, words("s", 7), words("t", 5))), tmp_path / name)
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def test_files_that_are_no_reports(tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    with pytest.raises(DataError, match=r"other\.html: cannot be read as a report"):
        load_report(other)
    for content in (b"", b"\xff", b'<script id="data" type="application/json">[]</script>', b"<p>"):
        other.write_bytes(content)
        with pytest.raises(DataError, match=r"other\.html: (expected|cannot)"):
            load_report(other)
    save_report(report(entry(1, ["x"], ["A"])), other)
    whole = other.read_text("utf-8")
    for old, new, says in (
        ('"version":1', '"version":2', "version 1"),
        ('"weights"', '"heights"', "it is damaged: 'weights'"),
        ('"positions":[1', '"positions":[5', "expected 1..1"),
        ('"pairs":[', '"pairs":[7,', "it is damaged"),
    ):
        assert old in whole
        other.write_text(whole.replace(old, new), "utf-8")
        with pytest.raises(HeedfulError, match=re.escape(says)):
            load_report(other)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere/r\.html: cannot be written"):
        save_report(report(entry(1, ["x"], ["A"])), tmp_path / "nowhere" / "r.html")
    with pytest.raises(DataError, match="unknown theme 'drak'; did you mean 'dark'"):
        save_report(report(entry(1, ["x"], ["A"])), tmp_path / "r.html", theme="drak")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- colours


def lightness(colours: np.ndarray) -> np.ndarray:
    """CIE L*, a measure other than the one that the colours are made in."""
    luminance = linear(colours) @ [0.2126, 0.7152, 0.0722]
    return np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)


def linear(colours: np.ndarray) -> np.ndarray:
    shares = colours / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("name", THEMES)
def test_lightness_rises_or_falls_in_even_steps(name: str) -> None:
    """So weights can be told apart without colour vision, and differences are seen as large as they are."""
    values = lightness(ramp(THEMES[name]).astype(float))
    steps = np.diff(values[::17]) * (1 if name == "dark" else -1)
    assert len(steps) == 15
    assert steps.min() > 2.5
    assert steps.max() / steps.min() < 2
    assert abs(values[255] - values[0]) > 60
    assert ramp(THEMES["light"])[0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("name", THEMES)
def test_one_hue(name: str) -> None:
    """Blue is the strongest and red the weakest, everywhere that there is any colour."""
    red, green, blue = ramp(THEMES[name]).astype(int)[8:].T
    assert (red <= green).all()
    assert (green <= blue).all()


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: (L1 + 0.05) / (L2 + 0.05)."""
    values = [
        linear(np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)])) @ [0.2126, 0.7152, 0.0722] for c in (one, other)
    ]
    return (max(values) + 0.05) / (min(values) + 0.05)


def test_texts_can_be_read_in_both_themes() -> None:
    """AA: 4.5 to 1 for text, 3 to 1 for marks. The style sheet has its dark palette twice, and both are the same."""
    from importlib.resources import files

    style = files("heedful.plots").joinpath("template", "report.css").read_text("utf-8")
    palettes = [
        dict(re.findall(r"--(\w+): (#\w{6})", block))
        for block in re.findall(r":root[^{]*\{([^}]*)\}", style, re.DOTALL)
    ]
    light, dark, system_dark = palettes
    assert dark == system_dark
    for palette in (light, dark):
        for ink in ("ink", "faint", "accent"):
            for paper in ("paper", "card", "band"):
                assert contrast(palette[ink], palette[paper]) >= 4.5, (ink, paper)
        assert contrast(palette["mark"], palette["card"]) >= 3
        assert contrast(palette["bar"], palette["band"]) >= 3
        assert palette["mark"] == MARK.lower()
    for theme, palette in ((THEMES["light"], light), (THEMES["dark"], dark)):
        assert contrast(theme.ink, theme.paper) >= 4.5
        assert contrast(theme.faint, theme.paper) >= 4.5
        assert contrast(MARK, theme.paper) >= 3
        assert (theme.grid, theme.edge) == (palette["grid"], palette["edge"])


def test_torch_and_matplotlib_are_not_imported(tmp_path: Path) -> None:
    code = f"""
import sys, heedful.plots as plots
from heedful.alignment import Alignment
one = plots.Entry(1, "", None, (plots.Map(Alignment.of(["x"], ["A"], [[1.0]])),))
plots.save_report(plots.Report("", (), (one,)), {str(tmp_path / "report.html")!r})
plots.load_report({str(tmp_path / "report.html")!r})
print([m for m in ("matplotlib", "torch") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
