"""Pictures of sources that are no texts, to be drawn over their alignments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from heedful.data.features import Features, Reader
from heedful.data.features.audio import Audio
from heedful.data.features.image import Image
from heedful.plots.picture import Picture
from heedful.training.reading import read

if TYPE_CHECKING:
    import numpy as np

    from heedful.api.run import Run


def picture_of_line(run: Run, pairs: str | os.PathLike[str], line: int) -> Picture | None:
    """`picture_of` the source in a line of `pairs`; None where sources are texts.

    Raises:
        DataError: the line cannot be read.
    """
    side = run.codec.source_features
    if side is None:
        return None
    chosen = read(pairs, run.recipe.data, line=line, features_size=side.size).pairs
    return picture_of(chosen[0].features, side.reader) if chosen else None


def picture_of(features: Features | None, reader: Reader) -> Picture | None:
    """What the model gets of a source, before it is normalised: the spectrogram of sound, the image of its patches, or
    the vectors as they are, drawn as a spectrogram. None of a blank source."""
    if features is None:
        return None
    values, step, width = features
    if isinstance(reader, Image):
        image = _image(values, reader)
        # One column of it may be several of the file, or a part of one.
        return Picture(image, "image", image.shape[1] * width / reader.width, reader.unit)
    frequencies = reader.frequencies() if isinstance(reader, Audio) else None
    return Picture(values.T, "spectrogram", len(values) * step, reader.unit, frequencies)


def _image(values: np.ndarray, reader: Image) -> np.ndarray:
    """(height, columns): patches overlap where they are wider than the stride."""
    import numpy as np

    patches = values.reshape(len(values), reader.width, reader.height)
    starts = patches[:-1, : reader.stride].reshape(-1, reader.height)
    return np.concatenate([starts, patches[-1]]).T
