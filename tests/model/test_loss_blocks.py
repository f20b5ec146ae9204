"""The loss in blocks of rows is the plain one, in value and gradient, and never holds all logits."""

import itertools

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from heedful.data.vocabulary import Vocabulary
from heedful.model import loss as module
from heedful.model.loss import cross_entropy, plain_cross_entropy

from .cases import FUSIONS, make, random_batch

N, F, Y = 31, 5, 23
SMOOTHING = (0.0, 0.1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """31 rows are four blocks of 7 and a rest of 3, and always in blocks."""
    monkeypatch.setattr(module, "BLOCK_ROWS", 7)
    monkeypatch.setattr(module, "LARGE", 0)


def case(*, bias: bool = True, dtype=torch.float64, rows: int = N, symbols: int = Y) -> tuple[list[Tensor], Tensor]:
    """Features, weight and bias as leaves, and wanted tokens."""
    generator = torch.Generator().manual_seed(rows)
    shapes = [(rows, F), (symbols, F)] + [(symbols,)] * bias
    leaves = [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes
    ]
    return leaves, torch.randint(Vocabulary.END, symbols, (rows,), generator=generator)


def both(form, leaves: list[Tensor], wanted: Tensor, *, smoothing: float, factor: float = 1.0):
    """(total, plain) and the gradients of `factor` times the total."""
    bias = leaves[2] if len(leaves) > 2 else None
    total, plain = form(leaves[0], leaves[1], bias, wanted, label_smoothing=smoothing)
    return (total, plain), torch.autograd.grad(total * factor, [each for each in leaves if each.requires_grad])


def same(got, expected, tolerance: float) -> None:
    """Values and gradients, each compared with the largest that is expected."""
    for value, wanted in zip((*got[0], *got[1]), (*expected[0], *expected[1]), strict=True):
        assert (value.shape, value.dtype) == (wanted.shape, wanted.dtype)
        assert (value - wanted).abs().max() <= tolerance * wanted.abs().max()


class Shapes(TorchDispatchMode):
    """Notes the shape of every tensor that is made, and the types of what is multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[int, ...]] = set()
        self.factors: set[torch.dtype] = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.mkldnn._linear_pointwise):
            self.factors.add([each for each in args if isinstance(each, Tensor)][1].dtype)
        given = {each.data_ptr() for each in args if isinstance(each, Tensor)}
        for each in made if isinstance(made, tuple | list) else (made,):
            if isinstance(each, Tensor) and each.data_ptr() not in given:  # no view of what was there
                self.shapes.add(tuple(each.shape))
        return made


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 1e-6)])
@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("bias", [False, True])
def test_blocks_are_the_plain_loss(bias, smoothing, dtype, tolerance):
    leaves, wanted = case(bias=bias, dtype=dtype)
    for factor in (1.0, -0.037):
        got, expected = (
            both(form, leaves, wanted, smoothing=smoothing, factor=factor)
            for form in (cross_entropy, plain_cross_entropy)
        )
        same(got, expected, tolerance)


@pytest.mark.parametrize("rows", [1, 6, 7, 8, 14])
def test_whatever_the_number_of_rows(rows):
    leaves, wanted = case(rows=rows)
    got, expected = (both(form, leaves, wanted, smoothing=0.1) for form in (cross_entropy, plain_cross_entropy))
    same(got, expected, 1e-14)


def test_blocks_of_the_real_size_are_as_exact_as_the_plain_loss(monkeypatch):
    monkeypatch.undo()
    leaves, wanted = case(rows=1009, symbols=4243, dtype=torch.float32)  # 4.3 million logits
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    values, gradients = both(plain_cross_entropy, exact, wanted, smoothing=0.1)
    rounded = [value.float() for value in values], [gradient.float() for gradient in gradients]
    for form in (cross_entropy, plain_cross_entropy):
        same(both(form, leaves, wanted, smoothing=0.1), rounded, 6e-6)


@pytest.mark.parametrize("needed", [needed for needed in itertools.product((False, True), repeat=3) if any(needed)])
def test_only_what_asks_for_a_gradient_gets_one(needed):
    leaves, wanted = case()
    for leaf, asks in zip(leaves, needed, strict=True):
        leaf.requires_grad_(asks)
    with Shapes() as seen:
        got = both(cross_entropy, leaves, wanted, smoothing=0.1)
    same(got, both(plain_cross_entropy, leaves, wanted, smoothing=0.1), 1e-14)
    assert [tuple(leaf.shape) in seen.shapes for leaf in leaves] == list(needed)


@pytest.mark.parametrize("fusion", ["early", "late"])
@pytest.mark.parametrize("tied", [False, True])
def test_of_a_whole_model(fusion, tied, monkeypatch):
    """A tied output is the embedding too, behind a projection: its gradient comes from both ends."""
    model, batch = make(**FUSIONS[fusion], tied_embeddings=tied), random_batch()

    def of_model():
        model.zero_grad()
        loss = model(batch, label_smoothing=0.1)
        (loss.total / loss.tokens).backward()
        return loss[:2], [parameter.grad for parameter in model.parameters()]

    blocks = of_model()
    monkeypatch.setattr(module, "LARGE", 1 << 40)
    same(blocks, of_model(), 1e-12)


def test_the_plain_part_carries_no_gradient():
    leaves, wanted = case()
    total, plain = cross_entropy(*leaves, wanted, label_smoothing=0.1)
    assert total.requires_grad
    assert not plain.requires_grad


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_without_gradients_the_value_is_the_same_and_none_is_computed(mode, smoothing):
    leaves, wanted = case()
    expected = plain_cross_entropy(*leaves, wanted, label_smoothing=smoothing)
    with mode(), Shapes() as seen:
        values = cross_entropy(*leaves, wanted, label_smoothing=smoothing)
    for value, known in zip(values, expected, strict=True):
        assert not value.requires_grad
        torch.testing.assert_close(value, known.detach(), rtol=1e-14, atol=0)
    assert (Y, F) not in seen.shapes


def test_no_more_than_a_block_of_logits_is_ever_held():
    leaves, wanted = case()
    with Shapes() as seen:
        both(cross_entropy, leaves, wanted, smoothing=0.1)
    rows = {shape[0] for shape in seen.shapes if len(shape) == 2 and shape[1] == Y}
    assert max(rows - {F}) == 7  # (F, Y) is W transposed
    with Shapes() as seen:
        both(plain_cross_entropy, leaves, wanted, smoothing=0.1)
    assert (N, Y) in seen.shapes


def test_differentiated_twice_it_is_refused_where_logits_are_many(monkeypatch):
    leaves, wanted = case()

    def twice():
        total, _ = cross_entropy(*leaves, wanted)
        (gradient,) = torch.autograd.grad(total, leaves[:1], create_graph=True)
        gradient.square().sum().backward()

    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        twice()
    monkeypatch.undo()
    twice()
    assert leaves[0].grad is not None


def test_a_graph_that_is_kept_gives_the_same_again():
    leaves, wanted = case()
    total = 0.5 * cross_entropy(*leaves, wanted)[0]
    first = torch.autograd.grad(total, leaves, retain_graph=True)
    for value, again in zip(first, torch.autograd.grad(total, leaves), strict=True):
        assert torch.equal(value, again)


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_bfloat16_is_as_the_plain_loss_has_it(smoothing):
    """Under autocast, and for parameters of that type: the same logits, and gradients that are summed over a hundred
    blocks in more digits than their eight."""
    leaves, wanted = case(dtype=torch.float32, rows=701)
    with Shapes() as seen:
        exact = both(plain_cross_entropy, leaves, wanted, smoothing=smoothing)
    assert seen.factors == {torch.float32}
    halves = [leaf.detach().bfloat16().requires_grad_() for leaf in leaves]
    for autocast, given in ((True, leaves), (False, halves)):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            plain = both(plain_cross_entropy, given, wanted, smoothing=smoothing)
            with Shapes() as seen:
                got = both(cross_entropy, given, wanted, smoothing=smoothing)
        assert seen.factors == {torch.bfloat16}
        for value, expected in zip(got[0], plain[0], strict=True):
            torch.testing.assert_close(value, expected, rtol=1e-6, atol=0)
        same(got, plain, 0.01)
        near = [
            [each.to(made.dtype) for each, made in zip(*parts, strict=True)] for parts in zip(exact, got, strict=True)
        ]
        same(got, near, 0.01)


def test_under_float16_small_probabilities_have_gradients():
    """p = 1e-9 is nothing in half precision until the loss scale has made it larger: there it is the plain loss."""
    features, weight = torch.ones(N, 1, requires_grad=True), torch.zeros(3, 1, requires_grad=True)
    bias = torch.tensor([-20.7, -20.7, 0.0], requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        total, _ = cross_entropy(features, weight, bias, torch.full((N,), 2))
    (total * 65536).backward()
    assert weight.grad is not None
    assert weight.grad[0] > 0


class Loss(torch.nn.Module):
    def forward(self, features: Tensor, weight: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        return cross_entropy(features, weight, None, wanted, label_smoothing=0.1)


def exported(arguments):
    rows = torch.export.Dim("rows")
    shapes = {"features": {0: rows}, "weight": None, "wanted": {0: rows}}
    return torch.export.export(Loss(), arguments, dynamic_shapes=shapes).module()


@pytest.mark.parametrize(
    "graph",
    [
        exported,
        lambda arguments: torch.compile(Loss(), backend="eager", fullgraph=True, dynamic=True),
    ],
    ids=["exported", "compiled"],
)
def test_a_graph_of_it_is_for_any_number_of_rows(graph):
    (features, weight), wanted = case(bias=False)
    program = graph((features, weight, wanted))
    program(features, weight, wanted)
    (other, _), tokens = case(bias=False, rows=13)
    for value, expected in zip(
        program(other, weight, tokens),
        plain_cross_entropy(other, weight, None, tokens, label_smoothing=0.1),
        strict=True,
    ):
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=0)
