"""The commands that train many times. Heavy imports are made inside them, so that --help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from heedful.cli.app import app
from heedful.cli.arguments import Json, Pairs
from heedful.cli.lists import Lists


@app.command(cls=Lists)
def compare(
    pairs: Pairs,
    *,
    out: Annotated[str, typer.Option(help="The folder for the runs and the result.", show_default=False)],
    recipes: Annotated[
        list[str] | None,
        typer.Option(
            help="What to compare, one behind the other: designs (fixed, early, late_dot, late_general, late_concat, "
            "late_dot_feeding, late_general_feeding, late_concat_feeding, late_local_p: all of them by default), "
            "built-in recipes, TOML files.",
            metavar="NAME...",
            show_default=False,
        ),
    ] = None,
    base: Annotated[str, typer.Option(help="The recipe that the designs are variants of, each in one part.")] = "g2p",
    dev: Annotated[
        str | None,
        typer.Option(help="Pairs to validate on. By default a share is held out, as in train.", show_default=False),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help="Pairs that decide. By default as many are held out again.", show_default=False),
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(
            help="Gold links for the alignment error rate: 0-0 1-2, a line for each of --test; or, where that is held "
            "out, of PAIRS.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Train on so many of the pairs, evenly spread.", show_default=False)
    ] = None,
    seeds: Annotated[
        list[int] | None, typer.Option(help="1 2 3 by default.", metavar="N...", show_default=False)
    ] = None,
    updates: Annotated[int | None, typer.Option(help="The budget of each training.", show_default=False)] = None,
    minutes: Annotated[float | None, typer.Option(help="Or so many minutes; 2 by default.", show_default=False)] = None,
    jobs: Annotated[
        int, typer.Option(help="Trainings at once, a thread each. Speeds are measured alone at the end.")
    ] = 1,
    set: Annotated[
        list[str] | None,
        typer.Option(help="Change a key of every recipe. May be repeated.", metavar="KEY=VALUE", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Train several designs with one budget and several seeds, and say which is better, and whether that is real.

    Stopped by Ctrl-C, the same command goes on where it was.
    """
    import heedful
    from heedful.cli.compare import SeriesProgress, comparison_text
    from heedful.cli.show import say, watched, write

    with watched(SeriesProgress) as watcher:
        found = heedful.compare(
            pairs,
            out=out,
            recipes=recipes or None,
            base=base,
            dev=dev,
            test=test,
            links=links,
            size=size,
            seeds=seeds or (1, 2, 3),
            updates=updates,
            minutes=minutes,
            jobs=jobs,
            set=set or (),
            watcher=watcher,
            message=watcher.remark,
        )
    write(found.model_dump_json() if json else comparison_text(found))
    say(f"All of it is in {out}; report.html is for your browser.")
