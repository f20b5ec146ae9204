"""From a recipe's search settings to a search over a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from heedful.data.batches import Sequences, shortened
from heedful.data.codec import Codec
from heedful.data.texts import normalise
from heedful.data.vocabulary import Vocabulary
from heedful.ensemble import Answering
from heedful.errors import RecipeError, nearest
from heedful.recipes import PredictRecipe
from heedful.search import Hypothesis, Ranking, Rules, beam, greedy, sample
from heedful.tensors import precise

_ROUNDING = 1e-6


@dataclass(frozen=True)
class Decoding:
    """How answers are searched for, in symbols of one vocabulary.

    Args:
        settings: the recipe's ``[predict]`` table.
        banned: symbols that are never written.
        prefix: symbols that every answer begins with.
        label: whether an answer is one symbol, without an end symbol.
    """

    settings: PredictRecipe
    banned: tuple[int, ...]
    prefix: tuple[int, ...]
    label: bool = False

    @classmethod
    def of(cls, settings: PredictRecipe, codec: Codec, *, normalisation: str) -> Decoding:
        """For a run's vocabularies; texts in the settings are brought into its Unicode form.

        Raises:
            RecipeError: a banned token or a part of the prefix is not in the target vocabulary, or the prefix is longer
                than an answer may be.
        """
        prefix = _ids(normalise(settings.prefix, normalisation), codec, "prefix")
        banned = [_single(normalise(text, normalisation), codec) for text in settings.banned]
        if settings.unknown == "avoid":
            banned.append(Vocabulary.UNKNOWN)
        if codec.has_label:
            _check_label(settings)
            banned.append(Vocabulary.END)
        if settings.max_length is not None and settings.max_length <= len(prefix):
            raise RecipeError(
                f"max_length {settings.max_length} leaves no room for a prefix of {len(prefix)} tokens and an end"
            )
        return cls(settings, tuple(banned), tuple(prefix), codec.has_label)

    def search(
        self,
        model: Answering,
        source: Sequences,
        lines: Sequence[int],
        *,
        n_best: int,
        with_weights: bool,
        second: Sequences | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best answers to each source (and `second` source), or n drawn ones; `lines` number the sources, for
        their draws."""
        found = self._search(model, source, second, lines, n_best, with_weights)
        if self.label:  # which is all of an answer
            return [[hypothesis._replace(finished=True) for hypothesis in several] for several in found]
        return found

    def _search(
        self,
        model: Answering,
        source: Sequences,
        second: Sequences | None,
        lines: Sequence[int],
        n_best: int,
        with_weights: bool,
    ) -> list[list[Hypothesis]]:
        settings = self.settings
        rules, ranking = self.rules(source), self.ranking(shortened(source, model.shortening))
        with torch.inference_mode():
            count = settings.beam if settings.sampling_temperature is None else n_best
            memory, state = model.begin(source, second, hypotheses=count)
        if settings.sampling_temperature is not None:
            return sample(
                model.step,
                memory,
                state,
                seeds=[_seed(settings.seed, line) for line in lines],
                rules=rules,
                ranking=ranking,
                temperature=settings.sampling_temperature,
                top_k=settings.top_k,
                top_p=settings.top_p,
                count=n_best,
                with_weights=with_weights,
            )
        if settings.beam == 1:
            return greedy(model.step, memory, state, rules=rules, ranking=ranking, with_weights=with_weights)
        return beam(
            model.step,
            memory,
            state,
            beam_size=settings.beam,
            rules=rules,
            ranking=ranking,
            n_best=n_best,
            diversity_penalty=settings.diversity_penalty,
            with_weights=with_weights,
        )

    def rules(self, source: Sequences) -> Rules:
        """Which answers are allowed to these sources."""
        settings = self.settings
        lengths = source.mask.sum(1).to(precise(source.mask.device))
        # 0.29 * 100 is a little less than 29, and 0.07 * 100 a little more than 7: they are meant to be these.
        longest = (settings.max_length_ratio * lengths + settings.max_length_extra + _ROUNDING).long()
        longest = longest.clamp(min=len(self.prefix) + 1, max=1 if self.label else settings.max_length)
        shortest = (settings.min_length_ratio * lengths - _ROUNDING).ceil().long().clamp(min=settings.min_length)
        prefix = torch.tensor(self.prefix, device=longest.device).expand(len(longest), -1) if self.prefix else None
        return Rules(
            max_lengths=longest,
            min_lengths=torch.minimum(shortest, longest),
            banned=self.banned,
            no_repeat_ngram=settings.no_repeat_ngram,
            prefix=prefix,
        )

    def ranking(self, source: Sequences) -> Ranking:
        """What their scores are; `source` as attention has it.

        Coverage is that of words: tags and the end symbol need not be looked at.
        """
        settings = self.settings
        return Ranking(
            length_penalty=settings.length_penalty,
            length_normalisation=settings.length_normalisation,
            coverage_penalty=settings.coverage_penalty,
            words=source.positions > 0,
        )

    def score(self, source: Sequences, logs: Tensor, lengths: Tensor, weights: Tensor | None) -> Tensor:
        """Scores (B) of given targets: log-probabilities (B, T), 0 behind the end; lengths (B); weights (B, T, S).
        `source` is as attention has it: see `shortened`."""
        coverage = None
        if weights is not None:
            there = torch.arange(logs.shape[1], device=logs.device) < lengths[:, None]
            coverage = (weights * there[..., None]).sum(1)
        return self.ranking(source).score(logs.to(precise(logs.device)).sum(1), lengths, coverage, source.positions > 0)

    def signature(self) -> str:
        """What a score that was measured with these answers should be quoted with."""
        settings = self.settings
        if settings.sampling_temperature is not None:
            parts = [f"sampling:{settings.sampling_temperature:g}", f"seed:{settings.seed}"]
        else:
            parts = [f"beam:{settings.beam}|lp:{settings.length_penalty:g}" if settings.beam > 1 else "greedy"]
        usual = PredictRecipe()
        skip = {"beam", "length_penalty", "sampling_temperature", "seed", "batch_size", "bleu_tokenizer"}
        if settings.sampling_temperature is not None or settings.beam == 1:
            skip.add("diversity_penalty")
        for name in PredictRecipe.model_fields:
            value = getattr(settings, name)
            if name not in skip and value != getattr(usual, name):
                parts.append(f"{name}:{','.join(value) if isinstance(value, list) else value}")
        return "|".join(parts)


