"""Arguments and options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from heedful.options import EnsembleAverage, option_types

Run = Annotated[
    str,
    typer.Argument(
        help="The folder of a trained run; several with commas between them answer as one.", show_default=False
    ),
]
Pairs = Annotated[
    str,
    typer.Argument(
        help="A TSV or JSON-lines file (.gz too), two parallel files as SRC,TRG, or a built-in corpus with its "
        "part if wanted: cmudict, cmudict:test, copy, reverse, dates, numbers, digits.",
        show_default=False,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(help="Sentences at once; never changes an answer. By default the recipe's.", show_default=False),
]
AverageBy = Annotated[EnsembleAverage, typer.Option(help="What several runs that answer as one average.")]
Json = Annotated[bool, typer.Option("--json", help="For programs: JSON on standard output.")]
AttentionTemperature = Annotated[
    float | None, typer.Option(help=option_types()["attention_temperature"][1], show_default=False)
]
