"""The report as Markdown: the same tables, short."""

from __future__ import annotations

import re

from heedful.comparison.recommend import NAMES as METRIC_NAMES
from heedful.comparison.report import tables
from heedful.comparison.report.curves import about
from heedful.comparison.report.elements import visible
from heedful.comparison.report.terms import PART_NAMES, better_is, question, sentence, title
from heedful.comparison.results import Comparison

_MARKUP = re.compile(r"([\\`*_\[\]<>&|#~])")


def markdown(comparison: Comparison) -> str:
    """The whole file."""
    metric, part = comparison.metric, comparison.part
    parts = [f"# {text(title(comparison))}", text(question(comparison)), *_answer(comparison)]
    parts += [
        "## Quality",
        f"{text(sentence(metric, comparison.data.token_name))}; {better_is(metric)}. In brackets 95 % intervals.",
    ]
    parts.append(_table(tables.quality(comparison)))
    if comparison.designs[1:]:
        parts += [
            "## Which differences are real",
            f"Differences in {METRIC_NAMES[metric]} on {PART_NAMES[part.name]}, in points, with p adjusted for "
            "the number of pairs (Holm 1979); a star where it is below 0.05.",
            _table(tables.differences(comparison)),
        ]
    parts.append("## The designs")
    every = (tables.make_up(comparison), tables.cost(comparison), tables.character(comparison))
    parts += [_table(table) for table in every if len(table.head) > 1]
    for breakdown in comparison.breakdowns:
        parts += [
            f"## {about(breakdown)}",
            f"{METRIC_NAMES[metric]} on {PART_NAMES[part.name]}, with 95 % intervals.",
            _table(tables.groups(comparison, breakdown)),
        ]
    parts.append("## How it was measured")
    parts.append("\n".join(f"- {name}: {text(value)}" for name, value in tables.facts(comparison)))
    if comparison.command:
        fence = "`" * (1 + max(map(len, re.findall("`+", comparison.command)), default=2))
        parts.append(f"{fence}sh\n{visible(comparison.command)}\n{fence}")
    parts.append(_table(tables.runs(comparison)))
    return "\n\n".join(parts) + "\n"


def _answer(comparison: Comparison) -> list[str]:
    found = [f"{text(one.says)} {text(one.because)}".strip() for one in comparison.recommendation]
    said = [f"**{text(one.says)}** {text(one.because)}".strip() for one in comparison.recommendation[:1]]
    lists = ["\n".join(f"- {one}" for one in items) for items in (found[1:], map(text, comparison.notes))]
    return [*said, *filter(None, lists)]


def _table(table: tables.Table) -> str:
    rule = ["---"] * len(table.head)
    rows = [table.head, *table.rows]
    lines = ["| " + " | ".join(map(text, row)) + " |" for row in rows]
    return "\n".join([lines[0], "| " + " | ".join(rule) + " |", *lines[1:]])


def text(value: str) -> str:
    """Any text in one line, without a sign that Markdown would take for its own."""
    return _MARKUP.sub(r"\\\1", visible(" ".join(value.split())))
