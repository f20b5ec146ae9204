"""Alignment error rate of attention against gold links: unguided, and guided by links of a statistical aligner.

python benchmarks/alignment_error.py WORK --source S --target T --sure SURE --possible POSSIBLE [--guide model1|FILE]

trains a model in each direction on all pairs (texts cut at spaces, a sentence a line, .gz too), aligns them by forced
decoding, and scores the links of each direction, their intersection and grow-diag-final-and. The gold links only
score. WORK keeps the runs: a second call goes on where the first was stopped, and scores again.

--guide model1 takes the intersection of IBM Model 1 in both directions; --guide FILE links in Pharaoh format, source to
target, of any other aligner. Model 1 is always scored, for comparison.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import heedful
from alignment.model1 import Links, model1
from heedful.alignment import read_links
from heedful.alignment.links import as_pharaoh, swapped
from heedful.data.lines import decode, read_lines, without_blank_end
from heedful.files import write_atomically

HERE = Path(__file__).parent / "alignment"
DEV = 200  # sentences whose loss is watched; they are trained on, as all are
Directions = tuple[list[Links], list[Links]]


def main() -> None:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    source, target = _lines(options.source), _lines(options.target)
    statistical = _model1(source, target)
    rows = [_row("IBM Model 1, 5 iterations", statistical, options)]
    guide = None
    if options.guide is not None:
        guide = _intersection(statistical) if options.guide == "model1" else read_links(options.guide)
        rows.append(_row("the guide", (guide, guide), options))
    recipe = options.recipe or HERE / ("unguided.toml" if guide is None else "guided.toml")
    runs = [
        _train(options.work / "forward", source, target, guide, recipe),
        _train(options.work / "backward", target, source, None if guide is None else [*map(swapped, guide)], recipe),
    ]
    for posterior in (False, True):
        forward, backward = (_align(run, posterior=posterior) for run in runs)
        name = "posterior" if posterior else f"weights, rows as {heedful.load(runs[0]).predictor.model.row_convention}"
        rows.append(_row(name, (forward, [*map(swapped, backward)]), options))
    print("| links by | forward | backward | intersection | grow-diag-final-and |\n|---|---|---|---|---|")
    print("\n".join(rows))
    for run in runs:
        print(f"{run.name}: {_minutes(run):.1f} minutes of training")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    for name in ("source", "target", "sure", "possible"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--guide")
    parser.add_argument("--recipe", type=Path)
    return parser.parse_args()


def _lines(path: str) -> list[list[str]]:
    return [decode(line).split() for line in without_blank_end(read_lines(path))]


def _model1(source: list[list[str]], target: list[list[str]]) -> Directions:
    return model1(source, target), [*map(swapped, model1(target, source))]


def _intersection(links: Directions) -> list[Links]:
    return heedful.symmetrise(*links, method="intersection")


def _train(folder: Path, source: list, target: list, guide: list[Links] | None, recipe: Path) -> Path:
    """A run in `folder`; what is there already is taken, and gone on with if it was stopped."""
    pairs, dev, links = (folder.with_suffix(suffix) for suffix in (".tsv", ".dev.tsv", ".links"))
    lines = ["\t".join((" ".join(one), " ".join(other))) + "\n" for one, other in zip(source, target, strict=True)]
    write_atomically(pairs, "".join(lines))
    write_atomically(dev, "".join(lines[:DEV]))
    if guide is not None:
        write_atomically(links, "".join(as_pharaoh(one) + "\n" for one in guide))
    begun = (folder / "checkpoint.safetensors").exists()
    given = {"links": links} if guide is not None else {}
    return heedful.train(pairs, out=folder, recipe=None if begun else recipe, dev=dev, resume=begun, **given)


def _align(run: Path, *, posterior: bool) -> list[Links]:
    alignments = heedful.align(run, run.with_suffix(".tsv"), words=True, posterior=posterior)
    return [frozenset(alignment.links()) for alignment in alignments]


def _row(name: str, links: Directions, options: argparse.Namespace) -> str:
    sets = [*links, *(heedful.symmetrise(*links, method=how) for how in ("intersection", "grow-diag-final-and"))]
    rates = [heedful.aer(one, sure=options.sure, possible=options.possible).aer for one in sets]
    return " | ".join([f"| {name}", *(f"{rate:.1f}" for rate in rates)]) + " |"


def _minutes(run: Path) -> float:
    return float((run / "log.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")[2]) / 60


if __name__ == "__main__":
    main()
