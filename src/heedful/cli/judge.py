"""The commands that show attention and judge it. Heavy imports are made inside them, so that --help is quick."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Literal

import typer

from heedful.cli.app import app
from heedful.cli.arguments import AttentionTemperature, AverageBy, BatchSize, Json, Pairs, Run
from heedful.cli.options import takes
from heedful.options import Convention, LinkRule, SearchOptions, Symmetrisation

_LINKS = "Links, a line for a pair: 0-0 1-2, source-target, from 0 (Pharaoh format; .gz too); - for standard input."


@app.command()
def align(
    run: Run,
    pairs: Pairs,
    links: Annotated[
        LinkRule,
        typer.Option(
            help="Which weights are links: the largest of each target word; all of at least --threshold; all of at "
            "least --threshold times the largest of their target word; or best first, no word twice."
        ),
    ] = "argmax",
    threshold: Annotated[float | None, typer.Option(help="The least weight of a link.", show_default=False)] = None,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Where each word came from now that it is known: slower, better links.")
    ] = False,
    convention: Annotated[
        Convention | None,
        typer.Option(
            help="Read rows of weights as about the word that is predicted, or about the one that was put in. "
            "By default as the run says.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Merge pieces (BPE, characters) to words, without tags and end symbols.")
    ] = False,
    second: Annotated[
        bool, typer.Option("--second", help="Where it looks in the second source, where the model looks at two.")
    ] = False,
    swap: Annotated[bool, typer.Option("--swap", help="Write links as target-source.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to FILE instead: links (.txt, .pharaoh), or weights too (.jsonl, .npz); .gz too.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw one pair as a heat map: FILE.png or FILE.svg.", show_default=False),
    ] = None,
    line: Annotated[
        int | None, typer.Option(help="Which pair --plot draws, from 1; by default the first.", show_default=False)
    ] = None,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    attention_temperature: AttentionTemperature = None,
    json: Json = False,
) -> None:
    """Print where the model looks while it writes the given targets: "0-0 1-2", source-target, a line for a pair."""
    from heedful.cli.align import align_lines

    align_lines(
        run,
        pairs,
        links=links,
        threshold=threshold,
        posterior=posterior,
        convention=convention,
        words=words,
        second=second,
        swap=swap,
        out=out,
        plot=plot,
        line=line,
        batch_size=batch_size,
        ensemble_average=ensemble_average,
        attention_temperature=attention_temperature,
        as_json=json,
    )


@app.command()
def symmetrise(
    forward: Annotated[str, typer.Argument(help=_LINKS, show_default=False)],
    backward: Annotated[
        str, typer.Argument(help="The same of a run that was trained in the other direction.", show_default=False)
    ],
    method: Annotated[Symmetrisation, typer.Option(help="How the two become one.")] = "grow-diag-final-and",
    swap_backward: Annotated[
        bool, typer.Option("--swap-backward", help="The backward links are target-source, as its run writes them.")
    ] = False,
) -> None:
    """Print the links of two directions as one set a line: "0-0 1-2", source-target."""
    import heedful
    from heedful.alignment.links import as_pharaoh
    from heedful.cli.align import links_of
    from heedful.cli.show import write

    both = heedful.symmetrise(links_of(forward), backward, method=method, swap_backward=swap_backward)
    write(*map(as_pharaoh, both))


@app.command()
def aer(
    links: Annotated[str, typer.Argument(help=_LINKS, show_default=False)],
    sure: Annotated[
        str | None, typer.Option(help="Gold links that must be there, in the same format.", show_default=False)
    ] = None,
    possible: Annotated[
        str | None, typer.Option(help="Gold links that may be there; sure ones always may.", show_default=False)
    ] = None,
    wa: Annotated[
        str | None,
        typer.Option(
            help="Gold of both kinds in the format of NAACL 2003: sentence, source word, target word, S or P; from 1.",
            show_default=False,
        ),
    ] = None,
    swap: Annotated[bool, typer.Option("--swap", help="LINKS are target-source, seen from the gold.")] = False,
    json: Json = False,
) -> None:
    """Judge links against gold links: alignment error rate, precision, recall and F1, over all lines."""
    import heedful
    from heedful.cli.align import link_scores_table, links_of
    from heedful.cli.show import write

    scores = heedful.aer(links_of(links), sure=sure, possible=possible, wa=wa, swap=swap)
    write(json_.dumps(scores.as_json()) if json else link_scores_table(scores))


@app.command()
def trace(
    run: Annotated[str, typer.Argument(help="The folder of a trained run.", show_default=False)],
    source: Annotated[str, typer.Argument(help="A source text, as in a line that predict reads.", show_default=False)],
    target: Annotated[
        str | None, typer.Argument(help="What is to be written; the greedy answer by default.", show_default=False)
    ] = None,
    step: Annotated[int, typer.Option(help="Which symbol of the target is being written, from 1.")] = 1,
    attention_temperature: AttentionTemperature = None,
    dtype: Annotated[Literal["float64", "float32"], typer.Option(help="The precision to compute in.")] = "float64",
    digits: Annotated[
        int, typer.Option(help="Significant digits of the largest number in a table.", min=1, max=17)
    ] = 3,
    weights: Annotated[bool, typer.Option("--weights", help="The numbers of the model's weights too.")] = False,
    json: Json = False,
) -> None:
    """Print every tensor of one decoding step with its equation, and check the step with NumPy alone."""
    from heedful.cli.trace import trace_step

    trace_step(
        run,
        source,
        target,
        step=step,
        attention_temperature=attention_temperature,
        dtype=dtype,
        digits=digits,
        with_weights=weights,
        as_json=json,
    )


@app.command()
@takes(SearchOptions)
def look(
    run: Annotated[
        str, typer.Argument(help="A trained run (several with commas), or a file of alignments.", show_default=False)
    ],
    pairs: Annotated[
        str | None,
        typer.Argument(help="As for align; targets may be missing: then the model's answers.", show_default=False),
    ] = None,
    *,
    out: Annotated[str, typer.Option(help="The file to write: .png, .svg or .html.", show_default=False)],
    line: Annotated[
        list[str] | None,
        typer.Option(help="Which lines, from 1: 7 or 3,7-9. May be repeated; all by default.", show_default=False),
    ] = None,
    source: Annotated[str | None, typer.Option(help="A text in place of PAIRS.", show_default=False)] = None,
    target: Annotated[str | None, typer.Option(help="What is written for --source.", show_default=False)] = None,
    n_best: Annotated[
        int | None, typer.Option(help="So many answers side by side, not the given targets.", show_default=False)
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="A second run to show beside the first.", show_default=False)
    ] = None,
    theme: Annotated[
        Literal["light", "dark"] | None, typer.Option(help="Colours; light by default.", show_default=False)
    ] = None,
    batch_size: BatchSize = None,
    ensemble_average: AverageBy = "probabilities",
    search: SearchOptions = {},  # noqa: B006 - never changed
) -> None:
    """Draw where the model looks: heat maps as a picture, or an HTML report of all pairs that opens with no network."""
    from heedful.cli.look import look_at

    look_at(
        run,
        pairs,
        out=out,
        line=line or (),
        source=source,
        target=target,
        n_best=n_best,
        against=against,
        theme=theme,
        batch_size=batch_size,
        ensemble_average=ensemble_average,
        search=search,
    )


@app.command()
def diagnose(
    run: Annotated[str, typer.Argument(help="The folder of a trained run.", show_default=False)],
    pairs: Pairs,
    sure: Annotated[
        str | None,
        typer.Option(
            help="Gold links that must be there: 0-0 1-2, a line for a pair. They count tokens: characters in a run "
            "over characters; words where tokens are pieces of them (BPE).",
            show_default=False,
        ),
    ] = None,
    possible: Annotated[
        str | None, typer.Option(help="Gold links that may be there; sure ones always may.", show_default=False)
    ] = None,
    wa: Annotated[
        str | None, typer.Option(help="Gold of both kinds in the format of NAACL 2003.", show_default=False)
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(help="Links of a statistical aligner to compare with; they count as --sure.", show_default=False),
    ] = None,
    source_tags: Annotated[
        str | None,
        typer.Option(help="Parts of speech of the source's words, a line for a pair.", show_default=False),
    ] = None,
    target_tags: Annotated[
        str | None, typer.Option(help="The same of the target's words, in one tag set.", show_default=False)
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            help="attention-temperature: quality and entropy at several of them; attention-temperature=0.5,1,2 at "
            "these.",
            show_default=False,
        ),
    ] = None,
    size: Annotated[int | None, typer.Option(help="At most so many pairs, evenly spread over the file.")] = 500,
    batch_size: BatchSize = None,
    attention_temperature: AttentionTemperature = None,
    json: Json = False,
) -> None:
    """Say in words whether attention is healthy, with measures, experiments and what to try."""
    import heedful
    from heedful.cli.diagnose import diagnosis_json, diagnosis_text
    from heedful.cli.show import Counter, note, write

    with Counter("diagnosing") as progress:
        found = heedful.diagnose(
            run,
            pairs,
            sure=sure,
            possible=possible,
            wa=wa,
            links=links,
            source_tags=source_tags,
            target_tags=target_tags,
            sweep=sweep,
            size=size,
            batch_size=batch_size,
            attention_temperature=attention_temperature,
            progress=progress,
            message=note,
        )
    write(diagnosis_json(found) if json else diagnosis_text(found))
