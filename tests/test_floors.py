"""The floors of the house: imports go down only. And the rooms stay small."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import heedful

ROOT = Path(heedful.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the ground up; what stands on one line is one floor.
FLOORS = [
    ["errors", "registry", "files", "tensors", "options", "room"],
    ["attention"],
    ["model", "data", "alignment"],
    ["search", "evaluation", "plots", "recipes"],
    ["ensemble", "answers", "units", "comparison"],
    ["decoding", "fitting"],
    ["predictor", "runs", "notes"],
    ["diagnosis", "tracing"],
    ["training"],
    ["tuning"],
    ["series"],
    ["api"],
    ["cli"],
]
HEIGHT = {part: height for height, floor in enumerate(FLOORS) for part in floor}
# Parts that are a promise of their own know even less than their floor would let them.
ONLY = {
    "attention": {"errors", "registry", "tensors"},
    "alignment": {"errors", "files", "options"},
    "data": {"errors", "registry", "files"},
    "plots": {"errors", "files", "alignment"},
    "search": {"errors", "tensors", "data"},
    "recipes": {"errors", "files", "options"},
    "comparison": {"errors", "files", "alignment", "evaluation", "plots"},
}
ENTRANCES = {"__init__", "__main__", "testing"}  # the package's face, `python -m`, and the suite for others' parts


def part_of(path: Path) -> str:
    """``heedful/data/pairs.py`` -> ``data``."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of ours, wherever it stands: at the top, in a function, for type checkers."""
    package = ".".join(["heedful", *path.relative_to(ROOT).parent.parts])
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = (
                importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                if node.level
                else node.module
            )
            assert module
            # `from heedful import x` may name a module.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def parts_imported(path: Path) -> Iterator[tuple[int, str]]:
    for line, module in imported(path):
        first, _, rest = f"{module}.".partition(".")
        if first == "heedful" and rest:
            yield line, rest.split(".")[0]


def test_every_part_has_a_floor():
    assert {part_of(path) for path in FILES} == set(HEIGHT) | ENTRANCES


@pytest.mark.parametrize("part", sorted(HEIGHT))
def test_imports_go_down_only(part):
    wrong = []
    for path in FILES:
        if part_of(path) != part:
            continue
        for line, other in parts_imported(path):
            if other == part or other.startswith("__"):  # __version__
                continue
            below = HEIGHT.get(other, 99) <= HEIGHT[part]  # the command line alone may use the package's face
            face = part == "cli" and other not in HEIGHT
            if not (below or face) or other not in ONLY.get(part, {other}):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {part} imports {other}")
    assert not wrong, wrong


def test_no_two_parts_of_a_floor_import_each_other():
    pairs = {(part_of(path), other) for path in FILES for _, other in parts_imported(path)}
    assert not [pair for pair in pairs if pair[0] != pair[1] and pair[::-1] in pairs and set(pair) <= set(HEIGHT)]


def test_the_command_line_uses_the_package_by_its_face():
    """`import heedful` inside a command, and of it only what `heedful.__all__` promises."""
    for path in FILES:
        if part_of(path) == "cli":
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "heedful":
                    assert node.attr in heedful.__all__, (path, node.lineno)


HEAVY = {
    "torch",
    "numpy",
    "matplotlib",
    "accelerate",
    "pydantic",
    "tokenizers",
    "sacrebleu",
    "safetensors",
    "rapidfuzz",
    "rich",
    "optuna",
}
WEIGHT_ALLOWED = {  # where a part is about nothing else, its modules may import it when they are imported
    "attention": {"torch"},
    "model": {"torch"},
    "search": {"torch"},
    "tensors": {"torch"},
    "room": {"torch"},
    "testing": {"torch"},
    "predictor": {"torch"},
    "ensemble": {"torch"},
    "decoding": {"torch"},
    "training": {"torch"},
    "diagnosis": {"torch", "numpy"},
    "tracing": {"torch", "numpy"},
    "data": {"torch"},  # batches.py alone; tested with the data
    "alignment": {"numpy"},
    "plots": {"numpy"},
    "recipes": {"pydantic"},
    "comparison": {"numpy", "pydantic"},
}


def test_heavy_imports_are_made_where_they_are_needed():
    wrong = []
    for path in FILES:
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:  # not those in functions, nor those for type checkers
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            heavy = {name.split(".")[0] for name in names} & HEAVY
            if heavy - WEIGHT_ALLOWED.get(part_of(path), set()):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {heavy}")
    assert not wrong, wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_small(path):
    """Files under 300 lines; bodies of functions, without their documentation, at most 40; of commands, 16."""
    source = path.read_text("utf-8")
    assert source.count("\n") < 300
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            size = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            most = 16 if path.name == "app.py" else 40
            assert size <= most, f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {size} lines"


def test_the_library_does_not_print():
    """Only the command line does; others raise, return, or tell a reporter."""
    for path in FILES:
        if part_of(path) != "cli":
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
                assert not called, f"{path.relative_to(ROOT)}:{node.lineno}"
