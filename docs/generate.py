"""Writes the pages that follow from the code: cli.md, parts.md and recipes.md.

python docs/generate.py            writes them
python docs/generate.py --check    writes nothing; exits with 1 and names each page that is out of date
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from heedful.attention import normalisers, scopes, scores
from heedful.cli.commands import app
from heedful.data import readers, segmenters, tokenisers
from heedful.model import build, cells, encoders, fronts, fusions, readouts, starts
from heedful.model.initialise import initialisations
from heedful.options import option_types
from heedful.recipes import Recipe, built_in

FOLDER = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->"
WIDTH = 80

# ---------------------------------------------------------------- cli.md


def cli() -> str:
    """The help text of every command."""
    parts = ["# Commands", NOTE, "Each command says this when it is called with `--help`."]
    for path in ((), *_commands()):
        parts += [f"## {' '.join(('heedful', *path))}", _fenced("text", _help(path))]
    parts.append(
        "Answers go to standard output, progress and remarks to standard error. Exit codes: 0, it went well; "
        "2, something in the input is wrong, and one message says what; 130, stopped by Ctrl-C."
    )
    return _page(parts)


def _commands() -> Iterator[tuple[str, ...]]:
    from typer.main import get_command

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield (*path, name)
            yield from walk(inner, (*path, name))

    return walk(get_command(app), ())


def _help(path: tuple[str, ...]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        # A width that is given wins over the terminal's.
        app([*path, "--help"], prog_name="heedful", terminal_width=WIDTH)
    return text.getvalue().rstrip()


# ---------------------------------------------------------------- parts.md

_ASKS = ("query_size", "value_size")
_LAYERS = ("cell", "hidden_size", "layers")

AXES = (
    # heading, the recipe's key, registry, what the builder gives to a part: all else are the user's options
    ("Scores", "model.score", scores, _ASKS),
    ("Scopes", "model.scope", scopes, _ASKS),
    ("Normalisers", "model.normaliser", normalisers, _ASKS),
    ("Encoders", "model.encoder", encoders, (*_LAYERS, "embedding", "embedding_size", "bidirectional", "dropout")),
    ("Fusions", "model.fusion", fusions, (*_LAYERS, "embedding_size", "value_size", "dropout", "attention")),
    ("Cells", "model.cell", cells, ("input_size", "hidden_size")),
    ("Starts", "model.start", starts, (*_LAYERS, "encoder")),
    ("Readouts", "model.readout", readouts, ("fusion", "embedding_size", "hidden_size")),
    ("Segments", "data.segments", segmenters, ()),
    ("Fronts", "model.front", fronts, ("features_size", "embedding_size")),
    ("Readers of features", "data.source_features", readers, ()),
    ("Tokenisers", "data.source_tokens, data.second_source_tokens, data.target_tokens", tokenisers, ()),
)


def parts() -> str:
    """Every registered part."""
    texts = [
        "# Parts",
        NOTE,
        "All parts that a recipe can name, axis by axis. A part is written as its name, or as a table with its "
        'options: `score = "dot"`, `scope = { name = "local_m", window = 5 }`. '
        "An option without a default here gets one from the model's sizes. "
        "[attention.md](attention.md) and [models.md](models.md) explain them; "
        "[adding_a_part.md](adding_a_part.md) tells how to add one.",
    ]
    for heading, key, registry, given in AXES:
        rows = [
            (f"`{name}`", f"`{registry[name].__name__}`", _summary(registry[name]), _options(registry[name], given))
            for name in registry.names()
        ]
        keys = ", ".join(f"`{one}`" for one in key.split(", "))
        texts += [f"## {heading} ({keys})", _table(("name", "class", "what it is", "options"), rows)]
    rows = [(f"`{name}`", f"`{way.__name__}`", _summary(way)) for name, way in initialisations.items()]
    texts += ["## Initialisations (`model.initialisation`)", _table(("name", "function", "what it is"), rows)]
    return _page(texts)


def _summary(part: Any) -> str:
    """The first paragraph of a docstring, with the second where the first only announces it."""
    paragraphs = [" ".join(text.split()) for text in (inspect.getdoc(part) or "").split("\n\n")]
    return " ".join(paragraphs[:2]) if paragraphs[0].endswith(":") else paragraphs[0]


def options(part: type, given: tuple[str, ...]) -> dict[str, Any]:
    """What a recipe may set of `part`, with the defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(part).parameters.items()
        if name not in given and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _options(part: type, given: tuple[str, ...]) -> str:
    """`name = default`; where the part itself works a default out, only the name."""
    found = options(part, given).items()
    return ", ".join(f"`{name}`" if value is None else f"`{name} = {_toml(value)}`" for name, value in found)


