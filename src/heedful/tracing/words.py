"""The words that descriptions of quantities are made of: papers, sections, letters."""

from __future__ import annotations

from typing import NamedTuple

BAHDANAU, LUONG, PYTORCH = "Bahdanau et al. 2015", "Luong et al. 2015", "PyTorch's documentation"
VASWANI, KATHAROPOULOS = "Vaswani et al. 2017", "Katharopoulos et al. 2020"
SOURCE, ENCODER, BEFORE, ATTENTION = "Source", "Encoder", "Before the step", "Attention"
STEP, OUTPUT = "Recurrent step", "Output"


class Description(NamedTuple):
    """Of one quantity."""

    section: str
    letter: str
    equation: str
    source: str


class Letters(NamedTuple):
    """What the papers call differently."""

    paper: str
    s: str  # the decoder's state
    h: str  # a source state
    j: str  # its index
    e: str  # a score
    a: str  # a weight


BAHDANAUS = Letters(BAHDANAU, "s", "h", "j", "e_tj", "alpha_tj")
LUONGS = Letters(LUONG, "h", "hbar", "s", "score(h_t, hbar_s)", "a_t(s)")


def layer_end(layer: int, layers: int) -> str:
    """What follows a quantity's name in a model of several layers."""
    return f", layer {layer}" if layers > 1 else ""


def upper(layer: int, layers: int) -> str:
    """The upper index of a letter in a model of several layers."""
    return f"^{layer}" if layers > 1 else ""
