"""autocast chooses PyTorch's dtypes, GradScaler skips and adapts as PyTorch's does."""

from __future__ import annotations

import warnings

import pytest

import engine
from engine.amp import GradScaler, autocast, custom_bwd, custom_fwd

F = engine.nn.functional
LOWER = {
    "mm": lambda t, x: t.mm(x, x),
    "matmul": lambda t, x: x @ x,
    "linear": lambda t, x: t.nn.functional.linear(x, x),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x[None], x[None]),
    "bmm": lambda t, x: t.bmm(x[None], x[None]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "einsum": lambda t, x: t.einsum("ij,jk->ik", x, x),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(
        x[None], x[None], x[None]
    ),
    "multi_dot": lambda t, x: t.linalg.multi_dot([x, x, x]),
    "of products": lambda t, x: (x @ x).relu(),
}
FLOAT32 = {
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x.bfloat16(), x.bfloat16()),
    "prod": lambda t, x: x.bfloat16().prod(),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x.bfloat16(), t.tensor([0, 1, 2])),
    "cdist": lambda t, x: t.cdist(x.bfloat16(), x.bfloat16()),
    "promoted": lambda t, x: t.cat([x, x.bfloat16()]),
}
UNCHANGED = {
    "add": lambda t, x: x + x,
    "softmax": lambda t, x: x.softmax(-1),
    "float64": lambda t, x: x.double() @ x.double(),
    "16 bits": lambda t, x: t.stack([x.bfloat16(), x.bfloat16()]),
    "mv": lambda t, x: x.mv(x[0]),
}


def dtypes(t, calls):
    x = t.ones(3, 3)
    with t.autocast("cpu"):
        return {name: str(call(t, x).dtype).split(".")[-1] for name, call in calls.items()}


def test_products_run_in_bfloat16():
    assert set(dtypes(engine, LOWER).values()) == {"bfloat16"}


def test_losses_run_in_float32():
    assert set(dtypes(engine, FLOAT32).values()) == {"float32"}


def test_the_same_dtypes_as_pytorch():
    torch = pytest.importorskip("torch")
    calls = LOWER | FLOAT32 | UNCHANGED
    assert dtypes(engine, calls) == dtypes(torch, calls)


def test_blocks_nest_and_end():
    x = engine.ones(2, 2)
    with autocast("cpu"):
        assert engine.is_autocast_enabled("cpu")
        with autocast("cpu", enabled=False):
            assert (x @ x).dtype == engine.float32
        with autocast("cpu", dtype=engine.float16):
            assert (x @ x).dtype == engine.float16
        assert (x @ x).dtype == engine.bfloat16
    assert not engine.is_autocast_enabled("cpu")
    assert engine.get_autocast_dtype("cpu") == engine.bfloat16
    assert autocast("cpu")(lambda: (x @ x).dtype)() == engine.bfloat16


def test_gradients_reach_the_float32_weights():
    layer = engine.nn.Linear(3, 2)
    x = engine.ones(4, 3)
    with autocast("cpu"):
        first, second = layer(x), layer(x)
    assert first.grad_fn.next_functions[2][0].next_functions[0][0].name() == "ToCopyBackward0"
    # Both calls share one cast of the weight.
    casts = [y.grad_fn.next_functions[2][0].next_functions[0][0] for y in (first, second)]
    assert casts[0] is casts[1]
    (first + second).float().sum().backward()
    assert layer.weight.grad.dtype == engine.float32
    assert layer.weight.grad.tolist() == [[8.0] * 3] * 2


def test_traces_have_the_casts():
    with autocast("cpu"):
        traced = engine.jit.trace(lambda x: x @ x, engine.ones(2, 2))
    assert "aten::to" in str(traced.graph) or "aten::_to_copy" in str(traced.graph)
    assert traced(engine.ones(2, 2)).dtype == engine.bfloat16


class Doubled(engine.autograd.Function):
    modes: list = []  # noqa: RUF012  # what each call saw

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=engine.float32)
    def forward(ctx, x):
        Doubled.modes.append((x.dtype, engine.is_autocast_enabled("cpu")))
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        Doubled.modes.append((grad.dtype, engine.is_autocast_enabled("cpu")))
        return grad * 2


def test_functions_choose_their_mode():
    x = engine.ones(2, dtype=engine.bfloat16, requires_grad=True)
    with autocast("cpu"):
        y = Doubled.apply(x).sum()
    y.backward()
    assert Doubled.modes == [(engine.float32, False), (engine.float32, False)]


def test_absent_devices_and_other_dtypes_disable_it():
    for make in (lambda: autocast("cuda"), lambda: autocast("cpu", dtype=engine.float64)):
        with pytest.warns(UserWarning, match="Disabling autocast"):
            block = make()
        with block:
            assert (engine.ones(1, 1) @ engine.ones(1, 1)).dtype == engine.float32
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        autocast("meta")


def run_scaler(t):
    """Three steps, the second with an overflow; return what a program sees."""
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    p = t.ones(2, requires_grad=True)
    optimizer = t.optim.SGD([p], lr=0.1)
    seen = []
    for factor in (2.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.unscale_(optimizer)
        seen.append(p.grad.tolist())
        scaler.step(optimizer)
        scaler.update()
        seen += [p.tolist(), scaler.get_scale(), scaler.state_dict()]
    return seen


def test_a_scaler_skips_overflows_and_adapts():
    seen = run_scaler(engine)
    assert seen[2] == 8.0
    assert seen[6] == 4.0
    assert seen[1] == seen[5]  # the second step was skipped


def test_the_same_steps_as_pytorch():
    torch = pytest.importorskip("torch")
    assert run_scaler(engine) == run_scaler(torch)


def test_misuse_of_a_scaler():
    scaler = GradScaler("cpu")
    p = engine.ones(1, requires_grad=True)
    optimizer = engine.optim.SGD([p], lr=0.1)
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        scaler.load_state_dict({})
    with pytest.warns(UserWarning, match="Disabling"):
        assert not GradScaler("cuda").is_enabled()


def test_the_names_of_devices():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with engine.cpu.amp.autocast():
            assert (engine.ones(1, 1) @ engine.ones(1, 1)).dtype == engine.bfloat16
        assert not engine.cuda.amp.GradScaler().is_enabled()