_NOT_OF_LABELS = ("min_length", "min_length_ratio", "max_length", "no_repeat_ngram", "prefix")


def _check_label(settings: PredictRecipe) -> None:
    if settings.unknown == "replace":
        raise RecipeError(
            "unknown = 'replace' does not go with data.target_tokens = 'label': a token of the source is no label"
        )
    usual = PredictRecipe()
    for name in _NOT_OF_LABELS:
        if getattr(settings, name) != getattr(usual, name):
            raise RecipeError(
                f"{name} does not go with data.target_tokens = 'label': an answer is one label, no more and no less"
            )


def _ids(text: str, codec: Codec, what: str) -> list[int]:
    tokens = codec.target_tokeniser.split(text)
    if unknown := codec.target_vocabulary.unknown(tokens):
        raise RecipeError(f"{what}: the target vocabulary has no token {unknown[0]!r}{_near(unknown[0], codec)}")
    return codec.target_vocabulary.ids(tokens)


def _single(text: str, codec: Codec) -> int:
    ids = _ids(text, codec, "banned")
    if len(ids) != 1:
        raise RecipeError(f"banned: expected single target tokens, got {text!r}, which is {len(ids)} tokens")
    return ids[0]


def _near(token: str, codec: Codec) -> str:
    vocabulary = codec.target_vocabulary
    known = vocabulary.tokens(range(Vocabulary.UNKNOWN + 1, len(vocabulary)))
    return nearest(token, known) if len(known) <= 100 else ""


def _seed(seed: int, line: int) -> int:
    """Of a line's own draws."""
    return int.from_bytes(hashlib.sha256(f"{seed} {line}".encode()).digest()[:8], "big") >> 1
