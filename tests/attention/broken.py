"""Parts that each break one rule of the conformance suite."""

import torch

from heedful.attention import General, Global, LocalM, Location, Normaliser, Scope, Score, Softmax, Window


class Constant(Score):
    """All scores equal; a base for what follows."""

    def forward(self, queries, memory):
        return queries.sum(-1, keepdim=True) + memory.keys.sum(-1)[:, None, :]


class ShortKeys(Constant):
    def keys(self, values):
        return values[:, :3]


class FlatScores(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory)[:, 0]


class OtherWeight(Location):
    def queries(self, query):
        return 2 * super().queries(query)


class HiddenWeight(General):
    def queries(self, query):
        return 2 * query


class ReachOfNumbers(Location):
    def reach(self, memory):
        return super().reach(memory).long()


class ReachPerWord(Location):
    def reach(self, memory):
        return super().reach(memory)[0]


class SeesPadding(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory) / memory.keys.shape[1]


class MixesSentences(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory) * queries.mean(0, keepdim=True).sum(-1, keepdim=True)


class MixesQueries(Constant):
    def forward(self, queries, memory):
        return super().forward(queries - queries.mean(1, keepdim=True), memory) * queries.mean((1, 2), True)


class GoesByOrder(Constant):
    content_based = False

    def forward(self, queries, memory):
        return super().forward(queries, memory) * torch.arange(memory.keys.shape[1])


class SaysContent(Location):
    content_based = True


class Doubles(Constant):
    def forward(self, queries, memory):
        return super().forward(queries.mul_(2), memory)


class OtherGradient(Constant):
    def forward(self, queries, memory):
        raw = super().forward(queries, memory)
        return raw + (raw - raw.detach()) / memory.keys.shape[1]


class OnlySingle(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory).float()


class NotANumber(Constant):
    def forward(self, queries, memory):
        return super().forward(queries, memory).sqrt()


class NotANumberInGradient(Constant):
    def forward(self, queries, memory):
        raw = super().forward(queries, memory)
        return torch.where(raw > 0, raw.sqrt(), 0.0)


class MaskOfNumbers(Global):
    def forward(self, query, memory, steps):
        return Window(super().forward(query, memory, steps).mask.long())


class ForgetsTheMask(Scope):
    def forward(self, query, memory, steps):
        return Window(torch.ones_like(memory.mask)[:, None, :])


class FlatPrior(Global):
    def forward(self, query, memory, steps):
        return Window(memory.mask[:, None, :], torch.ones_like(memory.values[..., 0]))


class NegativePrior(Global):
    def forward(self, query, memory, steps):
        prior = -torch.ones(*query.shape[:2], memory.mask.shape[1], dtype=query.dtype)
        return Window(memory.mask[:, None, :], prior)


class ByOrder(Scope):
    """Everything but what stands first in memory."""

    content_based = False

    def forward(self, query, memory, steps):
        return Window((memory.mask & (torch.arange(memory.mask.shape[1]) > 0))[:, None, :])


class IgnoresSteps(LocalM):
    def __init__(self):
        super().__init__(window=2)

    def forward(self, query, memory, steps):
        return super().forward(query, memory, torch.arange(query.shape[1])[None, :])


class Negative(Normaliser):
    def distribute(self, scores):
        return -torch.softmax(scores, -1)


class Leaky(Normaliser):
    def forward(self, scores, mask):
        return torch.softmax(torch.where(mask, scores, -1.0), -1)

    def distribute(self, scores):
        return scores


class LeaksInGradient(Softmax):
    def forward(self, scores, mask):
        leak = torch.where(mask, 0.0, scores.nan_to_num(posinf=0.0)).mean(-1, keepdim=True)
        return super().forward(scores, mask) + mask * (leak - leak.detach())


class Uniform(Softmax):
    """A row of nothing but masked positions is spread over all."""

    def forward(self, scores, mask):
        return torch.where(mask.any(-1, keepdim=True), super().forward(scores, mask), 1 / scores.shape[-1])


class SumsToTwo(Normaliser):
    def distribute(self, scores):
        return 2 * torch.softmax(scores, -1)


class Widens(Normaliser):
    def forward(self, scores, mask):
        return super().forward(scores, mask).double()

    def distribute(self, scores):
        return torch.softmax(scores, -1)


class Overflows(Normaliser):
    def distribute(self, scores):
        return scores.exp() / scores.exp().sum(-1, keepdim=True)


class NoRowIsEmpty(Normaliser):
    def forward(self, scores, mask):
        return torch.softmax(torch.where(mask, scores, -torch.inf), -1)

    def distribute(self, scores):
        return scores
