"""DataLoader: order, workers, seeds, and workers that fail, die or hang."""

import os
import random
import signal
import time

import pytest

import engine
from engine.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    """Sample i is (i, i squared); `on` is called with i first."""

    def __init__(self, count, on=None):
        self.count, self.on = count, on

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.on is not None:
            self.on(index)
        return engine.tensor(index), float(index * index)


class Shared(IterableDataset):
    """A stream of which each worker takes its part."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(start, self.count, step))


class Whole(IterableDataset):
    """A stream that says it is shorter than it is."""

    def __iter__(self):
        return iter(range(6))

    def __len__(self):
        return 3


class Draws(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return [index, info.id, info.seed, random.random(), engine.rand(()).item()]


def rows(loader):
    return [[x.tolist() for x in batch] for batch in loader]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order(workers):
    loader = DataLoader(Numbers(7), 3, num_workers=workers)
    assert rows(loader) == [[[0, 1, 2], [0, 1, 4]], [[3, 4, 5], [9, 16, 25]], [[6], [36]]]
    assert rows(loader) == rows(loader)
    assert len(loader) == 3
    assert len(rows(DataLoader(Numbers(7), 3, num_workers=workers, drop_last=True))) == 2


def test_the_order_does_not_depend_on_workers():
    orders = []
    for workers in (0, 1, 2):
        engine.manual_seed(7)
        loader = DataLoader(Numbers(20), 4, shuffle=True, num_workers=workers)
        orders.append([rows(loader), rows(loader)])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][0] != orders[0][1]
    generator = engine.Generator().manual_seed(3)
    loader = DataLoader(Numbers(20), 4, shuffle=True, generator=generator)
    first = rows(loader)
    generator.manual_seed(3)
    assert rows(loader) == first


@pytest.mark.parametrize("workers", [0, 2])
def test_single_samples(workers):
    loader = DataLoader(Numbers(3), batch_size=None, num_workers=workers)
    assert [value for _, value in loader] == [0, 1, 4]
    assert len(loader) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_own_samplers_and_collation(workers):
    loader = DataLoader(
        Numbers(5), sampler=[4, 0, 2], batch_size=2, collate_fn=len, num_workers=workers
    )
    assert list(loader) == [2, 1]
    loader = DataLoader(Numbers(5), batch_sampler=[[1], [2, 3, 4]], num_workers=workers)
    assert [batch[0].tolist() for batch in loader] == [[1], [2, 3, 4]]


def test_streams():
    assert [b.tolist() for b in DataLoader(Shared(5), 2)] == [[0, 1], [2, 3], [4]]
    loader = DataLoader(Shared(11), 2, num_workers=2)
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    loader = DataLoader(Shared(11), 2, num_workers=2, drop_last=True)
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10]]
    assert list(DataLoader(Shared(3), None, num_workers=2)) == [0, 1, 2]
    with pytest.raises(TypeError):
        len(DataLoader(Shared(3)))


def test_a_stream_that_is_longer_than_it_said():
    with pytest.warns(UserWarning, match="reported to be 3"):
        assert len(list(DataLoader(Whole(), 1))) == 6


def test_batches_as_they_come():
    loader = DataLoader(Numbers(12), 1, num_workers=3, in_order=False)
    assert sorted(index.item() for index, _ in loader) == list(range(12))


def test_seeds_of_workers():
    def run():
        engine.manual_seed(5)
        loader = DataLoader(Draws(), 1, num_workers=2, collate_fn=lambda batch: batch[0])
        return list(loader)

    first = run()
    assert run() == first
    assert [row[:2] for row in first] == [[0, 0], [1, 1], [2, 0], [3, 1]]
    assert first[1][2] == first[0][2] + 1
    assert len({row[3] for row in first}) == len({row[4] for row in first}) == 4
    assert get_worker_info() is None


def test_worker_init():
    def init(worker):
        get_worker_info().dataset.on = lambda i: random.seed(worker)

    loader = DataLoader(Numbers(4), 2, num_workers=2, worker_init_fn=init)
    assert len(rows(loader)) == 2


def test_persistent_workers():
    loader = DataLoader(Numbers(6), 2, num_workers=2, persistent_workers=True)
    first = rows(loader)
    pids = [p.pid for p in loader._pool.workers.processes]
    assert rows(loader) == first
    iterator = iter(loader)
    next(iterator)
    assert rows(loader) == first  # the unfinished pass is thrown away
    assert [p.pid for p in loader._pool.workers.processes] == pids
    with pytest.raises(RuntimeError, match="newer iterator"):
        next(iterator)
    loader._pool.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_iterator_that_is_dropped_stops_its_workers():
    iterator = iter(DataLoader(Numbers(1000, lambda i: time.sleep(0.01)), 2, num_workers=2))
    next(iterator)
    pids = [p.pid for p in iterator.pool.workers.processes]
    del iterator
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def fail(index):
    if index == 5:
        raise KeyError("five")


@pytest.mark.parametrize("workers", [0, 2])
def test_exceptions_of_the_data_set(workers):
    iterator = iter(DataLoader(Numbers(9, fail), 2, num_workers=workers))
    next(iterator), next(iterator)
    with pytest.raises(KeyError, match="five") as caught:
        next(iterator)
    if workers:
        assert "DataLoader worker process 0" in str(caught.value)
        assert "in fail" in str(caught.value)
        assert next(iterator)[0].tolist() == [6, 7]  # the others are there


class Awkward(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


def awkward(index):
    raise Awkward(1, 2)


def test_exceptions_that_cannot_be_rebuilt():
    with pytest.raises(RuntimeError, match="Awkward"):
        next(iter(DataLoader(Numbers(9, awkward), 2, num_workers=1)))


def test_worker_init_that_fails():
    with pytest.raises(ZeroDivisionError, match="worker process"):
        next(iter(DataLoader(Numbers(4), num_workers=1, worker_init_fn=lambda i: 1 / 0)))


def die(index):
    if index == 5:
        os.kill(os.getpid(), signal.SIGKILL)


def leave(index):
    if index == 5:
        os._exit(3)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("on", "pattern"), [(die, "SIGKILL"), (leave, "exit code 3")])
def test_a_worker_that_dies(on, pattern):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"worker 0 \(pid \d+\).*{pattern}"):
        rows(DataLoader(Numbers(9, on), 2, num_workers=2))
    assert time.monotonic() - start < 60


def test_persistent_workers_are_replaced_after_a_death():
    loader = DataLoader(Numbers(9), 2, num_workers=2, persistent_workers=True)
    before = rows(loader)
    os.kill(loader._pool.workers.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        rows(loader)
    assert rows(loader) == before


def test_a_worker_that_hangs():
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timed out after 0\.3 seconds"):
        rows(DataLoader(Numbers(3, lambda i: time.sleep(300)), num_workers=1, timeout=0.3))
    assert time.monotonic() - start < 60


def test_engine_threads_survive_the_fork():
    """Large loops run in a worker, whatever threads the parent has started."""
    engine.ones(1_000_000).exp().sum()

    class Large(Numbers):
        def __getitem__(self, index):
            return engine.ones(300_000).exp().mean()

    loader = DataLoader(Large(4), 2, num_workers=2)
    assert all(abs(batch.mean().item() - 2.7182817) < 1e-4 for batch in loader)


class Reused(Dataset):
    """Every sample is the same tensor with new values, with a view of it, and with itself."""

    def __init__(self):
        self.buffer = engine.zeros(3000)

    def __len__(self):
        return 4

    def __getitem__(self, index):
        self.buffer.fill_(index)
        return self.buffer, self.buffer[::2], {"again": self.buffer, "text": "t"}


def test_large_tensors_are_sent_as_they_were():
    for i, (x, part, remainder) in enumerate(DataLoader(Reused(), batch_size=None, num_workers=1)):
        assert x.tolist() == [i] * 3000
        assert part.tolist() == [i] * 1500
        assert remainder["again"].tolist() == x.tolist()
        assert remainder["text"] == "t"
        x.add_(1)  # its own memory, which may be written


def test_workers_started_anew():
    loader = DataLoader(Numbers(4), 2, num_workers=1, multiprocessing_context="spawn")
    assert rows(loader)[1] == [[2, 3], [4, 9]]


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"num_workers": -1}, "non-negative"),
        ({"timeout": -1}, "non-negative"),
        ({"prefetch_factor": 2}, "num_workers > 0"),
        ({"num_workers": 1, "prefetch_factor": -1}, "non-negative"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"sampler": [1], "shuffle": True}, "mutually exclusive"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "mutually exclusive"),
        ({"batch_sampler": [[1]], "drop_last": True}, "mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"multiprocessing_context": "spawn"}, "num_workers"),
        ({"num_workers": 1, "multiprocessing_context": "magic"}, "magic"),
    ],
)
def test_arguments_that_do_not_go_together(options, pattern):
    with pytest.raises(ValueError, match=pattern):
        DataLoader(Numbers(3), **options)


@pytest.mark.parametrize("option", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_streams_have_no_order(option):
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Shared(3), **option)


def test_pinned_memory_is_told_of():
    if engine.opencl.is_available():
        ((index, square),) = DataLoader(Numbers(1), pin_memory=True)
        assert index.is_pinned()
        assert square.is_pinned()
        return
    with pytest.warns(UserWarning, match="pin_memory"):
        list(DataLoader(Numbers(1), pin_memory=True))


def test_a_library_may_change_each_batch():
    from engine.utils.data.dataloader import _BaseDataLoaderIter

    class Doubled(DataLoader):
        def _get_iterator(self):
            return (batch * 2 for batch in super()._get_iterator())

    loader = Doubled(range(3), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 2], [4]]
    assert not isinstance(iter(loader), _BaseDataLoaderIter)


class IntoShared:
    """Collates into shared memory, as torch_geometric does and PyTorch's own function did."""

    def __call__(self, samples):
        storage = (
            samples[0].untyped_storage()._new_shared(len(samples) * 8, device=samples[0].device)
        )
        out = samples[0].new(storage).resize_(len(samples), 1)
        assert out.is_shared()
        return engine.cat([sample.view(1, 1) for sample in samples], 0, out=out)


def test_workers_collate_into_shared_memory():
    data = [engine.tensor([n]) for n in range(4)]
    loader = DataLoader(data, batch_size=2, num_workers=1, collate_fn=IntoShared())
    assert [batch.flatten().tolist() for batch in loader] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="shared memory is on the CPU, got device meta"):
        data[0].untyped_storage()._new_shared(8, device="meta")
