"""The engine under the name torch: `underhood record --as torch`."""

import subprocess
import sys

import pytest

SCRIPT = """
import torch, torch.nn.functional as F, torch.utils.data
from torch import nn, optim
from torch.nn import Linear
from torch.optim.lr_scheduler import StepLR
import engine
assert torch is engine and nn is engine.nn and F is engine.nn.functional
assert torch.nn.modules.linear.Linear is Linear
assert torch.__name__ == "torch"
print(torch.Tensor, type(nn.Parameter(torch.ones(1))), nn.Linear, nn.Module, StepLR, type(torch.ones(1).max(0)))
print(torch.__version__.split(".")[0], torch.ones(2).shape, torch.float32, torch.ones(1).type())
print(torch.tensor([1], dtype=torch.int16), engine.__spec__.name, engine.nn.__spec__.name)
try:
    import torch.package
except ModuleNotFoundError as error:
    print(error)
"""
PRINTED = """\
<class 'torch.Tensor'> <class 'torch.nn.parameter.Parameter'> <class 'torch.nn.modules.linear.Linear'> \
<class 'torch.nn.modules.module.Module'> <class 'torch.optim.lr_scheduler.StepLR'> <class 'torch.return_types.max'>
2 torch.Size([2]) torch.float32 torch.FloatTensor
tensor([1], dtype=torch.int16) engine engine.nn
No module named 'torch.package'
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_that_imports_torch_is_recorded(script, tmp_path):
    command = [
        sys.executable,
        "-m",
        "tui",
        "record",
        "--as",
        "torch",
        "-o",
        str(tmp_path / "t.uht"),
    ]
    result = subprocess.run([*command, str(script)], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, PRINTED), result.stderr
    assert (tmp_path / "t.uht").exists()


def test_other_processes_do_not_see_the_alias(tmp_path):
    path = tmp_path / "script.py"
    code = "import importlib.util, sys; print(importlib.util.find_spec('torch'))"
    path.write_text(
        "import subprocess, sys, torch\n"
        f"print(subprocess.run([sys.executable, '-c', {code!r}], capture_output=True, text=True).stdout)"
    )
    command = [
        sys.executable,
        "-m",
        "tui",
        "record",
        "--as",
        "torch",
        "-o",
        str(tmp_path / "t.uht"),
    ]
    result = subprocess.run([*command, str(path)], capture_output=True, text=True)
    assert "_AliasFinder" not in result.stdout
    assert result.returncode == 0, result.stderr


def test_the_alias_comes_before_the_import():
    code = "import sys; sys.modules['torch'] = sys\nfrom engine.inspect.alias import install\ninstall('torch')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "torch is imported already" in result.stderr


HOGWILD = """
import torch
from torch import multiprocessing, nn

def train(model, x):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        ((model(x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        optimizer.step()

if __name__ == "__main__":
    model = nn.Linear(3, 1)
    model.share_memory()
    x = torch.randn(50, 3)
    before = (model(x) - x.sum(1, keepdim=True)).abs().mean().item()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=train, args=(model, x)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    after = (model(x) - x.sum(1, keepdim=True)).abs().mean().item()
    print([process.exitcode for process in processes], after < before / 2)
"""


def run_as_torch(tmp_path, code):
    path = tmp_path / "program.py"
    path.write_text(f"from engine.inspect.alias import install\ninstall('torch')\n{code}")
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_spawned_processes_import_torch_too(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(HOGWILD)
    trace = str(tmp_path / "t.uht")
    command = [sys.executable, "-m", "tui", "record", "--as", "torch", "-o", trace, str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout == "[0, 0] True\n", result.stderr


def test_public_classes_are_found_where_they_say_they_are(tmp_path):
    code = """
import importlib, torch, torch.distributions, torch.optim, torch.utils.data
lost = []
for space in (torch, torch.nn, torch.optim, torch.optim.lr_scheduler, torch.utils.data, torch.distributions):
    for name in dir(space):
        kind = getattr(space, name)
        if not isinstance(kind, type) or not kind.__module__.startswith("torch") or "<" in kind.__qualname__:
            continue
        try:
            found = getattr(importlib.import_module(kind.__module__), kind.__qualname__)
        except (ImportError, AttributeError):
            found = None
        if found is not kind:
            lost.append((kind.__module__, kind.__qualname__))
print(sorted(set(lost)))
"""
    assert run_as_torch(tmp_path, code) == "[]\n"


def test_messages_name_torch(tmp_path):
    code = """
import torch

def message(f):
    try:
        f()
    except Exception as error:
        return str(error)

x = torch.ones(2, requires_grad=True)
y = x.exp()
y.add_(1)
inference = torch.inference_mode()
with inference:
    z = torch.ones(2)
messages = [
    message(lambda: y.sum().backward()),
    message(lambda: x * z),
    message(lambda: torch.nothing),
    message(lambda: torch.nn.nothing),
    message(lambda: torch.distributed.rpc.nothing),
    message(lambda: torch.ones(2, dtype=3)),
    message(lambda: setattr(torch.nn.Linear(1, 1), "weight", 3)),
    message(lambda: torch.ops.aten.nothing),
    repr(torch.ops.aten.add.Tensor),
    torch.sparse.to_sparse_semi_structured.__module__,
]
for text in messages:
    print(text)
assert "torch.autograd.set_detect_anomaly(True" in messages[0], messages[0]
assert not any("engine" in text for text in messages)
"""
    run_as_torch(tmp_path, code)
