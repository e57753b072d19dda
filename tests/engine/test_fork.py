"""os.fork() during running work: neither side hangs, and the child computes with its own threads."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import os, sys, threading, time
    import engine

    engine.set_num_threads(2)
    size, forks, body = {size}, {forks}, {body!r}
    a = engine.ones(size, size)
    w = engine.ones(size, size, requires_grad=True)
    stop = False
    ready = threading.Event()

    def work():
        while not stop:
            exec(body)
            ready.set()

    threads = [threading.Thread(target=work) for _ in range({threads})]
    for thread in threads:
        thread.start()
    ready.wait()
    for i in range(forks):
        child = os.fork()
        if child == 0:
            ok = (a @ a)[0, 0].item() == size and engine.ones(200000).add(1).sum().item() == 400000
            os._exit(0 if ok else 3)
        for _ in range(4000):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.005)
        else:
            os.kill(child, 9)
            sys.exit(f"child {{i}} hangs")
        if status:
            sys.exit(f"child {{i}} ended with {{status}}")
    stop = True
    for thread in threads:
        thread.join()
    print("ok", (a @ a)[0, 0].item() == size)
"""


def run(size: int, forks: int, body: str, threads: int = 1) -> str:
    program = textwrap.dedent(PROGRAM).format(size=size, forks=forks, body=body, threads=threads)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False
    )
    return (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(("size", "forks"), [(64, 10), (300, 50)])
def test_a_process_forks_while_a_thread_multiplies(size: int, forks: int) -> None:
    assert run(size, forks, "a @ a") == "ok True"


def test_a_process_forks_while_threads_run_passes_with_hooks() -> None:
    body = "y = (w @ a).sum(); w.register_hook(lambda g: None).remove(); y.backward()"
    assert run(48, 8, body, threads=3) == "ok True"


def test_a_process_forks_while_threads_change_sizes() -> None:
    body = "b = engine.empty(0); engine.add(a, a, out=b); b.resize_(3); b.data = a"
    assert run(48, 8, body, threads=2) == "ok True"
