"""The floor: the bare matrix products of a training step, and nothing else.

What is counted: each product of two matrices that the mathematics needs, forwards, and backwards for both of its
factors, one call of `torch.mm` or `torch.bmm` each, into memory that is there already. No autograd, no biases, no
elementwise work, no softmax, no loss, no copying.

- At once, for all steps: the start, the embeddings' share of the gates, the keys, the output layer; without input
  feeding also the scores of late fusion, its weighted sums, and W_c. And all gradients of weights, and of the source
  states, over all steps in one product.
- Step after step, with B rows, as the recurrence forces it, forwards and for the gradient of what went in: the
  recurrent product (with the query's, or with the fed state's, in the same call: as few calls as the mathematics
  allows), the weighted sum over the source states, and, where the next step needs it, the product with the context.

What is not:

- Additive and concat scores. Their sum over A has no second matrix: it is elementwise work, B S T A multiply-adds after
  as many tanh. So early fusion and input feeding stay far from this floor where S is large.
- Other arithmetic for the same result. By linearity W (sum_j a_j h_j) = sum_j a_j (W h_j): a product with the context
  may leave the loop and be applied to the source states, once. At some sizes that is less work than is counted here.

There are two floors. In `floor` the products are those of `torch.mm` and `torch.bmm`, that is of the BLAS that PyTorch
was built with. heedful computes products with weights by oneDNN where that is quicker (`heedful.attention.products`),
as PyTorch's LSTM and GRU over a whole sequence do, and so can be faster than this floor. `onednn_floor` has the same
products by heedful's function, those with weights, and `torch.bmm` for the others; the transposed factors lie ready
there too, but results are new memory at each call, and rows are filled up as that function fills them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.attention.products import product as by_onednn
from heedful.attention.products import quick
from steps.shapes import Shape


class Product:
    """x (T, rows, k) times W' (n, k) -> y (T, rows, n), and its two gradients; T = 1 where all is done at once."""

    def __init__(self, rows: int, inner: int, outer: int, *, steps: int = 1) -> None:
        self.inputs, self.weight = torch.rand(steps, rows, inner), torch.rand(outer, inner)
        self.outputs, self.out_gradient = torch.empty(steps, rows, outer), torch.rand(steps, rows, outer)
        self.in_gradient, self.weight_gradient = torch.empty_like(self.inputs), torch.empty_like(self.weight)
        self.flops = 3 * 2 * steps * rows * inner * outer

    def forward(self, step: int = 0) -> Tensor:
        return torch.mm(self.inputs[step], self.weight.t(), out=self.outputs[step])

    def backward(self, step: int = 0) -> Tensor:
        return torch.mm(self.out_gradient[step], self.weight, out=self.in_gradient[step])

    def finish(self) -> Tensor:
        return torch.mm(self.out_gradient.flatten(0, 1).t(), self.inputs.flatten(0, 1), out=self.weight_gradient)


class OneDNN(Product):
    """The same by oneDNN, as heedful calls it."""

    def __init__(self, rows: int, inner: int, outer: int, *, steps: int = 1) -> None:
        super().__init__(rows, inner, outer, steps=steps)
        self.turned_weight = self.weight.t().contiguous()
        self.turned_inputs, self.turned_gradient = (
            each.flatten(0, 1).t().contiguous() for each in (self.inputs, self.out_gradient)
        )

    def forward(self, step: int = 0) -> Tensor:
        return by_onednn(self.inputs[step], self.weight)

    def backward(self, step: int = 0) -> Tensor:
        return by_onednn(self.out_gradient[step], self.turned_weight)

    def finish(self) -> Tensor:
        return by_onednn(self.turned_gradient, self.turned_inputs)


