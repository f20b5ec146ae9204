"""The only place where names become objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from heedful.attention import Attention, MultiHead, TwoAttentions, normalisers, scopes, scores
from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError, SizeError
from heedful.model.blocks import head_size
from heedful.model.cells import cells
from heedful.model.encoder import Encoder, encoders
from heedful.model.front import fronts
from heedful.model.fusion import Fusion, fusions
from heedful.model.initialise import initialise
from heedful.model.model import Decoder, Model
from heedful.model.readout import Output, readouts
from heedful.model.start import Start, starts

Spec = str | Mapping[str, Any]
"""A part: its registered name, or a table with `name` and the part's options."""


def build(
    *,
    source_vocabulary_size: int | None = None,
    source_features_size: int | None = None,
    target_vocabulary_size: int,
    front: Spec = "linear",
    embedding_size: int = 128,
    cell: str = "gru",
    encoder: Spec = "recurrent",
    encoder_size: int = 256,
    encoder_layers: int = 1,
    bidirectional: bool = True,
    second: str | None = None,
    second_vocabulary_size: int | None = None,
    decoder_size: int = 256,
    decoder_layers: int = 1,
    start: Spec | None = None,
    fusion: Spec = "early",
    score: Spec = "additive",
    scope: Spec = "global",
    normaliser: Spec = "softmax",
    heads: int = 1,
    attention_dropout: float = 0.0,
    readout: Spec | None = None,
    output_bias: bool = True,
    tied_embeddings: bool = False,
    zero_start: bool = False,
    dropout: float = 0.0,
    initialisation: str | None = "default",
) -> Model:
    """A model from names and sizes; a recipe's ``[model]`` table has the same keys.

    Whoever overwrites its weights at once gives None for `initialisation`, since orthogonal matrices take time.

    Args:
        source_vocabulary_size: number of source symbols; or, where sources are features:
        source_features_size: F, of each vector.
        target_vocabulary_size: number of target symbols.
        front: what makes vectors of size E of features, and perhaps fewer; not used for symbols.
        embedding_size: E, of both sides.
        cell: of recurrent encoders and decoders: gru, lstm or paper_gru.
        encoder: what reads the source.
        encoder_size: H, of a source state; of a recurrent encoder per direction.
        encoder_layers: 1 to 16.
        bidirectional: whether a recurrent encoder reads in both directions.
        second: what becomes of a second source, a text that is read by an encoder like the first: it is looked at too,
            and both contexts are joined by "concat" or "gate" (`heedful.attention.TwoAttentions`); or it is the
            "query", of which the decoder's first state is made.
        second_vocabulary_size: number of symbols of the second source.
        decoder_size: H', of each decoder layer.
        decoder_layers: 1 to 4.
        start: the decoder's first states; by default "learned_last", or "learned_mean" where the encoder's layers have
            no last state. A fusion without recurrent layers has none.
        fusion: when attention is asked and where its answer goes; "none" for the fixed vector.
        score: see `heedful.attention`, as scope and normaliser; not used with fusion "none".
        scope: which source positions may answer.
        normaliser: scores to weights.
        heads: of attention, which must divide the decoder's size; above 1 each has projections of its own.
        attention_dropout: on the weights.
        readout: what the output layer reads; by default "attentional" with fusion "late", "state" with "transformer",
            else "state_context".
        output_bias: whether the output layer has a bias.
        tied_embeddings: the output matrix is the target embedding.
        zero_start: the start symbol is embedded as zeros (Bahdanau et al. 2015) rather than learned.
        dropout: on embeddings, between layers, and on the readout.
        initialisation: default, uniform (Luong et al. 2015) or bahdanau.

    Raises:
        RecipeError: an unknown name or option, or a count out of range.
        SizeError: two parts do not fit.
    """
    if (source_vocabulary_size is None) == (source_features_size is None):
        raise SizeError("expected source_vocabulary_size or source_features_size: sources are symbols or features")
    source_size, depths = source_vocabulary_size or source_features_size or 0, (encoder_layers, decoder_layers)
    _check_counts(source_size, target_vocabulary_size, embedding_size, encoder_size, decoder_size, *depths)
    if zero_start and tied_embeddings:
        raise RecipeError("zero_start and tied_embeddings exclude each other: the output layer would train the zeros")
    kind = cells[cell]
    states = {"cell": kind, "hidden_size": encoder_size, "layers": encoder_layers, "bidirectional": bidirectional}
    states |= {"embedding_size": embedding_size, "dropout": dropout}
    reads = _read_by(front, source_size, embedding_size, symbols=source_features_size is None)
    reader = _part(encoders, encoder, {"embedding": reads, **states})
    _check_second(second, second_vocabulary_size, fusion=fusion, start=start)
    other = _second_reader(encoder, second_vocabulary_size, states)
    layers = {"cell": kind, "hidden_size": decoder_size, "layers": decoder_layers}
    sizes = {"embedding_size": embedding_size, "value_size": reader.value_size, "dropout": dropout}
    attention = {"score": score, "scope": scope, "normaliser": normaliser, "heads": heads}
    _check_fusion(fusion, encoder, reader, start)
    joined = _fusion(fusion, {**attention, "dropout": attention_dropout}, layers=layers, sizes=sizes, second=second)
    reading = {"fusion": joined, "embedding_size": embedding_size, "hidden_size": decoder_size}
    read = _part(readouts, readout or joined.default_readout, reading)
    embedding = nn.Embedding(
        target_vocabulary_size, embedding_size, padding_idx=Vocabulary.START if zero_start else None
    )
    decoder = Decoder(
        embedding,
        fusion=joined,
        start=_start(start, joined, {"encoder": reader, **layers}),  # the second encoder is its like
        readout=read,
        output=Output(read.feature_size, embedding, tied=tied_embeddings, bias=output_bias),
        dropout=dropout,
    )
    model = Model(reader, decoder, second=other)
    if initialisation is not None:
        initialise(model, initialisation)
    return model


