"""Tensors in shared memory: moved, sent, trained by several processes; failures of these."""

from __future__ import annotations

import gc
import os

import pytest

import engine
import engine.multiprocessing as mp
from tests.engine.multiprocessing import workers


def test_a_tensor_moves_once():
    x = engine.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x[0].add_(1)
    assert x[0].is_shared()
    assert x.tolist()[0] == [1, 2, 3]


def test_views_would_stay_behind():
    x = engine.ones(3)
    view = x[1:]
    with pytest.raises(RuntimeError, match="share_memory_: the tensor's Storage has 2 holders"):
        x.share_memory_()
    assert view.is_shared() is False


def test_descriptors_are_closed():
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = count()
    tensors = [engine.ones(10).share_memory_() for _ in range(20)]
    assert count() == before + 2 * 20  # ours, and the one that mmap duplicates
    del tensors
    assert count() == before


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_see_each_others_writes(method):
    x = engine.zeros(4).share_memory_()
    mp.start_processes(workers.add, (x,), nprocs=2, start_method=method)
    assert x.tolist() == [3.0] * 4


def test_a_queue_shares_memory():
    context = mp.get_context("spawn")
    queue, replies = context.Queue(), context.Queue()
    process = context.Process(target=workers.answer, args=(queue, replies))
    process.start()
    x = engine.empty_strided((4, 3), (1, 4), dtype=engine.int64).fill_(1)
    queue.put(x)
    assert replies.get(timeout=60) == ("seen", (4, 3), (1, 4), "engine.int64")
    assert x[0].tolist() == [7, 7, 7]
    assert x.is_shared()
    queue.put(None)
    process.join()
    assert process.exitcode == 0


def test_hogwild_trains_one_model():
    engine.manual_seed(0)
    model = engine.nn.Linear(2, 1)
    model.share_memory()
    assert all(p.is_shared() and p.is_leaf for p in model.parameters())
    mp.spawn(workers.train, (model, 80), nprocs=2)
    assert engine.allclose(model.weight, engine.tensor([[2.0, -3.0]]), atol=0.05)


def test_results_of_graphs_do_not_cross():
    receiver, sender = mp.Pipe(duplex=False)
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        sender.send(engine.ones(1, requires_grad=True) * 2)
    sender.send(engine.ones(2, requires_grad=True))
    received = receiver.recv()
    assert received.requires_grad
    assert received.is_shared()


def test_an_exception_is_raised_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: on purpose") as caught:
        mp.spawn(workers.fail, nprocs=2)
    assert caught.value.error_index == 1


def test_a_killed_process_is_reported():
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with signal 9"):
        mp.spawn(workers.die, nprocs=1)


def test_strategies():
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(ValueError, match="got 'file_system'"):
        mp.set_sharing_strategy("file_system")
