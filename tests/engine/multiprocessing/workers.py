"""Functions that other processes import and run."""

from __future__ import annotations

import os
import signal

import engine


def add(index, x):
    x.add_(index + 1)


def fail(index):
    if index == 1:
        raise ValueError("on purpose")


def die(index):
    os.kill(os.getpid(), signal.SIGKILL)


def answer(queue, replies):
    x = queue.get()
    x[0] = 7
    replies.put(("seen", tuple(x.shape), x.stride(), str(x.dtype)))
    queue.get()  # the sender has looked at the write


def train(index, model, steps):
    """Hogwild: steps without a lock."""
    engine.manual_seed(index)
    optimizer = engine.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = engine.randn(16, 2)
        loss = (model(x) - x @ engine.tensor([[2.0], [-3.0]])).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
