"""The commands that show attention and judge it. Heavy imports are made inside them, so that --help is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.app import app
from heedful.cli.arguments import AttentionTemperature, AverageBy, BatchSize, Json, Pairs, Run


@app.command()
def align(
    run: Run,
    pairs: Pairs,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw one pair as a heat map: FILE.png or FILE.svg.", show_default=False),
    ] = None,
    line: Annotated[int, typer.Option(help="Which pair --plot draws, from 1.")] = 1,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    attention_temperature: AttentionTemperature = None,
    json: Json = False,
) -> None:
    """Print where the model looks while it writes the given targets: "0-0 1-2", source-target, a line for a pair."""
    from heedful.cli.stream import align_lines

    align_lines(
        run,
        pairs,
        plot=plot,
        line=line,
        batch_size=batch_size,
        ensemble_average=ensemble_average,
        attention_temperature=attention_temperature,
        as_json=json,
    )
