"""A tensor's metadata, which engine/_native/tensor_metadata.c reads: values, unusual arguments, errors."""

from __future__ import annotations

import gc
import inspect
from typing import Any

import pytest

import engine


@pytest.fixture
def x() -> Any:
    return engine.arange(24.0).view(2, 3, 4)


def test_sizes_and_strides(x: Any) -> None:
    y = x.permute(2, 0, 1)[1:]
    assert type(y.shape) is type(y.size()) is type(y.size(None)) is engine.Size
    assert y.shape == y.size() == y.size(None) == (3, 2, 3)
    assert y.stride() == y.stride(None) == (1, 12, 4)
    assert type(y.stride()) is tuple
    assert [y.size(dim) for dim in range(-3, 3)] == [3, 2, 3, 3, 2, 3]
    assert [y.stride(dim) for dim in range(-3, 3)] == [1, 12, 4, 1, 12, 4]
    assert (y.size(dim=1), y.stride(dim=-1)) == (2, 4)
    assert (y.ndim, y.dim(), y.ndimension(), y.numel(), y.nelement()) == (3, 3, 3, 18, 18)
    assert (y.storage_offset(), y.nbytes, y.itemsize, y.element_size()) == (1, 72, 4, 4)
    assert y.data_ptr() == y.const_data_ptr() == x.data_ptr() + 4


def test_many_and_no_dimensions() -> None:
    deep = engine.ones(1).view([1] * 20)
    assert deep.shape == deep.stride() == (1,) * 20
    number = engine.tensor(1.0)
    assert number.shape == number.stride() == ()
    for read in (number.size, number.stride):
        with pytest.raises(IndexError):
            read(0)


def test_a_dimension_that_is_no_plain_int(x: Any) -> None:
    assert x.size(engine.tensor(1)) == 3
    assert x.stride(engine.tensor(1)) == 4
    for wrong in ("a", [1]):
        for read in (x.size, x.stride):
            with pytest.raises(TypeError, match="must be int"):
                read(wrong)
    for beyond in (3, -4, 2**70):
        for read in (x.size, x.stride):
            with pytest.raises(IndexError, match="out of range"):
                read(beyond)
    for read in (x.size, x.stride):
        with pytest.raises(TypeError):
            read(1, 2)
        with pytest.raises(TypeError):
            read(d=1)
    for read in (x.dim, x.numel, x.is_contiguous, x.data_ptr):
        with pytest.raises(TypeError):
            read(1)


def test_objects_are_the_modules_own(x: Any) -> None:
    for kind in (engine.bool, engine.uint8, engine.float16, engine.bfloat16, engine.complex128):
        y = x.to(kind)
        assert y.dtype is kind
        assert y.itemsize == kind.itemsize
        assert y.is_floating_point() is kind.is_floating_point
        assert y.is_complex() is kind.is_complex
        assert y.is_signed() is kind.is_signed
    assert x.device == engine.device("cpu")
    assert x.layout is engine.strided
    meta = x.to("meta")
    assert (meta.device, meta.is_meta, meta.is_cpu) == (engine.device("meta"), True, False)
    assert (x.is_meta, x.is_cpu, x.is_cuda, x.get_device()) == (False, True, False, -1)
    with pytest.raises(AttributeError):
        x.dtype = engine.int8


