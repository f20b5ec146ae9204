"""What is compared with what, and the settings of all. Nothing here imports a toolkit."""

from __future__ import annotations

from typing import NamedTuple

TOOLKITS = {"heedful": "heedful", "yoyodyne": "yoyodyne", "joeynmt": "Joey NMT", "opennmt": "OpenNMT-py"}
"""Module in this package -> what it is called."""


NOT_RUN = {"fairseq 0.12.2": "wants Python 3.8, torch 1.13.1 and numpy below 1.24: it does not run on this PyTorch"}
"""Toolkits with such models on PyPI that are left out, and why."""

SIZES = {"embedding": 256, "encoder": 256, "decoder": 512}  # the encoder's is that of each direction
LEARNING_RATE = 0.001
SEED = 1

BATCH_SIZE = 64
"""Sources that are decoded at once."""


class Side(NamedTuple):
    """One model of one toolkit."""

    toolkit: str
    variant: str  # as the toolkit's module calls it
    parts: str

    @property
    def name(self) -> str:
        return f"{self.toolkit}-{self.variant}"


SIDES = (
    Side("heedful", "bahdanau", "early, additive, GRU; readout [s; c]"),
    Side("heedful", "mlp", "late, additive, input feeding, LSTM"),
    Side("heedful", "general", "late, general, no input feeding, LSTM"),
    Side("yoyodyne", "soft", "early, additive, GRU; readout s"),
    Side("joeynmt", "bahdanau", "late, additive, input feeding, GRU"),
    Side("opennmt", "mlp", "late, additive, input feeding, LSTM"),
    Side("opennmt", "general", "late, general, no input feeding, LSTM"),
)


class Ratio(NamedTuple):
    """How many times as fast `ours` is to be as `theirs`; `asked` by task, where anything is asked."""

    measure: str  # train, beam 1 or beam 5
    ours: str
    theirs: str
    asked: dict[str, float]


def _both(value: float) -> dict[str, float]:
    return {"g2p": value, "translation": value}


_SAME_PARTS = {"g2p": 3.0, "translation": 1.6}

RATIOS = (
    Ratio("train", "heedful-bahdanau", "yoyodyne-soft", _both(5.0)),
    Ratio("train", "heedful-bahdanau", "opennmt-mlp", _both(1.5)),
    Ratio("train", "heedful-general", "opennmt-general", _both(1.0)),
    Ratio("train", "heedful-mlp", "opennmt-mlp", {}),
    Ratio("train", "heedful-mlp", "joeynmt-bahdanau", {}),
    Ratio("beam 5", "heedful-mlp", "opennmt-mlp", _SAME_PARTS),
    Ratio("beam 5", "heedful-general", "opennmt-general", _SAME_PARTS),
    Ratio("beam 5", "heedful-bahdanau", "yoyodyne-soft", {}),
    Ratio("beam 1", "heedful-mlp", "opennmt-mlp", {}),
    Ratio("beam 1", "heedful-general", "opennmt-general", {}),
)
