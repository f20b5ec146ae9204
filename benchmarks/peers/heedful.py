"""heedful, by its own recipe, training and predictor.

A recipe with the sizes of all; each variant's parts lie over it. Batches are those of `heedful.train`: at most so many
padded positions, pools sorted by length; how many positions is chosen so that a batch has as many pairs as the others'
on average. Adam at a constant rate, no dropout, clipping or smoothing; the norm of the gradients is computed all the
same, since a gradient that is not finite stops training. One thing is set as the command line sets it:
ONEDNN_PRIMITIVE_CACHE_CAPACITY=64 (see conduct.py).

bahdanau: additive score with 512 units, asked with s_{t-1} before a GRU step; output softmax(W [s_t; c_t] + b), which
    is nearest to yoyodyne's softmax(W s_t + b) and does more work than it, as does the start, a projection of the
    encoder's last state, where yoyodyne has a learned vector.
mlp: additive score with 512 units, asked with h_t after an LSTM step; h~_t = tanh(W_c [c_t; h_t]) is fed to the next
    step; the decoder starts at the encoder's last states: as OpenNMT-py's mlp, but for the tanh, which that leaves out.
general: h_t W h_j, no input feeding, all steps at once: as OpenNMT-py's general.

The first updates are made before any that count, since a run is saved at its start and at its end: training then goes
on with that run. It is also what answers, as it was before the updates that count: lengths are forced, so that what the
weights are does not change the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import heedful
from heedful.training import Silent, Update
from peers.child import Job, count
from peers.sides import BATCH_SIZE, LEARNING_RATE, SEED, SIZES

VERSION = heedful.__version__
_FIRST_UPDATES = 5

_VARIANTS = {
    "bahdanau": {
        "cell": "gru",
        "start": "learned_last",
        "fusion": "early",
        "score": {"name": "additive", "attention_size": SIZES["decoder"]},
        "readout": "state_context",
    },
    "mlp": {
        "cell": "lstm",
        "start": "last",
        "fusion": {"name": "late", "combine": "concat", "input_feeding": True},
        "score": {"name": "additive", "attention_size": SIZES["decoder"]},
        "readout": "attentional",
    },
    "general": {
        "cell": "lstm",
        "start": "last",
        "fusion": {"name": "late", "combine": "concat", "input_feeding": False},
        "score": "general",
        "readout": "attentional",
    },
}

_RECIPE = """\
[data]
source_tokens = "whitespace"
target_tokens = "whitespace"

[model]
embedding_size = {embedding}
encoder_size = {encoder}
decoder_size = {decoder}

[train]
updates = {updates}
batch_tokens = {batch_tokens}
learning_rate = {rate}
schedule = "constant"
clip_norm = "none"
metric = "loss"
validate_every = 1e9
validation_size = 1
checkpoint_minutes = 1e9
seed = {seed}
device = "cpu"

[predict]
min_length = {steps}
max_length = {steps}
"""


class _Teller(Silent):
    """Passes on the target tokens of each update."""

    def __init__(self, updated: Callable[[int], None]) -> None:
        self._updated = updated

    def update(self, update: Update) -> None:
        self._updated(update.tokens)


class Side:
    def __init__(self, job: Job) -> None:
        self._run = job.folder / "run"
        recipe = job.folder / "recipe.toml"
        values = {**SIZES, "updates": _FIRST_UPDATES, "rate": LEARNING_RATE, "seed": SEED, "steps": job.steps}
        recipe.write_text(_RECIPE.format(**values, batch_tokens=_batch_tokens(job)), "utf-8")
        heedful.train(
            job.data / "train.tsv",
            dev=job.data / "dev.tsv",
            out=self._run,
            recipe=recipe,
            set={f"model.{key}": value for key, value in _VARIANTS[job.variant].items()},
            overwrite=True,
        )
        self._answering = heedful.load(self._run)
        self.parameters = count(self._answering.predictor.model)
        self._data = job.data

    def train(self, updated: Callable[[int], None]) -> None:
        heedful.train(
            self._data / "train.tsv",
            dev=self._data / "dev.tsv",
            out=self._run,
            set={"train.updates": 10**9},
            resume=True,
            reporter=_Teller(updated),
        )

    def decode(self, sources: Sequence[str], beam: int) -> list[list[str]]:
        answers = self._answering.predict(sources, beam=beam, batch_size=BATCH_SIZE, with_alignment=False)
        return [answer.text.split() for answer in answers]


def _batch_tokens(job: Job) -> int:
    """Positions of a batch that has ``job.batch`` pairs on average: end symbols counted, 2 % of padding and loss."""
    lines = (job.data / "train.tsv").read_text("utf-8").splitlines()
    return round(1.02 * job.batch * sum(len(line.split()) + 2 for line in lines) / len(lines))
