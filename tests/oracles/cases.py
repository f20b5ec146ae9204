"""Small tensors for the tests of the oracles."""

import torch
from torch import Tensor


def vec(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def mat(*rows: tuple[float, ...]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def close(actual: Tensor, *expected: float) -> None:
    torch.testing.assert_close(actual, vec(*expected), rtol=0, atol=1e-12)


def drawn(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randn(shape, dtype=torch.float64, generator=generator) for key, shape in shapes.items()}
