"""The report of a comparison: every number is there, whatever is compared; and nothing in it is code."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from comparison.cases import NAMES, alignment, make
from comparison.sample import sample_comparison
from heedful.comparison import Answered, Comparison, Dimensions, Example, Finding
from heedful.comparison.report import write_report
from heedful.comparison.report.tables import character, cost, differences, groups, make_up, pairs, quality, runs
from heedful.comparison.report.terms import ranked
from heedful.errors import RunError

NASTY = "</script><img src=x onerror=alert(1)> <!-- {{data}} | `a` \\ * # \u202edrow\x00 \ud800 שלום"


class Page(HTMLParser):
    """The elements of a page, their attributes, its tables cell by cell, and all of its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tables: list[list[list[str]]] = []
        self.text, self.in_cell = "", False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_data(self, data: str) -> None:
        if self.names[-1:] in (["script"], ["style"]):
            return
        self.text += data
        if self.in_cell:
            self.tables[-1][-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")


@cache
def sample() -> Comparison:
    return sample_comparison(sources=60)


def written(comparison: Comparison, folder: Path) -> tuple[Page, str]:
    write_report(comparison, folder)
    return Page(folder / "report.html"), (folder / "report.md").read_text("utf-8")


def number(text: str) -> float:
    return float(text.rstrip("*").replace("−", "-").replace(",", ""))


def rows(markdown: str) -> list[list[str]]:
    """The cells of all tables, as they are read."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [[re.sub(r"\\(.)", r"\1", cell) for cell in re.split(r" (?<!\\)\| ", line[2:-2])] for line in lines]


def test_every_number_of_the_tables_is_there(tmp_path: Path) -> None:
    """Those that the page and the Markdown show are the values', which are written here a second way."""
    comparison = sample()
    page, markdown = written(comparison, tmp_path)
    tables = [
        make_up,
        quality,
        cost,
        character,
        runs,
        *(lambda one, by=by: groups(one, by) for by in comparison.breakdowns),
    ]
    assert len(tables) > 5
    for make_table in tables:
        table = make_table(comparison)
        wanted = [list(table.head), *map(list, table.rows)]
        assert wanted in page.tables
        assert all(row in rows(markdown) for row in wanted)
    for judged in comparison.judged:
        head = next(
            i
            for i, name in enumerate(quality(comparison).head)
            if name.startswith(judged.metric.replace("_", " ")) and name.endswith(judged.part)
        )
        for design, error in zip(comparison.designs, judged.errors, strict=True):
            (row,) = (row for row in quality(comparison).rows if row[0] == design.name)
            numbers = [number(text) for text in re.findall(r"−?[\d.]+", row[head])]
            assert numbers == pytest.approx([error.value, error.low, error.high], abs=0.0501)
    first = comparison.designs[1]
    (row,) = (row for row in cost(comparison).rows if row[0] == first.name)
    assert row == ("early", "933,000", "8,800", "380", "522", "401", "2.7")
    (row,) = (row for row in character(comparison).rows if row[0] == first.name)
    assert row == ("early", "0.15", "0.90", "healthy")


def test_the_matrix_and_its_words(tmp_path: Path) -> None:
    """Row minus column on both sides of the diagonal, with the adjusted p; what is real has a star and is said."""
    comparison = make(NAMES[:6])
    page, markdown = written(comparison, tmp_path)
    found = {row[0]: row[1:] for row in differences(comparison).rows}
    names = [one.name for one in ranked(comparison)]
    judged = comparison.judgement()
    for each in judged.differences:
        cell, mirrored = found[each.first][names.index(each.second)], found[each.second][names.index(each.first)]
        assert number(cell.split(",")[0]) == pytest.approx(each.value, abs=0.0501)
        assert number(mirrored.split(",")[0]) == -number(cell.split(",")[0])
        p = "< 0.001" if each.adjusted < 0.001 else f"= {each.adjusted:.{3 if each.adjusted < 0.1 else 2}f}"
        assert cell.endswith(f", p {p}")
        assert mirrored.endswith(f", p {p}")
        assert ("*" in cell) == ("*" in mirrored) == each.real
        (row,) = (row for row in pairs(comparison).rows if row[0] == f"{each.first} minus {each.second}")
        assert row in [tuple(line) for table in page.tables for line in table]
        numbers = [number(text) for text in (row[1], *row[2].split(" to "))]
        assert numbers == pytest.approx([each.value, each.low, each.high], abs=0.0501)
    assert {each.real for each in judged.differences} == {True, False}
    assert all(row in rows(markdown) for row in map(list, differences(comparison).rows))
    (matrix,) = (table for table in page.tables if table[0][0] == "row minus column")
    assert [row[0] for row in matrix[1:]] == names
    assert matrix[1][4] == found[names[0]][3].replace(", ", "")
    assert f"{names[0]} is better than " in page.text


def test_the_best_comes_first_whichever_way_is_better() -> None:
    errors = [one.design.name for one in ranked(make(NAMES[:4]))]
    bleu = [one.design.name for one in ranked(make(NAMES[:4], metrics=("bleu",)))]
    assert errors[-1] == bleu[-1] == "fixed"
    assert {errors[0], bleu[0]} <= set(NAMES[1:3])


def test_recommendation_notes_and_how_it_was_measured(tmp_path: Path) -> None:
    comparison = make(NAMES[:2], seeds=1, links=True)
    page, markdown = written(comparison, tmp_path)
    read = re.sub(r"\\(.)", r"\1", markdown)
    for text in (page.text, read):
        for one in comparison.recommendation:
            assert one.says in text
            assert one.because in text
        for fact in (
            *comparison.notes,
            comparison.signature,
            "gold.txt",
            "2,000 updates",
            "a processor of two cores",
            "torch 2.13.0",
        ):
            assert fact in text
    assert all(line in page.text for design in comparison.designs for line in design.recipe.splitlines())
    assert page.text.index(comparison.recommendation[0].says) < page.text.index("Sequence error")


@pytest.mark.parametrize("names", [("bahdanau2015",), ("fixed",), NAMES[:2], NAMES, (*NAMES, "a thirteenth")])
@pytest.mark.parametrize("seeds", [1, 3])
def test_whatever_is_compared(tmp_path: Path, names: tuple[str, ...], seeds: int) -> None:
    """One design or many, one seed or some, no test set, no attention, no example: no number is missing or not one."""
    comparison = make(names, seeds=seeds, test=seeds == 1, examples=() if seeds == 3 else None)
    page, markdown = written(comparison, tmp_path)
    assert ("Which differences are real" in page.text) == (len(names) > 1) == ("Which differences are real" in markdown)
    assert ("side by side" in page.text) == (seeds == 1)
    assert ("Character of the alignment" in page.text) == (names != ("fixed",))
    assert ("test data" in page.text) == (seeds == 1)
    for text in (page.text, markdown):
        assert not re.search(r"\b(nan|inf|None)\b", text)
    circles = page.attributes.count(("r", "2.6"))
    assert circles == (len(names) * 3 if seeds == 3 else 0)


def test_texts_are_never_elements(tmp_path: Path) -> None:
    """The page of hostile texts has the elements of any other."""
    (tmp_path / "nasty").mkdir()
    plain, _ = written(_with("x"), tmp_path)
    nasty, markdown = written(_with(NASTY), tmp_path / "nasty")
    assert nasty.names == plain.names
    assert not {name for name, _ in nasty.attributes} & {"onerror", "src", "style", "onclick"}
    assert "U+202Edrow" in nasty.text
    assert "U+0000" in nasty.text
    assert "שלום" in nasty.text
    assert "\u202e" not in nasty.text + markdown
    assert not re.search(r"(?<!\\)[<>`]", markdown.replace("```", ""))
    for block in markdown.split("\n\n"):
        if block.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def _with(text: str) -> Comparison:
    """A comparison in which that text stands wherever a reader's text can."""
    one = make((f"{text} 1", f"{text} 2"), pairs=text)
    answers = tuple(
        Answered(text=f"{text} {place}", wrong=bool(place), alignment=alignment([text, "b"], [text, "c"], seed=place))
        for place in range(2)
    )
    example = Example(part="test", place=0, source=text, references=(f"{text} 0", text), why=text, answers=answers)
    words = Dimensions(order=text, score=text, scope=text, normaliser=text, context=text)
    designs = tuple(
        design.model_copy(update={"title": text + " ", "recipe": text, "settings": {"a": text}, "dimensions": words})
        for design in one.designs
    )
    return one.model_copy(
        update={
            "designs": designs,
            "examples": (example,),
            "recommendation": (Finding(says=text, because=text),),
            "notes": (text,),
            "signature": text,
        }
    )


def test_the_page_asks_for_nothing(tmp_path: Path) -> None:
    """No address of anything, and a policy that allows its own script and style by their hashes only."""
    page, _ = written(make(), tmp_path)
    assert not {name for name, _ in page.attributes} & {"src", "srcset", "action", "style", "onclick", "onload"}
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    (policy,) = [value for name, value in page.attributes if name == "content" and "default-src" in (value or "")]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='", policy or ""
    )
    text = (tmp_path / "report.html").read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//cdn|@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML|eval\(", text)


