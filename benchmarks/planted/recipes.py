"""Which models are made: the healthy ones, and each fault's mechanism, as settings of a recipe.

Sizes, lengths and, for the faults, tasks are drawn from the seed, so that models of two seeds differ in more than their
first weights. What is not said here is in `BASE`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from planted.tasks import Texts

TRUTHS = (
    "healthy",
    "frozen",
    "query_blind",
    "lazy",
    "padding_leak",
    "diffuse",
    "ignored",
    "shifted",
    "late_collapse",
)

BASE = {
    "train.epochs": "none",
    "train.batch_tokens": 800,
    "train.learning_rate": 0.008,
    "train.validation_size": 100,
    "train.device": "cpu",
    "model.start": "learned_mean",
    "predict.beam": 1,
}

LINEAR = "copy shift"
"""Tasks to choose from; each target letter is one source letter."""
ANY = "copy shift reverse swap odd_even"
SHORT = Texts("", longest=6)
"""Short enough for a fixed vector, where attention is of no help."""


@dataclass(frozen=True)
class Plant:
    """One kind of model.

    Args:
        truth: one of `TRUTHS`.
        tasks: names with spaces between them, one of which the seed chooses; or a built-in corpus.
        settings: over `BASE`.
        texts: what is trained on; letters and lengths are drawn where it is None.
        longest: of the sources to diagnose on, where that is more than what was trained on.
        rows: what the rows of weights are really about, where the run says otherwise.
    """

    truth: str
    tasks: str
    settings: Mapping[str, Any]
    texts: Texts | None = None
    longest: int | None = None
    rows: str | None = None
    updates: int = 500

    @property
    def mechanism(self) -> str:
        """The settings, for the manifest."""
        return " ".join(f"{key.removeprefix('model.')}={value}" for key, value in self.settings.items())


@dataclass(frozen=True)
class Planted:
    """A plant with all that its seed draws."""

    name: str
    plant: Plant
    seed: int
    task: str
    texts: Texts
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def fusion(self) -> str:
        return "early" if "early" in str(self.settings["model.fusion"]) else "late"


def _early(score: str = "additive", **more: Any) -> dict[str, Any]:
    return {"model.fusion": "early", "model.score": score, **_dotted(more)}


def _late(score: str = "general", *, feed: bool = False, **more: Any) -> dict[str, Any]:
    fusion = {"model.fusion": "late"} | ({"model.fusion.input_feeding": True} if feed else {})
    return {**fusion, "model.score": score, **_dotted(more)}


def _dotted(more: dict[str, Any]) -> dict[str, Any]:
    return {f"model.{key.replace('__', '.')}": value for key, value in more.items()}


def _healthy() -> list[Plant]:
    tanh = {"start": "backward_first", "readout": "maxout", "cell": "paper_gru"}  # Bahdanau et al. 2015, small
    stacked = {"bidirectional": False, "start": "last", "encoder_layers": 2, "decoder_layers": 2}  # Luong et al. 2015
    settings = [
        ("reverse", _early()),
        ("copy", _late()),
        ("swap", _early()),
        ("copy", _early("dot")),
        ("reverse", _late()),
        ("shift", _early("general")),
        ("reverse", _late("additive", feed=True, cell="lstm")),
        ("copy", _late("dot", feed=True, cell="lstm")),
        ("odd_even", _late()),
        ("double", _early()),
        ("reverse", _early("concat", cell="lstm")),
        ("copy", _late("concat")),
        ("reverse", _late(normaliser="entmax15")),
        ("shift", _late("additive", normaliser="sparsemax")),
        ("rotate", _early("general")),
        ("copy", _late(scope="local_m", scope__window=3)),
        ("reverse", _early(normaliser="sparsemax")),
        ("shift", _late("location", score__max_positions=20)),
        ("sort", _early()),
        ("double", _late(feed=True, cell="lstm")),
        ("reverse", _early("dot")),
        ("copy", _early(**tanh)),
        ("swap", _late(feed=True)),
        ("spell", _early()),
        ("odd_even", _early()),
        ("reverse", _late(fusion__combine="gate")),
        ("reverse", _early(**tanh)),
        ("copy", _early(normaliser="entmax15", cell="lstm")),
        ("sort", _late("dot", feed=True)),
        ("reverse", _late(feed=True, **stacked)),
        ("rotate", _late("concat", cell="lstm")),
        ("reverse", _late("scaled_dot", attention_dropout=0.1)),
    ]
    corpora = [("dates", _early()), ("numbers", _late(feed=True))]
    return [Plant("healthy", task, one, updates=600) for task, one in settings] + [
        Plant("healthy", task, one, updates=1200) for task, one in corpora
    ]


def _frozen() -> list[Plant]:
    """Scores that are the same at every position: see `parts`."""
    return [
        Plant("frozen", ANY, _early("planted_zero_v", start="learned_last"), SHORT),
        Plant("frozen", ANY, _late("planted_zero_v")),
        Plant("frozen", ANY, _early("planted_zero_keys")),
        Plant("frozen", ANY, _late("planted_zero_keys", start="learned_last"), SHORT),
        Plant("frozen", ANY, _early("planted_one_key", cell="lstm", start="learned_last"), SHORT),
        Plant("frozen", ANY, _late("planted_one_key", feed=True)),
        Plant("frozen", ANY, _early("planted_zero_v", start="zero")),
        Plant("frozen", ANY, _late("planted_zero_v", feed=True, cell="lstm", start="learned_last")),
    ]


def _query_blind() -> list[Plant]:
    """A softmax in which the query plays no part: see `parts`."""
    return [
        Plant("query_blind", ANY, _early("planted_no_tanh")),
        Plant("query_blind", ANY, _late("planted_no_tanh", feed=True)),
        Plant("query_blind", ANY, _early("planted_no_query", start="learned_last")),
        Plant("query_blind", ANY, _late("planted_no_query", start="learned_last"), SHORT),
        Plant("query_blind", ANY, _early("planted_dead_query", cell="lstm"), SHORT),
        Plant("query_blind", ANY, _late("planted_dead_query")),
        Plant("query_blind", ANY, _early("planted_no_tanh", start="zero", cell="lstm")),
        Plant("query_blind", ANY, _late("planted_no_tanh", start="learned_last")),
    ]


def _lazy() -> list[Plant]:
    """A bias for one position from the start: see `parts`. The end's and first word's states have read the source."""
    return [
        Plant("lazy", ANY, _early("planted_lazy_additive")),
        Plant("lazy", ANY, _late("planted_lazy_general")),
        Plant("lazy", ANY, _early("planted_lazy_general", score__where="first")),
        Plant("lazy", ANY, _late("planted_lazy_additive", score__where="last", bidirectional=False)),
        Plant("lazy", ANY, _early("planted_lazy_additive", bidirectional=False, cell="lstm", start="zero")),
        Plant("lazy", ANY, _late("planted_lazy_general", feed=True, score__where="first")),
        Plant("lazy", ANY, _early("planted_lazy_general", score__where="last")),
        Plant("lazy", ANY, _late("planted_lazy_additive", feed=True, bidirectional=False, start="zero")),
    ]


def _padding_leak() -> list[Plant]:
    """Masks that are not applied as they should be: see `parts`."""
    return [
        Plant("padding_leak", LINEAR, _early(normaliser="planted_unmasked")),
        Plant("padding_leak", ANY, _late(normaliser="planted_unmasked")),
        Plant("padding_leak", ANY, _early(normaliser="planted_multiplied_mask")),
        Plant("padding_leak", LINEAR, _late(feed=True, normaliser="planted_multiplied_mask")),
        Plant("padding_leak", ANY, _early("general", normaliser="planted_small_fill")),
        Plant("padding_leak", ANY, _late("additive", normaliser="planted_small_fill")),
        Plant("padding_leak", ANY, _early("concat", cell="lstm", normaliser="planted_unmasked")),
        Plant("padding_leak", ANY, _late("dot", normaliser="planted_multiplied_mask")),
    ]


def _diffuse() -> list[Plant]:
    """An extreme temperature, or scores squashed into [0, 1]. All start at zero: what they know came by attention."""
    hot = {"normaliser": "softmax", "normaliser__temperature": 200.0, "start": "zero"}
    twice = {"normaliser": "planted_softmax_twice", "start": "zero"}
    return [
        Plant("diffuse", ANY, _early(**hot)),
        Plant("diffuse", ANY, _late(**hot)),
        Plant("diffuse", ANY, _early("general", **twice)),
        Plant("diffuse", ANY, _late("additive", feed=True, **twice)),
        Plant("diffuse", ANY, _early("planted_squashed", start="zero")),
        Plant("diffuse", ANY, _late("planted_squashed", start="zero")),
        Plant("diffuse", ANY, _early("concat", cell="lstm", **hot)),
        Plant("diffuse", ANY, _late("additive", feed=True, **hot)),
    ]


def _ignored() -> list[Plant]:
    """The context a thousand times too small, or not read by the output layer; or a target that the source does not
    tell. The former start at the encoder's last state and can learn from that."""
    last = {"start": "learned_last"}
    return [
        Plant("ignored", ANY, _early(fusion="planted_deaf_early", **last), SHORT),
        Plant("ignored", ANY, _late(fusion="planted_deaf_late", **last), SHORT),
        Plant("ignored", "counting", _early()),
        Plant("ignored", ANY, _late(readout="planted_state_only", **last), SHORT),
        Plant("ignored", ANY, _early("general", fusion="planted_deaf_early", cell="lstm", **last), SHORT),
        Plant("ignored", "counting", _late()),
        Plant("ignored", ANY, _late("additive", fusion="planted_deaf_late", **last)),
        Plant("ignored", "counting", _early("dot", start="zero", cell="lstm")),
    ]


