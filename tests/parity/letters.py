"""The library's parameters under the papers' letters, as the oracles want them: views, that gradients flow through.

Only names and slices stand here, no equations.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from oracles import bahdanau2015, luong2015
from oracles.pieces import State, Step

Letters = dict[str, Tensor]


def prefixed(prefix: str, letters: Letters) -> Letters:
    return {f"{prefix}{key}": value for key, value in letters.items()}


def of_cell(cell: nn.Module, **inputs: int) -> Letters:
    """A cell that reads its inputs one after the other: W=5, C=3 are the columns of the paper's W and C."""
    if hasattr(cell, "rnn"):
        names = {"W_ih": "weight_ih_l0", "W_hh": "weight_hh_l0", "b_ih": "bias_ih_l0", "b_hh": "bias_hh_l0"}
        return {letter: getattr(cell.rnn, name) for letter, name in names.items()}
    letters = {"U": cell.candidate.weight}
    letters["U_z"], letters["U_r"] = cell.gates.weight.chunk(2)
    letters["b_z"], letters["b_r"], letters["b"] = cell.inputs.bias.chunk(3)
    for X, columns in zip(inputs, cell.inputs.weight.split(list(inputs.values()), dim=1), strict=True):
        letters[f"{X}_z"], letters[f"{X}_r"], letters[X] = columns.chunk(3)
    return letters


def of_attention(attention: nn.Module) -> Letters:
    """W_a, U_a, v_a, b_a of the score, as far as it has them; W_p, v_p of the scope local_p."""
    score = dict(attention.score.named_parameters())
    if "projection.weight" in score:  # concat
        letters = {"W_a": score["projection.weight"], "v_a": score["v"]}
    elif "v" in score:  # additive
        letters = {
            "W_a": score["query_projection.weight"],
            "U_a": score["key_projection.weight"],
            "v_a": score["v"],
        }
        if "key_projection.bias" in score:
            letters["b_a"] = score["key_projection.bias"]
    else:  # general's or location's one matrix; the dots have none
        letters = dict(zip(["W_a"], score.values(), strict=False))
    scope = dict(attention.scope.named_parameters())
    if scope:
        letters |= {"W_p": scope["query_projection.weight"], "v_p": scope["v"]}
    return letters


def of_readout(decoder: nn.Module) -> Letters:
    """For bahdanau2015.read_out: U_o, V_o, C_o, b_o of maxout; W_o and b_w of the output."""
    letters = {"W_o": decoder.output.weight, "b_w": decoder.output.bias}
    if hasattr(decoder.readout, "projection"):
        sizes = [
            decoder.fusion.stack.top.hidden_size,
            decoder.embedding.embedding_dim,
            decoder.fusion.context_size,
        ]
        U_o, V_o, C_o = decoder.readout.projection.weight.split(sizes, dim=1)
        letters |= {"U_o": U_o, "V_o": V_o, "C_o": C_o, "b_o": decoder.readout.projection.bias}
    return letters


def of_early_decoder(decoder: nn.Module) -> Letters:
    """For bahdanau2015.decode and decode_encdec; without attention's letters where there is none."""
    columns = {"W": decoder.embedding.embedding_dim, "C": decoder.fusion.context_size}
    letters = {"E_y": decoder.embedding.weight, **of_cell(decoder.fusion.stack.first, **columns)}
    if hasattr(decoder.fusion, "attention"):
        letters |= of_attention(decoder.fusion.attention)
    return letters | of_readout(decoder)


def of_late_decoder(decoder: nn.Module) -> Letters:
    """For luong2015.decode; W_s and b_s are of use to it only where the output reads h~."""
    fusion = decoder.fusion
    letters = {
        "E_y": decoder.embedding.weight,
        "W_c": fusion.combine.weight,
        **of_attention(fusion.attention),
    }
    for layer, cell in enumerate(fusion.stack.cells, start=1):
        letters |= prefixed(f"dec.{layer}.", of_cell(cell, W=cell.input_size))
    if fusion.gate is not None:
        letters["W_g"] = fusion.gate.weight
    letters["W_s"] = decoder.output.weight
    if decoder.output.bias is not None:
        letters["b_s"] = decoder.output.bias
    return letters


def of_encoder(encoder: nn.Module, *, backward: bool = False) -> Letters:
    """For luong2015.encode: the layers of one direction."""
    letters = {"E_x": encoder.embedding.weight}
    for layer, cell in enumerate(encoder.backward_cells if backward else encoder.forward_cells, start=1):
        letters |= prefixed(f"enc.{layer}.", of_cell(cell, W=cell.input_size))
    return letters


def of_paper_encoder(encoder: nn.Module) -> Letters:
    """For bahdanau2015.encode and run_forward: fwd.* and, where it reads both ways, bwd.*."""
    letters = {"E_x": encoder.embedding.weight}
    for prefix, cells in (("fwd.", encoder.forward_cells), ("bwd.", encoder.backward_cells)):
        for cell in cells:
            letters |= prefixed(prefix, of_cell(cell, W=cell.input_size))
    return letters


def of_start(start: nn.Module, index: int = 0) -> Letters:
    """For bahdanau2015.initial: W_s and b_s, of each layer and each part of its state in turn."""
    return {"W_s": start.projections[index].weight, "b_s": start.projections[index].bias}


def start_states(start: nn.Module, top: State) -> tuple[State, ...]:
    """The decoder's first states by "learned_last", one product each, from the encoder's top state."""
    parts = [part for part in top if part is not None]
    states = []
    for layer in range(start.layers):
        made = [bahdanau2015.initial(of_start(start, layer * len(parts) + i), part).h for i, part in enumerate(parts)]
        states.append(State(*made))
    return tuple(states)


def encode(encoder: nn.Module, cell: str, x: Sequence[int]) -> tuple[list[Tensor], State]:
    """The source states and the last state, of a one-layer encoder in one direction or both."""
    h, (last,) = luong2015.encode(of_encoder(encoder), x, layers=1, cell=cell)
    if not encoder.bidirectional:
        return h, last
    back, (last_back,) = luong2015.encode(of_encoder(encoder, backward=True), x[::-1], layers=1, cell=cell)
    joined = [_beside(h_j, back_j) for h_j, back_j in zip(h, reversed(back), strict=True)]
    pairs = zip(last, last_back, strict=True)
    return joined, State(*(None if a is None else _beside(a, b) for a, b in pairs))


def read_late(decoder: nn.Module, readout: str, steps: list[Step], start: State, Ey: list[Tensor]) -> list[Step]:
    """Steps of luong2015.decode with the logits of a readout that does not read h~."""
    letters, before, read = of_readout(decoder), start, []
    for step, embedding in zip(steps, Ey, strict=True):
        top = step.states[-1]
        options = {"s_before": before.h, "s_after": top.h, "Ey": embedding, "c": step.context}
        logits, _ = bahdanau2015.read_out(letters, readout, **options)
        read.append(step._replace(logits=logits))
        before = top
    return read


def _beside(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b])
