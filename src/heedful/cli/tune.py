"""``heedful tune``. Heavy imports are made inside it, so that --help is quick."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer

from heedful.cli.app import app
from heedful.cli.arguments import Json, Pairs


@app.command()
def tune(
    pairs: Pairs,
    out: Annotated[str, typer.Option(help="The folder of the search; recipe.toml in it.", show_default=False)],
    recipe: Annotated[
        str | None, typer.Option(help="A built-in recipe, or a TOML file; g2p by default.", show_default=False)
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Pairs to validate on. By default a share is held out, by a hash of the source.", show_default=False
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(help="For all trials together, over all sittings.")] = 30.0,
    trials: Annotated[int | None, typer.Option(help="At most so many.", show_default=False)] = None,
    updates: Annotated[
        int | None, typer.Option(help="The budget of a trial, in updates of the weights; or", show_default=False)
    ] = None,
    trial_minutes: Annotated[
        float | None, typer.Option(help="in minutes; by default a fifteenth of --minutes.", show_default=False)
    ] = None,
    seeds: Annotated[int, typer.Option(help="Train each setting so often, and judge it by the mean.")] = 1,
    range: Annotated[
        list[str] | None,
        typer.Option(
            help="What to search: model.dropout=0.1..0.5, train.learning_rate=0.001..0.01:log, "
            "model.score=dot,general. Takes the place of the key's range by default, or adds one. May be repeated.",
            metavar="KEY=RANGE",
            show_default=False,
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="Change a key of the recipe, and do not search it: --set model.dropout=0.2. May be repeated.",
            metavar="KEY=VALUE",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the run of each trial, in OUT/trials.")] = False,
    json: Json = False,
) -> None:
    """Search a recipe's ranges for what does best on development pairs. The same command goes on after Ctrl-C."""
    import heedful
    from heedful.cli.show import watched, write
    from heedful.cli.tuned import TuneProgress, tuned_text

    with watched(TuneProgress) as reporter:
        found = heedful.tune(
            pairs,
            out=out,
            recipe=recipe,
            dev=dev,
            minutes=minutes,
            trials=trials,
            updates=updates,
            trial_minutes=trial_minutes,
            seeds=seeds,
            range=range or (),
            set=set or (),
            keep=keep,
            reporter=reporter,
        )
    write(json_.dumps(found.as_json(), ensure_ascii=False) if json else tuned_text(found))
