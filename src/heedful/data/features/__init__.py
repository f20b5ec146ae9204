"""Sources that are not text: arrays, sound and pictures as sequences of feature vectors.

A reader makes (S, F) numbers of a file; `FeatureSide` brings them to mean 0 and deviation 1, as the training's were.
"""

from heedful.data.features.array import Array
from heedful.data.features.audio import Audio
from heedful.data.features.image import Image
from heedful.data.features.reader import Features, Reader, readers
from heedful.data.features.side import FeatureSide, NoText, make_reader
from heedful.data.features.sources import check_texts, features_of, with_features

__all__ = [
    "Array",
    "Audio",
    "FeatureSide",
    "Features",
    "Image",
    "NoText",
    "Reader",
    "check_texts",
    "features_of",
    "make_reader",
    "readers",
    "with_features",
]
