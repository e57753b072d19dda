"""Programs that differentiate, as a user would write them; each is recorded once."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from engine.inspect.history import History
from engine.inspect.trace import TraceReader

_RECORD = (
    "import sys; from engine.inspect.recorder import record_program; "
    "sys.exit(record_program(sys.argv[2:], sys.argv[1]))"
)

PROGRAMS = {
    "diamond": """
import engine
x = engine.tensor([1.0, 2.0], requires_grad=True)
a = x * x
b = x.exp()
y = (a + b).sum()
y.backward()
""",
    "mlp": """
import engine
from engine import nn
engine.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x, t = engine.randn(16, 4), engine.randn(16, 1)
for step in range(3):
    loss = ((net(x) - t) ** 2).mean()
    for p in net.parameters():
        p.grad = None
    loss.backward()
    with engine.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
""",
    "view_in_place": """
import engine
x = engine.ones(4, requires_grad=True)
y = x * 2
v = y[1:3]
v.mul_(3)
y.sum().backward()
""",
    "stale": """
import engine
x = engine.ones(3, requires_grad=True)
y = x.exp()
y.add_(1)
try:
    y.sum().backward()
except RuntimeError as error:
    print(error)
""",
    "retain_graph": """
import engine
x = engine.ones(3, requires_grad=True)
y = x.exp()
z = (y * y).sum()
z.backward(retain_graph=True)
z.backward()
""",
    "threads": """
import engine, threading
w = engine.ones(3, requires_grad=True)
def work(k):
    x = engine.full((3,), float(k), requires_grad=True)
    for _ in range(5):
        (x * x * w.detach()).sum().backward()
several = [threading.Thread(target=work, args=(k,)) for k in range(2)]
for t in several: t.start()
for t in several: t.join()
""",
    "hooks": """
import engine
x = engine.ones(3, requires_grad=True)
y = x * 3
y.register_hook(lambda g: g * 2)
x.register_hook(lambda g: g + 1)
y.retain_grad()
z = y.sum()
z.grad_fn.register_prehook(lambda gs: None)
y.grad_fn.register_hook(lambda out, into: None)
x.register_post_accumulate_grad_hook(lambda t: None)
z.backward()
""",
    "create_graph": """
import engine
x = engine.tensor([2.0, 3.0], requires_grad=True)
y = (x ** 3).sum()
(g,) = engine.autograd.grad(y, x, create_graph=True)
(h,) = engine.autograd.grad(g.sum(), x)
""",
    "grad_of_one": """
import engine
x = engine.ones(3, requires_grad=True)
w = engine.ones(3, requires_grad=True)
a = x * w
y = (a.exp() + w).sum()
engine.autograd.grad(y, a, retain_graph=True)
y.backward(inputs=[w])
""",
    "checkpoint": """
import engine
from engine.utils.checkpoint import checkpoint
w = engine.ones(3, requires_grad=True)
def block(x):
    return (x * w).tanh()
x = engine.ones(3, requires_grad=True)
y = checkpoint(block, x, use_reentrant=False)
y.sum().backward()
""",
    "reentrant": """
import engine
from engine.autograd import Function
class Inner(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        with engine.enable_grad():
            (x,) = ctx.saved_tensors
            z = x.detach().requires_grad_()
            (z * 2).sum().backward()
        return g * z.grad
x = engine.ones(3, requires_grad=True)
Inner.apply(x).sum().backward()
""",
    "leak": """
import engine
w = engine.ones(3, requires_grad=True)
losses = []
for i in range(4):
    loss = (w * i).sum()
    losses.append(loss)
total = losses[-1].item()
""",
    "detached": """
import engine
w = engine.ones(3, requires_grad=True)
u = engine.ones(3, requires_grad=True)
c = w.detach()
with engine.no_grad():
    d = w * 2
y = (c * u).sum()
y.backward()
u.grad = None
""",
}


@cache
def history_of(name: str) -> History:
    """Return the history of one of the programs."""
    with tempfile.TemporaryDirectory() as folder:
        program, trace = Path(folder) / f"{name}.py", Path(folder) / "t.uht"
        program.write_text(PROGRAMS[name].lstrip())
        command = [sys.executable, "-c", _RECORD, str(trace), str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{name} failed:\n{done.stdout}{done.stderr}"
        return History(TraceReader.open(trace))