# ---------------------------------------------------------------- recipes.md

MEANINGS: dict[str, str] = {
    "data.source_features": "what reads the files that sources name, where they are no texts: see features.md",
    "data.source_column": "column of the source, from 1; in JSON lines a key",
    "data.target_column": "column of the target, likewise",
    "data.second_source_column": "column of a second source, likewise: see [shapes.md](shapes.md)",
    "data.tag_columns": "columns (keys) of tags; JSON lines without it use the key `tags`",
    "data.tag_separator": "between two tags in one cell",
    "data.normalisation": "Unicode form that texts and tags are brought into where they come in",
    "data.bad_lines": '"error" stops at the first bad line, "skip" leaves bad lines out and says so',
    "data.source_tokens": "how sources are cut into tokens",
    "data.second_source_tokens": "how second sources are cut into tokens",
    "data.target_tokens": "how targets are cut into tokens",
    "data.source_min_count": "rarer source tokens become the unknown symbol",
    "data.target_min_count": "rarer target tokens become the unknown symbol",
    "data.source_max_size": "how many source tokens to keep, the most frequent; tags are not counted",
    "data.target_max_size": "how many target tokens to keep",
    "data.reverse_source": "the model reads the source from its end; what is shown keeps the original order",
    "data.segments": "how sources are cut into segments, for parts that look at these: line, marks or length",
    "data.max_length": "training pairs with more tokens on either side are left out, and counted",
    "data.dev_share": "share of the distinct sources that is held out where no development file is given",
    "train.epochs": "budget: passes over the training data",
    "train.least_updates": "with `epochs`: where data are few, more passes, to at least so many updates",
    "train.updates": "budget: updates of the weights",
    "train.minutes": "budget: minutes, over all sittings, validation included",
    "train.batch_tokens": "most source and target positions in a batch, padding counted",
    "train.loss_per": "what an update averages the loss over; a sentence is the sum of its words",
    "train.optimiser": "adam with decoupled weight decay; adadelta with rho 0.95, epsilon 1e-6; plain sgd",
    "train.learning_rate": "its highest value",
    "train.weight_decay": "of the optimiser",
    "train.schedule": "how the learning rate follows the budget (below)",
    "train.halving_start": 'with "halving": the share of the budget at which the first halving falls',
    "train.halvings": 'with "halving": how many there are',
    "train.warmup_updates": "the rate rises linearly over that many updates",
    "train.clip_norm": "gradients with a larger L2 norm are scaled down to it",
    "train.label_smoothing": "share of the probability that is spread evenly over all symbols that can be written",
    "train.guided_attention": "where training is given links: how much they count beside the words",
    "train.scheduled_sampling": "chance, at the end of the budget, that an input word is the model's own; grows from 0",
    "train.metric": "what decides which weights are the best; all but loss are measured by greedy decoding",
    "train.validate_every": "epochs from one validation to the next; 0.5 is twice an epoch",
    "train.validation_size": "how many development pairs are looked at, evenly spread over the file",
    "train.patience": "stop after this many validations without a new best",
    "train.checkpoint_minutes": "how often to save between validations",
    "train.keep": "how many validations' weights to keep, the latest, in the run's folder `kept`: for averages",
    "train.seed": "of the first weights, the batches and dropout",
    "train.device": '"auto" takes a GPU if there is one',
    "train.precision": "automatic mixed precision",
    "train.tensorboard": "also write TensorBoard's files (extra `tensorboard`)",
    "predict.batch_size": "sentences at once; changes speed, never answers",
    "predict.bleu_tokenizer": 'sacreBLEU\'s: "13a" for ordinary text, "none" for text that is tokenised already',
}


