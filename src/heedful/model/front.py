"""Fronts: feature vectors become what an encoder reads in place of embeddings, perhaps fewer of them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from heedful.data.batches import Sequences, shortened
from heedful.errors import RecipeError
from heedful.registry import Registry


class Front(nn.Module, ABC):
    """Makes vectors of size E of features: (B, S, F) -> (B, S', E), S' = ceil(S / shortening).

    Position j of the result stands for `shortening` neighbours of the source; where S is no multiple of it, the last
    stands for the rest. What is behind a sentence's end is as if it were 0, whatever is there and however much of it.

    Args:
        shortening: how many positions become one.
    """

    def __init__(self, shortening: int = 1) -> None:
        super().__init__()
        self.shortening = shortening

    @abstractmethod
    def vectors(self, features: Tensor, mask: Tensor) -> Tensor:
        """(B, S', E) of features (B, S, F), which are 0 where the mask (B, S) is False."""

    def forward(self, features: Tensor, mask: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors with their mask and positions, (B, S')."""
        features = features.to(next(self.parameters()).dtype).masked_fill(~mask.unsqueeze(-1), 0.0)
        short = shortened(Sequences(features, mask, positions), self.shortening)
        return self.vectors(features, mask), short.mask, short.positions


fronts: Registry[Front] = Registry("front")


@fronts.register("linear")
class LinearFront(Front):
    """v_j = W x_j + b: as many vectors as there are."""

    def __init__(self, features_size: int, embedding_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(features_size, embedding_size)

    def vectors(self, features: Tensor, mask: Tensor) -> Tensor:
        return self.projection(features)


@fronts.register("pyramid")
class Pyramid(Front):
    """x'_j = relu(W [x_{2j}; x_{2j+1}] + b), `levels` times: each halves the length.

    Neighbours are stacked in pairs as by the pyramid of Chan et al. 2016, "Listen, attend and spell", section 3.1;
    differs from the paper in that the levels are no recurrent layers, which are left to the encoder.

    Args:
        levels: 2 to the power of it positions become one.
    """

    def __init__(self, features_size: int, embedding_size: int, *, levels: int = 1) -> None:
        if not 1 <= levels <= 10:
            raise RecipeError(f"front 'pyramid': levels must be from 1 to 10, got {levels}")
        super().__init__(2**levels)
        sizes = [features_size] + [embedding_size] * (levels - 1)
        self.levels = nn.ModuleList(nn.Linear(2 * size, embedding_size) for size in sizes)

    def vectors(self, features: Tensor, mask: Tensor) -> Tensor:
        for level in self.levels:
            features = nn.functional.pad(features, (0, 0, 0, features.shape[1] % 2))
            features = torch.relu(level(features.unflatten(1, (-1, 2)).flatten(2)))  # W [x_2j; x_2j+1] + b
            mask = mask[:, ::2]
            features = features.masked_fill(~mask.unsqueeze(-1), 0.0)
        return features


@fronts.register("convolution")
class Convolution(Front):
    """x'_j = relu(sum_k W_k x_{stride j + k - offset} + b), `layers` times, then v_j = W x_j + b.

    The kernel is centred on the positions that x'_j stands for. As in the models of Chorowski et al. 2015 and Chan et
    al. 2016 fewer positions are attended to than there are frames; convolutions for it are usual since.

    Args:
        channels: the size of each layer.
        kernel: how many neighbours a layer sees, at least the stride.
        stride: how many positions a layer makes one of.
        layers: how many layers; stride to the power of it positions become one.
    """

    def __init__(
        self,
        features_size: int,
        embedding_size: int,
        *,
        channels: int = 64,
        kernel: int = 5,
        stride: int = 2,
        layers: int = 1,
    ) -> None:
        if not (1 <= layers <= 10 and 1 <= stride <= kernel <= 1000 and 1 <= channels <= 100_000):
            raise RecipeError(
                "front 'convolution': expected layers of 1 to 10, channels of at least 1, and a kernel of at most 1000 "
                f"that is not below the stride, got layers {layers}, channels {channels}, kernel {kernel}, "
                f"stride {stride}"
            )
        super().__init__(stride**layers)
        self.kernel, self.stride = kernel, stride
        sizes = [features_size] + [channels] * (layers - 1)
        self.layers = nn.ModuleList(nn.Conv1d(size, channels, kernel, stride=stride) for size in sizes)
        self.projection = nn.Linear(channels, embedding_size)

    def vectors(self, features: Tensor, mask: Tensor) -> Tensor:
        before = (self.kernel - self.stride) // 2  # offset
        for layer in self.layers:
            steps = -(-features.shape[1] // self.stride)
            after = (steps - 1) * self.stride + self.kernel - before - features.shape[1]
            padded = nn.functional.pad(features.transpose(1, 2), (before, after))
            features = torch.relu(layer(padded)).transpose(1, 2)
            mask = mask[:, :: self.stride]
            features = features.masked_fill(~mask.unsqueeze(-1), 0.0)
        return self.projection(features)
