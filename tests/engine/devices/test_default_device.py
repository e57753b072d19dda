"""`with device(...)` and set_default_device: the device of new tensors."""

import subprocess
import sys

import pytest

import engine

FACTORIES = {
    "zeros": lambda t: t.zeros(2),
    "ones": lambda t: t.ones(2),
    "empty": lambda t: t.empty(2),
    "full": lambda t: t.full((2,), 1.0),
    "arange": lambda t: t.arange(3),
    "linspace": lambda t: t.linspace(0, 1, 3),
    "eye": lambda t: t.eye(2),
    "rand": lambda t: t.rand(2),
    "randn": lambda t: t.randn(2),
    "randint": lambda t: t.randint(0, 3, (2,)),
    "randperm": lambda t: t.randperm(3),
    "tensor": lambda t: t.tensor([1.0]),
    "as_tensor": lambda t: t.as_tensor([1.0]),
    "hann_window": lambda t: t.hann_window(3),
    "linear": lambda t: t.nn.Linear(2, 2).weight,
    "lstm": lambda t: t.nn.LSTM(2, 2).weight_hh_l0,
    "embedding": lambda t: t.nn.Embedding(2, 2).weight,
    "typed": lambda t: t.FloatTensor(2),
    "like": lambda t: t.zeros_like(t.ones(2, device="cpu")),
    "new": lambda t: t.ones(2, device="cpu").new_zeros(2),
}
ON_CPU = {"typed", "like", "new"}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_follow_the_block(name):
    with engine.device("meta"):
        assert FACTORIES[name](engine).device.type == ("cpu" if name in ON_CPU else "meta")
        with engine.device("cpu"):
            assert FACTORIES[name](engine).device.type == "cpu"
    assert FACTORIES[name](engine).device.type == "cpu"


@pytest.mark.parametrize("name", FACTORIES)
def test_torch_agrees(name):
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        assert FACTORIES[name](torch).device.type == ("cpu" if name in ON_CPU else "meta")


def test_the_default_is_set_and_reset():
    try:
        engine.set_default_device("meta")
        assert engine.get_default_device() == engine.device("meta")
        assert engine.zeros(2).is_meta
        engine.set_default_device("cuda")
        with pytest.raises(AssertionError, match="CUDA"):
            engine.zeros(2)
    finally:
        engine.set_default_device(None)
    assert engine.get_default_device() == engine.device("cpu")
    assert engine.zeros(2).is_cpu


def test_programs_without_a_default_device_do_not_load_it():
    code = "import sys, engine; engine.zeros(2); print('engine.default_device' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"
