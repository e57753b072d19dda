"""A worker process of a DataLoader: it receives keys from one pipe and sends batches to another.

Each worker has its own pipes, so that a killed worker leaves no lock for the others. A thread sends the batches, so
that the next one is computed while the loader is still busy.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import pickle
import queue
import random
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import engine
from engine.utils.data.channel import Message
from engine.utils.data.collate import default_collate
from engine.utils.data.fetch import MapFetcher, StreamFetcher


@dataclass(frozen=True)
class WorkerInfo:
    """The result of `get_worker_info` inside a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the worker's id, num_workers, seed and dataset (this process's copy); None outside of a worker.

    >>> get_worker_info() is None
    True
    """
    return _info


@dataclass(frozen=True)
class Task:
    """The configuration of a worker."""

    dataset: Any
    streaming: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    seed: int
    id: int
    num_workers: int
    init: Callable[[int], Any] | None

    def fetcher(self) -> MapFetcher | StreamFetcher:
        if self.streaming:
            return StreamFetcher(self.dataset, self.batched, self.collate, self.drop_last)
        return MapFetcher(self.dataset, self.batched, self.collate)


# Messages to the loader: ("ready",), ("batch", number, data), ("end", number), ("error", number, Caught).
# Messages to a worker: ("fetch", number, keys), ("again", seed), None (stop).


class Caught:
    """An exception that is sent to the loader's process: its class, and its traceback as text."""

    def __init__(self, error: BaseException, context: str) -> None:
        self.kind: type[BaseException] = type(error)
        self.context = context
        self.text = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickle.dumps(self.kind))
        except Exception:  # a class that the loader's process cannot look up
            self.kind = RuntimeError

    def to_exception(self) -> BaseException:
        """Return the exception that the loader raises; RuntimeError if its class accepts no message."""
        message = (
            f"Caught {self.kind.__name__} {self.context}.\n"
            f"Original {self.text.removesuffix(chr(10))}\n"
        )
        if issubclass(self.kind, StopIteration):
            return RuntimeError(
                message
            )  # StopIteration would silently end the loop over the batches
        if self.kind is KeyError:
            return KeyError(_Text(message))
        try:
            return self.kind(message)
        except Exception:
            return RuntimeError(message)


class _Text(str):
    """A string whose repr keeps its line breaks: KeyError prints the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def seed_everything(seed: int) -> None:
    """Seed the generators of Python, the engine and, if it is loaded, NumPy."""
    random.seed(seed)
    engine.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        seed_words = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32)]
        numpy.random.seed(seed_words)


def run_worker(task: Task, keys: Connection, results: Connection, inherited: list[Any]) -> None:
    """Run a worker. `inherited` are the loader's ends of pipes, in a forked process."""
    global _info
    for connection in inherited:
        connection.close()
    engine.set_num_threads(1)
    seed_everything(task.seed)
    _info = WorkerInfo(task.id, task.num_workers, task.seed, task.dataset)
    outgoing: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
    sender = threading.Thread(target=_send, args=(outgoing, results), daemon=True)
    sender.start()
    with contextlib.suppress(
        KeyboardInterrupt, EOFError
    ):  # the loader's process handles it, or has ended
        _serve(task, keys, outgoing)
    outgoing.put(None)
    sender.join()


def _send(outgoing: queue.SimpleQueue[Message | None], results: Connection) -> None:
    try:
        while (message := outgoing.get()) is not None:
            message.send(results)
    except OSError:
        return  # the loader's process has ended and receives no batches


def _serve(task: Task, keys: Connection, outgoing: queue.SimpleQueue[Message | None]) -> None:
    context = f"in DataLoader worker process {task.id}"
    parent = multiprocessing.parent_process()
    watched: list[Any] = [keys] if parent is None else [keys, parent.sentinel]
    fetcher: MapFetcher | StreamFetcher | None = None
    failed: Caught | None = None
    try:
        if task.init is not None:
            task.init(task.id)
        fetcher = task.fetcher()
    except Exception as error:
        failed = Caught(error, context)
    pending: collections.deque[Any] = collections.deque()
    while True:
        while not pending or keys.poll():  # read all messages: the last may cancel the others
            if keys not in wait(watched):
                return
            message = keys.recv()
            if message is None:
                return
            if message[0] == "again":
                pending.clear()
            pending.append(message)
        message = pending.popleft()
        if message[0] == "again":
            failed, fetcher = _restart(task, message[1], context)
            outgoing.put(Message(("ready",)))
            continue
        _, number, batch_keys = message
        outgoing.put(_answer(fetcher, failed, number, batch_keys, context))
        failed = None


def _restart(
    task: Task, seed: int, context: str
) -> tuple[Caught | None, MapFetcher | StreamFetcher | None]:
    """Start a new pass over the data in a persistent worker."""
    global _info
    seed_everything(seed)
    _info = WorkerInfo(task.id, task.num_workers, seed, task.dataset)
    try:
        return None, task.fetcher()
    except Exception as error:
        return Caught(error, context), None


def _answer(fetcher: Any, failed: Caught | None, number: int, keys: Any, context: str) -> Message:
    """Compute the message for one batch; an exception becomes a message as well."""
    if failed is not None:
        return Message(("error", number, failed))
    if fetcher is None:
        return Message(("end", number))
    try:
        batch = fetcher.fetch(keys)
        return Message(("batch", number, batch), owns_tensors=fetcher.collate is default_collate)
    except StopIteration as error:
        if isinstance(fetcher, StreamFetcher):
            return Message(("end", number))
        return Message(("error", number, Caught(error, context)))
    except Exception as error:
        return Message(("error", number, Caught(error, context)))
