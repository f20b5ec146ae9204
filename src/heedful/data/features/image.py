"""A picture of a line, read from left to right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.data.features.reader import Features, Reader, readers
from heedful.data.lines import BadLine
from heedful.errors import RecipeError

if TYPE_CHECKING:
    import numpy as np

_MOST = 10_000


@readers.register("image")
class Image(Reader):
    """A picture (whatever Pillow reads) as patches of the full height: grey values from 0, black, to 1, white.

    The picture is brought to `height` rows, its width by the same factor. Patch j is the columns from stride * j, width
    of them, top to bottom and column by column: F = height * width. What a last patch lacks is black. Places are
    columns of the picture as it was before.

    Args:
        height: H, rows of pixels.
        width: columns of a patch.
        stride: columns from one patch to the next.
    """

    name = "image"
    unit = "px"

    def __init__(self, *, height: int = 32, width: int = 1, stride: int = 1) -> None:
        self.height, self.width, self.stride = height, width, stride
        for name, value in self.options().items():
            if not 1 <= value <= _MOST:
                raise RecipeError(f"image: {name} must be from 1 to {_MOST}, got {value}")
        if stride > width:
            raise RecipeError(f"image: stride {stride} leaves out what is between patches of width {width}")

    def load(self, path: str) -> np.ndarray:
        """(height, width) float32."""
        import numpy as np
        from PIL import Image as Pillow

        with open(path, "rb") as file:  # what the system says of the file, before Pillow says what it is not
            try:
                with Pillow.open(file) as picture:
                    if picture.mode.startswith("I;16"):
                        return np.asarray(picture, dtype=np.float32) / 65535
                    return np.asarray(picture.convert("L"), dtype=np.float32) / 255
            except (OSError, ValueError, SyntaxError, EOFError, Pillow.DecompressionBombError) as error:
                raise BadLine(f"expected a picture, got something else: {error}") from None

    def features(self, content: np.ndarray) -> Features:
        import numpy as np

        if content.ndim != 2 or not content.size:
            raise BadLine(f"expected a picture of rows and columns, got the shape {content.shape}")
        pixels, scale = self._resampled(np.asarray(content, dtype=np.float32))
        columns = pixels.shape[1]
        count = 1 + max(0, -(-(columns - self.width) // self.stride))
        padded = np.zeros((self.height, (count - 1) * self.stride + self.width), np.float32)
        padded[:, :columns] = pixels
        patches = np.lib.stride_tricks.sliding_window_view(padded.T, self.width, axis=0)[:: self.stride]
        values = patches.transpose(0, 2, 1).reshape(count, -1)  # (S, width * height)
        return Features(np.ascontiguousarray(values), self.stride * scale, self.width * scale)

    def _resampled(self, pixels: np.ndarray) -> tuple[np.ndarray, float]:
        """With `height` rows; and how many columns of the picture one column of it is."""
        height, width = pixels.shape
        if height == self.height:
            return pixels, 1.0
        import numpy as np
        from PIL import Image as Pillow

        columns = max(1, round(width * self.height / height))
        resized = Pillow.fromarray(pixels).resize((columns, self.height), Pillow.Resampling.BILINEAR)
        return np.asarray(resized), width / columns
