"""A model's parameters under the papers' letters: names and slices, no equations."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from heedful.attention import Attention, Monotonic, MultiHead, scores
from heedful.model import Model, cells, fusions, readouts, starts
from heedful.registry import Registry

Letters = dict[str, Tensor]


def registered_name(registry: Registry[Any], part: Any) -> str:
    """The name that the class of `part` is registered under, or the class's own name if it is under none."""
    kind = part if isinstance(part, type) else type(part)
    return next((name for name in registry.names() if registry[name] is kind), kind.__name__)


def letters_of(model: Model) -> Letters:
    """Every parameter of `model`: ``W_a``, ``decoder.1.W_z`` (layers count from 1), ``encoder.1.backward.U``."""
    decoder = model.decoder
    fusion: Any = decoder.fusion  # a late one has matrices of its own
    encoder: Any = model.encoder
    letters: Letters = {"E_x": encoder.embedding.weight, "E_y": decoder.embedding.weight}
    if encoder.state is None:
        letters |= {name: value for name, value in _under("encoder", _own(encoder)).items() if "embedding" not in name}
    levels = {"segments.": encoder.segments, "": encoder.words} if encoder.segmented else {"": encoder}
    for level, its in levels.items() if encoder.state is not None else ():
        for way, layers in (("forward", its.forward_cells), ("backward", its.backward_cells)):
            for layer, cell in enumerate(layers, start=1):
                letters |= _under(f"encoder.{level}{layer}.{way}", _cell(cell, cell.input_size))
    letters |= {} if decoder.start is None else _start(decoder.start)
    embedding_size = decoder.embedding.embedding_dim
    if not fusion.recurrent:
        own = _under("decoder", _own(fusion))
        letters |= {name: value for name, value in own.items() if not name.startswith("decoder.attention.")}
    for layer, cell in enumerate(fusion.stack.cells if fusion.recurrent else (), start=1):
        # The first layer reads [E y_{t-1}; c_t] or [E y_{t-1}; h~_{t-1}]: two matrices, W and C, side by side.
        columns = embedding_size if layer == 1 else cell.input_size
        letters |= _under(f"decoder.{layer}", _cell(cell, columns))
    if model.attention is not None:
        letters |= _attention(model.attention)
    late = registered_name(fusions, fusion) == "late"
    if late:
        letters["W_c"] = fusion.combine.weight
        if fusion.gate is not None:
            letters["W_g"] = fusion.gate.weight
    letters |= _readout(model)
    output = decoder.output
    if isinstance(output.projection, nn.Linear):
        letters["P_o"] = output.projection.weight
    letters["W_s" if late else "W_o"] = output.weight
    return letters if output.bias is None else letters | {"b_w": output.bias}


def _under(prefix: str, letters: Letters) -> Letters:
    return {f"{prefix}.{letter}": value for letter, value in letters.items()}


def _own(module: nn.Module) -> Letters:
    """Of a part that no paper's letters are known for: PyTorch's names."""
    return dict(module.named_parameters())


def _cell(cell: Any, columns: int) -> Letters:
    name = registered_name(cells, cell)
    if name == "paper_gru":
        letters: Letters = {}
        for X, part in (("W", cell.inputs.weight[:, :columns]), ("C", cell.inputs.weight[:, columns:])):
            if part.shape[1]:
                letters |= dict(zip((f"{X}_z", f"{X}_r", X), part.chunk(3), strict=True))
        letters |= dict(zip(("U_z", "U_r"), cell.gates.weight.chunk(2), strict=True)) | {"U": cell.candidate.weight}
        return letters | dict(zip(("b_z", "b_r", "b"), cell.inputs.bias.chunk(3), strict=True))
    gates = {"gru": "rzn", "lstm": "ifgo"}.get(name)
    if gates is None:
        return _own(cell)
    letters = {}
    for kind, side in (("i", "ih"), ("h", "hh")):
        for letter, parameter in (("W", f"weight_{side}_l0"), ("b", f"bias_{side}_l0")):
            parts = getattr(cell.rnn, parameter).chunk(len(gates))
            letters |= {f"{letter}_{kind}{gate}": part for gate, part in zip(gates, parts, strict=True)}
    return letters


def _start(start: Any) -> Letters:
    if registered_name(starts, start) not in starts.names() or not hasattr(start, "projections"):
        return _under("start", _own(start))
    letters: Letters = {}
    width = len(start.state._fields)
    for number, projection in enumerate(start.projections):
        layer, part = 1 + number // width, "sm"[number % width]
        letters |= {f"start.{layer}.W_{part}": projection.weight, f"start.{layer}.b_{part}": projection.bias}
    return letters


def _attention(attention: Attention | MultiHead) -> Letters:
    if isinstance(attention, MultiHead):
        heads: Letters = {}
        for letter in ("query", "key", "value", "output"):
            heads |= _under(f"heads.{letter}", _own(getattr(attention, f"{letter}_projection")))
        return heads | _attention(attention.core)
    letters = _score(attention.score)
    normaliser = _under("normaliser", _own(attention.normaliser))
    letters |= {"r": normaliser["normaliser.bias"]} if isinstance(attention.normaliser, Monotonic) else normaliser
    scope = _own(attention.scope)
    if attention.scope.segmented:
        letters |= _under("segments", _score(attention.scope.score))
        scope = {}
    if set(scope) == {"query_projection.weight", "v"}:
        return letters | {"W_p": scope["query_projection.weight"], "v_p": scope["v"]}
    return letters | _under("scope", scope)


def _score(score: Any) -> Letters:
    name, own = registered_name(scores, score), _own(score)
    additive = {
        "W_a": "query_projection.weight",
        "U_a": "key_projection.weight",
        "v_a": "v",
        "b_a": "key_projection.bias",
    }
    known = {
        "dot": {},
        "scaled_dot": {},
        "general": {"W_a": "key_projection.weight"},
        "additive": additive,
        "concat": {"W_a": "projection.weight", "v_a": "v"},
        "linear": {"W_q": "query_projection.weight", "W_k": "key_projection.weight"},
        "location": {"W_a": "query_projection.weight"},
        "coverage": {**additive, "w_c": "coverage_projection"},
        "location_sensitive": {**additive, "U_f": "feature_projection.weight", "F": "convolution.weight"},
    }
    if name in known:
        return {letter: own[parameter] for letter, parameter in known[name].items() if parameter in own}
    return _under("score", own)


def _readout(model: Model) -> Letters:
    decoder = model.decoder
    if registered_name(readouts, decoder.readout) != "maxout":
        return _under("readout", _own(decoder.readout))
    projection: nn.Linear = decoder.readout.projection  # pyright: ignore[reportAssignmentType]
    sizes = [decoder.fusion.stack.top.hidden_size, decoder.embedding.embedding_dim, decoder.fusion.context_size]
    letters = dict(zip(("U_o", "V_o", "C_o"), projection.weight.split(sizes, dim=1), strict=True))
    return letters | {"b_o": projection.bias}
