"""The command line and the Python functions have the same names and the same defaults."""

from __future__ import annotations

import inspect

import pytest
import typer

import heedful
from heedful.cli.commands import app
from heedful.options import ScoringOptions, SearchOptions, option_types
from heedful.recipes import PredictRecipe

VERBS = [
    "train",
    "predict",
    "evaluate",
    "score",
    "align",
    "average",
    "symmetrise",
    "aer",
    "trace",
    "look",
    "diagnose",
    "tune",
    "compare",
]
# What one side has and the other has not, or has under another name, and why.
CLI_ONLY = {
    "predict": {
        "file": "stands for texts",
        "json": "a function returns objects",
        "with_weights": "a function's objects have their alignments",
    },
    "evaluate": {"json": "a function returns an object"},
    "score": {"json": "a function returns objects"},
    "align": {
        **dict.fromkeys(("links", "threshold", "swap"), "Alignment.pharaoh and Alignment.links take them"),
        "out": "heedful.alignment.save_alignments writes",
        "plot": "heedful.plots.save draws",
        "line": "goes with plot",
        "json": "a function returns objects",
    },
    "aer": {"json": "a function returns an object"},
    "diagnose": {"json": "a function returns an object"},
    "compare": {"json": "a function returns an object"},
    "trace": {
        "digits": "a function returns an object",
        "weights": "Trace.weights",
        "json": "a function returns an object",
    },
    "tune": {"json": "a function returns an object"},
}
PYTHON_ONLY = {
    "train": {"reporter": "the command line brings its own"},
    "tune": {"reporter": "the command line brings its own"},
    "predict": {"texts": "lines of file", "with_alignment": "goes with json"},
    "evaluate": {"progress": "the command line brings its own", "message": "the same"},
    "score": {
        "with_alignment": "goes with json",
        "progress": "the command line brings its own",
        "message": "the same",
    },
    "align": {"progress": "the command line brings its own", "message": "the same"},
    "look": {"progress": "the command line brings its own", "message": "the same"},
    "diagnose": {"progress": "the command line brings its own", "message": "the same"},
    "compare": {"watcher": "the command line brings its own", "message": "the same"},
}
# What Python takes as keywords of a kind, the command line has as options of the same names.
KINDS = {"predict": SearchOptions, "evaluate": SearchOptions, "score": ScoringOptions, "look": SearchOptions}
# An option that may be repeated is a list, which Typer wants to be None when it is not there.
NO_DEFAULT = {("train", "set"): (None, ()), ("look", "line"): (None, ())}
NO_DEFAULT |= {("tune", "set"): (None, ()), ("tune", "range"): (None, ())}
NO_DEFAULT |= {("compare", "seeds"): (None, (1, 2, 3)), ("compare", "set"): (None, ())}


def commands() -> dict:
    group = typer.main.get_command(app)
    return dict(group.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", VERBS)
def test_same_names_and_defaults(verb):
    (callback,) = [command.callback for command in app.registered_commands if command.callback.__name__ == verb]
    ours = dict(inspect.signature(callback).parameters)
    theirs = dict(inspect.signature(getattr(heedful, verb)).parameters)
    for name in CLI_ONLY.get(verb, {}):
        del ours[name]
    for name in PYTHON_ONLY.get(verb, {}):
        del theirs[name]
    if verb in KINDS:
        (keywords,) = [p for p in theirs.values() if p.kind is p.VAR_KEYWORD]
        assert KINDS[verb].__name__ in str(keywords.annotation)
        del theirs[keywords.name], ours["temperature"]  # the latter only for its error
        for name in option_types(KINDS[verb]):
            assert ours.pop(name).default is None  # as in the recipe
    assert list(ours) == list(theirs)
    for name in ours:
        expected = NO_DEFAULT.get((verb, name), (theirs[name].default, theirs[name].default))
        assert (ours[name].default, theirs[name].default) == expected, name


@pytest.mark.parametrize("verb", VERBS)
def test_flags_are_the_names(verb):
    """`n_best` is --n-best; whatever comes first in Python is an argument without a flag."""
    parameters = inspect.signature(getattr(heedful, verb)).parameters
    seen = {parameter.name: parameter for parameter in commands()[verb].params}
    for name, parameter in parameters.items():
        if name in PYTHON_ONLY.get(verb, {}) or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert seen[name].opts == [f"--{name.replace('_', '-')}"]
            assert not seen[name].secondary_opts  # no --no-...
        else:
            assert seen[name].param_type_name == "argument"


@pytest.mark.parametrize("verb", sorted(KINDS))
def test_search_options_have_their_flags(verb):
    seen = {parameter.name: parameter for parameter in commands()[verb].params}
    for name in option_types(KINDS[verb]):
        assert seen[name].opts == [f"--{name.replace('_', '-')}"]
    assert seen["temperature"].hidden


def test_a_recipe_has_every_search_option():
    """And two keys more, which are no matter of search."""
    keys = list(PredictRecipe.model_fields)
    assert set(keys) - set(option_types()) == {"batch_size", "bleu_tokenizer"}
    assert set(option_types()) - set(keys) == {"dictionary"}  # a file of the caller's, not of the run's
    assert set(option_types(ScoringOptions)) < set(option_types())


def test_the_verbs_are_the_functions():
    assert set(commands()) == {*VERBS, "demo", "recipes"}
    assert set(VERBS) <= set(heedful.__all__)


def test_run_has_the_parameters_of_predict():
    ours = dict(inspect.signature(heedful.Run.predict).parameters)
    theirs = dict(inspect.signature(heedful.predict).parameters)
    del ours["self"], theirs["run"], theirs["ensemble_average"]  # a run is loaded already
    assert {name: p.default for name, p in ours.items()} == {name: p.default for name, p in theirs.items()}


@pytest.mark.parametrize(
    "command", [[], ["train"], ["predict"], ["evaluate"], ["align"], ["demo"], ["recipes"], ["recipes", "copy"]]
)
def test_help(cli, command):
    done = cli(*command, "--help")
    assert done.code == 0
    assert done.out.startswith(b"Usage: heedful")
    assert cli(*command, "-h") == done


def test_nothing_said_is_a_call_for_help(cli):
    assert cli().code == 2
    assert b"Commands:" in cli().out + cli().err.encode()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nope"], "nope"),
        (["recipes", "nope"], "nope"),
        (["evaluate"], "run"),
        (["predict", "run", "--nope"], "--nope"),
        (["predict", "run", "--beam", "x"], "--beam"),
        (["train", "pairs.tsv"], "--out"),
        (["align", "run", "pairs.tsv", "--line", "x"], "--line"),
    ],
)
def test_wrong_usage(cli, arguments, says):
    done = cli(*arguments)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err