def _shifted() -> list[Plant]:
    """Good attention whose rows are said to be about the other word: by the recipe, or by a part of `parts`."""
    tasks = "copy shift reverse swap"
    return [
        Plant("shifted", tasks, _early(fusion="planted_mislabelled_early"), rows="predicted"),
        Plant("shifted", tasks, _late(fusion__rows="input"), rows="predicted"),
        Plant("shifted", tasks, _early("general", fusion="planted_mislabelled_early"), rows="predicted"),
        Plant("shifted", tasks, _late("additive", feed=True, fusion__rows="input"), rows="predicted"),
        Plant("shifted", tasks, _early("dot", fusion="planted_mislabelled_early", cell="lstm"), rows="predicted"),
        Plant("shifted", tasks, _late(fusion="planted_behind_late"), rows="input"),
        Plant("shifted", "reverse", _early(fusion="planted_mislabelled_early"), rows="predicted"),
        Plant("shifted", "reverse", _late("dot", fusion__rows="input"), rows="predicted"),
    ]


def _late_collapse() -> list[Plant]:
    """Trained on short texts, diagnosed on long ones too: a location score that has no rows for later words, a window
    that follows the target's steps where the target is twice as long, or content alone."""
    short = Texts("", shortest=2, longest=8)
    place = {"score__max_positions": 8}
    window = {"scope": "local_m", "scope__window": 4}
    return [
        Plant("late_collapse", LINEAR, _early("location", **place), short, 24),
        Plant("late_collapse", LINEAR, _late("location", **place), short, 24),
        Plant("late_collapse", "double", _early(**window), short, 16, updates=600),
        Plant("late_collapse", "double", _late(feed=True, **window), short, 16, updates=600),
        Plant("late_collapse", LINEAR, _early(), short, 30),
        Plant("late_collapse", LINEAR, _late(), short, 30),
        Plant("late_collapse", "reverse", _early("general"), short, 30),
        Plant("late_collapse", "copy", _late("location", feed=True, **place), short, 20),
    ]


