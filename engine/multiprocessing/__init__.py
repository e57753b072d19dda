"""PyTorch's `torch.multiprocessing`: Python's `multiprocessing` with tensors in shared memory.

Tensors that are sent by a Queue, a Pipe or the arguments of a Process move to shared memory: both sides then see
each other's writes. A tensor whose memory has views arrives as a copy, unless `share_memory_` moved it before them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from typing import Any

from engine.multiprocessing import reductions as reductions

__all__ = [
    *multiprocessing.__all__,
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """Return the ways of sharing memory: by the descriptor of an anonymous file."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return "file_descriptor"."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose the way of sharing memory. Raises: ValueError for one that is not available."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(
            f"set_sharing_strategy: expected one of {get_all_sharing_strategies()}, got {new_strategy!r}"
        )


class ProcessRaisedException(Exception):
    """A process of `spawn` raised an exception; the message is its traceback."""

    def __init__(self, message: str, error_index: int, error_pid: int) -> None:
        super().__init__(message)
        self.error_index, self.pid = error_index, error_pid


class ProcessExitedException(Exception):
    """A process of `spawn` ended with an exit code other than 0, or by a signal."""

    def __init__(self, message: str, error_index: int, error_pid: int, exit_code: int) -> None:
        super().__init__(message)
        self.error_index, self.pid, self.exit_code = error_index, error_pid, exit_code


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted as well
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class SpawnContext:
    """The processes that `spawn` started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """Return the processes' ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until a process ends; return True if all have ended.

        Raises: ProcessRaisedException or ProcessExitedException if one failed, after the others were terminated.
        """
        running = {
            process.sentinel: i for i, process in enumerate(self.processes) if process.is_alive()
        }
        for sentinel in connection.wait(list(running), timeout) if running else ():
            self.processes[running[sentinel]].join()
        failed = next((i for i, p in enumerate(self.processes) if p.exitcode), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        process = self.processes[failed]
        with contextlib.suppress(EOFError):  # it was killed before it could say anything
            text = self._errors[failed].recv()
            message = f"\n\n-- Process {failed} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, failed, process.pid)
        ending = (
            f"exit code {process.exitcode}"
            if process.exitcode > 0
            else f"signal {-process.exitcode}"
        )
        raise ProcessExitedException(
            f"process {failed} terminated with {ending}", failed, process.pid, process.exitcode
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """Run `fn(i, *args)` in `nprocs` processes, and wait for them unless `join` is False."""
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    started = SpawnContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> SpawnContext | None:
    """Run `fn(i, *args)` in `nprocs` new Python processes, and wait for them unless `join` is False."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