def test_same_comparison_same_files(tmp_path: Path) -> None:
    files = []
    for _ in range(2):
        write_report(make(), tmp_path)
        files.append([(tmp_path / name).read_bytes() for name in ("report.html", "report.md")])
    assert files[0] == files[1]
    with pytest.raises(RunError, match=r"nowhere/report\.md: cannot be written"):
        write_report(make(), tmp_path / "nowhere")


def test_those_on_which_models_disagree_most_come_first(tmp_path: Path) -> None:
    page, _ = written(make(), tmp_path)
    found = re.findall(r"(\w+) – (most different answers|typical|longest)", page.text)
    assert found == [
        ("knowledge", "most different answers"),
        ("through", "typical"),
        ("counterrevolutionary", "longest"),
    ]


def test_pictures_are_told_in_words(tmp_path: Path) -> None:
    """Each panel has a label with its numbers; each strip stands in a row that has them as text."""
    comparison = make(NAMES[:5])
    page, _ = written(comparison, tmp_path)
    labels = [
        value or "" for name, value in page.attributes if name == "aria-label" and "by source length" in (value or "")
    ]
    assert len(labels) == 1 + 5
    (breakdown,) = (one for one in comparison.breakdowns if one.by == "length")
    for place, design in enumerate(comparison.designs):
        values = ", ".join(f"{group.label} {group.errors[place].value:.1f}" for group in breakdown.groups)
        assert sum(f"{design.name}: {values}" in label for label in labels) == 2
    strips = [table for table in page.tables if "mean, and 95 %" in table[0][-1]][-1]
    for design, error in zip(comparison.designs, comparison.judgement().errors, strict=True):
        (row,) = (row for row in strips if row[0] == design.name)
        assert row[-1] == f"{error.value:.1f} {error.low:.1f} to {error.high:.1f}"


