"""The live playground, seen from the explorer: start a kernel, send it lines, collect replies.

Nothing here ever waits for the user's code. The kernel is a separate process, and so is the
writer that copies its events into the trace, which can be read while it grows.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from engine.inspect.recorder import (
    await_writer,
    check_free,
    new_ring,
    new_trace_path,
    spawn_writer,
    trace_meta,
)
from engine.inspect.ring import DEFAULT_VALUES_BUDGET
from engine.inspect.sink import why_it_stopped

LINE_EVENTS = 500_000
"""How many events a line may record before it is paused: what is recorded has to be folded, too."""
_PIPEFUL = 1 << 16
_MAX_READS = 64
_WRITER = "engine.inspect.writer"  # a recording that a line started may end
_END = 30.0  # seconds until all that the kernel started has ended
_AGAIN = 0.1  # seconds after which a line that has not reacted to an interrupt is interrupted again


@dataclass(frozen=True)
class Reply:
    """A message from the kernel.

    kind: ready, stdout, stderr, result, error, incomplete, completions, done, paused (text says why), or died (text
    says how).
    """

    request: int
    kind: str
    text: str = ""


class _Kernel:
    """The kernel's process, which `supervise.py` starts: it kills only its own children, and
    ends the processes that the kernel leaves."""

    def __init__(self, command: list[str], descriptors: list[int]) -> None:
        supervise = Path(__file__).with_name("supervise.py")
        status, status_end = os.pipe()
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(supervise), str(status_end), _WRITER, *command],
                pass_fds=[status_end, *descriptors],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except BaseException:
            os.close(status)
            raise
        finally:
            os.close(status_end)
        self._status = os.fdopen(status, encoding="ascii")
        assert self._supervisor.stdout
        assert self._supervisor.stderr
        self.stdout, self.stderr = self._supervisor.stdout, self._supervisor.stderr
        self.pid = int(self._status.readline().removeprefix("pid ") or 0)
        self._code: int | None = None
        if not self.pid:
            self._supervisor.kill()
            reason = self.stderr.read().decode("utf-8", "replace").strip()
            self.close()
            raise OSError(f"the process that starts Python did not: {reason}")

    def poll(self) -> int | None:
        """Exit code, or the negative number of a signal, once it and all that it started have ended."""
        if self._code is None and self._supervisor.poll() is not None:
            kind, _, number = self._status.readline().partition(" ")
            # If the supervising process was killed, no end is written; that kills the kernel too.
            self._code = (-1 if kind == "signal" else 1) * int(number or -signal.SIGKILL)
        return self._code

    def send_signal(self, number: int) -> None:
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once, and waits until nothing of it is left."""
        self.send_signal(signal.SIGKILL)
        assert self._supervisor.stdin
        self._supervisor.stdin.close()
        try:
            self._supervisor.wait(_END)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()

    def close(self) -> None:
        """Closes the pipes, once it has ended."""
        self._supervisor.wait()
        assert self._supervisor.stdin
        for stream in (self._supervisor.stdin, self.stdout, self.stderr, self._status):
            stream.close()