def plants() -> list[Plant]:
    """All, in an order in which the first few hold some of each truth."""
    faults = [_frozen(), _query_blind(), _lazy(), _padding_leak(), _diffuse(), _ignored(), _shifted(), _late_collapse()]
    healthy = iter(_healthy())
    found: list[Plant] = []
    for row in zip_longest(*faults):
        found += [plant for _, plant in zip(range(4), healthy, strict=False)]
        found += [plant for plant in row if plant is not None]
    return found + list(healthy)


def planted(seed_base: int, *, attempt: int = 0) -> Iterator[Planted]:
    """Every plant with what its seed draws; another attempt has another seed."""
    for place, plant in enumerate(plants()):
        seed = seed_base + place + 500 * attempt
        draw = random.Random(f"planted {seed}")
        task = draw.choice(plant.tasks.split())
        encoder = draw.choice((24, 32, 40))
        sizes = {
            "model.embedding_size": draw.choice((16, 24, 32)),
            "model.encoder_size": encoder,
            "model.decoder_size": encoder * (2 if plant.settings.get("model.bidirectional", True) else 1),
            "train.updates": plant.updates,
            "train.seed": seed,
        }
        texts = plant.texts or Texts("", longest=draw.randint(9, 12))
        letters = 10 if task == "spell" else draw.randint(10, 16)
        texts = texts._replace(task=task, letters=letters, longest=min(texts.longest, 6 if task == "spell" else 99))
        name = f"{place:03}-{plant.truth}-{task}"
        yield Planted(name, plant, seed, task, texts, {**BASE, **plant.settings, **sizes})
