"""Tensors on an OpenCL device: copies, views, pointwise operators, memory."""

import numpy as np
import pytest
from opencl_tools import code, needs_opencl, on_device, run_program, stats

import engine
from engine._native import ffi, lib

pytestmark = needs_opencl
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def same(result, expected):
    assert str(result.device) == "opencl:0"
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    on_host = result.cpu()
    assert engine.allclose(on_host, expected, rtol=1e-5, atol=1e-6, equal_nan=True), (
        on_host,
        expected,
    )


def test_a_tensor_goes_there_and_back():
    x = engine.arange(24.0).reshape(2, 3, 4)
    y = x.to("opencl")
    assert str(y.device) == "opencl:0"
    assert y.stride() == x.stride()
    assert engine.equal(y.cpu(), x)
    assert y.tolist() == x.tolist()
    assert y[1, 2, 3].item() == 23.0
    assert "device='opencl:0'" in repr(y)


@pytest.mark.parametrize("source", DTYPES)
def test_conversions(source):
    values = engine.tensor([0, 1, 2, 3.7, -2.5, 100.0])
    if source == "uint8":  # a negative float has no value in it
        values = values.abs()
    x = values.to(getattr(engine, source))
    for target in DTYPES:
        if source.startswith("complex") and not target.startswith("complex"):
            continue
        if target == "uint8" and source != "bool":
            continue
        expected = x.to(getattr(engine, target))
        same(x.to("opencl").to(getattr(engine, target)), expected)


def test_strided_copies():
    x = engine.arange(60.0).reshape(3, 4, 5)
    y = x.to("opencl")
    for view in (
        lambda t: t.transpose(0, 2),
        lambda t: t[:, ::2, 1:],
        lambda t: t[1],
        lambda t: t[:, :1].expand(3, 6, 5),
        lambda t: t.permute(2, 0, 1)[::3],
    ):
        same(view(y).contiguous(), view(x).contiguous())
        same(view(y).clone(), view(x).clone())
        assert engine.equal(view(y).cpu(), view(x))
    target, on_opencl = engine.zeros(3, 10), engine.zeros(3, 10).to("opencl")
    target[:, ::2] = x[:, 0]
    on_opencl[:, ::2] = x[:, 0]
    same(on_opencl, target)
    target.t()[1:4].copy_(x[0, :3, :3].to(engine.int32))
    on_opencl.t()[1:4].copy_(y[0, :3, :3].to(engine.int32))
    same(on_opencl, target)


