"""cuda, xpu, mps and backends say what is true on a machine without these devices."""

import doctest
import importlib

import pytest

import engine

MODULES = ["accelerator", "cpu", "cuda", "mps", "mtia", "xpu", "backends", "distributed"]


@pytest.mark.parametrize("name", ["cuda", "mps", "mtia", "xpu"])
def test_nothing_is_available(name):
    module = getattr(engine, name)
    assert module.is_available() is False
    assert module.device_count() == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(f"engine.{name}")).failed == 0


def test_seeds_and_counters_of_absent_devices_do_nothing():
    before = engine.get_rng_state()
    engine.cuda.manual_seed(1)
    engine.cuda.manual_seed_all(2)
    engine.xpu.manual_seed_all(3)
    engine.mps.manual_seed(4)
    engine.cuda.empty_cache()
    assert engine.equal(engine.get_rng_state(), before)
    assert engine.cuda.memory_allocated() == engine.cuda.max_memory_reserved() == 0
    assert engine.cuda.get_rng_state_all() == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: engine.cuda.current_device(), AssertionError, "CUDA enabled"),
        (lambda: engine.cuda.synchronize(), AssertionError, "CUDA enabled"),
        (lambda: engine.cuda.set_device(0), AssertionError, "CUDA enabled"),
        (lambda: engine.cuda.Stream(), RuntimeError, "requires CUDA"),
        (lambda: engine.xpu.synchronize(), AssertionError, "XPU enabled"),
        (lambda: engine.mps.synchronize(), RuntimeError, "without MPS backend"),
        (lambda: engine.ones(2).cuda(), AssertionError, "CUDA enabled"),
        (lambda: engine.nn.Linear(1, 1).cuda(), AssertionError, "CUDA enabled"),
        (lambda: engine.ones(2).to("mps"), AssertionError, "'mps'"),
        (lambda: engine.ones(2, device="cuda:1"), AssertionError, "'cuda:1'"),
        (lambda: engine.Generator("cuda"), RuntimeError, "'cuda'"),
        (lambda: engine.cuda.FloatTensor(2), TypeError, "not available"),
    ],
)
def test_what_needs_a_device_raises(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_tensor_is_elsewhere():
    x = engine.ones(2)
    names = ("is_cuda", "is_xpu", "is_mps", "is_sparse", "is_quantized", "is_nested")
    assert not any(getattr(x, name) for name in names)
    assert x.get_device() == -1
    assert engine.device("cuda", 1) == engine.device("cuda:1") != x.device
    assert not isinstance(x, engine.cuda.FloatTensor)


def test_switches_are_remembered():
    assert engine.backends.cudnn.enabled is True
    with engine.backends.cudnn.flags(enabled=False, benchmark=True):
        assert engine.backends.cudnn.enabled is False
        assert engine.backends.cudnn.benchmark is True
    assert engine.backends.cudnn.enabled is True
    with engine.backends.cuda.sdp_kernel(enable_flash=False):
        assert not engine.backends.cuda.flash_sdp_enabled()
    assert engine.backends.cuda.flash_sdp_enabled()
    engine.set_float32_matmul_precision("high")
    assert engine.get_float32_matmul_precision() == "high"
    engine.set_float32_matmul_precision("highest")
    engine.set_deterministic_debug_mode("warn")
    assert engine.are_deterministic_algorithms_enabled()
    assert engine.get_deterministic_debug_mode() == 1
    engine.use_deterministic_algorithms(False)
    assert engine.get_deterministic_debug_mode() == 0


@pytest.mark.parametrize(
    "module",
    ["accelerator", "backends.cuda", "backends.cudnn", "backends.mps", "cuda", "mps", "xpu"],
)
def test_results_are_those_of_torch(module):
    """Functions without arguments return PyTorch's values, and raise its errors."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this machine has an accelerator")
    if module == "accelerator" and engine.opencl.is_available():
        pytest.skip("there is an OpenCL device, and PyTorch has no such backend")
    actual = importlib.import_module(f"engine.{module}")
    expected = importlib.import_module(f"torch.{module}")
    compared = 0
    for name in ("is_available", "is_built", "device_count", "memory_allocated", "version"):
        if not hasattr(actual, name) or not hasattr(expected, name):
            continue
        try:
            result = getattr(expected, name)()
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=str(error).split("(")[0]):
                getattr(actual, name)()
        else:
            assert getattr(actual, name)() == result, name
        compared += 1
    assert compared
