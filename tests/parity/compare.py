"""One padded batch through the library, each of its sentences alone through an oracle: the same to 1e-9.

A source ends in an end symbol without a position; the target's first input is the start symbol.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.data.batches import Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from oracles.pieces import Step

TOLERANCE = 1e-9
SOURCE_WORDS, TARGET_WORDS = 17, 19  # vocabulary sizes

# Of different lengths, one a single word; a target longer than its source leaves windows of local_m empty.
PAIRS = (
    ([5, 16, 4, 9, 5], [7, 18, 4]),
    ([8], [6, 6, 11, 5, 17]),
    ([12, 7, 15], [9]),
)


class Sentence(NamedTuple):
    """What an oracle is given of one sentence."""

    x: list[int]
    positions: list[int]
    y: list[int]


Oracle = Callable[[Sentence], list[Step]]


def sentences(*, reverse: bool) -> list[Sentence]:
    """The pairs as the encoder reads them: the words of the source in reverse or not, then its end symbol."""
    made = []
    for source, target in PAIRS:
        places = list(range(1, len(source) + 1))
        words = source[::-1] if reverse else source
        positions = places[::-1] if reverse else places
        made.append(Sentence([*words, Vocabulary.END], [*positions, 0], [*target, Vocabulary.END]))
    return made


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows])


def drawn(model: Model, seed: int = 1) -> Model:
    """The model in float64, nothing dropped, all parameters normal; only a padding row stays zero."""
    generator = torch.Generator().manual_seed(seed)
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        for module in model.modules():
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx] = 0.0
    return model


def compare(model: Model, oracle: Oracle, *, reverse: bool) -> dict[str, Tensor]:
    """Logits, weights, contexts, and the gradients of all parameters, which are returned.

    Behind a sentence's end the library is given words that must not matter.
    """
    given = sentences(reverse=reverse)
    lengths = torch.tensor([len(sentence.x) for sentence in given])[:, None]
    tokens = padded([sentence.x for sentence in given], filler=13)
    positions = padded([sentence.positions for sentence in given], filler=0)
    source = Sequences(tokens, torch.arange(tokens.shape[1]) < lengths, positions)
    inputs = padded([[Vocabulary.START, *sentence.y[:-1]] for sentence in given], filler=10)
    memory, state = model.begin(source)
    steps = model.decoder.unroll(inputs, memory, state)
    logits = model.decoder.logits(steps)

    generator = torch.Generator().manual_seed(2)
    ours, theirs = [], []  # one scalar a sentence and quantity, for the gradients
    for b, sentence in enumerate(given):
        expected = oracle(sentence)
        pairs = [(logits[b], [step.logits for step in expected])]
        pairs.append((steps.contexts[b], [step.context for step in expected]))
        if steps.weights is not None:
            assert not steps.weights[b, :, len(sentence.x) :].any()
            weights = steps.weights[b, :, : len(sentence.x)]
            pairs.append((weights, [step.weights for step in expected]))
        for got, wanted in pairs:
            got, wanted = got[: len(sentence.y)], torch.stack(wanted)
            torch.testing.assert_close(got, wanted, rtol=0, atol=TOLERANCE)
            factors = torch.randn(wanted.shape, generator=generator, dtype=torch.float64)
            ours.append((got * factors).sum())
            theirs.append((wanted * factors).sum())
    return _gradients(model, sum(ours), sum(theirs))


def _gradients(model: Model, ours: Tensor, theirs: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = [
        torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True) for loss in (ours, theirs)
    ]
    for name, got, wanted in zip(names, *found, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=TOLERANCE, msg=lambda m, name=name: f"{name}: {m}")
    return dict(zip(names, found[0], strict=True))
