"""DataLoader: batches of a data set, computed in this process or by workers."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from engine import accelerator
from engine.unsupported import placeholder
from engine.utils.data.collate import default_collate, default_convert, pinned
from engine.utils.data.dataset import IterableDataset
from engine.utils.data.fetch import MapFetcher, StreamFetcher
from engine.utils.data.pool import WorkerPool
from engine.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    fresh_seed,
)

# PyTorch's classes of iterators, which libraries ask for by isinstance; those here are generators.
_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = (
    placeholder(f"utils.data.dataloader.{name}", "use iter(loader)")
    for name in (
        "_BaseDataLoaderIter",
        "_SingleProcessDataLoaderIter",
        "_MultiProcessingDataLoaderIter",
    )
)


class _Endless(Sampler[None]):
    """Keys for a stream, which uses only their number."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader:
    """Iterates over a data set in batches.

    dataset: by index, or an IterableDataset. batch_size=None gives single samples. shuffle, sampler
    or batch_sampler choose the order; drop_last omits a shorter last batch; collate_fn combines a list of
    samples into a batch (`default_collate`).
    num_workers: processes that compute batches, prefetch_factor (2) ahead each; they are forked if that is safe on
    the platform, otherwise (or with multiprocessing_context) spawned, which requires a picklable data set and
    picklable functions. Worker i's generators start from base seed + i, and worker_init_fn(i) runs first.
    persistent_workers keeps them for the next pass. timeout: seconds to wait for a batch, 0 for no limit.
    in_order=False returns batches as they arrive. generator: for the order and the base seed.
    Raises: ValueError for arguments that exclude each other; during iteration, the exceptions of workers, and
    RuntimeError for a worker that was killed or too slow.

    >>> for batch in DataLoader(range(5), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.streaming = isinstance(dataset, IterableDataset)
        if self.streaming:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = self._sampler(shuffle)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        batched = batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._pool: WorkerPool | None = None

    def _sampler(self, shuffle: bool | None) -> Sampler[Any]:
        if self.streaming:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __len__(self) -> int:
        """Return the number of batches (of samples for batch_size=None)."""
        if not self.streaming:
            return len(self._keys())
        count = len(self.dataset)
        if self.batch_size is None:
            return int(count)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def _keys(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        return self._get_iterator()

    def _get_iterator(self) -> Iterator[Any]:
        """Return an iterator over the batches: what libraries override to change each."""
        pins = self.pin_memory and accelerator.is_available()
        if self.pin_memory and not pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                UserWarning,
                stacklevel=2,
            )
        seed = fresh_seed(
            self.generator
        )  # drawn even without workers, so that the order is the same
        if self.num_workers == 0:
            batches = self._alone()
        else:
            batches = self._started_pool(seed).batches(iter(self._keys()))
        if self.streaming:
            batches = self._counted(batches)
        return map(pinned, batches) if pins else batches

    def _alone(self) -> Iterator[Any]:
        batched = self.batch_sampler is not None
        keys = iter(self._keys())
        if not self.streaming:
            fetch = MapFetcher(self.dataset, batched, self.collate_fn).fetch
            return map(fetch, keys)
        stream = StreamFetcher(self.dataset, batched, self.collate_fn, self.drop_last)
        return _until_the_end(stream, keys)

    def _started_pool(self, seed: int) -> WorkerPool:
        if self._pool is not None and self._pool.usable:
            self._pool.restart(seed)
            return self._pool
        pool = WorkerPool(self, seed)
        if self.persistent_workers:
            self._pool = pool
        return pool

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Warn when a stream is longer than its reported length."""
        try:
            expected = len(self)
        except (TypeError, NotImplementedError):
            yield from batches
            return
        for number, batch in enumerate(batches, 1):
            if number == expected + 1:
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {expected} (when "
                    f"accessing len(dataloader)), but {number} samples have been fetched. With "
                    "workers, each has the whole stream unless it asks get_worker_info()",
                    UserWarning,
                    stacklevel=2,
                )
            yield batch


def _until_the_end(stream: StreamFetcher, keys: Iterator[Any]) -> Iterator[Any]:
    for batch_keys in keys:
        try:
            batch = stream.fetch(batch_keys)
        except StopIteration:
            return
        yield batch


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            f"multiprocessing, got {num_workers}"
        )
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing: let num_workers > 0"
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, got {prefetch_factor}")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    for name, value in (
        ("shuffle", shuffle),
        ("sampler", sampler),
        ("batch_sampler", batch_sampler),
    ):
        if value is not None and value is not False:
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified "
                f"{name} option, but got {name}={value}"
            )


def _context(context: Any, num_workers: int) -> Any:
    """Return the multiprocessing context for a name or a context; None for the platform's default."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if not isinstance(context, str):
        return context
    methods = multiprocessing.get_all_start_methods()
    if context not in methods:
        raise ValueError(
            "multiprocessing_context option should specify a valid start method in "
            f"{methods}, but got {context!r}"
        )
    return multiprocessing.get_context(context)
