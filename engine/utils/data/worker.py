"""A worker process of a DataLoader: keys come in through one pipe, batches go out through another.

Each worker has both pipes for itself, so that one that is killed leaves no lock behind for others.
Batches leave by a thread: the next one is made while the loader is still busy with something else.
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
    """What `get_worker_info` tells inside a worker."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """id, num_workers, seed and dataset (this process's copy) of the worker; None outside of one.

    >>> get_worker_info() is None
    True
    """
    return _info


@dataclass(frozen=True)
class Task:
    """What a worker needs to know once."""

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
    """An exception on its way to the loader's process: its class, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: type[BaseException] = type(error)
        self.where = where
        self.text = "".join(traceback.format_exception(error))
        try:
            pickle.loads(pickle.dumps(self.kind))
        except Exception:  # a class that the loader's process cannot look up
            self.kind = RuntimeError

    def again(self) -> BaseException:
        """The exception as the loader raises it; RuntimeError where its class takes no message."""
        message = (
            f"Caught {self.kind.__name__} {self.where}.\n"
            f"Original {self.text.removesuffix(chr(10))}\n"
        )
        if issubclass(self.kind, StopIteration):
            return RuntimeError(message)  # it would end the loop over the batches in silence
        if self.kind is KeyError:
            return KeyError(_Text(message))
        try:
            return self.kind(message)
        except Exception:
            return RuntimeError(message)


class _Text(str):
    """Shown with its line breaks: KeyError shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def seed_everything(seed: int) -> None:
    """Python's, the engine's and, where it is loaded, NumPy's generators."""
    random.seed(seed)
    engine.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32)]
        numpy.random.seed(words)


def run_worker(task: Task, keys: Connection, results: Connection, inherited: list[Any]) -> None:
    """The worker's main function. `inherited` are the loader's ends of pipes, in a forked process."""
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
    ):  # the loader's process has it too, or is gone
        _serve(task, keys, outgoing)
    outgoing.put(None)
    sender.join()


def _send(outgoing: queue.SimpleQueue[Message | None], results: Connection) -> None:
    try:
        while (message := outgoing.get()) is not None:
            message.send(results)
    except OSError:
        return  # the loader's process is gone: nobody waits for batches


def _serve(task: Task, keys: Connection, outgoing: queue.SimpleQueue[Message | None]) -> None:
    where = f"in DataLoader worker process {task.id}"
    parent = multiprocessing.parent_process()
    watched: list[Any] = [keys] if parent is None else [keys, parent.sentinel]
    fetcher: MapFetcher | StreamFetcher | None = None
    failed: Caught | None = None
    try:
        if task.init is not None:
            task.init(task.id)
        fetcher = task.fetcher()
    except Exception as error:
        failed = Caught(error, where)
    pending: collections.deque[Any] = collections.deque()
    while True:
        while (
            not pending or keys.poll()
        ):  # all there is: the last may say that the rest is not wanted
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
            failed, fetcher = _started_again(task, message[1], where)
            outgoing.put(Message(("ready",)))
            continue
        _, number, wanted = message
        outgoing.put(_answer(fetcher, failed, number, wanted, where))
        failed = None


def _started_again(
    task: Task, seed: int, where: str
) -> tuple[Caught | None, MapFetcher | StreamFetcher | None]:
    """A new pass over the data in a persistent worker."""
    global _info
    seed_everything(seed)
    _info = WorkerInfo(task.id, task.num_workers, seed, task.dataset)
    try:
        return None, task.fetcher()
    except Exception as error:
        return Caught(error, where), None


def _answer(fetcher: Any, failed: Caught | None, number: int, wanted: Any, where: str) -> Message:
    """The message for one batch; whatever goes wrong with it is a message as well."""
    if failed is not None:
        return Message(("error", number, failed))
    if fetcher is None:
        return Message(("end", number))
    try:
        batch = fetcher.fetch(wanted)
        return Message(("batch", number, batch), ours=fetcher.collate is default_collate)
    except StopIteration as error:
        if isinstance(fetcher, StreamFetcher):
            return Message(("end", number))
        return Message(("error", number, Caught(error, where)))
    except Exception as error:
        return Message(("error", number, Caught(error, where)))
