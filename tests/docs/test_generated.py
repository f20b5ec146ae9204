"""The generated pages are those that the code makes today, whatever the terminal."""

import importlib.util
import inspect

import pytest

from heedful.data.corpora import names

from .pages import DOCS


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date(generate):
    assert generate.stale() == []


def test_check_names_the_page(generate, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(generate, "stale", lambda: [tmp_path / "cli.md"])
    assert generate.main(["--check"]) == 1
    assert str(tmp_path / "cli.md") in capsys.readouterr().err
    monkeypatch.setattr(generate, "stale", list)
    assert generate.main(["--check"]) == 0


def test_a_changed_or_missing_page_is_found(generate, monkeypatch, tmp_path):
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    assert generate.main([]) == 0
    assert generate.stale(tmp_path) == []
    with open(tmp_path / "parts.md", "a", encoding="utf-8") as file:
        file.write(" ")
    (tmp_path / "cli.md").unlink()
    assert generate.stale(tmp_path) == [tmp_path / "cli.md", tmp_path / "parts.md"]


@pytest.mark.parametrize("columns", ["40", "200"])
def test_the_terminal_does_not_matter(generate, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LC_ALL", "C")
    text = generate.cli()
    assert text == (DOCS / "cli.md").read_text("utf-8")
    helps = [block for block in text.split("```") if "Usage:" in block]
    assert len(helps) > 5
    assert 75 < max(len(line) for block in helps for line in block.splitlines()) <= generate.WIDTH


def test_only_options_are_listed(generate):
    """What the builder gives to a part has no default; what a recipe may set has one."""
    for _, _, registry, given in generate.AXES:
        for name in registry.names():
            for option, default in generate.options(registry[name], given).items():
                assert default is not inspect.Parameter.empty, (name, option)


def test_every_meaning_is_used(generate):
    text = generate.recipes()
    assert [key for key, meaning in generate.MEANINGS.items() if f"| {meaning} |" not in text] == []


def test_all_corpora_are_told_of():
    text = (DOCS / "use.md").read_text("utf-8")
    assert [name for name in names() if f"`{name}`" not in text] == []
