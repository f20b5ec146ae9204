"""The papers' models, every choice fixed as published. Only sizes may be made smaller."""

from __future__ import annotations

from heedful.attention.scores import scores
from heedful.errors import RecipeError, nearest
from heedful.model.build import Spec, build
from heedful.model.model import Model


def bahdanau2015(
    *,
    source_vocabulary_size: int = 30_000,
    target_vocabulary_size: int = 30_000,
    embedding_size: int = 620,
    hidden_size: int = 1000,
    attention_size: int = 1000,
    readout_size: int = 500,
) -> Model:
    """RNNsearch of Bahdanau, Cho and Bengio 2015 (arXiv 1409.0473), appendices A and B.

    Bidirectional encoder of their gated units; s_0 = tanh(W_s h_1 + b_s) of the backward state at the first word;
    additive attention asked with s_{t-1}; c_t in all three gates; maxout readout of (s_{t-1}, y_{t-1}, c_t); their
    initialisation (attention starts out uniform).

    Differs from the paper in: biases stand in every product that the paper's code has them in (it prints none, and
    says that all start at 0), which leaves out the alignment model, as printed.
    """
    return build(
        source_vocabulary_size=source_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        embedding_size=embedding_size,
        cell="paper_gru",
        encoder_size=hidden_size,
        bidirectional=True,
        decoder_size=hidden_size,
        start="backward_first",
        fusion="early",
        score={"name": "additive", "attention_size": attention_size},
        readout={"name": "maxout", "readout_size": readout_size},
        zero_start=True,
        initialisation="bahdanau",
    )


def encdec2014(
    *,
    source_vocabulary_size: int = 30_000,
    target_vocabulary_size: int = 30_000,
    embedding_size: int = 620,
    hidden_size: int = 1000,
    readout_size: int = 500,
) -> Model:
    """RNNencdec, the model without attention that Bahdanau et al. 2015 compare with (Cho et al. 2014).

    Unidirectional encoder; c_t = its last state at every step; everything else as in `bahdanau2015`.

    Differs from the paper in: it does not say what s_0 is made of without a backward state; here it is
    tanh(W_s h_Tx + b_s) of the last forward state, as in Cho et al. 2014.
    """
    return build(
        source_vocabulary_size=source_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        embedding_size=embedding_size,
        cell="paper_gru",
        encoder_size=hidden_size,
        bidirectional=False,
        decoder_size=hidden_size,
        start="learned_last",
        fusion={"name": "none", "every_step": True},
        readout={"name": "maxout", "readout_size": readout_size},
        zero_start=True,
        initialisation="bahdanau",
    )


def luong2015(
    *,
    score: str = "general",
    scope: str = "local_p",
    input_feeding: bool = True,
    source_vocabulary_size: int = 50_000,
    target_vocabulary_size: int = 50_000,
    hidden_size: int = 1000,
    layers: int = 4,
    window: int = 10,
    dropout: float = 0.2,
) -> Model:
    """The attentional model of Luong, Pham and Manning 2015 (EMNLP); by default their best single one.

    `layers` unidirectional LSTM layers, embeddings as wide as they are; each decoder layer starts at the last state
    of the encoder's layer of the same number; h~_t = tanh(W_c [c_t; h_t]); softmax(W_s h~_t) without a bias;
    everything uniform in [-0.1, 0.1]. The source is to be read in reverse: ``data.reverse_source`` in the recipe, where
    positions stay those of the original order.

    Differs from the paper in: PyTorch's LSTM has two biases a gate; local scopes do not see the source's end symbol;
    concat uses the whole matrix W_a, which the paper's experiments simplified (its footnote 15).

    Args:
        score: dot, general, concat or location.
        scope: global, local_m or local_p.
        input_feeding: the first layer also reads h~_{t-1}.
        window: D of a local scope.
        dropout: on embeddings, on what passes from layer to layer and on h~_t; 0 in the paper's plain models.
    """
    known = ("dot", "general", "concat", "location")
    if score not in known:
        raise RecipeError(f"luong2015 has no score {score!r}{nearest(score, known)} (all scores: {scores.names()})")
    # Footnote 14: a score that looks at content aligns the word just read.
    rows = "predicted" if score == "location" else "input"
    where: Spec = "global" if scope == "global" else {"name": scope, "window": window}
    return build(
        source_vocabulary_size=source_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        embedding_size=hidden_size,
        cell="lstm",
        encoder_size=hidden_size,
        encoder_layers=layers,
        bidirectional=False,
        decoder_size=hidden_size,
        decoder_layers=layers,
        start="last",
        fusion={"name": "late", "combine": "concat", "input_feeding": input_feeding, "rows": rows},
        score=score,
        scope=where,
        readout="attentional",
        output_bias=False,
        dropout=dropout,
        initialisation="uniform",
    )
