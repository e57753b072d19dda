"""The exception that ended a program: where it was raised, its operands, and what explains it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.inspect.history import History
from engine.inspect.history.failure import failure_at, fatal_failure
from engine.inspect.history.why_failed import why_failed
from engine.inspect.trace import TraceReader
from tests.inspect.test_recorder import recorded_command

# program, the line that fails, a part of the explanation, a fact of it
PROGRAMS = {
    "shapes": (
        "x = torch.zeros(2, 3)\ny = torch.zeros(2, 4)\nz = x + y",
        5,
        "The shapes do not fit: add failed on line 5",
        "y has size 4 in dimension 1",
    ),
    "in place": (
        "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()",
        6,
        "A saved tensor was overwritten",
        "was written by add_ on line 5",
    ),
    "freed": (
        "x = torch.ones(2, requires_grad=True)\ns = (x * x).sum()\ns.backward()\ns.backward()",
        6,
        "freed by an earlier backward pass",
        "on line 5 of program.py (`s.backward()`) freed the saved tensors of its graph\nnode 1 (MulBackward0) "
        "was made before that",
    ),
    "freed, not by grad": (
        "x = torch.ones(2, requires_grad=True)\nf = x.exp()\ntorch.autograd.grad(f.sum(), x, create_graph=True)\n"
        "f.sum().backward()\nf.mean().backward()",
        7,
        "freed by an earlier backward pass",
        "on line 6 of program.py (`f.sum().backward()`) freed the saved tensors of its graph",
    ),
    "no graph": (
        "x = torch.ones(2)\nloss = x.sum()\nloss.backward()",
        5,
        "nothing to differentiate",
        "loss.requires_grad is False",
    ),
    "dtype": (
        "a = torch.zeros(2, 2)\nb = torch.zeros(2, 2, dtype=torch.float64)\nF.linear(a, b)",
        5,
        "The dtypes do not fit: linear failed",
        "weight is b: float64",
    ),
    "index": (
        "e = torch.nn.Embedding(5, 3)\ne(torch.tensor([1, 7]))",
        4,
        "An index is outside its dimension",
        "weight is e.weight: float32, sizes 5 × 3",
    ),
    "device": (
        "a = torch.zeros(2)\nb = torch.zeros(2, device='meta')\na + b",
        5,
        "The devices do not fit",
        "other is b: float32, sizes 2, on meta",
    ),
    "leaf": (
        "x = torch.ones(2, requires_grad=True)\nx.add_(1)",
        4,
        "A leaf that requires a gradient",
        "self is x",
    ),
    "no graph before it": (
        "w = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    h = w * 2\n"
        "loss = (h + 1).sum()\nloss.backward()",
        7,
        "nothing to differentiate",
        "h was made on line 5 of program.py (`h = w * 2`) by mul while gradients were not recorded",
    ),
    "gradients": (
        "class Own(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, low):\n"
        "        return x * low\n    @staticmethod\n    def backward(ctx, grad):\n        return grad\n"
        "y = Own.apply(torch.ones(2, requires_grad=True), 3.0).sum()\ny.backward()",
        11,
        "too few or too many gradients",
        "(OwnBackward) was running, which was made on line 10",
    ),
    "hook": (
        "def check(grad):\n    raise ValueError('too large')\n"
        "y = torch.ones(2, requires_grad=True) * 2\ny.register_hook(check)\ny.sum().backward()",
        4,
        "ValueError was raised on line 4",
        "called by <module> on line 7 of program.py",
    ),
    "worker": (
        "class Data(torch.utils.data.Dataset):\n    def __len__(self):\n        return 2\n"
        "    def __getitem__(self, i):\n        raise KeyError(f'sample {i}')\n"
        "list(torch.utils.data.DataLoader(Data(), num_workers=1))",
        8,
        "A DataLoader worker failed with KeyError: 'sample 0'",
        "the worker raised it on line 7 of program.py, in __getitem__",
    ),
    "anything": (
        "def half(count):\n    return 1 / count\nhalf(0)",
        4,
        "ZeroDivisionError was raised on line 4",
        "count was 0",
    ),
}


def recorded(folder: Path, code: str) -> History:
    program, trace = folder / "program.py", folder / "program.uht"
    program.write_text(f"import engine as torch\nF = torch.nn.functional\n{code}\n", "utf-8")
    command = recorded_command(trace, str(program))
    subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False)
    return History(TraceReader.open(trace))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_failure_is_where_it_was_raised_and_explained(name: str, tmp_path: Path) -> None:
    code, line, text, fact = PROGRAMS[name]
    history = recorded(tmp_path, code)
    failure = fatal_failure(history)
    assert failure is not None
    assert failure.fatal
    assert failure.line == line
    assert failure_at(history, history.end - 1) == failure
    assert failure_at(history, failure.moment - 1) is None
    answer = why_failed(history, failure)
    assert text in answer.text
    assert fact in "\n".join(answer.facts)


def test_the_sizes_that_do_not_fit_are_marked(tmp_path: Path) -> None:
    history = recorded(tmp_path, "torch.nn.Linear(100, 10)(torch.zeros(8, 144))")
    failure = fatal_failure(history)
    assert failure is not None
    marks = {operand.name: (operand.sizes, operand.wrong) for operand in failure.operands}
    assert marks["input"] == ((8, 144), (False, True))
    assert marks["weight"] == ((10, 100), (False, True))
    assert failure.message == "mat1 and mat2 shapes cannot be multiplied (8x144 and 100x10)"


def test_a_handled_exception_and_an_exit_are_no_failures(tmp_path: Path) -> None:
    code = "import sys\ntry:\n    torch.zeros(2) + torch.zeros(3)\nexcept RuntimeError:\n    pass\nsys.exit(3)"
    history = recorded(tmp_path, code)
    assert fatal_failure(history) is None
    raised = int(history.tables.exceptions.since[0])
    handled = failure_at(history, raised)
    assert handled is not None
    assert not handled.fatal
    assert handled.op == "add"


def test_parameters_of_deep_networks_have_names(tmp_path: Path) -> None:
    code = (
        "nn = torch.nn\nclass Block(nn.Module):\n    def __init__(self, depth):\n"
        "        super().__init__()\n"
        "        self.inner = Block(depth - 1) if depth else nn.Sequential(nn.Linear(2, 2))\n"
        "nets = [Block(6)]\nlink = {}\nlink['self'] = [link]\npass"
    )
    history = recorded(tmp_path, code)
    names = {name.label for name in history.names_at(int(history.tables.lines.since[-1]))}
    assert f"nets[0]{'.inner' * 7}.0.weight" in names


def test_the_state_of_an_optimizer_has_names(tmp_path: Path) -> None:
    code = (
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
        "optimizer = torch.optim.Adam(net.parameters())\n"
        "net(torch.ones(1, 2)).sum().backward()\noptimizer.step()\npass"
    )
    history = recorded(tmp_path, code)
    last = int(history.tables.lines.since[-1])
    names = {name.label for name in history.names_at(last)}
    assert {"net.0.weight", "net.0.bias", "optimizer.state[0].exp_avg"} <= names
    weight = next(name for name in history.names_at(last) if name.label == "net.0.weight")
    owners = history.owners(weight.tensor, last).object
    assert owners is not None
    holders = [holder.name for holder in owners.holders]
    assert "optimizer.state.keys()[0]" in holders
    assert "held elsewhere" not in holders
