"""The commands that the pages show can be parsed, and the settings in them make recipes and models."""

import re
import shlex

import pytest

from heedful.cli.commands import app
from heedful.model import build
from heedful.recipes import built_in, load

from .pages import DOCS, blocks

PAGES = sorted(path.name for path in DOCS.glob("*.md"))


def commands(page):
    """The arguments of each ``heedful ...`` in the page's shell blocks."""
    for block in blocks(page, "sh"):
        block = block.replace("\\\n", " ")  # one command over several lines
        for line in re.sub(r"<<'(\w+)'.*?^\1$", "", block, flags=re.MULTILINE | re.DOTALL).splitlines():
            for part in re.split(r"\s\|\s", line):
                words = shlex.split(part, comments=True)
                if words[:1] == ["heedful"]:
                    words = words[: words.index(">")] if ">" in words else words
                    yield words[1:]


def parsed(arguments):
    """(name, parameters) of the command that `arguments` call, which is not run."""
    from typer.main import get_command

    calls = []

    def replace(command, name):
        command.callback = lambda **parameters: calls.append((name, parameters))
        for inner, other in getattr(command, "commands", {}).items():
            replace(other, inner)

    main = get_command(app)
    replace(main, "heedful")
    main.main(arguments, prog_name="heedful", standalone_mode=False)
    return calls[-1]


@pytest.mark.parametrize("page", PAGES)
def test_commands(page):
    for arguments in commands(page):
        name, parameters = parsed(arguments)
        assert name != "heedful", arguments
        if name == "train":
            known = parameters["recipe"] if parameters["recipe"] in built_in() else "tiny"
            recipe = load(known, parameters["set"] or ())
            build(source_vocabulary_size=7, target_vocabulary_size=7, **recipe.model.model_dump())


def test_there_are_commands():
    assert sum(1 for _ in commands("use.md")) > 15


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    """Links between pages lead to pages and headings that are there."""
    for target, anchor in re.findall(r"\]\((?!https?:)([\w./]*)(#[\w-]+)?\)", (DOCS / page).read_text("utf-8")):
        path = DOCS / (target or page)
        assert path.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), flags=re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor[1:] in slugs, anchor
