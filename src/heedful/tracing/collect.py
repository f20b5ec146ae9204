"""Every tensor of one decoding step, asked from the model piece by piece, in the order in which they come to be."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from heedful.attention import (
    normalisers,
    scopes,
    scores,
)
from heedful.data.batches import Example, Sequences, collate
from heedful.data.codec import Encoded as Source
from heedful.data.vocabulary import Vocabulary
from heedful.model import Encoded, Model, State, Steps, cells, encoders, fusions, readouts, starts
from heedful.model.self_attention import ask_each_other
from heedful.tracing.attended import Tensors, attended
from heedful.tracing.weights import registered_name


def parts_of(model: Model) -> dict[str, Any]:
    """Which part does what, by registered names, and the settings that its formulas need."""
    decoder, attention, encoder = model.decoder, model.attention, model.encoder
    own: Any = decoder.fusion
    layers = own.stack.cells if own.recurrent else own.blocks
    cell = layers[0] if own.recurrent else next(iter(getattr(encoder, "forward_cells", ())), None)
    parts: dict[str, Any] = {
        "encoder": registered_name(encoders, encoder),
        **({} if cell is None else {"cell": registered_name(cells, cell)}),
        "encoder_layers": encoder.layers,
        "bidirectional": encoder.bidirectional,
        "decoder_layers": len(layers),
        **({} if decoder.start is None else {"start": registered_name(starts, decoder.start)}),
        "fusion": registered_name(fusions, own),
        "readout": registered_name(readouts, decoder.readout),
    }
    if parts["encoder"] == "self_attention":
        block: Any = next(iter(encoder.blocks))  # pyright: ignore[reportArgumentType, reportCallIssue]
        norm = "before" if block.around_attention.before else "after"
        parts |= {"encoder_heads": block.attention.heads, "encoder_norm": norm}
    if parts["fusion"] == "late":
        fusion: Any = decoder.fusion
        parts |= {"combine": "concat" if fusion.gate is None else "gate", "input_feeding": fusion.input_feeding}
    if parts["fusion"] == "none":
        parts["every_step"] = decoder.fusion.context_size > 0
    if attention is not None:
        parts |= {
            "score": registered_name(scores, attention.score),
            "scope": registered_name(scopes, attention.scope),
            "normaliser": registered_name(normalisers, attention.normaliser),
            "temperature": attention.normaliser.temperature,
            "heads": attention.heads,
        }
        settings = [(attention.scope, name) for name in ("window", "width", "around", "slope", "neighbours", "stride")]
        settings += [(attention.normaliser, name) for name in ("chunk", "soft")] + [(attention.score, "feature_map")]
        parts |= {name: getattr(part, name) for part, name in settings if hasattr(part, name)}
        if hasattr(attention.score, "weights"):
            parts["looks_at"] = attention.score.weights
        if attention.scope.segmented:
            parts["segment_score"] = registered_name(scores, attention.scope.score)
    return parts


def collect(model: Model, source: Source, symbols: Sequence[int]) -> tuple[list[Tensors], float]:
    """The quantities of the last steps that write `symbols`, by name, without a batch axis.

    Args:
        model: in evaluation mode, of the precision that is wanted.
        source: a sentence.
        symbols: the ids of y_1 .. y_N.

    Returns:
        The last step and the one before it, if there is one, and by how much the log-probabilities of all steps differ
        at most from those of `Model.distributions`.
    """
    batch = collate([Example(source, list(symbols), 0)])
    steps: deque[Tensors] = deque(maxlen=2)
    differences: list[Tensor] = []
    with torch.inference_mode():
        forced, _ = model.distributions(batch)
        encoded, shared = _source(model, batch.sources[0])
        memory, state = model.decoder.begin(encoded)
        for symbol, expected in zip((Vocabulary.START, *symbols[:-1]), forced[0], strict=True):
            values, state = _step(model, torch.tensor([[symbol]]), memory, state)
            differences.append((torch.log_softmax(values["logits"], dim=-1) - expected).abs().max())
            keys = {"keys": values.pop("keys")} if "keys" in values else {}
            steps.append({**shared, **keys, **values})
    return list(steps), float(torch.stack(differences).max())


def _end(layer: int, layers: int) -> str:
    return f", layer {layer}" if layers > 1 else ""


def _source(model: Model, source: Sequences) -> tuple[Encoded, Tensors]:
    """Embeddings and states of the source; the lower layers' states by calling their cells."""
    encoder: Any = model.encoder
    encoded = model.encode(source)
    inputs = encoder.embedding(source.tokens)
    values = {"source symbols": source.tokens[0], "places": source.positions[0], "source embeddings": inputs[0]}
    kind = parts_of(model)["encoder"]
    if kind == "self_attention":
        values |= _layers(encoder, source)
    if kind != "recurrent":
        return encoded, values | {"source states": encoded.values[0]} | _last(model, encoded)
    for layer in range(1, encoder.layers + 1):
        end = _end(layer, encoder.layers)
        if layer == encoder.layers:
            states = encoded.values
        else:
            runs = []
            for reading, layers in ((1, encoder.forward_cells), (-1, encoder.backward_cells)):
                if len(layers):
                    cell: Any = layers[layer - 1]
                    read = inputs if reading == 1 else inputs.flip(1)
                    outputs, _ = cell.unroll(read, cell.zero_state(read, 1))
                    runs.append(outputs if reading == 1 else outputs.flip(1))
            states = torch.cat(runs, dim=-1)
        if encoder.bidirectional:
            values[f"forward states{end}"], values[f"backward states{end}"] = states[0].chunk(2, dim=-1)
        elif layer < encoder.layers:
            values[f"forward states{end}"] = states[0]
        inputs = states
    return encoded, values | {"source states": encoded.values[0]} | _last(model, encoded)


