"""Sound as log-mel frames: how much there is of each pitch, moment by moment."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from heedful.data.features.reader import Features, Reader, decoding, readers
from heedful.data.lines import BadLine
from heedful.errors import RecipeError

if TYPE_CHECKING:
    import numpy as np

_FLOOR = 1e-9
"""Added to each energy before the logarithm; a sine of full loudness has about 1. Digital silence has none."""


_UNKNOWN = (1 << 31) - (1 << 16)
"""Bytes; who writes into a pipe promises more than that, not knowing how many there will be."""


class Sound(NamedTuple):
    """One channel."""

    samples: np.ndarray  # float32, from -1 to 1
    rate: int  # samples a second


@readers.register("audio")
class Audio(Reader):
    """A WAV file (PCM of 8, 16, 24 or 32 bits; several channels are averaged) as log-mel frames.

    x_jm = log(sum_k w_mk |X_j(k)|^2 + 1e-9): X_j is the Fourier transform of window j under a Hann window, over the
    root of that window's energy; w_m are triangles, M of them at even distances on the mel scale from 0 to half the
    sampling rate, mel(f) = 2595 log10(1 + f / 700) (Davis and Mermelstein 1980; the scale as in O'Shaughnessy 1987).
    Differs from most in no pre-emphasis. The last window is filled up with silence.

    Args:
        rate: the sampling rate that all files must have, in Hz.
        mel: M, the number of features.
        window_ms: the length of a window, in milliseconds.
        hop_ms: from the start of one window to that of the next.
    """

    name = "audio"
    unit = "s"

    def __init__(self, *, rate: int = 16_000, mel: int = 40, window_ms: float = 25.0, hop_ms: float = 10.0) -> None:
        self.rate, self.mel, self.window_ms, self.hop_ms = rate, mel, window_ms, hop_ms
        if not (1000 <= rate <= 400_000 and 1 <= mel <= 1000):
            raise RecipeError(f"audio: expected a rate of 1000 to 400000 and mel of 1 to 1000, got {rate} and {mel}")
        self._window, self._hop = round(rate * window_ms / 1000), round(rate * hop_ms / 1000)  # in samples
        if not (self._hop >= 1 and 2 <= self._window <= 1 << 20):
            raise RecipeError(
                f"audio: expected windows of at least 2 samples and hops of at least 1, got window_ms {window_ms} and "
                f"hop_ms {hop_ms} at {rate} Hz"
            )
        self._size = (
            1 << self._window.bit_length()
        )  # of the transform: more than the window, so that low bands have some

    def load(self, path: str) -> Sound:
        with decoding(path, "a WAV file with PCM samples") as file, wave.open(_plain(file), "rb") as sound:
            width, channels, rate = sound.getsampwidth(), sound.getnchannels(), sound.getframerate()
            frame, promised = width * channels, sound.getnframes()
            data = sound.readframes(promised)
        if len(data) < promised * frame < _UNKNOWN:
            raise BadLine(f"expected {promised} samples, as its header says, got {len(data) // frame}: it is cut off")
        return Sound(_samples(data[: len(data) // frame * frame], width, channels), rate)

    def features(self, content: Sound) -> Features:
        import numpy as np

        if content.rate != self.rate:
            raise BadLine(f"expected sound of {self.rate} samples a second (option rate), got {content.rate}")
        if not len(content.samples):
            raise BadLine("expected sound, got no samples")
        count = 1 + max(0, -(-(len(content.samples) - self._window) // self._hop))
        padded = np.zeros((count - 1) * self._hop + self._window)
        padded[: len(content.samples)] = content.samples
        windows = np.lib.stride_tricks.sliding_window_view(padded, self._window)[:: self._hop]
        hann = np.hanning(self._window + 2)[1:-1]
        spectrum = np.abs(np.fft.rfft(windows * (hann / np.sqrt((hann**2).sum())), self._size)) ** 2  # |X_j(k)|^2
        energies = spectrum @ self._triangles().T
        return Features(np.log(energies + _FLOOR).astype(np.float32), self._hop / self.rate, self._window / self.rate)

    def frequencies(self) -> tuple[float, ...]:
        """The middle of each of the M bands, in Hz."""
        import numpy as np

        middles = np.linspace(0, 2595 * np.log10(1 + self.rate / 2 / 700), self.mel + 2)[1:-1]
        return tuple((700 * (10 ** (middles / 2595) - 1)).tolist())

    def _triangles(self) -> np.ndarray:
        """w, (M, K)."""
        import numpy as np

        def mel(frequency: np.ndarray) -> np.ndarray:
            return 2595 * np.log10(1 + frequency / 700)

        bins = mel(np.fft.rfftfreq(self._size, 1 / self.rate))
        edges = np.linspace(0, bins[-1], self.mel + 2)
        left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
        weights = np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)).clip(min=0)
        if not (weights.sum(1) > 0).all():
            raise RecipeError(
                f"audio: {self.mel} mel bands are finer than windows of {self.window_ms} ms tell apart; lower mel"
            )
        return weights


def _plain(file: BinaryIO) -> BinaryIO:
    """The same with the plain header: the extensible one, which may mean PCM too, `wave` reads since Python 3.12."""
    data = bytearray(file.read())
    start = data.find(b"fmt ", 12) + 8
    if data[start : start + 2] == b"\xfe\xff" and data[start + 24 : start + 26] == b"\x01\x00":
        data[start : start + 2] = b"\x01\x00"
    return io.BytesIO(data)


def _samples(data: bytes, width: int, channels: int) -> np.ndarray:
    """PCM, little-endian, as numbers from -1 to 1, averaged over the channels."""
    import numpy as np

    if width == 1:  # unsigned, by the format's own rule
        numbers = np.frombuffer(data, np.uint8).astype(np.float32) / 128 - 1
    elif width == 3:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        numbers = wide.reshape(-1).view("<i4").astype(np.float32) / 2**31
    elif width in (2, 4):
        numbers = np.frombuffer(data, f"<i{width}").astype(np.float32) / 2 ** (8 * width - 1)
    else:
        raise BadLine(f"expected samples of 1 to 4 bytes, got {width}")
    return numbers.reshape(-1, channels).mean(1)
