"""Where the time of a training step goes, by kind of work, from PyTorch's profiler.

    python benchmarks/step_profile.py [--shapes short translation long] [--fusions early] [--cells gru] [--repeats 5]

The step is that of `train_step`: forward and backward of decoder, attention, readout and loss. Shares are of the time
that the main thread spends in each operation itself; the profiler slows small operations down, so those of overhead are
upper bounds. "products" are all matrix products; their share is what a floor of products could not do without.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command line has it

from torch.profiler import ProfilerActivity, profile

from steps.machine import signature
from steps.shapes import CELLS, FUSIONS, SHAPES, batch_of, make
from steps.sides import heedful_step

KINDS = {
    "products": (
        "mm",
        "addmm",
        "addmm_",
        "bmm",
        "baddbmm",
        "_linear_pointwise",
        "mv",
        "addmv_",
        "dot",
        "mkldnn_rnn_layer",
    ),
    "additive score: sums, sigmoids, slopes": ("_Additive", "_AdditiveBackward", "sigmoid_", "addcmul"),
    "copies: transposing, joining, filling": (
        "copy_",
        "cat",
        "index_select",
        "index_add_",
        "fill_",
        "zero_",
        "constant_pad_nd",
    ),
    "loss: softmax over the vocabulary": (
        "_InBlocks",
        "_log_softmax",
        "exp_",
        "gather",
        "scatter_add_",
        "nll_loss_forward",
    ),
}
REST = "other elementwise work, and PyTorch's own overhead"


def shares(shape: str, fusion: str, cell: str, repeats: int) -> dict[str, float]:
    """Of the time of a step: each kind's."""
    step = heedful_step(make(SHAPES[shape], fusion, cell), batch_of(SHAPES[shape]))
    for _ in range(2):
        step()
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in range(repeats):
            step()
    spent = dict.fromkeys((*KINDS, REST), 0.0)
    for event in found.key_averages():
        name = event.key.split("::")[-1]
        kind = next((kind for kind, names in KINDS.items() if name in names), REST)
        spent[kind] += event.self_cpu_time_total
    whole = sum(spent.values())
    return {kind: time / whole for kind, time in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["short", "translation", "long"])
    parser.add_argument("--fusions", nargs="+", choices=FUSIONS, default=["early"])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=["gru"])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    columns = [(shape, fusion, cell) for shape in given.shapes for fusion in given.fusions for cell in given.cells]
    found = [shares(*column, given.repeats) for column in columns]
    print("| |", " | ".join(" ".join(column) for column in columns), "|\n|---|" + "--:|" * len(columns))
    for kind in (*KINDS, REST):
        print(f"| {kind} |", " | ".join(f"{100 * each[kind]:.0f} %" for each in found), "|")
    print(f"\n{signature('step_profile')}; {given.repeats} steps each")


if __name__ == "__main__":
    main()