class Sums:
    """Weights (steps, B, queries, S) times values (B, S, V) -> (steps, B, queries, V), and its two gradients.

    With `scores` the other way round, the scores of queries: (B, queries, V) times (B, V, S).
    """

    def __init__(self, shape: Shape, size: int, *, steps: int, scores: bool = False) -> None:
        queries = shape.target // steps
        values = torch.rand(shape.batch, shape.source, size)
        self.right = right = values.transpose(1, 2) if scores else values
        self.left = torch.rand(steps, shape.batch, queries, right.shape[1])
        self.outputs = torch.empty(steps, shape.batch, queries, right.shape[2])
        self.out_gradient, self.left_gradient = torch.rand_like(self.outputs), torch.empty_like(self.left)
        # For the gradient of the right factor, all queries of a sentence lie side by side.
        self.all_left = torch.rand(shape.batch, shape.target, right.shape[1])
        self.all_gradient = torch.rand(shape.batch, shape.target, right.shape[2])
        self.right_gradient = torch.empty(right.shape)
        self.flops = 3 * 2 * shape.batch * shape.target * shape.source * size

    def forward(self, step: int = 0) -> None:
        torch.bmm(self.left[step], self.right, out=self.outputs[step])

    def backward(self, step: int = 0) -> None:
        torch.bmm(self.out_gradient[step], self.right.transpose(1, 2), out=self.left_gradient[step])

    def finish(self) -> None:
        torch.bmm(self.all_left.transpose(1, 2), self.all_gradient, out=self.right_gradient)


@dataclass
class Floor:
    """Products `before` the loop, in `each` of its `steps`, and `after` it."""

    before: list[Product | Sums]
    each: list[Product | Sums]
    after: list[Product | Sums]
    steps: int

    @property
    def flops(self) -> int:
        """Additions and multiplications of a step, forwards and backwards."""
        return sum(product.flops for product in (*self.before, *self.each, *self.after))

    def __call__(self) -> None:
        for product in self.before:
            product.forward()
        for step in range(self.steps):
            for product in self.each:
                product.forward(step)
        for product in self.after:
            product.forward()
        for product in reversed(self.after):
            product.backward()
        for step in reversed(range(self.steps)):
            for product in reversed(self.each):
                product.backward(step)
        for product in reversed(self.before):
            product.backward()
        for product in (*self.after, *self.each, *self.before):
            product.finish()


def onednn_floor(shape: Shape, fusion: str, cell: str) -> Floor | None:
    """The floor of oneDNN's products; None where heedful leaves all products to PyTorch."""
    return floor(shape, fusion, cell, OneDNN) if quick(torch.empty(0)) else None


def floor(shape: Shape, fusion: str, cell: str, product: type[Product] = Product) -> Floor:
    """Of the model that `shapes.make` makes."""
    batch, steps, hidden, values = shape.batch, shape.target, shape.hidden, shape.values
    gates, parts = (4, 2) if cell == "lstm" else (3, 1)
    gates, all_rows = gates * hidden, batch * steps
    before: list[Product | Sums] = [product(batch, values, hidden) for _ in range(parts)]  # the start
    before += [product(all_rows, hidden, gates), product(batch * shape.source, values, hidden)]  # embeddings, keys
    if fusion == "early":
        # [W_a; U] s_{t-1}, the weighted sum, C c_t; then W_o [s; c] for all steps.
        each: list[Product | Sums] = [
            product(batch, hidden, hidden + gates, steps=steps),
            Sums(shape, values, steps=steps),
            product(batch, values, gates, steps=steps),
        ]
        return Floor(before, each, [product(all_rows, hidden + values, shape.vocabulary)], steps)
    output = product(all_rows, hidden, shape.vocabulary)
    if fusion == "late":
        combine = product(all_rows, values + hidden, hidden)  # W_c [c; h]
        asked = [Sums(shape, hidden, steps=1, scores=True), Sums(shape, values, steps=1)]
        return Floor(before, [product(batch, hidden, gates, steps=steps)], [*asked, combine, output], steps)
    # [W_f; U] [h~_{t-1}; h_{t-1}], [W_a; W_ch] h_t, the weighted sum, W_cc c_t; then W_o h~ for all steps.
    each = [
        product(batch, 2 * hidden, gates, steps=steps),
        product(batch, hidden, 2 * hidden, steps=steps),
        Sums(shape, values, steps=steps),
        product(batch, values, hidden, steps=steps),
    ]
    return Floor(before, each, [output], steps)
