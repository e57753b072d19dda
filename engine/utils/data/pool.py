"""The loader's side of its worker processes: distributes keys, orders batches, detects dead workers."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import warnings
import weakref
from collections.abc import Iterator
from multiprocessing.connection import wait
from typing import Any, NoReturn

from engine.utils.data.channel import receive
from engine.utils.data.worker import Task, run_worker

_PATIENCE = 5.0  # seconds in which a worker may end before it is terminated


class _Workers:
    """The processes and the loader's ends of their pipes, separate from the pool, which stops them when it dies."""

    def __init__(self) -> None:
        self.processes: list[Any] = []
        self.keys: list[Any] = []
        self.results: list[Any] = []
        self.patience = _PATIENCE
        self.home = os.getpid()

    def stop(self) -> None:
        if os.getpid() != self.home:
            return  # in a forked copy, these belong to the original process
        for connection in self.keys:
            with contextlib.suppress(OSError):  # it has already ended
                connection.send(None)
        for connection in [*self.keys, *self.results]:
            connection.close()
        until = time.monotonic() + self.patience
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
            process.close()


class WorkerPool:
    """The workers of a DataLoader. Keys are distributed in turn; batches are returned in the order of their keys."""

    def __init__(self, loader: Any, seed: int) -> None:
        self.count: int = loader.num_workers
        self.ahead: int = max(1, loader.prefetch_factor)
        self.timeout: float = loader.timeout
        self.in_order: bool = loader.in_order
        self.persistent: bool = loader.persistent_workers
        self.usable = True
        self.latest: int = 0  # the number of the newest pass
        self.workers = _Workers()
        self._finalizer = weakref.finalize(self, self.workers.stop)
        context = loader.multiprocessing_context or multiprocessing.get_context(_start_method())
        for number in range(self.count):
            task = Task(
                loader.dataset,
                loader.streaming,
                loader.batch_sampler is not None,
                loader.collate_fn,
                loader.drop_last,
                seed + number,
                number,
                self.count,
                loader.worker_init_fn,
            )
            self._start(context, task)

    def _start(self, context: Any, task: Task) -> None:
        keys_in, keys_out = context.Pipe(duplex=False)
        results_in, results_out = context.Pipe(duplex=False)
        forked = context.get_start_method() == "fork"
        inherited = (
            [*self.workers.keys, *self.workers.results, keys_out, results_in] if forked else []
        )
        process = context.Process(
            target=run_worker, args=(task, keys_in, results_out, inherited), daemon=True
        )
        with warnings.catch_warnings():
            # Python warns about forking while threads run. The engine's threads support it (see
            # Note [Fork] in csrc/base/parallel.h), and a worker uses no others.
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            process.start()
        keys_in.close()
        results_out.close()
        self.workers.processes.append(process)
        self.workers.keys.append(keys_out)
        self.workers.results.append(results_in)

    def restart(self, seed: int) -> None:
        """Start a new pass with the same processes, and discard the results of an unfinished one."""
        for number in range(self.count):
            self._post(number, ("again", seed + number))
        waiting = set(range(self.count))
        while waiting:
            number, message = self._next_message(waiting)
            if message[0] == "ready":
                waiting.discard(number)

    def batches(self, keys: Iterator[Any]) -> Iterator[Any]:
        """Return an iterator over the batches of one pass; the workers start at once."""
        self.latest += 1
        return _Pass(self, keys, self.latest)

    def finished(self) -> None:
        """End a pass."""
        if not self.persistent or not self.usable:
            self.close()

    def close(self, patience: float = _PATIENCE) -> None:
        """Stop the processes; terminate those that do not stop by themselves within `patience` seconds."""
        self.usable = False
        self.workers.patience = patience
        self._finalizer()

    # ---- messages

    def _post(self, number: int, message: Any) -> None:
        try:
            self.workers.keys[number].send(message)
        except OSError:
            self._died(number)

    def _next_message(self, waiting: set[int]) -> tuple[int, Any]:
        """Return the next message of any worker in `waiting`."""
        pipes = {self.workers.results[number]: number for number in sorted(waiting)}
        ready = wait(
            list(pipes), self.timeout or None
        )  # a dead worker's pipe is ready too: at its end
        if not ready:
            self.close(patience=0)
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        number = pipes[ready[0]]
        try:
            return number, receive(self.workers.results[number])
        except (EOFError, OSError):
            self._died(number)

    def _died(self, number: int) -> NoReturn:
        process = self.workers.processes[number]
        process.join(_PATIENCE)
        code, pid = process.exitcode, process.pid
        self.close()
        if code is not None and code < 0:
            reason = f"is killed by signal: {signal.Signals(-code).name} ({-code})"
        else:
            reason = f"exited unexpectedly with exit code {code}"
        raise RuntimeError(f"DataLoader worker {number} (pid {pid}) {reason}")


class _Pass:
    """A pass over the keys: an iterator over batches."""

    def __init__(self, pool: WorkerPool, keys: Iterator[Any], number: int) -> None:
        self.pool = pool
        self.keys = keys
        self.number = number
        self.alive = set(range(pool.count))  # workers with data left
        self.owner: dict[int, int] = {}  # batch -> worker, for all requested batches
        self.arrived: dict[int, Any] = {}
        self.requested = 0
        self.delivered = 0
        self.turn = 0
        for _ in range(pool.count * pool.ahead):
            self._request()

    def _request(self) -> None:
        """Send the next keys to the next worker that has data left."""
        if not self.alive:
            return
        try:
            keys = next(self.keys)
        except StopIteration:
            return
        while self.turn % self.pool.count not in self.alive:
            self.turn += 1
        worker = self.turn % self.pool.count
        self.turn += 1
        self.owner[self.requested] = worker
        self.pool._post(worker, ("fetch", self.requested, keys))
        self.requested += 1

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        if self.pool.latest != self.number:
            raise RuntimeError("DataLoader: a newer iterator uses the persistent workers")
        while self.owner:
            message = self._take()
            if message is None:
                self._receive()
                continue
            self._request()
            if message[0] == "batch":
                return message[2]
            if message[0] == "error":
                raise message[2].to_exception()
        self.pool.finished()
        raise StopIteration

    def _take(self) -> Any:
        """Return the next message to deliver, if it has arrived."""
        first = next(iter(self.arrived), self.delivered)
        number = self.delivered if self.pool.in_order else first
        if number not in self.arrived:
            return None
        self.delivered += 1
        del self.owner[number]
        return self.arrived.pop(number)

    def _receive(self) -> None:
        waiting = {worker for number, worker in self.owner.items() if number not in self.arrived}
        worker, message = self.pool._next_message(waiting)
        self.arrived[message[1]] = message
        if message[0] == "end":
            self.alive.discard(worker)


def _start_method() -> str | None:
    """Return "fork" on Linux, where it is safe and requires no pickling; elsewhere None, Python's default."""
    return "fork" if sys.platform.startswith("linux") else None
