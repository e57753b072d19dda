"""Programs that begin calls and wait for them. `torch` is this engine, or PyTorch where it is compared."""

import engine as torch
from engine.jit import Future


def scaled(a: torch.Tensor, by: int) -> torch.Tensor:
    return a * by


def one(x):
    future = torch.jit.fork(scaled, x, by=2)
    y = x + 1
    return torch.jit.wait(future) + y


def several(x, n: int):
    futures = torch.jit.annotate(list[Future[torch.Tensor]], [])
    for i in range(n):
        futures.append(torch.jit.fork(scaled, x, i))
    results = [torch.jit.wait(f) for f in futures]
    return torch.stack(results)


def of_an_operator(x):
    return torch.jit.wait(torch.jit.fork(torch.neg, x))


def within(x):
    return torch.jit.wait(torch.jit.fork(one, x))


def fails(x):
    raise ValueError("it went wrong")
    return x


def waits_for_failure(x):
    future = torch.jit.fork(fails, x)
    print("begun")
    return torch.jit.wait(future)


def never_waits(x):
    torch.jit.fork(fails, x)
    return x + 1


def returned(x):
    return torch.jit.fork(scaled, x, 3)


def writes(x):
    y = x.clone()
    future = torch.jit.fork(torch.relu_, y)
    torch.jit.wait(future)
    return y


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def helper(self, x, k: int):
        return self.inner(x) * k

    def forward(self, x):
        first = torch.jit.fork(self.helper, x, 2)
        second = torch.jit.fork(self.inner, x)
        return torch.jit.wait(first) + torch.jit.wait(second)


PROGRAMS = [one, several, of_an_operator, within]
