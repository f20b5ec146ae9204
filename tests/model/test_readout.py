"""Readouts by hand, and the output layer."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.errors import SizeError
from heedful.model import Attentional, Maxout, StateContext, Steps, TopState, readouts
from heedful.model.readout import Output

from .cases import close, make, random_batch, randomise, unrolled

B, T = 3, 2


def steps_of(*, embedding: int = 5, hidden: int = 11, context: int = 14, attentional: int = 13) -> Steps:
    generator = torch.Generator().manual_seed(1)
    sizes = (embedding, hidden, hidden, context, attentional)
    return Steps(*(torch.randn(B, T, size, generator=generator, dtype=torch.float64) for size in sizes))


class Sizes(nn.Module):
    """As much of a fusion as a readout looks at."""

    context_size = 14
    attentional_size: int | None = 13
    recurrent = True
    default_readout = "state"


def read(name: str, **options) -> nn.Module:
    readout = readouts[name](Sizes(), embedding_size=5, hidden_size=11, **options).double()  # pyright: ignore
    randomise(readout)
    return readout


def test_state_context():
    readout, steps = read("state_context"), steps_of()
    assert isinstance(readout, StateContext)
    close(readout(steps), torch.cat([steps.states, steps.contexts], -1))
    assert readout.feature_size == 25


def test_state_is_the_state_alone():
    readout, steps = read("state"), steps_of()
    assert readout(steps) is steps.states
    assert readout.feature_size == 11


def test_attentional():
    readout, steps = read("attentional"), steps_of()
    assert isinstance(readout, Attentional)
    assert readout(steps) is steps.attentional
    assert readout.feature_size == 13


def test_attentional_needs_an_attentional_state(monkeypatch):
    monkeypatch.setattr(Sizes, "attentional_size", None)
    with pytest.raises(SizeError, match="needs an attentional state, which only fusion 'late' has"):
        read("attentional")


def test_maxout_is_the_papers_formula():
    """t~ = U_o s_{t-1} + V_o E y_{t-1} + C_o c_t, t_j = max(t~_{2j-1}, t~_{2j}), one number at a time."""
    readout, steps = read("maxout", readout_size=3), steps_of()
    assert isinstance(readout, Maxout)
    features = readout(steps)
    assert features.shape == (B, T, readout.feature_size) == (B, T, 3)
    U, V, C = readout.projection.weight.split([11, 5, 14], dim=1)
    for b in range(B):
        for t in range(T):
            s, y, c = steps.before[b, t], steps.embeddings[b, t], steps.contexts[b, t]
            raw = U @ s + V @ y + C @ c + readout.projection.bias
            close(features[b, t], torch.stack([max(raw[2 * j], raw[2 * j + 1]) for j in range(3)]))


def test_maxout_by_hand():
    readout, steps = read("maxout", readout_size=2), steps_of()
    assert isinstance(readout, Maxout)
    with torch.no_grad():
        readout.projection.weight.zero_()
        readout.projection.bias.copy_(torch.tensor([1.0, -2.0, -7.0, -5.0]))
    close(readout(steps), torch.tensor([1.0, -5.0]).double().expand(B, T, 2))


def test_maxout_reads_the_state_before_and_not_the_state_after():
    readout, steps = read("maxout"), steps_of()
    assert torch.equal(readout(steps._replace(states=steps.states + 1)), readout(steps))
    assert not torch.equal(readout(steps._replace(before=steps.before + 1)), readout(steps))


def test_maxout_in_a_model_does_not_see_the_state_after():
    """The first step's logits depend on the recurrent matrices only through s_0, which has not met them."""
    model, batch = make(fusion="early", readout="maxout", start="zero", score="general"), random_batch()
    before, _ = unrolled(model, batch)
    with torch.no_grad():
        for parameter in model.decoder.fusion.stack.parameters():
            parameter.add_(1.0)
    after, _ = unrolled(model, batch)
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.equal(before[:, 1], after[:, 1])


def test_maxout_needs_a_state_before_the_step(monkeypatch):
    monkeypatch.setattr(Sizes, "recurrent", False)
    with pytest.raises(SizeError, match="the state before the step, which only recurrent fusions have"):
        read("maxout")


def test_sizes_of_maxout():
    assert read("maxout").projection.weight.shape == (10, 30)  # pyright: ignore[reportAttributeAccessIssue]
    single = readouts["maxout"](Sizes(), embedding_size=5, hidden_size=1)  # pyright: ignore
    assert single.feature_size == 1


def embedding_of(size: int = 5) -> nn.Embedding:
    return nn.Embedding(23, size).double()


def test_output_by_hand():
    output = Output(7, embedding_of(), tied=False).double()
    randomise(output)
    features = steps_of().states[..., :7]
    close(output(features), (output.weight @ features.unsqueeze(-1)).squeeze(-1) + output.bias)
    assert output.weight.shape == (23, 7)


def test_output_without_bias():
    output = Output(7, embedding_of(), tied=False, bias=False)
    assert [name for name, _ in output.named_parameters()] == ["weight"]
    assert output(torch.zeros(7)).tolist() == [0.0] * 23


def test_an_untied_output_is_drawn_small():
    torch.manual_seed(0)
    weight = Output(16, nn.Embedding(23, 5), tied=False).weight
    assert weight.abs().max() <= 0.25
    assert weight.abs().max() > 0.2


@pytest.mark.parametrize("size", [5, 7])
def test_tied_output_is_the_embedding_behind_a_projection_where_sizes_differ(size):
    embedding = embedding_of()
    output = Output(size, embedding, tied=True).double()
    randomise(output)
    assert output.weight is embedding.weight
    features = steps_of().states[..., :size]
    projected = features if size == 5 else functional.linear(features, output.projection.weight)
    close(output(features), functional.linear(projected, embedding.weight, output.bias))
    names = {name for name, _ in output.named_parameters()}
    assert names == ({"weight", "bias"} if size == 5 else {"weight", "bias", "projection.weight"})


@pytest.mark.parametrize("options", [{"embedding_size": 11, "fusion": "late"}, {"fusion": "early"}])
def test_tied_embeddings_share_tensor_and_gradient(options):
    readout = "attentional" if options["fusion"] == "late" else "maxout"
    model, batch = make(tied_embeddings=True, readout=readout, **options), random_batch()
    shared = model.decoder.embedding.weight
    assert model.decoder.output.weight is shared
    assert sum(parameter is shared for parameter in model.parameters()) == 1
    model(batch).total.backward()
    both = shared.grad
    assert both is not None
    gradients: list[Tensor] = []
    for side in ("embedding", "output"):
        model.zero_grad()
        copy = nn.Parameter(shared.detach().clone())
        setattr(getattr(model.decoder, side), "weight", copy)  # noqa: B010
        model(batch).total.backward()
        assert copy.grad is not None
        gradients.append(copy.grad)
        setattr(getattr(model.decoder, side), "weight", shared)  # noqa: B010
    assert all(gradient.abs().max() > 0 for gradient in gradients)
    close(both, gradients[0] + gradients[1])


def test_all_readouts_are_tested_here():
    assert [readouts[name] for name in readouts.names()] == [StateContext, TopState, Attentional, Maxout]