def split_spec(spec: Spec) -> tuple[str, dict[str, Any]]:
    """``"dot"`` -> ("dot", {}); ``{"name": "local_m", "window": 5}`` -> ("local_m", {"window": 5})."""
    if isinstance(spec, str):
        return spec, {}
    options = dict(spec)
    if "name" not in options:
        raise RecipeError(f"a part is a name or a table with a name, got {options}")
    return options.pop("name"), options


def _part(registry: Any, spec: Spec, context: Mapping[str, Any]) -> Any:
    name, options = split_spec(spec)
    return registry.build(name, options, context)


def _read_by(front: Spec, source_size: int, embedding_size: int, *, symbols: bool) -> nn.Module:
    """What an encoder reads by: an embedding of symbols, or a front for features."""
    if symbols:
        return nn.Embedding(source_size, embedding_size)
    return _part(fronts, front, {"features_size": source_size, "embedding_size": embedding_size})


def _second_reader(encoder: Spec, vocabulary_size: int | None, states: Mapping[str, Any]) -> Encoder | None:
    if vocabulary_size is None:
        return None
    return _part(encoders, encoder, {"embedding": nn.Embedding(vocabulary_size, states["embedding_size"]), **states})


def _fusion(
    spec: Spec, attention: Mapping[str, Any], *, layers: dict[str, Any], sizes: dict[str, Any], second: str | None
) -> Fusion:
    name, options = split_spec(spec)
    context = {**layers, **sizes}
    if name != "none":
        context["attention"] = _attention(attention, layers["hidden_size"], sizes["value_size"])
    if second in _LOOKED_AT:
        other = _attention(attention, layers["hidden_size"], sizes["value_size"])
        both = TwoAttentions(context["attention"], other, combine=second)
        context |= {"attention": both, "value_size": both.value_size}
    fusion: Fusion = fusions.build(name, options, context)
    if second == "query" and not fusion.recurrent:
        raise RecipeError(
            f"second 'query' asks by the first state of recurrent layers, of which fusion {name!r} has none; "
            "'concat' and 'gate' go with it"
        )
    return fusion


_LOOKED_AT = ("concat", "gate")


def _check_second(second: str | None, vocabulary_size: int | None, *, fusion: Spec, start: Spec | None) -> None:
    if second not in (None, "query", *_LOOKED_AT):
        raise RecipeError(f"second: expected 'concat', 'gate' or 'query', got {second!r}")
    if (second is None) != (vocabulary_size is None):
        raise RecipeError(f"second and second_vocabulary_size go together, got {second!r} and {vocabulary_size!r}")
    if second in _LOOKED_AT and split_spec(fusion)[0] == "none":
        raise RecipeError(
            f"second {second!r} joins the contexts of two attentions, and fusion 'none' has no attention; "
            "second 'query' goes with it"
        )
    if second == "query" and start is not None and split_spec(start)[0] == "zero":
        raise RecipeError(
            "second 'query' asks by the decoder's first state, and start 'zero' makes that of no source; "
            "'learned_last' and 'learned_mean' make it of the second"
        )
    if vocabulary_size is not None and not 1 <= vocabulary_size <= 100_000_000:
        raise RecipeError(f"second_vocabulary_size must be from 1 to 100000000, got {vocabulary_size}")


def _check_fusion(fusion: Spec, encoder: Spec, reader: Encoder, start: Spec | None) -> None:
    name, options = split_spec(fusion)
    if name == "none" and not options.get("every_step", True) and start is not None and split_spec(start)[0] == "zero":
        raise RecipeError(
            "fusion 'none' with every_step = false sees the source in the decoder's first state alone, "
            "and start 'zero' makes that of nothing"
        )
    if name == "none" and reader.state is None:
        raise SizeError(
            "fusion 'none' needs an encoder whose layers have a last state, since that is all it sees, "
            f"and those of encoder {split_spec(encoder)[0]!r} have none"
        )


def _attention(parts: Mapping[str, Any], query_size: int, value_size: int) -> Attention | MultiHead:
    heads = parts["heads"]
    head = head_size(query_size, heads)
    asks = {"query_size": head, "value_size": value_size if heads == 1 else head}
    attention = Attention(
        _part(scores, parts["score"], asks),
        scope=_part(scopes, parts["scope"], asks),
        normaliser=_part(normalisers, parts["normaliser"], asks),
        dropout=parts["dropout"],
    )
    if heads == 1:
        return attention
    return MultiHead(attention, query_size=query_size, value_size=value_size, heads=heads)


def _start(spec: Spec | None, fusion: Fusion, context: Mapping[str, Any]) -> Start | None:
    if fusion.recurrent:
        return _part(starts, spec or ("learned_mean" if context["encoder"].state is None else "learned_last"), context)
    if spec is not None:
        raise RecipeError(
            f"start {split_spec(spec)[0]!r} makes the first states of recurrent layers, "
            f"of which fusion {type(fusion).__name__} has none; leave it out"
        )
    return None


_MOST = {
    "source_vocabulary_size (or source_features_size)": 100_000_000,
    "target_vocabulary_size": 100_000_000,
    "embedding_size": 1_000_000,
    "encoder_size": 1_000_000,
    "decoder_size": 1_000_000,
    "encoder_layers": 16,
    "decoder_layers": 4,
}


def _check_counts(*counts: int) -> None:
    for count, (name, most) in zip(counts, _MOST.items(), strict=True):
        if not 1 <= count <= most:
            raise RecipeError(f"{name} must be from 1 to {most}, got {count}")