def test_contiguity(x: Any) -> None:
    assert x.is_contiguous() is True
    assert x.mT.is_contiguous() is False
    images = engine.ones(2, 3, 4, 5).to(memory_format=engine.channels_last)
    assert not images.is_contiguous()
    assert images.is_contiguous(memory_format=engine.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        x.is_contiguous(memory_format=3)


def test_sparse_tensors(x: Any) -> None:
    coo, csr = x[0].to_sparse(), x[0].to_sparse_csr()
    assert (coo.is_sparse, coo.is_sparse_csr, csr.is_sparse_csr) == (True, False, True)
    assert (coo.layout, csr.layout) == (engine.sparse_coo, engine.sparse_csr)
    assert coo.stride() == (0, 0)
    assert coo.stride(1) == 0
    for read in (csr.stride, csr.is_contiguous, coo.data_ptr, lambda: coo.nbytes):
        with pytest.raises(RuntimeError):
            read()


def test_autograd_attributes(x: Any) -> None:
    assert (x.requires_grad, x.is_leaf, x.grad, x.grad_fn, x.output_nr) == (
        False,
        True,
        None,
        None,
        0,
    )
    w = engine.ones(3, requires_grad=True)
    y = w * 2
    assert (w.requires_grad, y.requires_grad, y.is_leaf, w.retains_grad) == (
        True,
        True,
        False,
        False,
    )
    assert y.grad_fn is y.grad_fn
    assert "Mul" in y.grad_fn.name()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    y.sum().backward()
    assert w.grad is w.grad
    assert w.grad.tolist() == [2.0] * 3
    del w.grad
    assert w.grad is None
    w.grad = engine.ones(3)
    w.grad = None
    assert w.grad is None
    with pytest.raises(TypeError):
        w.grad = 3
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    with pytest.raises(AttributeError):
        del w.requires_grad
    w.requires_grad = False
    assert w.requires_grad is False
    with engine.inference_mode():
        inference = engine.ones(2)
    with pytest.raises(RuntimeError, match="version counter"):
        inference._version  # noqa: B018


def test_subclasses_may_replace_them(x: Any) -> None:
    class Renamed(engine.Tensor):
        @property
        def shape(self) -> str:  # type: ignore[override]
            return "mine"

        def size(self, dim: Any = None) -> Any:
            return ("mine", super().size(dim))

    y = x.as_subclass(Renamed)
    assert y.shape == "mine"
    assert y.size(0) == ("mine", 2)
    assert y.stride() == x.stride()


def test_they_describe_themselves() -> None:
    assert str(inspect.signature(engine.Tensor.size)) == "(self, /, dim=None)"
    assert str(inspect.signature(engine.Tensor.is_contiguous)) == "(self, /, *, memory_format=None)"
    for name in ("size", "stride", "numel", "dtype", "grad", "is_leaf"):
        assert getattr(engine.Tensor, name).__doc__
    for name in ("size", "numel", "data_ptr"):
        with pytest.raises(TypeError):
            getattr(engine.Tensor, name)(3)


def test_an_array_of_any_layout_shares_the_memory(x: Any) -> None:
    np = pytest.importorskip("numpy")
    for y in (x, x.mT, x[:, 1], x[0, ::2, 1:], x.permute(2, 0, 1), engine.tensor(3.0), x[:, :0]):
        array = y.numpy()
        assert array.shape == tuple(y.shape)
        assert array.tolist() == y.tolist()
        assert array.dtype == np.float32
        assert array.flags.writeable
    row = x[1, 2].numpy()
    row[1] = -5
    assert x[1, 2, 1].item() == -5
    for kind in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float64"):
        assert x.to(getattr(engine, kind)).numpy().dtype == np.dtype(kind)
    assert x.to(engine.complex64).numpy().dtype == np.complex64
    with pytest.raises(TypeError):
        x.bfloat16().numpy()


def test_an_array_keeps_the_memory() -> None:
    pytest.importorskip("numpy")
    array = engine.arange(1000.0).numpy()
    gc.collect()
    engine.ones(1000).mul_(7)
    assert array.tolist() == list(range(1000))
    y = engine.ones(4)
    shared = y.numpy()
    with pytest.raises(RuntimeError, match="resiz"):
        y.resize_(100)
    assert shared.sum() == 4


@pytest.mark.parametrize(
    "sizes", [(6, 4), [6, 4], engine.Size([6, 4]), (engine.tensor(6), 4), (6, True + 3)]
)
def test_lists_of_ints(x: Any, sizes: Any) -> None:
    assert x.view(sizes).shape == (6, 4)
    assert x.reshape(*sizes).shape == (6, 4)


def test_lists_that_are_not_of_ints(x: Any) -> None:
    for wrong in ((6.0, 4), ("6", 4), (True, 24), None):
        with pytest.raises((TypeError, RuntimeError)):
            x.view(wrong)