def test_how_they_learned(tmp_path: Path) -> None:
    """A panel for each design with a line for each of its seeds; the best of each run is in the table and in words."""
    comparison = make(NAMES[:3])
    page, _ = written(comparison, tmp_path)
    (table,) = (table for table in page.tables if table[0][-1] == "after updates")
    assert len(table) == 1 + 3 * 3
    for design in comparison.designs:
        for run in design.runs:
            best = min(run.curve, key=lambda one: one.scores["sequence_error"])
            first, last = (one.scores["sequence_error"] for one in (run.curve[0], run.curve[-1]))
            row = [
                design.name,
                str(run.seed),
                "10",
                *(f"{value:.1f}" for value in (first, last, best.scores["sequence_error"])),
            ]
            assert [*row, f"{best.updates:,}"] in table
            ends = f"from {row[3]} to {row[4]}, best {row[5]} after {best.updates:,} updates"
            told = f"{design.name}, seed {run.seed}: {ends}"
            assert sum(told in (value or "") for name, value in page.attributes if name == "aria-label") == 1
    paths = [
        value for name, value in page.attributes if name == "class" and value in ("line d0", "line d1", "line behind")
    ]
    assert paths.count("line behind") == 3 * 6
    none = comparison.model_copy(
        update={
            "designs": tuple(
                design.model_copy(update={"runs": tuple(run.model_copy(update={"curve": ()}) for run in design.runs)})
                for design in comparison.designs
            )
        }
    )
    page, _ = written(none, tmp_path)
    assert "How they learned" not in page.text


def test_the_command_that_makes_it_again(tmp_path: Path) -> None:
    comparison = make().model_copy(update={"command": "heedful compare 'a``b.tsv' --out <out>"})
    page, markdown = written(comparison, tmp_path)
    assert "To make it again" in page.text
    assert comparison.command in page.text
    assert f"\n```sh\n{comparison.command}\n```\n" in markdown
    page, markdown = written(comparison.model_copy(update={"command": ""}), tmp_path)
    assert "To make it again" not in page.text
    assert "```" not in markdown
