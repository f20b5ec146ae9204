"""Strings of spoken digits: digit error rate, and whether the weights lie where each digit is said.

python benchmarks/digit_strings.py WORK --recordings PATH [--minutes M]

PATH is a folder of recordings DIGIT_SPEAKER_INDEX.wav (the Free Spoken Digit Dataset: 8 kHz, six speakers), or an
archive of it. Into WORK go strings of 3 to 7 digits, recordings of one speaker one behind the other: for training of
indices 5 to 44, for development of 45 to 49, for the test of 0 to 4; manifests (train.tsv, ...) with their WAV files,
and intervals.json, which says from which second to which each digit lasts. Then the recipe speech is trained on them.

WORK keeps all of it: a second call goes on where training was stopped, with --minutes as the whole budget.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tarfile
import wave
from collections.abc import Sequence
from pathlib import Path

import heedful
from heedful.alignment.places import found_inside
from heedful.cli.show import TrainingProgress, scores_table, watched
from heedful.errors import DataError, HeedfulError

PARTS = {"train": (range(5, 45), 5000), "dev": (range(45, 50), 300), "test": (range(5), 600)}  # indices, strings
MARGIN = 0.1  # seconds
Recordings = dict[tuple[str, int], dict[str, bytes]]


def main() -> None:
    options = _options()
    if not (options.work / "intervals.json").is_file():
        write_strings(options.work, read_recordings(options.recordings))
    run = options.work / "run"
    resume = (run / "checkpoint.safetensors").is_file()
    settings = dict(setting.split("=", 1) for setting in options.set) | {"train.minutes": options.minutes}
    with watched(TrainingProgress) as reporter:
        heedful.train(
            options.work / "train.tsv",
            dev=options.work / "dev.tsv",
            out=run,
            recipe=None if resume else options.recipe,
            set=[f"{key}={value}" for key, value in settings.items()],
            resume=resume,
            reporter=reporter,
        )
    print(scores_table(heedful.evaluate(run, options.work / "test.tsv")))
    intervals = json.loads((options.work / "intervals.json").read_text("utf-8"))
    alignments = heedful.align(run, options.work / "test.tsv")
    for margin in (0.0, MARGIN):
        found = [
            inside
            for alignment, own in zip(alignments, intervals, strict=True)
            for inside in found_inside(alignment, own, margin=margin)
        ]
        share = 100 * sum(found) / len(found)
        print(f"{share:.1f} % of {len(found):,} digits looked for within {1000 * margin:g} ms of where they are said")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--recipe", default="speech")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def read_recordings(path: Path) -> Recordings:
    """(speaker, index) -> digit -> samples, 16 bits at 8 kHz."""
    found: Recordings = {}
    if path.is_dir():
        for file in sorted(path.rglob("*.wav")):
            with open(file, "rb") as stream:
                _add(found, file.stem, stream)
    elif not tarfile.is_tarfile(path):
        raise DataError(f"{path}: expected a folder or an archive of recordings, got neither")
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".wav"):
                    _add(found, Path(member.name).stem, archive.extractfile(member))
    if not found:
        raise DataError(f"{path}: expected recordings DIGIT_SPEAKER_INDEX.wav, or an archive of them, found none")
    return found


def _add(found: Recordings, name: str, stream) -> None:
    digit, speaker, index = name.split("_")
    with wave.open(stream) as sound:
        assert (sound.getframerate(), sound.getsampwidth(), sound.getnchannels()) == (8000, 2, 1), name
        found.setdefault((speaker, int(index)), {})[digit] = sound.readframes(sound.getnframes())


def write_strings(work: Path, recordings: Recordings) -> None:
    """WAV files, manifests, and the intervals of the test's digits."""
    (work / "wav").mkdir(parents=True, exist_ok=True)
    speakers = sorted({speaker for speaker, _ in recordings})
    for part, (indices, count) in PARTS.items():
        rng = random.Random(f"digit strings {part}")
        lines, intervals = [], []
        for number in range(count):
            speaker = rng.choice(speakers)
            digits = rng.choices("0123456789", k=rng.randint(3, 7))
            pieces = [recordings[speaker, rng.choice(indices)][digit] for digit in digits]
            name = f"wav/{part}-{number:04}.wav"
            _write(work / name, b"".join(pieces))
            lines.append(f"{name}\t{''.join(digits)}\n")
            intervals.append(_intervals(pieces))
        (work / f"{part}.tsv").write_text("".join(lines), "utf-8")
    (work / "intervals.json").write_text(json.dumps(intervals), "utf-8")  # the last part is the test


def _intervals(pieces: Sequence[bytes]) -> list[tuple[float, float]]:
    ends = [sum(map(len, pieces[: place + 1])) / 2 / 8000 for place in range(len(pieces))]
    return list(zip([0.0, *ends], ends, strict=False))


def _write(path: Path, samples: bytes) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(samples)


if __name__ == "__main__":
    try:
        main()
    except (HeedfulError, OSError, tarfile.TarError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