def _layers(encoder: Any, source: Sequences) -> Tensors:
    """The states of an encoder whose states ask each other, layer by layer."""
    vectors, mask, positions = encoder.embed(source.tokens, source.mask, source.positions)
    x = encoder.placed(vectors, mask, positions)
    values: Tensors = {"placed embeddings": x[0]}
    for layer, block in enumerate(encoder.blocks, start=1):
        end, (heard, attended) = _end(layer, encoder.layers), ask_each_other(block, x, mask, positions)
        x = block.think(heard)
        assert attended.weights is not None
        values |= {f"self-attention{end}": attended.weights[0], f"heard states{end}": heard[0]}
        values[f"layer states{end}"] = x[0]
    return values


def _last(model: Model, encoded: Encoded) -> Tensors:
    """The encoder's last states, as far as the decoder or its start reads them."""
    parts, layers = parts_of(model), len(encoded.last)
    start = {"last": set(range(1, layers + 1)), "learned_last": {layers}}.get(parts.get("start", ""), set())
    read = {"hidden": start | {layers} if parts.get("every_step") else start, "cell": start}
    return {
        f"last {kind}{_end(layer, layers)}": part[0]
        for layer, state in enumerate(encoded.last, start=1)
        for kind, part in zip(("hidden", "cell"), state, strict=False)
        if layer in read[kind]
    }


def _step(model: Model, tokens: Tensor, memory: Any, state: State) -> tuple[Tensors, State]:
    """One step of one hypothesis, and the state behind it."""
    decoder, fusion = model.decoder, model.decoder.fusion
    steps, after = decoder.step(tokens, memory, state)
    values: Tensors = {"previous symbol": tokens[0, 0], "target embedding": steps.embeddings[0, 0]}
    if not fusion.recurrent:
        return values | _unrecurrent(model, memory, state, steps) | _written(model, steps), after
    count = len(state.layers)
    for layer, its in enumerate(state.layers, start=1):
        for name, part in zip(("previous state", "previous cell"), its, strict=False):
            values[name + _end(layer, count)] = part[0, 0]
    if state.fed is not None:
        values["previous attentional state"] = state.fed[0, 0]
    late = steps.attentional is not None
    query = steps.states if late else steps.before
    assert query is not None
    asked = {} if model.attention is None else attended(model, memory, query, state, steps)
    if steps.contexts.shape[-1]:
        asked["context"] = steps.contexts[0, 0]
    read = steps.contexts if not late else state.fed  # what the first layer reads beside E y_{t-1}
    inputs = steps.embeddings if read is None else torch.cat([steps.embeddings, read], dim=-1)
    moved = _moved(fusion.stack.cells, inputs, state, after)
    values |= (moved | asked) if late else (asked | moved)
    if late:
        values |= _attentional(fusion, steps)
    return values | _written(model, steps), after


