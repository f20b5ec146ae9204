"""No module keeps anything of a sentence: two threads may use one model."""

import threading

import pytest
import torch

from heedful.search import Rules, beam, greedy

from .cases import FUSIONS, make, random_batch


def work(model, batch):
    source = batch.sources[0]
    limits = torch.full((source.tokens.shape[0],), 7)
    with torch.no_grad():
        found = beam(model.step, *model.begin(source), beam_size=3, n_best=2, rules=Rules(limits))
        single = greedy(model.step, *model.begin(source), rules=Rules(limits))
        logs, _ = model.force(batch)
        return [[h[:4] for h in row] for row in found], [[h[:4] for h in row] for row in single], logs.tolist()


@pytest.mark.parametrize("fusion", ["none", "early", "late_feeding"])
def test_two_threads_get_what_one_gets(fusion):
    model = make(**FUSIONS[fusion], cell="lstm", decoder_layers=2)
    batches = [random_batch((5, 2, 7), seed=1), random_batch((3, 11), (5, 2), seed=2)]
    expected = [work(model, batch) for batch in batches]
    got = [[], []]
    barrier = threading.Barrier(2)

    def run(index: int) -> None:
        barrier.wait()
        for _ in range(5):
            got[index].append(work(model, batches[index]))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [[expected[0]] * 5, [expected[1]] * 5]


def test_use_leaves_nothing_on_the_modules():
    model = make(fusion="early", scope="local_p")
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    buffers = set(dict(model.named_buffers()))
    work(model, random_batch())
    model(random_batch(), own_words=0.5, label_smoothing=0.1).total.backward()
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert set(dict(model.named_buffers())) == buffers
