"""What each verdict says, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from heedful.diagnosis import thresholds as at

SAYS = {
    "healthy": "Attention looks healthy: it is focused, it changes with what is being written, and answers need it.",
    "not_enough": "There is not enough to judge: too few pairs of three source words or more, or nothing that could be "
    "measured on them.",
    "padding_leak": "Padding gets weight, or an answer depends on the sentences beside it: a mask is not applied.",
    "frozen": "Attention has never left uniform weights: every source position gets the same.",
    "query_blind": "Attention does not depend on the query: the row is the same at every step of a sentence.",
    "lazy": "One position takes nearly all of the attention, at every step.",
    "ignored": "Attention is there, but the answers do not need what it brings.",
    "diffuse": "Attention is spread over nearly all positions alike.",
    "shifted": "Attention is good, but its rows belong to another word than they are said to.",
    "late_collapse": "Long answers fall apart in their second half, which first halves do not.",
}

ADVICE = {
    "healthy": (),
    "not_enough": (
        f"Diagnose on more pairs: {at.FEWEST_ALIGNMENTS} are the fewest that are judged, and below {at.FEW_PAIRS} no "
        "verdict is sure.",
        "Diagnose on longer pairs: sources of one or two words do not count.",
    ),
    "padding_leak": (
        "See where the mask is applied: before the softmax, by a finite fill far below any score, and again after it.",
        "A part of your own can be tried with heedful.testing, which looks for exactly this.",
    ),
    "frozen": (
        "See whether the score's parameters are trained: v (or W_a) must not be 0, and must be given to the optimiser.",
        "See whether keys differ from position to position, and that no large temperature is set.",
    ),
    "query_blind": (
        "See whether the score uses the query: an additive score without its tanh does not, since what is added to all "
        "positions alike falls out of the softmax.",
        "See whether the query's projection is trained and not 0; or try another score ('general').",
    ),
    "lazy": (
        "Train longer or on more data: weight on the end symbol is usual where there is little of it.",
        "Use a bidirectional encoder: the last state of one that only reads forward knows the whole source.",
        "Lower the learning rate, and take a score that grows less fast ('scaled_dot' for 'dot', or 'additive'): "
        "scores that move far in the first updates end on one position, and hardly any gradient comes through then.",
        "Put dropout on the weights (model.attention_dropout), start the decoder at zero, or use a local scope.",
    ),
    "ignored": (
        "See whether the task needs the source at all, and whether the context reaches the output layer.",
        "Where sources are short, the decoder's start may know enough: start at zero (model.start), use a smaller "
        "encoder, or try longer sources.",
        "Dropout on embeddings (model.dropout) makes the decoder rely less on what it has written.",
    ),
    "diffuse": (
        "Train longer, or with a larger learning rate.",
        "Lower the temperature: heedful diagnose --sweep attention-temperature shows what it does.",
        "Try another score, a sparse normaliser ('sparsemax', 'entmax15') or local attention.",
    ),
    "shifted": (
        "Read the rows the other way: model.fusion.rows = 'predicted' or 'input', or Alignment.convention.",
        "If no convention fits, encoder states speak for their neighbours; take that into account where links matter.",
    ),
    "late_collapse": (
        "Train on longer sources: positions beyond what was trained on have no rows in a location score, and local_m "
        "follows the target's step, not the source.",
        "Use a score that looks at content, scope local_p or global, or cut long sources into parts.",
        "coverage_penalty and no_repeat_ngram at prediction help against skips and repeats.",
    ),
}


def _where(numbers: Mapping[str, float]) -> Sequence[str]:
    if numbers.get("on_end", 0.0) >= 0.5:
        return ["It is the source's end symbol."]
    return ["It is the source's first word."] if numbers.get("on_first", 0.0) >= 0.5 else []


def _remarks(numbers: Mapping[str, float]) -> Sequence[str]:
    """What is no fault, but worth a look."""
    found = []
    if numbers.get("on_end", 0.0) >= 0.3:
        share = f"{100 * numbers['on_end']:.0f} %"
        found.append(f"But {share} of the weight is on the end symbol, as is usual after little training or data.")
    if numbers.get("unattended", 0.0) >= 0.5:
        found.append(f"But {100 * numbers['unattended']:.0f} % of source words get nearly nothing.")
    return found


_READINGS = {
    "fit_predicted": "the word that their step writes ('predicted')",
    "fit_input": "the word that their step has just read ('input')",
    "fit_ahead": "the word that the next step writes",
    "fit_left": "their word if the source word to the left of the most attended one is meant",
    "fit_right": "their word if the source word to the right of the most attended one is meant",
}


def _reading(numbers: Mapping[str, float]) -> Sequence[str]:
    best = max(_READINGS, key=lambda name: numbers.get(name, 0.0))
    return [f"Most of them are about {_READINGS[best]}."]


def _collapse(numbers: Mapping[str, float]) -> Sequence[str]:
    kinds = {
        "repeats": "repeat themselves",
        "skips": "leave words out",
        "early_stops": "stop early",
        "overruns": "do not end",
    }
    seen = [f"some {kinds[name]}" for name in kinds if numbers.get(name, 0.0) >= 0.1]
    return [f"{', '.join(seen).capitalize()}."] if seen else []


DETAILS: Mapping[str, Callable[[Mapping[str, float]], Sequence[str]]] = {
    "healthy": _remarks,
    "lazy": _where,
    "shifted": _reading,
    "late_collapse": _collapse,
}
"""What more the numbers tell, as sentences."""