def _unrecurrent(model: Model, memory: Any, state: State, steps: Steps) -> Tensors:
    """What asks the source, its answer, and what is known then."""
    fusion: Any = model.decoder.fusion
    query, layers = fusion.query(steps.embeddings, state), len(fusion.blocks)
    asked = {
        "asking state": query[0, 0],
        **attended(model, memory, query, state, steps),
        "context": steps.contexts[0, 0],
    }
    return {**asked, "new state" + _end(layers, layers): steps.states[0, 0]}


_GATES = {
    "gru": ("reset gate", "update gate", "candidate state"),
    "lstm": ("input gate", "forget gate", "candidate cell", "output gate"),
    "paper_gru": ("update gate", "reset gate", "candidate state"),
}


def _moved(layers: Any, inputs: Tensor, state: State, after: State) -> Tensors:
    """Gates and new state of each layer."""
    values: Tensors = {}
    for layer, (cell, before, its) in enumerate(zip(layers, state.layers, after.layers, strict=True), start=1):
        end, name = _end(layer, len(layers)), registered_name(cells, cell)
        read, recurrent = cell.input_gates(inputs), cell.recurrent_gates(before)
        gates = zip(
            _GATES.get(name, ()), _gates(name, cell, read[0, 0], recurrent[0, 0], before.hidden[0, 0]), strict=True
        )
        values |= {f"{gate}{end}": value for gate, value in gates}
        for what, part in reversed(list(zip(("new state", "new cell"), its, strict=False))):
            values[f"{what}{end}"] = part[0, 0]
        inputs = its.hidden
    return values


def _gates(name: str, cell: Any, read: Tensor, recurrent: Tensor, hidden: Tensor) -> Sequence[Tensor]:
    """The gates of a registered cell, from the two products that it makes itself."""
    if name == "gru":
        (reset, update), new = torch.sigmoid((read + recurrent)[: 2 * len(hidden)]).chunk(2), read.chunk(3)[2]
        return reset, update, torch.tanh(new + reset * recurrent.chunk(3)[2])
    if name == "lstm":
        i, f, g, o = (read + recurrent).chunk(4)
        return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    if name == "paper_gru":
        update, reset = torch.sigmoid(read[: len(recurrent)] + recurrent).chunk(2)
        return update, reset, torch.tanh(read[len(recurrent) :] + cell.candidate(reset * hidden))
    return ()


def _attentional(fusion: Any, steps: Steps) -> Tensors:
    assert steps.attentional is not None
    values: Tensors = {}
    if fusion.gate is not None:
        both = torch.cat([steps.contexts, steps.states], dim=-1)
        values["fusion gate"] = torch.sigmoid(fusion.gate(both))[0, 0]
    return values | {"attentional state": steps.attentional[0, 0]}


def _written(model: Model, steps: Steps) -> Tensors:
    """From the step to the distribution over target symbols."""
    decoder, values = model.decoder, {}
    features = decoder.readout(steps)
    if registered_name(readouts, decoder.readout) == "maxout":
        projection: Any = decoder.readout.projection
        assert steps.before is not None
        joined = torch.cat([steps.before, steps.embeddings, steps.contexts], dim=-1)
        values["readout before maxout"] = projection(joined)[0, 0]
    if features is not steps.attentional:
        values["readout"] = features[0, 0]
    if isinstance(decoder.output.projection, torch.nn.Linear):
        values["projected readout"] = decoder.output.projection(features)[0, 0]
    logits = decoder.logits(steps)[0, 0]
    return values | {"logits": logits, "probabilities": torch.softmax(logits, dim=-1)}
