"""The loader's side of its worker processes: who gets which keys, whose batch is next, who died."""

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

_PATIENCE = 5.0  # seconds a worker has to stop by itself before it is ended


class _Workers:
    """Processes and the loader's ends of their pipes, apart from the pool: they are stopped when it dies."""

    def __init__(self) -> None:
        self.processes: list[Any] = []
        self.keys: list[Any] = []
        self.results: list[Any] = []
        self.patience = _PATIENCE
        self.home = os.getpid()

    def stop(self) -> None:
        if os.getpid() != self.home:
            return  # a forked copy: these are the original's
        for connection in self.keys:
            with contextlib.suppress(OSError):  # it has ended already
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
    """The workers of one DataLoader. Keys go round; batches come back in the order of their keys."""

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
        mine = [*self.workers.keys, *self.workers.results, keys_out, results_in] if forked else []
        process = context.Process(
            target=run_worker, args=(task, keys_in, results_out, mine), daemon=True
        )
        with warnings.catch_warnings():
            # Python warns of forking while threads run. The engine's own are prepared for it (see
            # Note [Fork] in csrc/base/parallel.h), and a worker uses no other's.
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            process.start()
        keys_in.close()
        results_out.close()
        self.workers.processes.append(process)
        self.workers.keys.append(keys_out)
        self.workers.results.append(results_in)

    def start_again(self, seed: int) -> None:
        """A new pass with the same processes; what an unfinished one left behind is thrown away."""
        for number in range(self.count):
            self._tell(number, ("again", seed + number))
        waiting = set(range(self.count))
        while waiting:
            number, message = self._next_message(waiting)
            if message[0] == "ready":
                waiting.discard(number)

    def batches(self, keys: Iterator[Any]) -> Iterator[Any]:
        """The batches of one pass; the workers begin at once."""
        self.latest += 1
        return _Pass(self, keys, self.latest)

    def finished(self) -> None:
        """A pass is over."""
        if not self.persistent or not self.usable:
            self.close()

    def close(self, patience: float = _PATIENCE) -> None:
        """Stops the processes; those that do not stop by themselves in `patience` seconds are ended."""
        self.usable = False
        self.workers.patience = patience
        self._finalizer()

    # ---- messages

    def _tell(self, number: int, message: Any) -> None:
        try:
            self.workers.keys[number].send(message)
        except OSError:
            self._died(number)

    def _next_message(self, waiting: set[int]) -> tuple[int, Any]:
        """The next message of one of the workers that are waited for."""
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
            how = f"is killed by signal: {signal.Signals(-code).name} ({-code})"
        else:
            how = f"exited unexpectedly with exit code {code}"
        raise RuntimeError(f"DataLoader worker {number} (pid {pid}) {how}")


class _Pass:
    """One pass over the keys: an iterator over batches."""

    def __init__(self, pool: WorkerPool, keys: Iterator[Any], number: int) -> None:
        self.pool = pool
        self.keys = keys
        self.number = number
        self.alive = set(range(pool.count))  # whose part of the data has not ended
        self.owner: dict[int, int] = {}  # batch -> worker, for all that were asked for
        self.arrived: dict[int, Any] = {}
        self.asked = 0
        self.given = 0
        self.turn = 0
        for _ in range(pool.count * pool.ahead):
            self._ask()

    def _ask(self) -> None:
        """The next keys, for the next worker that still has data."""
        if not self.alive:
            return
        try:
            wanted = next(self.keys)
        except StopIteration:
            return
        while self.turn % self.pool.count not in self.alive:
            self.turn += 1
        worker = self.turn % self.pool.count
        self.turn += 1
        self.owner[self.asked] = worker
        self.pool._tell(worker, ("fetch", self.asked, wanted))
        self.asked += 1

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
            self._ask()
            if message[0] == "batch":
                return message[2]
            if message[0] == "error":
                raise message[2].again()
        self.pool.finished()
        raise StopIteration

    def _take(self) -> Any:
        """The message that is due, if it is there."""
        first = next(iter(self.arrived), self.given)
        number = self.given if self.pool.in_order else first
        if number not in self.arrived:
            return None
        self.given += 1
        del self.owner[number]
        return self.arrived.pop(number)

    def _receive(self) -> None:
        waiting = {worker for number, worker in self.owner.items() if number not in self.arrived}
        worker, message = self.pool._next_message(waiting)
        self.arrived[message[1]] = message
        if message[0] == "end":
            self.alive.discard(worker)


def _start_method() -> str | None:
    """fork on Linux, where it is safe and needs nothing picklable; elsewhere Python's own choice."""
    return "fork" if sys.platform.startswith("linux") else None