def recipes() -> str:
    """Every key of a recipe, and the built-in recipes."""
    texts = ["# Recipes", NOTE, _RECIPES_INTRODUCTION]
    meanings = MEANINGS | {f"model.{name}": text for name, text in _arguments(build).items()}
    meanings |= {f"predict.{name}": _small(text) for name, (_, text) in option_types().items()}
    schema = Recipe.model_json_schema()
    for table in schema["properties"]:
        kind = Recipe.model_fields[table].annotation
        assert kind is not None
        fields = schema["$defs"][kind.__name__]["properties"]
        rows = [
            (f"`{key}`", _type(field), f"`{_toml(field['default'])}`", meanings[f"{table}.{key}"])
            for key, field in fields.items()
        ]
        texts += [f"## [{table}]", inspect.getdoc(kind) or ""]
        texts.append(_table(("key", "type", "default", "meaning"), rows))
        texts += _SCHEDULES if table == "train" else ()
    texts.append("# The built-in recipes")
    for name, text in built_in().items():
        texts += [f"## {name}", _fenced("toml", text.rstrip())]
    return _page(texts)


def _small(sentence: str) -> str:
    """A help text as a cell of a table: no capital, no full stop."""
    return sentence[0].lower() + sentence[1:].rstrip(".")


_RECIPES_INTRODUCTION = """
A recipe is one TOML file: names and numbers, no Python. What it leaves out has the default below. A key that is
not in these tables is an error, and the message names the nearest one that is. `none` (a word in quotes) takes away
a value that may be absent. Of the three budgets in `[train]` at least one is needed; the first one to be used up
ends the training.

A part (see [parts.md](parts.md)) is its name, or a table with `name` and its options. On the command line
`--set model.score=general` changes a key and `--set model.scope.window=5` an option of a part that the recipe names.
`heedful recipes` lists the built-in recipes, `heedful recipes copy g2p mine.toml` writes one to a file for you to
edit, and `--recipe mine.toml` trains with it. The folder of a run holds the whole recipe it was made with,
`recipe.toml`.
""".strip()

_SCHEDULES = (
    "The schedules give a factor of `learning_rate` at the share p of the budget that is used up: `constant` 1, "
    "`linear` 1 - p, `cosine` (1 + cos(pi p)) / 2; `halving` is 1 up to `halving_start`, then halves `halvings` times "
    "at even distances.",
)


def _arguments(function: Callable[..., Any]) -> dict[str, str]:
    """What a docstring says about each argument."""
    section = (inspect.getdoc(function) or "").split("Args:\n")[1].split("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, flags=re.MULTILINE)
    return {name: " ".join(text.split()).rstrip(".") for name, text in entries}


def _type(field: Mapping[str, Any]) -> str:
    """A JSON schema in words."""
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return " or ".join(f'"{value}"' for value in field["enum"])
    if "$ref" in field:
        return "part"
    if field["type"] == "array":
        return f"list of: {_type(field['items'])}"
    name = {"integer": "integer", "number": "number", "boolean": "boolean", "string": "string", "null": "none"}
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    # A limit that is only the machine's is none that a reader asks for.
    limits = [f"{sign} {field[key]:g}" for key, sign in signs.items() if abs(field.get(key, 1e18)) < 1e18]
    return " ".join([name[field["type"]], ", ".join(limits)]).strip()


# ---------------------------------------------------------------- Markdown


def _toml(value: Any) -> str:
    """A value as a recipe writes it."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _page(texts: list[str]) -> str:
    return "\n\n".join(texts) + "\n"


PAGES: dict[str, Callable[[], str]] = {"cli.md": cli, "parts.md": parts, "recipes.md": recipes}


def stale(folder: Path = FOLDER) -> list[Path]:
    """The pages in `folder` that are missing or not what they should be."""
    found = []
    for name, page in PAGES.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != page().encode("utf-8"):
            found.append(path)
    return found


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` only compare them; returns the exit code."""
    if arguments == ["--check"]:
        old = stale()
        for path in old:
            print(f"{path} is out of date; write it anew with: make docs", file=sys.stderr)
        return 1 if old else 0
    if arguments:
        print(f"expected --check or nothing, got {' '.join(arguments)}", file=sys.stderr)
        return 2
    for name, page in PAGES.items():
        (FOLDER / name).write_bytes(page().encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
