"""The training loop, from top to bottom."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from heedful.data.batches import Example, collate, plan
from heedful.diagnosis import not_formed
from heedful.errors import TrainingError
from heedful.model import Loss, Model
from heedful.predictor import asked_of, to_device
from heedful.recipes import Recipe
from heedful.room import room_for
from heedful.training.checkpoint import Store
from heedful.training.events import Reporter, Update, Validated
from heedful.training.log import Log
from heedful.training.optimisers import set_rate
from heedful.training.progress import Progress
from heedful.training.schedule import learning_rate, share_used
from heedful.training.validate import Validator, better


@dataclass
class Loop:
    """One training, ready to run.

    `model` is the bare model, for saving and validating; `wrapped` is what Accelerate made of it, for training.
    """

    accelerator: Any
    model: Model
    wrapped: torch.nn.Module
    optimiser: torch.optim.Optimizer
    recipe: Recipe
    examples: Sequence[Example]
    lines: Sequence[int]  # of the examples, for messages
    validator: Validator
    store: Store
    log: Log
    reporter: Reporter
    progress: Progress = field(default_factory=Progress)
    _warned: bool = False
    _rates: list[tuple[float, int]] = field(default_factory=list)

    def restore(self) -> None:
        """Go on from the folder's checkpoint; nothing is written yet.

        Raises:
            RunError: it is missing or damaged, or belongs to another run, other data, vocabularies or sizes.
            RecipeError: a setting has changed that must not.
        """
        self.progress, before = self.store.restore()
        for key, value in self.recipe.train.model_dump().items():
            if key in before and before[key] != value:
                self.reporter.message(f"from here on train.{key} is {_word(value)}; it was {_word(before[key])}")
        progress, now = self.progress, len(self._plan())
        if progress.batches not in (0, now):  # the size of batches has changed: the same share of the epoch is done
            progress.batch = progress.batch * now // progress.batches
        if self._done():
            self.reporter.message("nothing left to train: the budget or the patience is used up")

    def run(self) -> None:
        """Train until the budget or the patience is used up."""
        self._since = time.monotonic() - self.progress.seconds
        self._saved = time.monotonic()
        self.wrapped.train()
        self._begin()
        while not self._done():
            batches = self._plan()
            self.progress.batches = len(batches)
            for places in batches[self.progress.batch :]:
                self._update(places)
                self.progress.batch += 1
                if self.progress.batch == len(batches):
                    self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0
                self._look(len(batches))
                if self._done():
                    break
        self._end(len(self._plan()))

    def _begin(self) -> None:
        """Before the first update: what may go wrong later is tried, and a checkpoint is written."""
        if self.progress.updates == 0:
            self._rehearse()
        if self.accelerator.is_main_process:
            self.log.cut(self.progress.validated_updates)
            self.store.begin(self.progress)

    def _rehearse(self) -> None:
        """The largest batch, forwards and backwards: if memory does not suffice, it is told now and not in an hour."""

        def size(places: Sequence[int]) -> int:  # of attention's largest tensor
            *sources, target = map(max, zip(*(self.examples[place].sizes() for place in places), strict=True))
            return len(places) * sum(sources) * target

        largest, device = max(self._plan(), key=size), self.accelerator.device
        with self._memory_for(largest), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            self._differentiate(largest, share=1.0)

    def _differentiate(self, places: Sequence[int], *, share: float) -> Loss:
        """The loss of a batch and its gradients, at this share of the budget."""
        recipe = self.recipe.train
        batch = to_device(collate([self.examples[place] for place in places]), self.accelerator.device)
        with self.accelerator.autocast():
            loss: Loss = self.wrapped(
                batch,
                label_smoothing=recipe.label_smoothing,
                own_words=recipe.scheduled_sampling * share,  # grows with the training
                guided_attention=recipe.guided_attention,
            )
        self.optimiser.zero_grad(set_to_none=True)
        self.accelerator.backward(loss.total / (loss.tokens if recipe.loss_per == "token" else len(places)))
        return loss

    def _update(self, places: Sequence[int]) -> None:
        """One batch: loss, gradients, clipping, step."""
        recipe, progress = self.recipe.train, self.progress
        share = self._share(len(self._plan()))
        progress.learning_rate = learning_rate(recipe, share=share, updates=progress.updates)
        set_rate(self.optimiser, progress.learning_rate)
        with self._memory_for(places):
            loss = self._differentiate(places, share=share)
            mean = float(loss.plain) / int(loss.tokens)
            self._check("loss", mean, places)
            limit = recipe.clip_norm if recipe.clip_norm is not None else math.inf
            norm = self.accelerator.clip_grad_norm_(self.wrapped.parameters(), limit)
            if recipe.precision != "fp16":  # there the scaler skips such a step
                self._check("gradient", float(norm), places)
            self.optimiser.step()
        progress.updates += 1
        progress.loss_total += float(loss.plain)
        progress.loss_tokens += int(loss.tokens)
        progress.seconds = self._seconds()
        self._tell(share, mean, int(loss.tokens))

    def _memory_for(self, places: Sequence[int]) -> AbstractContextManager[None]:
        """Where memory does not suffice, one message that says for what."""
        asked = asked_of(self.model, [self.examples[place] for place in places])
        fewer = f"train.batch_tokens (now {self.recipe.train.batch_tokens}) or " if len(places) > 1 else ""
        return room_for(
            f"a batch of {len(places)} pairs (training lines {self._lines(places)})",
            asked,
            device=self.accelerator.device,
            remedy=f"lower {fewer}data.max_length" + (f", or take {asked.whole.narrower}" if asked.bytes else ""),
            error=TrainingError,
        )

    def _look(self, batches: int) -> None:
        """After an update: validate if it is time, save if it is time."""
        epochs = self._epochs(batches)
        # Small shares of an epoch add up inexactly: compare with a little room.
        if epochs - self.progress.validated_at >= self.recipe.train.validate_every - 1e-9:
            self._validate(epochs)
        elif time.monotonic() - self._saved > 60 * self.recipe.train.checkpoint_minutes:
            self._save()

    def _validate(self, epochs: float) -> None:
        progress, metric = self.progress, self.recipe.train.metric
        dev_loss, scores = self.validator(self.model)
        value = dev_loss if metric == "loss" else scores[metric]
        # Of equally good weights, those with the lower loss: early on every answer may be wrong.
        best = better(metric, value, progress.best) or (
            value == progress.best and better("loss", dev_loss, progress.best_loss)
        )
        if best:
            progress.best, progress.best_loss, progress.best_updates = value, dev_loss, progress.updates
            progress.bad_validations = 0
        else:
            progress.bad_validations += 1
        progress.seconds = self._seconds()
        train_loss = progress.loss_total / max(progress.loss_tokens, 1)
        health = self.validator.health(self.model)
        looked = Validated(progress.updates, epochs, progress.seconds, train_loss, dev_loss, scores, best, health)
        progress.validated_at, progress.validated_updates = epochs, progress.updates
        progress.loss_total, progress.loss_tokens = 0.0, 0
        if self.accelerator.is_main_process:
            self.log.write(looked, progress.learning_rate)
        self._save()
        self.reporter.validated(looked)
        self._warn(health)

    def _warn(self, health: Mapping[str, float]) -> None:
        """Once, if attention has not formed after a third of the budget: the loss alone may fall all the same."""
        if not self._warned and health and self._share(len(self._plan())) >= 1 / 3 and (sentence := not_formed(health)):
            self._warned = True
            self.reporter.message(
                f"warning: {sentence}. It may still form; heedful diagnose says more, and what to try"
            )

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            self.store.save(self.progress)
        self._saved = time.monotonic()

    def _end(self, batches: int) -> None:
        """A last look, if anything was learned since the one before."""
        if self.progress.loss_tokens:
            self._validate(self._epochs(batches))
        self.log.close()

    def _plan(self) -> list[list[int]]:
        """The batches of the current epoch that this process takes."""
        if getattr(self, "_planned", (None,))[0] != self.progress.epoch:
            recipe = self.recipe.train
            batches = plan(self.examples, batch_tokens=recipe.batch_tokens, seed=recipe.seed, epoch=self.progress.epoch)
            own = list(_share_of(batches, self.accelerator.process_index, self.accelerator.num_processes))
            self._planned = (self.progress.epoch, own)
        return self._planned[1]

    def _epochs(self, batches: int) -> float:
        return self.progress.epoch + self.progress.batch / batches

    def _share(self, batches: int) -> float:
        progress = self.progress
        return share_used(
            self.recipe.train,
            epochs=self._epochs(batches),
            updates=progress.updates,
            seconds=progress.seconds,
        )

    def _seconds(self) -> float:
        """Spent so far, by the main process's clock: all processes must agree on when the budget is used up."""
        seconds = time.monotonic() - self._since
        if self.accelerator.num_processes > 1:
            from accelerate.utils import broadcast_object_list

            (seconds,) = broadcast_object_list([seconds])
        return seconds

    def _done(self) -> bool:
        patience = self.recipe.train.patience
        if patience is not None and self.progress.bad_validations >= patience:
            return True
        return self._share(len(self._plan())) >= 1.0

    def _check(self, what: str, value: float, places: Sequence[int]) -> None:
        if math.isfinite(value):
            return
        progress = self.progress
        raise TrainingError(
            f"the {what} is {value} at update {progress.updates + 1} (epoch {progress.epoch + 1}, batch "
            f"{progress.batch + 1}, training lines {self._lines(places)}); training stopped, the best weights so far "
            "are kept. A lower train.learning_rate or train.clip_norm may help"
        )

    def _lines(self, places: Sequence[int]) -> str:
        return ", ".join(str(self.lines[place]) for place in places[:8]) + (", ..." if len(places) > 8 else "")

    def _tell(self, share: float, loss: float, tokens: int) -> None:
        self._rates = [*self._rates[-19:], (time.monotonic(), tokens)]
        seconds = self._rates[-1][0] - self._rates[0][0]
        speed = sum(count for _, count in self._rates[1:]) / seconds if seconds > 0 else 0.0
        progress = self.progress
        self.reporter.update(
            Update(progress.updates, progress.epoch + 1, share, loss, progress.learning_rate, tokens, speed)
        )


def _share_of(batches: list[list[int]], index: int, count: int) -> Iterator[list[int]]:
    """Every `count`-th batch; all processes get equally many, so that none waits for the others for ever."""
    for place in range(0, len(batches), count):
        yield batches[(place + index) % len(batches)]


def _word(value: Any) -> str:
    """As a recipe has it."""
    return "none" if value is None else str(value)
