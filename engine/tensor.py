"""Tensor: the Python object. Its native base holds the address of the TensorImpl (_TensorBase).

The object owns one reference to the TensorImpl and releases it when it dies. All state is in the core; this
class queries it. engine/__init__.py installs the operators (x.add, x.t, x + y, ...) from the generated tables.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from engine._generated import ops
from engine._native import lib
from engine._native.errors import raise_last
from engine._native.tensor_base import _TensorBase
from engine.dtypes import (
    BUILT_IN_DEVICES,
    CPU,
    DTYPES,
    LAYOUTS,
    Size,
    check_format,
    device,
    device_aliases,
    device_from_code,
    dtype,
    memory_format,
    preserve_format,
    strided,
)
from engine.numpy_bridge import shared_array, to_numpy
from engine.storage import UntypedStorage

if TYPE_CHECKING:  # the operators' methods, which engine/__init__.py installs
    import numpy as np

    from engine._generated.methods import TensorMethods
    from engine.autograd.tensor_methods import Differentiable

    class _Base(_TensorBase, TensorMethods, Differentiable): ...

else:
    _Base = _TensorBase

_item_double = lib.uh_item_double


def _in_errors_as_public(method: Callable[..., Any]) -> Callable[..., Any]:
    """Name a method in errors as the public one that leaves its unusual arguments to it."""
    method.__qualname__ = method.__qualname__.replace("._", ".")
    return method


class Tensor(_Base):
    """An n-dimensional array of one element type, over a Storage that others may share.

    Create one with `engine.tensor(data)`, `engine.zeros(sizes)` and other factories. `Tensor(2, 3)` (sizes)
    and `Tensor([1, 2])` (data) have the default float dtype.
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy leaves `np.float64(2) * x` to the tensor

    def __new__(cls, *args: Any) -> Tensor:
        from engine.creation import empty, tensor
        from engine.dtypes import get_default_dtype

        if not args:
            result = empty(0)
        elif all(isinstance(arg, int) for arg in args) or isinstance(args[0], Size):
            result = empty(*args)
        elif len(args) > 1:
            raise TypeError(
                f"Tensor: expected sizes or one nested sequence, got {len(args)} values"
            )
        elif isinstance(args[0], Tensor):
            result = ops.alias(args[0])
        else:
            result = tensor(args[0], dtype=get_default_dtype())
        return result if cls is Tensor else result.as_subclass(cls)

    # ---- description

    # The calls that _TensorBase leaves to Python: unusual arguments, and errors.

    @_in_errors_as_public
    def _size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[self._dimension(dim, "size")]

    @_in_errors_as_public
    def _stride(self, dim: int | None = None) -> Any:
        if self.is_sparse_csr:
            raise RuntimeError("Sparse CSR tensors do not have strides")
        return self.stride() if dim is None else self.stride()[self._dimension(dim, "stride")]

    def _dimension(self, dim: int, function: str) -> int:
        ndim = lib.uh_ndim(self._h)
        try:
            inside = -ndim <= dim < ndim
        except TypeError:
            raise TypeError(
                f"{function}(): argument 'dim' must be int, not {type(dim).__name__}"
            ) from None
        if not inside:
            expected = f"[{-ndim}, {ndim - 1}]" if ndim else "nothing: the tensor has 0 dimensions"
            raise IndexError(
                f"{function}: dimension out of range (expected to be in range of {expected}, "
                f"but got {dim})"
            )
        return dim % ndim

    def _other_device(self) -> device:
        return device_from_code(lib.uh_device(self._h))

    @property
    def is_opencl(self) -> bool:
        """True if the elements are in the memory of an OpenCL device."""
        return self.device.type == "opencl"

    def _is_cuda(self) -> bool:
        return device_aliases.get("cuda") == self.device.type

    # No tensor is on any other device, quantized or nested.
    is_xpu = is_mps = is_mtia = is_xla = is_ipu = is_vulkan = is_maia = False
    is_quantized = is_mkldnn = is_nested = False

    @property
    def name(self) -> None:
        """None: PyTorch has names for tensors in its own format of graphs."""

    def _device_index(self) -> int:
        index = self.device.index
        return -1 if index is None else index

    def is_pinned(self, device: Any = None) -> bool:
        """Return True if the elements are in pinned memory, which a device accesses without the CPU."""
        return bool(lib.uh_is_pinned(self._h))

    def pin_memory(self, device: Any = None) -> Tensor:
        """Copy the tensor to pinned memory, from which a device copies while Python continues.

        `x.pin_memory().to("opencl", non_blocking=True)` returns at once; do not write to the copy until the device
        has read it (`opencl.synchronize()`). A tensor that is pinned already is returned itself.
        Raises: RuntimeError without a device, or for a tensor that is not in main memory.
        """
        from engine import accelerator

        return wrap(lib.uh_pin_memory(self._h, accelerator.device_of(device).code) or raise_last())

    def record_stream(self, stream: Any) -> None:
        """Do nothing: a device has one queue, in which memory is reused in order.

        Raises: NotImplementedError for a tensor of the CPU, as in PyTorch.
        """
        if not self.is_opencl:
            raise NotImplementedError(f"record_stream: a tensor on {self.device} has no stream")

    def opencl(
        self,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        """Copy the tensor to an OpenCL device, by default the current one.

        A tensor on that device is returned itself. Raises: RuntimeError if there is no such device.
        """
        return self._to_device("opencl", device, non_blocking, memory_format)

    def cuda(
        self,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        """Copy the tensor to the device that `opencl.alias_cuda()` named "cuda".

        Raises: AssertionError without that call, as there is no CUDA device.
        """
        return self._to_device("cuda", device, non_blocking, memory_format)

    def xpu(self, device: Any = None, **options: Any) -> Tensor:
        """Raise AssertionError: there is no XPU device."""
        raise AssertionError("Torch not compiled with XPU enabled")

    def ipu(self, device: Any = None, **options: Any) -> Tensor:
        """Raise RuntimeError: there is no IPU device."""
        raise RuntimeError("PyTorch is not linked with support for ipu devices")

    def mtia(self, device: Any = None, **options: Any) -> Tensor:
        """Raise AssertionError: there is no MTIA device."""
        raise AssertionError("Torch not compiled with MTIA enabled")

    def _to_device(self, type: str, index: Any, non_blocking: bool, format_: Any) -> Tensor:
        target = device(type, index) if index is None or isinstance(index, int) else device(index)
        if target.type != device(type).type:
            raise RuntimeError(f"Invalid device, must be {type} device")
        return self.to(target, non_blocking=non_blocking, memory_format=format_)

    def is_nonzero(self) -> bool:
        """Return True if the only element is not 0. Raises: RuntimeError unless there is exactly one."""
        return bool(self)

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by a Python function's result for it. Slow: for tests and small tensors.

        Raises: RuntimeError if the tensor requires grad.

        >>> import engine
        >>> engine.ones(2).apply_(lambda x: x + 1)
        tensor([2., 2.])
        """
        if self.requires_grad:
            raise RuntimeError(
                "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead."
            )
        if not self.numel():
            return self
        _check_callable("apply_", callable)
        values = [callable(value) for value in self.reshape(-1).tolist()]
        return self.copy_(self.new_tensor(values).reshape(self.shape))

    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by a Python function's result for it and another tensor's element.

        Raises: RuntimeError if one of the tensors requires grad.
        """
        _expect_tensor("map_", "tensor", tensor)
        _check_callable("map_", callable)
        if self.requires_grad or tensor.requires_grad:
            raise RuntimeError(
                "Can't call map_() on Variable that requires grad. Use var.detach().map_() instead."
            )
        others = tensor.expand_as(self).reshape(-1).tolist()
        pairs = zip(self.reshape(-1).tolist(), others, strict=True)
        values = [callable(a, b) for a, b in pairs]
        return self.copy_(self.new_tensor(values).reshape(self.shape))

    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Replace each element by a Python function's result for it and the elements of two other tensors.

        Raises: RuntimeError if one of the tensors requires grad.
        """
        _expect_tensor("map2_", "x", x)
        _expect_tensor("map2_", "y", y)
        _check_callable("map2_", callable)
        if self.requires_grad or x.requires_grad or y.requires_grad:
            raise RuntimeError(
                "Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead."
            )
        columns = (t.expand_as(self).reshape(-1).tolist() for t in (self, x, y))
        values = [callable(*row) for row in zip(*columns, strict=True)]
        return self.copy_(self.new_tensor(values).reshape(self.shape))

    def is_distributed(self) -> bool:
        """Return False: no tensor is spread over processes."""
        return False

    def is_shared(self) -> bool:
        """Return True if the memory is shared by `share_memory_`, or has no elements."""
        from engine.shared_memory import is_shared

        return is_shared(self)

    def share_memory_(self) -> Tensor:
        """Move the tensor to shared memory: processes that receive it see each other's writes.

        Raises: RuntimeError if views share the memory, as they would keep the old one.
        """
        from engine.shared_memory import share_memory_

        return share_memory_(self)

    def new(self, *args: Any, device: Any = None) -> Tensor:
        """Create a tensor of this dtype: of sizes, or of a sequence's values, as `FloatTensor` does."""
        from engine.typed_tensors import new

        return new(self, *args, device=device)

    def _no_bytes(self) -> NoReturn:
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, "
            "add the nbytes of the indices and values.  If you want the size of the  equivalent dense "
            "tensor, multiply numel() by element_size()"
        )

    @_in_errors_as_public
    def _is_contiguous(self, *, memory_format: memory_format | None = None) -> bool:
        check_format("is_contiguous", memory_format)
        if self.is_sparse_csr:
            raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
        if memory_format is not None and memory_format.name.startswith("channels_last"):
            from engine.casts import is_channels_last

            return is_channels_last(self, 5 if memory_format.name.endswith("3d") else 4)
        return bool(lib.uh_is_contiguous(self._h))

    def is_conj(self) -> bool:
        """Return False: `conj` conjugates eagerly, so no tensor has a conjugate bit."""
        return False

    def is_neg(self) -> bool:
        """Return False: operators negate eagerly, so no tensor has a negative bit."""
        return False

    def is_same_size(self, other: Tensor) -> bool:
        """Return True if both tensors have the same shape."""
        _expect_tensor("is_same_size", "other", other)
        return self.shape == other.shape

    def _no_address(self) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    @staticmethod
    def _make_wrapper_subclass(cls: type, *args: Any, **options: Any) -> Tensor:
        """Raise NotImplementedError: kernels do not look for `__torch_dispatch__`."""
        raise NotImplementedError(
            f"{cls.__name__}: tensors whose calls a class handles in Python (__torch_dispatch__) are not supported; "
            "pass a plain tensor"
        )

    def untyped_storage(self) -> UntypedStorage:
        """Return the tensor's Storage, which its views share.

        Raises: NotImplementedError for a sparse tensor: its parts have one each.
        """
        if self.layout is not strided:
            kind = "SparseCsr" if self.is_sparse_csr else "Sparse"
            raise NotImplementedError(f"Cannot access storage of {kind}TensorImpl")
        return UntypedStorage(self)

    def storage(self) -> Any:
        """Return the elements of the tensor's Storage as a TypedStorage; `untyped_storage()` is the newer name."""
        from engine.typed_storage import typed_storage

        return typed_storage(self)

    def storage_type(self) -> type:
        """Return the class of `storage()`: FloatStorage for float32."""
        from engine import typed_storage

        kind: type = getattr(typed_storage, self.storage().type().rpartition(".")[2])
        return kind

    def dim_order(self, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
        """Return the dimensions in the order of memory, the slowest first.

        Raises: RuntimeError if several orders describe the memory and `ambiguity_check` is True, or not exactly one
        of its memory formats does.
        """
        from engine.dim_order import dim_order

        return dim_order(self, ambiguity_check)

    def is_set_to(self, tensor: Tensor) -> bool:
        """Return True if both tensors have the same Storage, offset, sizes and strides."""
        _expect_tensor("is_set_to", "tensor", tensor)
        return bool(
            lib.uh_storage_id(self._h) == lib.uh_storage_id(tensor._h)
            and self.storage_offset() == tensor.storage_offset()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
        )

    def _no_version(self) -> NoReturn:
        raise RuntimeError("Inference tensors do not track version counter.")

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None."""
        handle = lib.uh_base(self._h)
        return wrap(handle) if handle else None

    def _is_view(self) -> bool:
        """Return True if this tensor is a view of another."""
        handle = lib.uh_base(self._h)
        if handle:
            lib.uh_release(handle)
        return bool(handle)

    @property
    def data(self) -> Tensor:
        """A tensor over the same memory with its own version counter: autograd does not notice writes to it."""
        handle = lib.uh_variable_data(self._h)
        if not handle:
            raise_last()
        return wrap(handle)

    @data.setter
    def data(self, source: Tensor) -> None:
        if not isinstance(source, Tensor):
            raise TypeError(f"data: expected a Tensor, got {type(source).__name__}")
        if lib.uh_set_data(self._h, source._h) != 0:
            raise_last()

    # ---- as Python values

    def item(self) -> Any:
        """Return the value of the only element. Raises: RuntimeError unless there is exactly one."""
        number = _item_double(self._h)
        if number == number:  # not NaN: the usual case, without an object for the C struct
            return number
        scalar = lib.uh_item(self._h)
        kind = scalar.kind
        if kind == 2:
            return scalar.d
        if kind == 1:
            return scalar.i
        if kind == 0:
            return bool(scalar.i)
        if kind == 3:
            from engine.marshal import complex_value

            return complex_value(scalar.d, scalar.i)
        raise_last()

    def tolist(self) -> Any:
        """Return the elements as nested lists; a number for 0 dimensions."""
        return self._to_list()

    def __bool__(self) -> bool:
        count = lib.uh_numel(self._h)
        if count != 1:
            how_many = f"more than one value ({count})" if count else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {how_many} is ambiguous")
        return bool(self.item())

    def _single(self, function: str) -> Any:
        count = lib.uh_numel(self._h)
        if count != 1:
            raise ValueError(
                f"{function}: only one element tensors can be converted to Python scalars, "
                f"this one has {count}"
            )
        return self.item()

    def __int__(self) -> int:
        return int(_real(self._single("int"), "int"))

    def __float__(self) -> float:
        return float(_real(self._single("float"), "float"))

    def __complex__(self) -> complex:
        return complex(self._single("complex"))

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.dtype.is_complex or lib.uh_numel(self._h) != 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index, "
                f"got {self.dtype} of shape {tuple(self.shape)}"
            )
        return int(self.item())

    def __len__(self) -> int:
        return self._length()

    def __iter__(self) -> Iterator[Tensor]:
        if lib.uh_ndim(self._h) == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        """Return the rows in reverse order, as a copy."""
        return self.flip(0) if self.dim() else self

    def __contains__(self, element: object) -> bool:
        if not isinstance(element, (Tensor, numbers.Complex)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, "
                f"but you passed in a {type(element)}."
            )
        return bool((self == element).any())

    __hash__ = object.__hash__  # by identity, since == compares elements

    def __repr__(self) -> str:
        from engine.display import tensor_text

        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        if lib.uh_ndim(self._h) == 0 and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # ---- shared with and copied to others

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return the elements as a NumPy array.

        Memory: shared; the array keeps the Storage alive, even without the tensor.
        Raises: TypeError for meta tensors and bfloat16.
        """
        if not force:
            array = shared_array(self)
            if array is not None:  # the usual call
                return array
        if not self.requires_grad:
            return to_numpy(self.cpu() if force else self)
        if not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return to_numpy(self.detach().cpu())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from engine.numpy_bridge import to_array

        return to_array(self, dtype, copy)

    def __array_wrap__(
        self, array: np.ndarray[Any, Any], context: Any = None, return_scalar: bool = False
    ) -> Tensor:
        """Return the result of a NumPy function of this tensor as a tensor; bools as uint8, as in PyTorch."""
        from engine.creation import from_numpy

        return from_numpy(array.astype("uint8") if array.dtype == bool else array)

    def __buffer__(self, flags: int) -> memoryview:
        """Support memoryview(x) in Python 3.12 and later; before, use memoryview(x.numpy())."""
        return memoryview(self.numpy())  # type: ignore[arg-type]

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule over the memory, for `other_library.from_dlpack(x)`."""
        from engine.dlpack import to_capsule

        return to_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return (1, 0), DLPack's name of main memory."""
        if self.is_meta:
            raise BufferError("__dlpack_device__: a meta tensor has no memory to share")
        return (1, 0)

    def __copy__(self) -> Tensor:
        copy = self.detach()
        copy.__dict__.update(self.__dict__)
        return copy.requires_grad_() if self.requires_grad and self.is_leaf else copy

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        from engine.storage import deep_copy

        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle dtype, layout and the bytes of the whole Storage, which tensors of one pickle share."""
        from engine.storage import rebuild_with_attributes

        reduced = self._reduced()
        if self.__dict__:
            return rebuild_with_attributes, (*reduced, dict(self.__dict__))
        return reduced

    def _reduced(self) -> tuple[Any, ...]:
        from engine.storage import pickled_storage, rebuild

        if self.layout is not strided:
            from engine.sparse.construct import parts_of, rebuild_sparse

            return rebuild_sparse, (self.layout, parts_of(self), self.requires_grad)
        layout = (tuple(self.shape), self.stride(), self.storage_offset())
        storage = None if self.is_meta else pickled_storage(self)
        return rebuild, (self.dtype, *layout, storage, self.requires_grad)

    # ---- conversions

    def to(self, *args: Any, **options: Any) -> Tensor:
        """Convert the tensor to another dtype or device, or both; without a change it is returned itself.

        `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, `x.to(other)`; `copy=True` always copies. With
        `non_blocking=True` a copy from pinned memory to a device may still run when this returns.
        """
        if len(args) == 1 and not options:  # the usual calls
            target = args[0]
            if isinstance(target, dtype):
                return self if target is self.dtype else self._copied(target, None)
            if self.is_cpu and (target is CPU or (target.__class__ is str and target == "cpu")):
                return self
        from engine.casts import has_format, parse_to

        kind, target_device, copy, format_, non_blocking = parse_to(args, options)
        is_local = target_device is None or target_device.code == lib.uh_device(self._h)
        same = is_local and (kind is None or kind is self.dtype)
        if same and not copy and has_format(self, format_):
            return self
        to_device = target_device is not None and target_device.type not in ("cpu", "meta")
        if non_blocking and to_device and self.is_cpu:
            copied = ops.empty_like(
                self, dtype=kind, device=target_device, memory_format=format_ or preserve_format
            )
            return copied.copy_(self, non_blocking=True)
        return self._copied(kind, target_device, format_)

    def _copied(
        self, kind: Any, target_device: Any, format_: memory_format | None = None
    ) -> Tensor:
        if self.dtype.is_complex:
            from engine.casts import warn_of_lost_parts

            warn_of_lost_parts(kind, self.dtype)
        return ops._to_copy(self, dtype=kind, device=target_device, memory_format=format_)

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...

        # Of engine/sparse/tensor_methods.py, imported on first use.
        def _nnz(self) -> int: ...
        def coalesce(self) -> Tensor: ...
        def dense_dim(self) -> int: ...
        def is_coalesced(self) -> bool: ...
        def resize_as_sparse_(self, the_template: Tensor) -> Tensor: ...
        def smm(self, mat: Tensor) -> Tensor: ...
        def sparse_dim(self) -> int: ...
        def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor: ...
        def to_sparse(self, sparse_dim: int | None = None, **options: Any) -> Tensor: ...
        def to_sparse_bsc(self, *args: Any, **options: Any) -> NoReturn: ...
        def to_sparse_bsr(self, *args: Any, **options: Any) -> NoReturn: ...
        def to_sparse_coo(self) -> Tensor: ...
        def to_sparse_csc(self, *args: Any, **options: Any) -> NoReturn: ...
        def to_sparse_csr(self, dense_dim: int | None = None) -> Tensor: ...
        def values(self) -> Tensor: ...


Tensor.__module__ = "engine"


def _check_callable(function: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"{function}: expected a function, got {type(value).__name__}")


def _expect_tensor(function: str, argument: str, value: object) -> None:
    from engine.arguments import check_tensor

    check_tensor(function, argument, value)


def _real(number: Any, function: str) -> Any:
    """Drop an imaginary part of 0. Raises: RuntimeError for any other imaginary part."""
    if not isinstance(number, complex):
        return number
    if number.imag != 0:
        kind = {"float": "double", "int": "int64_t"}[function]
        raise RuntimeError(
            f"{function}: value cannot be converted to type {kind} without overflow: "
            f"{number} has an imaginary part"
        )
    return number.real


# Return the Python object of a handle and take over its reference: the existing object, or a new one.
Tensor._set_class(Tensor)
Tensor._set_values(Size, DTYPES, BUILT_IN_DEVICES, LAYOUTS)
wrap: Callable[[int], Tensor] = Tensor._wrap
