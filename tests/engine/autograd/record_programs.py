"""Writes recorded_programs.json: PyTorch's logs of random programs. Run where torch is installed.

Each runs in its own process: about one in a hundred ends PyTorch's process (a hook on a tensor
that was detached in place); those are recorded as null, and the engine only has to survive them.
"""

from __future__ import annotations

import json
import multiprocessing
from typing import Any

from random_programs import RECORDED, log_of

COUNT = 300


def record(seed: int, results: Any) -> None:
    import torch

    results.send(log_of(torch, seed))


def log_of_a_process(seed: int) -> Any:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=record, args=(seed, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None
    finally:
        process.join()


def main() -> None:
    import torch

    logs = []
    for seed in range(COUNT):
        first, second = log_of_a_process(seed), log_of_a_process(seed)
        logs.append(first if first == second else None)
    lines = [json.dumps(log, separators=(",", ":")) for log in logs]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    lost = sum(log is None for log in logs)
    print(f"{COUNT} programs of torch {torch.__version__}, {lost} of which ended its process")


if __name__ == "__main__":
    main()