def test_broadcast_and_promotion():
    a, b = engine.arange(6).reshape(2, 3), engine.tensor([0.5, 1.5, -1.0])
    c, d = a.to("opencl"), b.to("opencl")
    same(c + d, a + b)
    same(c * 2, a * 2)
    same(2.5 - c, 2.5 - a)
    same(c[:, :1] / d, a[:, :1] / b)
    same(c > d, a > b)
    same(engine.where(c > 2, d, 0.0), engine.where(a > 2, b, 0.0))
    same(c + engine.tensor(1.5), a + engine.tensor(1.5))
    same(engine.addcmul(d, d, c[0], value=0.5), engine.addcmul(b, b, a[0], value=0.5))
    same(d.clamp(min=0), b.clamp(min=0))
    same(c & 1, a & 1)
    same(c // 2, a // 2)
    same(-c % 4, -a % 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_functions(dtype):
    x = engine.linspace(-3, 3, 41).to(getattr(engine, dtype))
    y = x.to("opencl")
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    for name in ("exp", "tanh", "erf", "sigmoid", "sin", "sqrt", "log", "abs", "round", "sign"):
        on_host, on_opencl = getattr(x, name)(), getattr(y, name)()
        assert on_opencl.dtype == on_host.dtype
        assert engine.allclose(
            on_opencl.cpu(), on_host, rtol=tolerance, atol=tolerance, equal_nan=True
        ), name


def test_writing_in_place_and_out():
    x = on_device([1.0, 2.0, 3.0])
    y = x
    x += 1
    x.mul_(on_device([1.0, 2.0, 3.0]))
    assert y.tolist() == [2.0, 6.0, 12.0]
    assert y._version == 2
    out = engine.empty(3).to("opencl")
    engine.add(x, 1, out=out)
    assert out.tolist() == [3.0, 7.0, 13.0]
    x[1:].fill_(7)
    x[:1].zero_()
    assert x.tolist() == [0.0, 7.0, 7.0]
    matrix = engine.zeros(3, 3).to("opencl")
    matrix.t()[0] += 5
    assert matrix.tolist() == [[5, 0, 0], [5, 0, 0], [5, 0, 0]]


def test_integers_divide_as_on_the_host():
    x = on_device([7, -7, 9])
    assert (x // on_device([2, 2, -4])).tolist() == [3, -4, -3]
    assert (x % on_device([2, 2, -4])).tolist() == [1, 1, -3]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // on_device([1, 0, 1])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // 0
    assert (x // 2).tolist() == [3, -4, 4]


def test_an_empty_tensor_and_a_scalar():
    empty = engine.empty(0, 3).to("opencl")
    assert (empty + 1).shape == (0, 3)
    assert empty.cpu().shape == (0, 3)
    assert (on_device(2.0) * on_device(4.0)).item() == 8.0


def test_backward_runs_on_the_device():
    x = on_device([1.0, -2.0, 3.0]).requires_grad_()
    (x * x).tanh().sum().backward()
    on_host = engine.tensor([1.0, -2.0, 3.0], requires_grad=True)
    (on_host * on_host).tanh().sum().backward()
    same(x.grad, on_host.grad)


def test_other_operators_fall_back_and_are_counted():
    import json

    lib.uh_cpu_fallback_reset()
    before = lib.uh_cpu_fallback_calls()
    x = on_device([3.0, 1.0, 2.0])
    assert x.logcumsumexp(0).device == x.device
    assert x.median().item() == 2.0
    counts = json.loads(ffi.string(lib.uh_cpu_fallback_counts()))
    assert lib.uh_cpu_fallback_calls() == before + sum(counts.values())
    assert counts.get("aten::logcumsumexp", 0) <= 1


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match=r"at least two devices, (cpu|opencl:0) and"):
        on_device([1.0]) + engine.ones(1)
    with pytest.raises(RuntimeError, match="at least two devices"):
        on_device([[1.0]]) @ engine.ones(1, 1)
    with pytest.raises(RuntimeError, match="no opencl:9"):
        engine.ones(1).to("opencl:9")


def test_numpy_is_refused():
    with pytest.raises((TypeError, RuntimeError), match=r"opencl"):
        on_device([1.0]).numpy()
    with pytest.raises((TypeError, RuntimeError), match=r"opencl"):
        np.asarray(on_device([1.0]))


def test_memory_is_counted_and_reused():
    assert lib.uh_device_empty_cache(code()) == 0
    before = stats()
    x = engine.ones(1000, 1000).to("opencl")
    during = stats()
    assert during.allocated == before.allocated + 4_000_000
    del x
    after = stats()
    assert after.allocated == before.allocated
    assert after.cached >= before.cached + 4_000_000
    assert after.peak >= during.allocated
    x = engine.ones(1000, 1000).to("opencl")
    assert stats().reused == after.reused + 1
    del x
    assert lib.uh_device_empty_cache(code()) == 0
    assert stats().cached == 0
    assert lib.uh_device_reset_peak(code()) == 0
    assert stats().peak == stats().allocated


def test_out_of_memory_says_what_there_is():
    keep = engine.ones(256, 256).to("opencl")
    total = stats().total
    lib.uh_device_set_memory_limit(code(), 64 << 20)
    try:
        with pytest.raises(
            RuntimeError, match=r"out of memory: tried to allocate 128.00 MiB"
        ) as error:
            engine.empty(32 << 20).to("opencl")
        for phrase in ("tensors use", "cached", "64.00 MiB may be used"):
            assert phrase in str(error.value)
        assert keep.sum().item() == 65536
    finally:
        lib.uh_device_set_memory_limit(code(), total)
    assert engine.ones(3).to("opencl").sum().item() == 3


def test_pinned_memory():
    x = engine.arange(1000.0)
    handle = lib.uh_pin_memory(x._h, code())
    assert handle
    assert lib.uh_is_pinned(handle) == 1
    assert lib.uh_is_pinned(x._h) == 0
    pinned = engine.Tensor._wrap(handle) if hasattr(engine.Tensor, "_wrap") else None
    if pinned is not None:
        on_opencl = pinned.to("opencl", non_blocking=True)
        assert engine.equal(on_opencl.cpu(), x)


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        x = engine.full((500,), float(seed)).to("opencl")
        for _ in range(20):
            x = x + 1
        return x.sum().item()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [500.0 * (seed + 20) for seed in range(8)]


def test_nothing_is_loaded_before_it_is_asked_for():
    text = (
        "import engine; engine.ones(2) + 1\n"
        "try: engine.device('nothing')\nexcept RuntimeError as e: print(e)\n"
        "print('OpenCL' in open('/proc/self/maps').read() or 'pocl' in open('/proc/self/maps').read())"
    )
    result = run_program(text)
    assert result.stdout.splitlines()[-1] == "False", result
    assert "opencl" in result.stdout


@pytest.mark.parametrize("lanes", ["1", ""])
def test_loops_for_lanes_and_threads_agree(lanes):
    """A CPU treated as a GPU runs the kernels that GPUs run."""
    text = """
import engine
x = engine.arange(2 * 3 * 5 * 7.0).reshape(2, 3, 5, 7)
y = x.to("opencl")
for view in (lambda t: t, lambda t: t.permute(3, 1, 0, 2), lambda t: t[:, ::2, 1:, ::3]):
    assert engine.allclose((view(y) * 2 + view(y)[:1]).cpu(), view(x) * 2 + view(x)[:1])
"""
    result = run_program(text, UNDERHOOD_OPENCL_LANES=lanes)
    assert result.returncode == 0, result.stderr
