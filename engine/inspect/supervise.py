"""A process between the explorer and a learner's program, so that the program cannot harm the
explorer.

    python -I -S supervise.py STATUS SPARED COMMAND...

Runs COMMAND and writes to the descriptor STATUS: `pid N`, and at its end `exit N` or `signal N`. The
command's parent is a process that only waits. A program that kills it ends only itself; then no end is
written.

When the command has ended, or standard input is closed, or the caller has died, every descendant is
ended, also those that called `setsid` or were orphaned. Processes that have the word SPARED in their
command line (the writer of a recording) get time to end by themselves.

A script of the standard library alone: it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

SPARED_S = 20.0  # how long a spared process may take to end on its own
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main(status: int, spared: str, command: list[str]) -> None:
    """Run the command, and end all processes that remain of it."""
    os.set_inheritable(status, False)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    has_reaper = prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent = os.fork()
    if not parent:
        wait_for(status, command)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):  # the caller reads until all writers have ended
        os.dup2(nothing, descriptor)
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            if parent in (reap() or ()):
                break
        if 0 in ready and not os.read(0, 4096):
            break
    if has_reaper:
        end_descendants(spared)
    os._exit(0)


def wait_for(status: int, command: list[str]) -> None:
    """Wait for the command as its parent, and write how it ended."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    child = os.fork()
    if not child:
        become(command)
    os.write(status, b"pid %d\n" % child)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    _, code = os.waitpid(child, 0)
    kind = b"signal" if os.WIFSIGNALED(code) else b"exit"
    number = os.WTERMSIG(code) if os.WIFSIGNALED(code) else os.WEXITSTATUS(code)
    os.write(status, b"%s %d\n" % (kind, number))
    with contextlib.suppress(OSError):  # without subreapers, its session goes with it
        os.killpg(child, signal.SIGKILL)
    os._exit(0)


def become(command: list[str]) -> None:
    """Replaces this process by the command, in a separate session."""
    try:
        os.setsid()
        for number in (
            signal.SIGCHLD,
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):  # Python's own, not the caller's
            signal.signal(number, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # the first process to be killed when memory runs out
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(command[0], command)
    finally:
        os._exit(127)


def prctl(option: int, value: int) -> bool:
    """Return whether the system knows this option and has taken the value (Linux only)."""
    if sys.platform != "linux":
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def reap() -> list[int] | None:
    """Return the children that have ended since the last call; None if no children are left."""
    ended = []
    try:
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            ended.append(pid)
    except ChildProcessError:
        return ended or None
    return ended


def end_descendants(spared: str) -> None:
    """Ends every descendant; returns when there is none. An orphan becomes a child of this process."""
    deadline = time.monotonic() + SPARED_S
    while reap() is not None:
        for pid in descendants():
            if time.monotonic() > deadline or spared not in command_line(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def descendants() -> list[int]:
    """Return the process numbers of all descendants that have not ended."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b") ")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(name))
    processes: list[int] = []
    ancestors = [os.getpid()]
    while ancestors:
        young = children.get(ancestors.pop(), [])
        processes += young
        ancestors += young
    return processes


def command_line(pid: int) -> str:
    """Return the process's command line, "" if it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