class Session:
    """One kernel at a time; `restart()` begins again with a fresh kernel and a fresh trace.

    A line that has recorded `line_events` events is paused: its process stands still, whatever it is
    doing, until `go_on()`, which doubles that number, or `interrupt()`.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        budget: int = DEFAULT_VALUES_BUDGET,
        line_events: int = LINE_EVENTS,
    ) -> None:
        self.line_events = line_events
        self.paused = False
        self._line_from = 0  # the number of events before the line that runs
        self._paused_at = 0  # the number of events when it was paused
        self._unheard = 0.0  # when the line was interrupted, if it has not reacted yet
        self._path = Path(path) if path else None
        self._budget = budget
        self._requests = 0
        self._unanswered: list[int] = []
        self.exit_code: int | None = None
        self.path = Path()
        self._start()

    def _start(self) -> None:
        """Creates the ring, the kernel that fills it and the writer that empties it."""
        self.path = check_free(self._path) if self._path else new_trace_path("playground")
        self.exit_code = None
        self._unanswered.clear()
        self._partial = self._outgoing = b""
        self.paused, self._unheard, self._stopped = False, 0.0, False
        ring = new_ring(values=True, budget=self._budget, lines=True)
        requests, self._to_kernel = os.pipe()
        self._from_kernel, replies = os.pipe()
        command = [
            sys.executable,
            "-P",
            "-m",
            "engine.inspect.playground_process",
            "--ring",
            str(ring.fd),
        ]
        command += ["--requests", str(requests), "--replies", str(replies)]
        try:
            self._kernel = _Kernel(command, [ring.fd, requests, replies])
            meta = trace_meta(["<playground>"], self._budget)
            self._writer = spawn_writer(ring, self.path, self._kernel.pid, meta)
        except BaseException:
            ring.close()
            raise
        finally:
            os.close(requests)
            os.close(replies)
        self._ring = ring
        decoder = codecs.getincrementaldecoder("utf-8")
        self._streams = {
            self._kernel.stdout.fileno(): ("stdout", decoder("replace")),
            self._kernel.stderr.fileno(): ("stderr", decoder("replace")),
        }
        for fd in (*self._streams, self._from_kernel, self._to_kernel):
            os.set_blocking(fd, False)

    @property
    def busy(self) -> bool:
        """Return whether the kernel has not yet answered everything that was sent."""
        return bool(self._unanswered)

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    def send(self, code: str) -> int:
        """Sends code to run; returns the number that its replies will carry (0: no kernel)."""
        return self._request("code", code)

    def complete(self, text: str) -> int:
        """Requests completions of a name; the reply has kind "completions"."""
        return self._request("complete", text)

    def _request(self, kind: str, text: str) -> int:
        if not self.alive:
            return 0
        self._requests += 1
        if not self.busy:
            self._line_from = self._ring["head"]
        self._outgoing += json.dumps({"id": self._requests, kind: text}).encode() + b"\n"
        self._unanswered.append(self._requests)
        self._write_frames()
        return self._requests

    @property
    def recorded(self) -> int:
        """Return how many events the line that runs, or ran last, has recorded so far."""
        return self._ring["head"] - self._line_from if self.alive else 0

    def _write_frames(self) -> None:
        """Writes what the pipe has room for; `poll` writes the rest."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._to_kernel, self._outgoing) :]
        except (BlockingIOError, BrokenPipeError):
            return

    def poll(self) -> list[Reply]:
        """Return the replies since the last call, in order; never waits."""
        if not self.alive:
            return []
        self._write_frames()
        code = self._kernel.poll()
        frames = self._read_frames()
        if any(reply.kind == "interrupted" for reply in frames):
            self._unheard = 0.0
        frames = [reply for reply in frames if reply.kind != "interrupted"]
        done = [reply.request for reply in frames if reply.kind == "done"]
        # Printed before it was answered: the kernel flushes both streams before it says "done".
        replies = self._read_output(everything=bool(done) or code is not None) + frames
        self._unanswered = [number for number in self._unanswered if number not in done]
        if code is not None:
            replies.append(Reply(0, "died", _how_it_ended(code)))
            self._clean_up(128 - code if code < 0 else code)
            return replies
        return replies + self._watch_writer() + self._watch()

    def _watch_writer(self) -> list[Reply]:
        """Reports once that the recording has stopped while the kernel continues."""
        header = self._ring.header
        if self._stopped or (self._writer.poll() is None and not header["end"]):
            return []
        self._stopped = True
        message = header.note or why_it_stopped(header)
        return [Reply(self._requests, "stderr", f"underhood: {message}\n")]

    def _watch(self) -> list[Reply]:
        """Repeats an interrupt that the running line has not handled, and pauses a line that records too much."""
        if not self.busy:
            self.paused, self._unheard = False, 0.0
            return []
        if self._unheard and time.monotonic() - self._unheard > _AGAIN:
            # The first signal came between a line and its long sleep: the sleep ends with the second.
            self._signal()
        if self.recorded < self.line_events:
            return []
        if self.paused:
            if self._ring["head"] > self._paused_at:  # another process resumed it
                self._stand_still()
            return []
        self._stand_still()
        self.paused = True
        message = f"paused: the line has recorded {self.recorded:,} events of {self.line_events:,}"
        return [Reply(self._unanswered[0], "paused", message)]

    def _stand_still(self) -> None:
        self._kernel.send_signal(signal.SIGSTOP)
        self._paused_at = self._ring["head"]

    def go_on(self) -> None:
        """Resume a paused line; it and later lines may record twice as many events."""
        if self.paused and self.alive:
            self.line_events *= 2
            self.paused = False
            self._kernel.send_signal(signal.SIGCONT)

    def wait(self, seconds: float = 10.0) -> list[Reply]:
        """Polls until everything sent is answered, the kernel has ended, or the time is over."""
        replies = self.poll()
        deadline = time.monotonic() + seconds
        while self.alive and self.busy and time.monotonic() < deadline:
            time.sleep(0.005)
            replies += self.poll()
        return replies

    def interrupt(self) -> None:
        """Interrupts the running code, as ctrl+c does; `poll` repeats it until the code reacts."""
        if self.alive and self.busy and self._kernel.poll() is None:
            self._signal()

    def _signal(self) -> None:
        self._unheard = time.monotonic()
        self._kernel.send_signal(signal.SIGINT)
        if self.paused:
            self.paused, self._line_from = False, self._ring["head"]
            self._kernel.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once, whatever it is doing; the next `poll` reports its death."""
        if self.alive:
            self._kernel.kill()

    def restart(self) -> list[Reply]:
        """Starts a new kernel and a new trace at `path` (the old trace stays); returns the old kernel's last
        replies."""
        self.kill()
        replies = self.poll()
        self._path = None
        self._start()
        return replies

    def close(self) -> None:
        """Ends the kernel, and waits until its trace is complete."""
        self.kill()
        self.poll()

    def _read_frames(self) -> list[Reply]:
        self._partial += _read(self._from_kernel)
        *lines, self._partial = self._partial.split(b"\n")
        return [reply for line in lines if (reply := _decoded(line))]

    def _read_output(self, everything: bool) -> list[Reply]:
        """Return the printed text: one pipeful per stream, or everything that is available."""
        number = self._unanswered[0] if self._unanswered else self._requests
        replies = []
        for fd, (kind, decoder) in self._streams.items():
            for _ in range(_MAX_READS if everything else 1):
                data = _read(fd)
                if text := decoder.decode(data):
                    replies.append(Reply(number, kind, text))
                if not data:
                    break
        return replies

    def _clean_up(self, exit_code: int) -> None:
        self.exit_code = exit_code
        self._unanswered.clear()
        self.paused = False
        await_writer(self._writer, self._ring.header)
        self._ring.close()
        self._kernel.close()
        os.close(self._to_kernel)
        os.close(self._from_kernel)


def _decoded(line: bytes) -> Reply | None:
    """Decode one frame; None if it is invalid (the user's code can write to any descriptor it has)."""
    try:
        frame = json.loads(line)
        return Reply(int(frame["id"]), str(frame["kind"]), str(frame.get("text", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(fd: int) -> bytes:
    """Return the pipe's present content, limited so that the caller's screen stays responsive."""
    try:
        return os.read(fd, _PIPEFUL)
    except BlockingIOError:
        return b""


def _how_it_ended(code: int) -> str:
    if code < 0:
        try:
            return f"the playground's process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"the playground's process was ended by signal {-code}"
    return f"the playground's process ended with exit code {code}"
