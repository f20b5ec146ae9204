"""The commands. Heavy imports are made inside them, so that --help is quick."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Literal

import typer

from heedful.cli.arguments import AverageBy, BatchSize, Json, Pairs, Run
from heedful.cli.options import takes
from heedful.options import ScoringOptions, SearchOptions

app = typer.Typer(
    name="heedful",
    help="Sequence-to-sequence models with Bahdanau and Luong attention: train, predict, evaluate, look.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
recipes_app = typer.Typer(
    help="List the built-in recipes, or copy one to edit.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(recipes_app, name="recipes")


def _version(asked: bool) -> None:
    if asked:
        from heedful import __version__

        typer.echo(f"heedful {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and stop.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What goes before the name of a command."""


@app.command()
def train(
    pairs: Pairs,
    out: Annotated[str, typer.Option(help="The folder to make for the run.", show_default=False)],
    recipe: Annotated[
        str | None, typer.Option(help="A built-in recipe, or a TOML file; g2p by default.", show_default=False)
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Pairs to validate on. By default a share is held out, by a hash of the source.",
            show_default=False,
        ),
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(
            help="Links of a word aligner, a line for a pair (0-0 1-2), that guide the attention. They count tokens: "
            "characters in a run over characters; words where tokens are pieces of them (BPE).",
            show_default=False,
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="Change a key of the recipe: --set train.epochs=5. May be repeated.",
            metavar="KEY=VALUE",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is in --out.")] = False,
) -> None:
    """Train a model on pairs of sequences."""
    import heedful
    from heedful.cli.show import TrainingProgress, trained, watched

    with watched(TrainingProgress) as reporter:
        folder = heedful.train(
            pairs,
            out=out,
            recipe=recipe,
            dev=dev,
            links=links,
            set=set or (),
            resume=resume,
            overwrite=overwrite,
            reporter=reporter,
        )
    trained(folder)


@app.command()
@takes(SearchOptions)
def predict(
    run: Run,
    file: Annotated[
        Path | None,
        typer.Argument(help="One source a line; standard input by default.", show_default=False),
    ] = None,
    n_best: Annotated[int, typer.Option(help="Answers to each line, best first; above 1 implies --json.")] = 1,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    json: Json = False,
    with_weights: Annotated[
        bool, typer.Option("--with-weights", help="Each answer's whole alignment, not its links alone; implies --json.")
    ] = False,
    search: SearchOptions = {},  # noqa: B006 - never changed
) -> None:
    """Answer each line of text: a line in, a line out, blank for blank."""
    from heedful.cli.stream import predict_lines

    predict_lines(
        run,
        file,
        n_best=n_best,
        batch_size=batch_size,
        ensemble_average=ensemble_average,
        as_json=json or with_weights or n_best > 1,
        with_weights=with_weights,
        search=search,
    )


@app.command()
@takes(SearchOptions)
def evaluate(
    run: Run,
    pairs: Pairs,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    json: Json = False,
    search: SearchOptions = {},  # noqa: B006 - never changed
) -> None:
    """Answer the sources of PAIRS and score the answers against the targets."""
    import heedful
    from heedful.cli.show import Counter, note, scores_table, write

    with Counter("evaluating") as progress:
        scores = heedful.evaluate(
            run,
            pairs,
            batch_size=batch_size,
            ensemble_average=ensemble_average,
            progress=progress,
            message=note,
            **search,
        )
    write(json_.dumps(scores.as_json()) if json else scores_table(scores))


@app.command()
@takes(ScoringOptions)
def score(
    run: Run,
    pairs: Pairs,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    json: Json = False,
    scoring: ScoringOptions = {},  # noqa: B006 - never changed
) -> None:
    """Print how probable the model finds each given target: the score that predict would report for it, in nats."""
    from heedful.cli.stream import score_lines

    score_lines(run, pairs, batch_size=batch_size, ensemble_average=ensemble_average, as_json=json, scoring=scoring)


@app.command()
def average(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Folders of runs, or files of weights in them: runs/a/kept/000120.safetensors.", show_default=False
        ),
    ],
    out: Annotated[str, typer.Option(help="The folder to make for the run.", show_default=False)],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is in --out.")] = False,
) -> None:
    """Average the weights of several validations of one training (train.keep) into a run of its own."""
    import heedful
    from heedful.cli.show import trained

    trained(heedful.average(runs, out=out, overwrite=overwrite))


@app.command()
def demo(
    task: Annotated[
        Literal["cmudict", "image"],
        typer.Argument(help="cmudict: spelling to sound; image: strips of handwritten digits to text."),
    ] = "cmudict",
    out: Annotated[
        str | None, typer.Option(help="The folder to make for the run; demo/TASK by default.", show_default=False)
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="How long to train; 5.5 for cmudict, 1.5 for image.", show_default=False)
    ] = None,
) -> None:
    """Train on data that need no download, judge on what was never seen, and draw where the model looks."""
    from heedful.cli.demo import run_demo
    from heedful.cli.demo_image import run_image_demo

    run, usual = (run_demo, 5.5) if task == "cmudict" else (run_image_demo, 1.5)
    run(out or f"demo/{task}", minutes=usual if minutes is None else minutes)


@recipes_app.callback()
def recipes(context: typer.Context) -> None:
    """List the built-in recipes, or copy one to edit."""
    if context.invoked_subcommand is None:
        from heedful.cli.show import recipe_list, write

        write(recipe_list())


@recipes_app.command("copy")
def copy_recipe(
    name: Annotated[str, typer.Argument(help="A built-in recipe.", show_default=False)],
    to: Annotated[Path, typer.Argument(help="The file or folder to write to.", show_default=False)],
) -> None:
    """Copy a built-in recipe, with its comments, to a file."""
    from heedful.cli.show import write
    from heedful.recipes import copy

    path = copy(name, to)
    write(f"{path} written; train with it: heedful train PAIRS --recipe {path} --out RUN")
