"""A picture of a line, read from left to right."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from heedful.data.features.reader import Features, Reader, decoding, readers
from heedful.data.lines import BadLine
from heedful.errors import RecipeError

if TYPE_CHECKING:
    import numpy as np

_MOST = 10_000

_heard = threading.Lock()
"""Which warnings are heard can only be said to the whole process: one thread at a time."""


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

        with decoding(path, "a picture") as file, _heard, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata, of palettes, of many pixels: it is read all the same
            try:
                picture = Pillow.open(file)
            except Pillow.UnidentifiedImageError:  # whose text names an object
                raise BadLine("expected a picture, got something else: of no kind that Pillow knows") from None
            with picture:
                if picture.mode.startswith("I;16"):
                    return np.asarray(picture, dtype=np.float32) / 65535
                if picture.mode in ("I", "F"):
                    raise BadLine(
                        "expected grey values or colours of 1 to 16 bits, got numbers of 32 bits "
                        f"(mode {picture.mode}), of which none is known to be white"
                    )
                return np.asarray(picture.convert("L"), dtype=np.float32) / 255

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
