"""Models of any parts against the papers' equations: all pairs of parts, and all combinations if slow."""

from itertools import combinations, product

import pytest

from heedful.data.vocabulary import Vocabulary
from heedful.model import build
from oracles import bahdanau2015, luong2015

from . import letters
from .compare import SOURCE_WORDS, TARGET_WORDS, compare, drawn

WINDOW, PLACES, TEMPERATURE = 2, 4, 0.6

SCORES = {
    "dot": "dot",
    "scaled_dot": "scaled_dot",
    "general": "general",
    "additive": {"name": "additive", "attention_size": 7},
    "additive_bias": {"name": "additive", "attention_size": 7, "bias": True},
    "concat": {"name": "concat", "attention_size": 7},
    "location": {"name": "location", "max_positions": PLACES},
}
SCOPES = {
    "global": "global",
    "local_m": {"name": "local_m", "window": WINDOW},
    "local_p": {"name": "local_p", "window": WINDOW, "attention_size": 11},
}
NORMALISERS = {
    "softmax": "softmax",
    "softmax_temperature": {"name": "softmax", "temperature": TEMPERATURE},
    "sparsemax": "sparsemax",
    "entmax15": "entmax15",
}
FUSIONS = {
    "early": "early",
    "concat": {"name": "late", "attentional_size": 11},
    "concat_feeding": {"name": "late", "attentional_size": 11, "input_feeding": True},
    "gate": {"name": "late", "combine": "gate"},
    "gate_feeding": {"name": "late", "combine": "gate", "input_feeding": True},
}
FACTORS = {
    "score": list(SCORES),
    "scope": list(SCOPES),
    "fusion": list(FUSIONS),
    "normaliser": list(NORMALISERS),
    "cell": ["gru", "lstm", "paper_gru"],
    "readout": ["state_context", "attentional", "maxout"],
}


def allowed(case: dict[str, str]) -> bool:
    """Early fusion has no attentional state to read."""
    return not (case["fusion"] == "early" and case["readout"] == "attentional")


def everything() -> list[dict[str, str]]:
    """All combinations that there can be."""
    cases = [dict(zip(FACTORS, values, strict=True)) for values in product(*FACTORS.values())]
    return [case for case in cases if allowed(case)]


def pairs_of(case: dict[str, str]) -> frozenset:
    """All pairs of (factor, value) in a case."""
    return frozenset(combinations(case.items(), 2))


def all_pairs(cases: list[dict[str, str]]) -> list[dict[str, str]]:
    """Cases that together hold all pairs that any holds: again and again the one with the most new pairs."""
    held = [pairs_of(case) for case in cases]
    left = set().union(*held)
    chosen = []
    while left:
        best = max(range(len(cases)), key=lambda i: len(held[i] & left))
        chosen.append(cases[best])
        left -= held[best]
    return chosen


def check(case: dict[str, str]) -> None:
    """Build the case, and compare it with the oracle of its fusion."""
    early = case["fusion"] == "early"
    encoder_size, decoder_size = (2, 5) if early else (3, 5)
    if case["score"] in ("dot", "scaled_dot"):  # one size: twice the encoder's where that reads both ways
        encoder_size, decoder_size = (2, 4) if early else (5, 5)
    model = drawn(
        build(
            source_vocabulary_size=SOURCE_WORDS,
            target_vocabulary_size=TARGET_WORDS,
            embedding_size=3,
            cell=case["cell"],
            encoder_size=encoder_size,
            bidirectional=early,
            decoder_size=decoder_size,
            decoder_layers=1 if early else 2,
            start="learned_last",
            fusion=FUSIONS[case["fusion"]],
            score=SCORES[case["score"]],
            scope=SCOPES[case["scope"]],
            normaliser=NORMALISERS[case["normaliser"]],
            readout=case["readout"] if case["readout"] != "maxout" else {"name": "maxout", "readout_size": 13},
        )
    )
    options = {
        "score": case["score"].removesuffix("_bias"),
        "scope": case["scope"],
        "normaliser": case["normaliser"].removesuffix("_temperature"),
        "temperature": TEMPERATURE if case["normaliser"].endswith("_temperature") else 1.0,
        "cell": case["cell"],
        "D": WINDOW,
        "y_0": Vocabulary.START,
    }
    oracle = early_oracle(model, case, options) if early else late_oracle(model, case, options)
    compare(model, oracle, reverse=not early)


def early_oracle(model, case, options):
    p = letters.of_early_decoder(model.decoder)

    def oracle(sentence):
        h, last = letters.encode(model.encoder, case["cell"], sentence.x)
        (s_0,) = letters.start_states(model.decoder.start, last)
        given = {"positions": sentence.positions, "readout": case["readout"]}
        return bahdanau2015.decode(p, h, s_0, sentence.y, **given, **options)

    return oracle


def late_oracle(model, case, options):
    p = letters.of_late_decoder(model.decoder)
    reads_h_tilde = case["readout"] == "attentional"
    if not reads_h_tilde:  # the oracle's own logits are not looked at then
        p |= {"W_s": p["W_c"].new_zeros(1, p["W_c"].shape[0]), "b_s": p["W_c"].new_zeros(1)}
    kind = {"fusion": case["fusion"].removesuffix("_feeding"), "input_feeding": "_feeding" in case["fusion"]}

    def oracle(sentence):
        h, last = letters.encode(model.encoder, case["cell"], sentence.x)
        start = letters.start_states(model.decoder.start, last)
        steps = luong2015.decode(p, h, start, sentence.y, positions=sentence.positions, **kind, **options)
        if reads_h_tilde:
            return steps
        words = [Vocabulary.START, *sentence.y[:-1]]
        return letters.read_late(model.decoder, case["readout"], steps, start[-1], [p["E_y"][y] for y in words])

    return oracle


PAIRWISE = all_pairs(everything())


def test_all_pairs_are_among_the_chosen_cases():
    chosen = set().union(*map(pairs_of, PAIRWISE))
    for (first, values), (second, others) in combinations(FACTORS.items(), 2):
        for value, other in product(values, others):
            assert ((first, value), (second, other)) in chosen or {value, other} == {"early", "attentional"}
    assert all(map(allowed, PAIRWISE))
    assert len(PAIRWISE) < 50


@pytest.mark.parametrize("case", PAIRWISE, ids=lambda case: "-".join(case.values()))
def test_pairs(case):
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("score", SCORES)
def test_everything(score, scope):
    for case in everything():
        if (case["score"], case["scope"]) == (score, scope):
            try:
                check(case)
            except AssertionError as error:
                raise AssertionError(f"{case}: {error}") from error
