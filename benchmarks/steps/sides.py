"""A training step of each side: what is timed, and the check that heedful and the usual loop compute the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple

from torch import nn

from heedful.data.batches import Batch
from heedful.model import Model
from steps.floor import floor, onednn_floor
from steps.memory import peak
from steps.shapes import Shape, batch_of, make
from steps.usual import Usual, adopt, same

Step = Callable[[], object]


def heedful_step(model: Model, batch: Batch) -> Step:
    """Loss of the batch by teacher forcing and gradients of all weights and source states, by heedful."""

    def step() -> float:
        _forget(model)
        loss = model(batch)
        mean = loss.total / loss.tokens
        mean.backward()
        return mean.item()

    return step


def usual_step(model: Usual, batch: Batch) -> Step:
    """The same by the usual loop."""

    def step() -> float:
        _forget(model)
        loss = model(batch)
        loss.backward()
        return loss.item()

    return step


def _forget(module: nn.Module) -> None:
    for parameter in module.parameters():
        parameter.grad = None


def steps(shape: Shape, fusion: str, cell: str, sides: tuple[str, ...]) -> dict[str, Step]:
    """One step of each of the sides, with the same weights: "usual"; "apart", where there is an additive score;
    "heedful"; "floor"; "onednn", the other floor, where there is one."""
    model, batch = make(shape, fusion, cell), batch_of(shape)
    found: dict[str, Step] = {}
    for side in sides:
        if side == "heedful":
            found[side] = heedful_step(model, batch)
        elif side == "usual":
            found[side] = usual_step(adopt(model, shape, fusion, cell), batch)
        elif side == "apart":
            if fusion != "late":
                found[side] = usual_step(adopt(model, shape, fusion, cell, apart=True), batch)
        elif side == "floor":
            found[side] = floor(shape, fusion, cell)
        elif other := onednn_floor(shape, fusion, cell):
            found[side] = other
    return found


def peak_of(side: str, shape: Shape, fusion: str, cell: str) -> float:
    """MiB that a step needs beyond its weights and source states."""
    arguments = (side, astuple(shape), fusion, cell)
    return peak(one_step, arguments, tiny=(side, (2, 3, 3, 8, 11), fusion, cell))


def one_step(side: str, sizes: Sequence[int], fusion: str, cell: str) -> Step:
    """As `steps`, of one side, in words that another process can be told."""
    return steps(Shape(*sizes), fusion, cell, (side,))[side]


def timings(sides: Mapping[str, Step], *, repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each, in turn, `repeats` times, after once that does not count."""
    for step in sides.values():
        step()
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(repeats):
        for side, step in sides.items():
            start = time.perf_counter()
            step()
            taken[side].append(1000 * (time.perf_counter() - start))
    return taken


def differences(model: Model, usual: Usual, batch: Batch) -> dict[str, float]:
    """How far heedful and the usual loop are apart in the loss, and in the gradient of each of the loop's parameters:
    the greatest difference of an element, as a share of the greatest element."""
    ours, theirs = heedful_step(model, batch)(), usual_step(usual, batch)()
    found = {"loss": abs(ours - theirs) / abs(theirs)}
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    for name, parameter in usual.named_parameters():
        expected = parameter.grad
        got = same(name, gradients).reshape(expected.shape)
        found[name] = ((got - expected).abs().max() / expected.abs().max()).item()
    return found


def greatest_difference(shape: Shape, fusion: str, cell: str, *, ragged: bool = False) -> float:
    """The largest of the `differences` at these sizes, in single precision."""
    model = make(shape, fusion, cell)
    return max(differences(model, adopt(model, shape, fusion, cell), batch_of(shape, ragged=ragged)).values())
