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
print(torch.__version__.split(".")[0], torch.ones(2).shape, torch.float32, torch.ones(1).type())
print(torch.tensor([1], dtype=torch.int16), engine.__spec__.name, engine.nn.__spec__.name)
try:
    import torch.futures
except ModuleNotFoundError as error:
    print(error)
"""
PRINTED = """\
2 torch.Size([2]) torch.float32 torch.FloatTensor
tensor([1], dtype=torch.int16) engine engine.nn
No module named 'torch.futures'
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
