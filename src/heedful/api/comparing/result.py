"""From finished trainings to a comparison: answers, costs, statistics, examples, words."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.api.comparing.answers import answered, kept_answers, key_of, part_of, seen_tokens
from heedful.api.comparing.cost import cost_of, processor
from heedful.api.comparing.data import Given, Split
from heedful.api.comparing.designs import Chosen, dimensions, settings_that_differ
from heedful.api.comparing.examples import examples
from heedful.api.comparing.processes import Processes
from heedful.api.run import load
from heedful.comparison import Budget, Comparison, Cost, Data, Design, Judged, Machine, Part, Run
from heedful.comparison.counts import most_of, rate_of, sums_of
from heedful.comparison.groups import breakdowns
from heedful.comparison.recommend import notes, recommend
from heedful.comparison.statistics import judge
from heedful.comparison.values import METRICS, Metric, PartName
from heedful.notes import Message
from heedful.recipes import Recipe, as_toml
from heedful.series import Finished, Trial, digest_of


def machine_of(jobs: int) -> Machine:
    import numpy
    import torch

    return Machine(
        processor=processor(),
        cores=os.cpu_count() or 1,
        jobs=jobs,
        threads=1 if jobs > 1 else torch.get_num_threads(),
        versions={
            "heedful": __version__,
            "torch": torch.__version__,
            "numpy": numpy.__version__,
            "python": sys.version.split()[0],
        },
    )


@dataclass(frozen=True)
class Comparing:
    """From finished trainings to a comparison.

    Args:
        given: as a person gave it; `split` is what became of it.
        budget: of each training.
        chosen: the designs, by their recipes without a budget.
        out: the folder for everything.
        machine: this one.
        tell: called with what is being done.
    """

    given: Given
    budget: Budget
    chosen: Sequence[Chosen]
    split: Split
    out: Path
    machine: Machine
    tell: Message

    def result(self, trials: Sequence[Trial], finished: Sequence[Finished]) -> Comparison:
        """Answers, costs, statistics, examples, words."""
        by_trial = {(trial.name, trial.seed): done for trial, done in zip(trials, finished, strict=True)}
        seeds = self.budget.seeds
        first = load(by_trial[self.chosen[0].name, seeds[0]].folder)
        token_name = first.recipe.data.target_tokens.name
        target_split = first.codec.target_tokeniser.split
        seen = seen_tokens(self.split.corpora["train"], first)
        names: tuple[PartName, ...] = ("dev", "test")
        parts = tuple(part_of(name, self.split.corpora[name], first, seen) for name in names)
        self._answer_together(by_trial)
        runs = {
            key: self._run(done, target_split, token_name) for key, done in by_trial.items()
        }  # all answers first: speeds are measured when nothing else is to be done
        costs = {each.name: self._cost(each, by_trial[each.name, seeds[0]], trials) for each in self.chosen}
        designs = self._designs({name: [runs[name, seed] for seed in seeds] for name, _ in by_trial}, costs, trials)
        metric = _metric(first.recipe)
        tokenizer = first.recipe.predict.bleu_tokenizer
        judged = [_judged(designs, part, each, tokenizer) for part in parts for each in _metrics(metric)]
        sums = _sums(designs, parts[-1], metric, tokenizer)
        by = breakdowns([design.name for design in designs], sums, rate_of(metric), part=parts[-1], metric=metric)
        decides = next(each for each in judged if (each.metric, each.part) == (metric, parts[-1].name))
        self.tell("choosing examples")
        return Comparison(
            data=self._data(token_name),
            budget=self.budget,
            machine=self.machine,
            metric=metric,
            designs=designs,
            parts=parts,
            judged=tuple(judged),
            breakdowns=by,
            examples=examples(parts[-1], self.split.corpora["test"], designs, out=self.out, target_split=target_split),
            recommendation=recommend(designs, decides, by),
            notes=(
                *self.split.shared(),
                *notes(designs, parts[-1], self.budget, self.machine),
                *self._tokens_note(token_name),
            ),
            signature=self._signature(designs, parts[-1]),
        )

    def _answer_together(self, by_trial: Mapping[tuple[str, int], Finished]) -> None:
        """Where several may run at once, answers are made so, and then read."""
        waiting = [done for done in by_trial.values() if kept_answers(done, self._key()) is None]
        if self.machine.jobs == 1 or len(waiting) < 2:
            return
        first = by_trial[self.chosen[0].name, self.budget.seeds[0]].folder
        shared = {"do": "answer", "first": str(first), "out": str(self.out), "key": self._key()}
        shared |= {"dev": self.split.dev, "test": self.split.test, "links": self.split.links}
        jobs = [{**shared, "finished": {**asdict(done), "folder": str(done.folder)}} for done in waiting]
        self.tell(f"answering: {len(jobs)} runs")
        Processes(threads=1).together(
            jobs,
            self.machine.jobs,
            lambda job: self.tell(f"answered: {job['finished']['name']}, seed {job['finished']['seed']}"),
        )

    def _key(self) -> str:
        """What answers depend on, beside the run."""
        tokens = self.chosen[0].recipe.data.target_tokens.model_dump_json()
        return key_of([*map(digest_of, (self.split.dev, self.split.test, self.split.links)), tokens, __version__])

    def _run(self, done: Finished, target_split: Any, token_name: str) -> Run:
        return answered(
            done,
            self.split,
            out=self.out,
            target_split=target_split,
            token_name=token_name,
            key=self._key(),
            begun=lambda: self.tell(f"answering: {done.name}, seed {done.seed}"),
        )

    def _cost(self, each: Chosen, done: Finished, trials: Sequence[Trial]) -> Cost:
        recipe = next(trial.recipe for trial in trials if trial.name == each.name)
        return cost_of(
            done,
            recipe,
            pairs=self.split.train,
            dev=self.split.dev,
            test=self.split.test,
            threads=1 if self.machine.jobs > 1 else None,
            key=self.machine.model_dump_json(exclude={"jobs"}),
            begun=lambda: self.tell(f"measuring speed and memory: {each.name}"),
        )

    def _designs(
        self, runs: dict[str, list[Run]], costs: dict[str, Cost], trials: Sequence[Trial]
    ) -> tuple[Design, ...]:
        recipes = {trial.name: trial.recipe for trial in reversed(trials)}  # those of the first seed
        chosen = [each._replace(recipe=recipes[each.name]) for each in self.chosen]
        return tuple(
            Design(
                name=each.name,
                title=each.title,
                settings=settings,
                recipe=as_toml(each.recipe),
                dimensions=dimensions(each.recipe),
                cost=costs[each.name],
                runs=tuple(runs[each.name]),
            )
            for each, settings in zip(chosen, settings_that_differ(chosen), strict=True)
        )

    def _data(self, token_name: str) -> Data:
        given = self.given
        return Data(
            pairs=given.pairs,
            dev=given.dev,
            test=given.test,
            links=given.links,
            train_pairs=len(self.split.corpora["train"].pairs),
            token_name=token_name,
        )

    def _tokens_note(self, token_name: str) -> list[str]:
        first, *others = self.chosen
        if all(each.recipe.data.target_tokens == first.recipe.data.target_tokens for each in others):
            return []
        return [f"The designs cut targets differently; token error counts those of {first.name} ({token_name})."]

    def _signature(self, designs: Sequence[Design], part: Part) -> str:
        spent = f"updates:{self.budget.updates}" if self.budget.updates else f"minutes:{self.budget.minutes:g}"
        return (
            f"compare|designs:{len(designs)}|seeds:{len(self.budget.seeds)}|{spent}|"
            f"train:{len(self.split.corpora['train'].pairs)}|{part.name}:{len(part.sources)}|"
            f"bootstrap:sources+seeds|adjusted:holm|torch:{self.machine.versions['torch']}|v:{__version__}"
        )


def _metric(recipe: Recipe) -> Metric:
    """What decides: the recipe's own metric, where an interval can be put around it."""
    own = recipe.train.metric
    if own == "chrf":
        return "bleu"
    return "sequence_error" if own == "loss" else own


def _metrics(decides: Metric) -> list[Metric]:
    """BLEU takes a while, and says nothing of words that are spelled: it is judged where it decides."""
    return [each for each in METRICS if each != "bleu" or decides == "bleu"]


def _sums(designs: Sequence[Design], part: Part, metric: Metric, tokenizer: str) -> list[Any]:
    answers = [[getattr(run, part.name) for run in design.runs] for design in designs]
    return [sums_of(each, part, metric, bleu_tokenizer=tokenizer) for each in answers]


def _judged(designs: Sequence[Design], part: Part, metric: Metric, tokenizer: str) -> Judged:
    sums = _sums(designs, part, metric, tokenizer)
    errors, differences = judge([design.name for design in designs], sums, rate_of(metric), most=most_of(metric))
    return Judged(part=part.name, metric=metric, errors=errors, differences=differences)
