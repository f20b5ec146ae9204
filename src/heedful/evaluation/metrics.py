"""Error rates and overlap scores of output texts against reference texts.

Definitions, all in percent. References are those in the evaluated file, and no others.

==========================  ========================================================================
sequence_error              distinct sources whose output is none of their references
sequence_error_by_line      lines whose output is not that line's reference
token_error                 edits to the nearest reference / its length, summed over distinct sources
token_error_by_line         edits to the line's reference / its length, summed over lines
word_error                  as token_error, over words split at white space
bleu, chrf                  sacreBLEU at corpus level, every line with its own reference
==========================  ========================================================================

A source that stands in several lines is judged by the output in the first of them, unless by line.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heedful import __version__
from heedful.data.texts import normalise
from heedful.errors import DataError, RecipeError, nearest

Tokens = list[str]


@dataclass(frozen=True)
class Scores:
    """What `evaluate_texts` found; every rate is in percent, see the module's table.

    Attributes:
        sentences: number of lines.
        sources: number of distinct sources.
        signature: one line that says how all of these numbers were made.
        signatures: for each number's name its own line, in the manner of sacreBLEU.
    """

    sequence_error: float
    sequence_error_by_line: float
    token_error: float
    token_error_by_line: float
    word_error: float
    bleu: float
    chrf: float
    sentences: int
    sources: int
    signature: str
    signatures: Mapping[str, str]

    @property
    def accuracy(self) -> float:
        """100 - sequence_error: how many distinct sources are answered rightly, what a classifier is judged by."""
        return 100 - self.sequence_error

    def as_json(self) -> dict[str, Any]:
        """All of it under the names of the attributes."""
        return asdict(self)


@dataclass(frozen=True)
class _Item:
    """One output and the references that it may be judged by."""

    output: str
    references: list[str]


def evaluate_texts(
    sources: Sequence[Hashable],
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    target_split: Callable[[str], Tokens],
    token_name: str = "given",
    search: str = "",
    bleu_tokenizer: str = "13a",
    normalisation: str = "NFC",
) -> Scores:
    """Score `outputs` against `references`, line by line and by distinct source.

    Outputs and references are normalised first. Two texts count as equal where their tokens are, so runs of white
    space do not matter to a split that drops them.

    Args:
        sources: what makes two lines "the same source": the text, or text and tags.
        target_split: cuts a text into the tokens that token_error counts (PER, CER).
        token_name: what the signature calls these tokens.
        search: how the outputs were found, for the signature: "beam:5|lp:1".
        bleu_tokenizer: sacreBLEU's name; "13a" is for ordinary text, "none" for text that is already cut.
        normalisation: the Unicode form that they are compared in, see `heedful.data.normalise`; in the signature.

    Raises:
        DataError: no lines, not as many outputs and references as sources, or no such normalisation.
        RecipeError: sacreBLEU has no such tokenizer.
    """
    if not len(sources) == len(outputs) == len(references):
        raise DataError(
            "evaluation: expected one output and one reference for each source, "
            f"got {len(sources)} sources, {len(outputs)} outputs and {len(references)} references"
        )
    if not sources:
        raise DataError("evaluation: expected at least one line, got none")
    outputs = [normalise(text, normalisation) for text in outputs]
    references = [normalise(text, normalisation) for text in references]

    lines = [_Item(output, [reference]) for output, reference in zip(outputs, references, strict=True)]
    distinct = _by_source(sources, lines)
    bleu, chrf, overlap_signatures = _overlap(outputs, references, bleu_tokenizer)
    found = f"{search}|" if search else ""
    end = f"{found}norm:{normalisation.lower()}|v:{__version__}"
    counted = f"lines:{len(lines)}|sources:{len(distinct)}"
    return Scores(
        sequence_error=_sequence_error(distinct, target_split),
        sequence_error_by_line=_sequence_error(lines, target_split),
        token_error=_edit_rate(distinct, target_split),
        token_error_by_line=_edit_rate(lines, target_split),
        word_error=_edit_rate(distinct, str.split),
        bleu=bleu,
        chrf=chrf,
        sentences=len(lines),
        sources=len(distinct),
        signature=f"{counted}|refs:nearest|tok:{token_name}|bleu-tok:{bleu_tokenizer}|{end}",
        signatures=_signatures(len(lines), len(distinct), token_name, end)
        | {
            name: signature + (f"|{search}" if search else "") + f"|norm:{normalisation.lower()}"
            for name, signature in overlap_signatures.items()
        },
    )


def _by_source(sources: Sequence[Hashable], lines: Sequence[_Item]) -> list[_Item]:
    """One item per distinct source, in order of appearance: its first output and all its references."""
    items: dict[Hashable, _Item] = {}
    for source, line in zip(sources, lines, strict=True):
        items.setdefault(source, _Item(line.output, [])).references.extend(line.references)
    return list(items.values())


def _sequence_error(items: Sequence[_Item], split: Callable[[str], Tokens]) -> float:
    wrong = 0
    for item in items:
        tokens = split(item.output)
        wrong += all(tokens != split(reference) for reference in item.references)
    return 100 * wrong / len(items)


def _edit_rate(items: Sequence[_Item], split: Callable[[str], Tokens]) -> float:
    """Edits to the nearest references over their total length."""
    found = [edits_to_nearest(item.output, item.references, split) for item in items]
    edits, length = (sum(column) for column in zip(*found, strict=True))
    # References without a single token: whatever was written is then all wrong.
    return 100 * edits / length if length else 100.0 * bool(edits)


def edits_to_nearest(output: str, references: Sequence[str], split: Callable[[str], Tokens]) -> tuple[int, int]:
    """(edits, length) of the reference that is nearest; of equally near ones the longest counts."""
    from rapidfuzz.distance import Levenshtein

    tokens, candidates = split(output), [split(reference) for reference in references]
    distance, minus_length = min((Levenshtein.distance(tokens, one), -len(one)) for one in candidates)
    return distance, -minus_length


def _overlap(outputs: list[str], references: list[str], tokenizer: str) -> tuple[float, float, dict[str, str]]:
    """BLEU, chrF and their signatures, as sacreBLEU has them."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if tokenizer not in BLEU.TOKENIZERS:
        raise RecipeError(f"unknown BLEU tokenizer {tokenizer!r}{nearest(tokenizer, BLEU.TOKENIZERS)}")
    # force: no remark on standard error about texts that look tokenised.
    metrics = {"bleu": BLEU(tokenize=tokenizer, force=True), "chrf": CHRF()}
    values = {name: metric.corpus_score(outputs, [references]).score for name, metric in metrics.items()}
    signatures = {name: f"{name}|{metric.get_signature()}" for name, metric in metrics.items()}
    return values["bleu"], values["chrf"], signatures


def _signatures(lines: int, sources: int, tokens: str, end: str) -> dict[str, str]:
    by_source, by_line = f"sources:{sources}|refs:", f"lines:{lines}|refs:1"
    return {
        "sequence_error": f"seq_err|{by_source}any|tok:{tokens}|{end}",
        "sequence_error_by_line": f"seq_err|{by_line}|tok:{tokens}|{end}",
        "token_error": f"tok_err|{by_source}nearest|tok:{tokens}|{end}",
        "token_error_by_line": f"tok_err|{by_line}|tok:{tokens}|{end}",
        "word_error": f"word_err|{by_source}nearest|tok:space|{end}",
    }
