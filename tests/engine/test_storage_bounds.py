"""Tensors and the memory they describe: nothing exported moves, nothing beyond a Storage is read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.inspect import live, record

NOT_RESIZABLE = "Trying to resize storage that is not resizable"
OUT_OF_BOUNDS = "are out of bounds for storage of size"


@pytest.mark.parametrize(
    "export",
    [
        lambda x: x.numpy(),
        np.asarray,
        lambda x: np.from_dlpack(x),
        lambda x: x.__dlpack__(),
        lambda x: x[1:].numpy(),
        lambda x: engine.from_dlpack(x),
    ],
    ids=["numpy", "array", "from_dlpack", "capsule", "view", "engine"],
)
def test_exported_memory_stays_where_it_is(export: Callable[[Any], Any]) -> None:
    x = engine.arange(6.0)
    shared = export(x)
    before = x.data_ptr()
    for resize in (
        lambda: x.resize_(1000),
        lambda: x[2:].resize_(1000),
        lambda: x.untyped_storage().resize_(0),
        lambda: x.untyped_storage().resize_(4096),
        lambda: x.untyped_storage().resize_(24),
        lambda: engine.add(engine.ones(1000), 1, out=x),
        lambda: engine.cat([engine.ones(1000)], out=x),
        lambda: x.resize_as_(engine.ones(1000)),
    ):
        with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
            resize()
    assert x.data_ptr() == before
    assert x.shape == (6,)
    del shared
    with pytest.raises(RuntimeError, match=NOT_RESIZABLE):  # for good, as in PyTorch
        x.resize_(1000)
    assert x.resize_(2).tolist() == [0, 1], "what needs no other memory is permitted"


def test_an_empty_array_counts_as_an_export() -> None:
    x = engine.zeros(0)
    assert x.numpy().shape == (0,)
    with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
        x.resize_(3)


def test_memory_of_others_is_not_resized() -> None:
    x = engine.from_numpy(np.ones(3))
    with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
        x.resize_(4)
    with pytest.raises(RuntimeError, match=NOT_RESIZABLE):
        x.untyped_storage().resize_(0)


def shrunk() -> tuple[Any, Any]:
    """Return a tensor and a view of it, whose Storage has two of six elements left."""
    x = engine.arange(6.0)
    view = x.view(2, 3)[1]
    x.untyped_storage().resize_(8)
    return x, view


READS: dict[str, Callable[[Any], Any]] = {
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x[-1].item(),
    "int item": lambda x: float(x.sum()),
    "bool": lambda x: bool(x[-1]),
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x[-1]:.2f}",
    "iter": lambda x: [float(item) for item in x],
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "dlpack": lambda x: np.from_dlpack(x),
    "memory of a view": lambda x: x[1:].numpy(),
    "add": lambda x: x + 1,
    "add to itself": lambda x: x + x,
    "in place": lambda x: x.add_(1),
    "fill": lambda x: x.fill_(1),
    "zero": lambda x: x.zero_(),
    "copy from": lambda x: engine.zeros(x.shape).copy_(x),
    "copy to": lambda x: x.copy_(engine.zeros(x.shape)),
    "out": lambda x: engine.add(engine.ones(x.shape), 1, out=x),
    "out of a formed one": lambda x: engine.cumsum(engine.ones(x.shape), 0, out=x),
    "sum": lambda x: x.sum(),
    "matmul": lambda x: x @ x,
    "sort": lambda x: x.sort(),
    "index": lambda x: x[engine.tensor([0])],
    "index assignment": lambda x: x.__setitem__(engine.tensor([0]), 1),
    "slice assignment": lambda x: x.__setitem__(slice(0, 3), 1),
    "mask": lambda x: x[engine.ones(x.shape, dtype=engine.bool)],
    "gather": lambda x: x.gather(0, engine.zeros(2, dtype=engine.int64)),
    "cat": lambda x: engine.cat([x, x]),
    "stack": lambda x: engine.stack([x, x]),
    "clone": lambda x: x.clone(),
    "contiguous of a step": lambda x: x[::2].contiguous(),
    "to": lambda x: x.to(engine.float64),
    "where": lambda x: engine.where(x > 0, x, 0),
    "any": lambda x: x.any(),
    "equal": lambda x: engine.equal(x, x.clone()),
    "softmax": lambda x: x.softmax(0),
    "convolution": lambda x: engine.nn.functional.conv1d(x.view(1, 1, -1), engine.ones(1, 1, 1)),
    "linear": lambda x: engine.nn.functional.linear(x[None], x[None]),
    "fft": lambda x: engine.fft.fft(x),
    "einsum": lambda x: engine.einsum("i,i->", x, x),
    "backward": lambda x: (x.requires_grad_() * 2).sum().backward(),
    "random": lambda x: x.normal_(),
    "dropout": lambda x: engine.nn.functional.dropout(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "scripted": lambda x: engine.jit.trace(lambda y: y * 2 + 1, (engine.ones(3),))(x[-3:]),
    "optimizer": lambda x: _step(x),
    "unique": lambda x: x.unique(),
    "histogram": lambda x: engine.histc(x),
    "tensor of": lambda x: engine.tensor(x),
    "as a shape": lambda x: engine.as_strided(x, (6,), (1,), 0),
}


def _step(x: Any) -> None:
    x.requires_grad_()
    x.grad = engine.ones(x.shape)
    engine.optim.Adam([x], fused=True).step()


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_what_a_storage_has_lost_is_not_read(read: Callable[[Any], Any]) -> None:
    for x in shrunk():
        with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
            read(x)


def test_what_a_storage_has_kept_is_read() -> None:
    x, view = shrunk()
    assert x[:2].tolist() == [0, 1]
    assert view.shape == (3,)
    assert view.t().stride() == (1,), "views are descriptions: none is read"
    x.untyped_storage().resize_(24)
    view.fill_(7)
    assert x[:2].tolist() == [0, 1]
    assert x[3:].tolist() == [7, 7, 7]


def test_numbers_of_the_recorder_do_not_read_it_either(tmp_path: Path) -> None:
    with record(tmp_path / "t.uht"):
        x, view = shrunk()
        for call in (lambda: x + 1, lambda: view.add_(1), lambda: repr(x)):
            with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
                call()
        y = view.view(3, 1)
        assert y.shape == (3, 1)


def test_saving_what_a_storage_has_lost_raises(tmp_path: Path) -> None:
    x, view = shrunk()
    for item in (x, view):
        with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
            engine.save({"x": item}, tmp_path / "x.safetensors")


def test_no_tensor_is_made_to_describe_memory_that_it_has_not() -> None:
    x = engine.arange(6.0)
    for call in (
        lambda: x.as_strided_((7,), (1,)),
        lambda: x.as_strided_((3, 3), (2, 2)),
        lambda: x.as_strided((2,), (1,), 5),
        lambda: x[4:].as_strided((3,), (1,)),
        lambda: x.as_strided((2, 2), (1 << 62, 1)),
        lambda: engine.as_strided_scatter(x, engine.ones(2), (2,), (6,)),
        lambda: x.as_strided((2,), (-1,)),
        lambda: x.as_strided((2,), (1,), -1),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert x.shape == (6,)
    short = engine.arange(6.0)
    short.untyped_storage().resize_(8)
    other = engine.zeros(1)
    other.set_(short)  # a description of it that is as long
    for item in (other, _with_data(short), short.detach(), short.view_as(short), short.T):
        with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
            item.sum()
    with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
        short.as_strided_((6,), (1,))


def _with_data(source: Any) -> Any:
    x = engine.zeros(2)
    x.data = source
    return x


def test_a_smaller_storage_of_a_saved_tensor_raises_in_backward() -> None:
    x = engine.arange(6.0, requires_grad=True)
    y = x * 1
    z = y * y
    y.detach().untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match=OUT_OF_BOUNDS):
        z.sum().backward()


def test_fill_with_a_tensor_passes_its_gradient() -> None:
    x = engine.ones(3, requires_grad=True)
    value = engine.tensor(2.0, requires_grad=True)
    y = engine.fill(x, value)
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "FillBackward1"
    (y * engine.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert value.grad is not None
    assert value.grad.item() == 6
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="only supports 0-dimension value tensor"):
        engine.fill(x, engine.ones(1))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a.mul_(a),
    "its alias": lambda a: a.mul_(a[:]),
    "a view of itself": lambda a: a.mul_(a.view(-1).view(a.shape)),
    "a part by itself": lambda a: a[0].mul_(a[0]),
    "a part by another": lambda a: a[0].mul_(a[1]),
    "twice": lambda a: a.addcmul_(a, a),
    "divided": lambda a: a.div_(a),
    "divided and rounded": lambda a: a.div_(a, rounding_mode="floor"),
    "power": lambda a: a.pow_(a),
    "maximum of parts": lambda a: a[1].copysign_(a[0]),
    "in a list": lambda a: a.index_put_((engine.tensor([0]),), a[1] * 1),
    "lerp": lambda a: a.lerp_(a, a),
    "detached": lambda a: a.mul_(a.detach()),
    "hypot": lambda a: a.hypot_(a),
    "product": lambda a: a.addmm_(a, a),
    "masked": lambda a: a.masked_scatter_(a > 3, a * 2),
}


@pytest.mark.parametrize("write", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_writing_a_tensor_over_what_the_write_saves_makes_no_cycle(
    write: Callable[[Any], Any],
) -> None:
    def program() -> None:
        leaf = engine.arange(1.0, 1025).view(32, 32).requires_grad_()
        a = leaf * 1
        write(a)
        y = (a * 2).sum()
        del a, y

    program()
    before = live.allocator_stats().live_bytes
    for _ in range(20):
        program()
    assert live.allocator_stats().live_bytes - before < 4096 * 4


def test_what_was_saved_and_written_is_still_refused_in_backward() -> None:
    leaf = engine.arange(1.0, 4, requires_grad=True)
    a = leaf * 1
    a.mul_(a)
    with pytest.raises(
        RuntimeError,
        match=r"\[torch.FloatTensor \[3\]\], which is output 0 of Mul, is at version 1; "
        "expected version 0 instead",
    ):
        a.sum().backward()
    b = (leaf * 1).view(3, 1)
    b[0].mul_(b[1])
    with pytest.raises(RuntimeError, match="which is output 0 of AsStrided, is at version 1"):
        b.sum().backward()
