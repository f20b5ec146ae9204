"""Encoder-decoder models from clean parts, and the papers' presets."""

from heedful.model.build import build
from heedful.model.cells import GRU, LSTM, Cell, PaperGRU, cells
from heedful.model.early import Early
from heedful.model.encoder import Encoded, Encoder, Recurrent, encoders
from heedful.model.front import Front, fronts
from heedful.model.fusion import Fusion, NoAttention, fusions
from heedful.model.hierarchical import HierarchicalEncoder
from heedful.model.late import Late
from heedful.model.loss import Loss
from heedful.model.model import Decoder, Model
from heedful.model.pointwise import Pointwise
from heedful.model.presets import bahdanau2015, encdec2014, luong2015
from heedful.model.readout import Attentional, Maxout, Readout, StateContext, TopState, readouts
from heedful.model.self_attention import SelfAttention
from heedful.model.start import Start, starts
from heedful.model.steps import State, Steps
from heedful.model.transformer import Past, Transformer

__all__ = [
    "GRU",
    "LSTM",
    "Attentional",
    "Cell",
    "Decoder",
    "Early",
    "Encoded",
    "Encoder",
    "Front",
    "Fusion",
    "HierarchicalEncoder",
    "Late",
    "Loss",
    "Maxout",
    "Model",
    "NoAttention",
    "PaperGRU",
    "Past",
    "Pointwise",
    "Readout",
    "Recurrent",
    "SelfAttention",
    "Start",
    "State",
    "StateContext",
    "Steps",
    "TopState",
    "Transformer",
    "bahdanau2015",
    "build",
    "cells",
    "encdec2014",
    "encoders",
    "fronts",
    "fusions",
    "luong2015",
    "readouts",
    "starts",
]
