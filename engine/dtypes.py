"""Element types, devices, layouts and shapes: the small immutable objects that describe a tensor."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, ClassVar, SupportsIndex

from engine._generated import codes
from engine._native import ffi, lib
from engine._native.namespace import namespace

__all__ = [
    "Size",
    "bfloat16",
    "bool_",
    "can_cast",
    "cdouble",
    "cfloat",
    "channels_last",
    "channels_last_3d",
    "complex64",
    "complex128",
    "contiguous_format",
    "device",
    "double",
    "dtype",
    "finfo",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "layout",
    "long",
    "memory_format",
    "preserve_format",
    "promote_types",
    "set_default_dtype",
    "short",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
    "uint8",
]


class dtype:
    """One element type. There is one object per type; compare with `is` or `==`."""

    __slots__ = (
        "code",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "title",
        "typestr",
    )

    code: int  # as in csrc/base/dtype.h, traces and the C ABI
    name: str
    title: str  # PyTorch's tensor type: FloatTensor
    itemsize: int
    typestr: str  # NumPy's array interface; "" where NumPy has no such type
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __init__(self, code: int) -> None:
        info = codes.DTYPES[code]
        self.code = code
        self.name = info.name
        self.title = info.title
        self.typestr = info.typestr
        self.itemsize = info.itemsize
        self.is_floating_point = info.kind == "float"
        self.is_complex = info.kind == "complex"
        self.is_signed = info.kind not in ("bool", "uint")

    def __repr__(self) -> str:
        return f"{namespace()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled as the module's global of that name

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts hold this dtype's values.

        PyTorch also has a complex dtype of two float16 parts; the engine uses complex64 instead.
        """
        if not self.is_floating_point and not self.is_complex:
            raise RuntimeError(f"to_complex: there is no complex dtype of {self}")
        return complex128 if self.name in ("float64", "complex128") else complex64

    def to_real(self) -> dtype:
        """Return the dtype of a complex dtype's parts; any other dtype returns itself."""
        return _PARTS.get(self, self)


dtype.__module__ = "engine"

DTYPES: tuple[dtype, ...] = tuple(dtype(code) for code in range(len(codes.DTYPES)))
"""By code."""
_BY_NAME = {kind.name: kind for kind in DTYPES}

bool_ = _BY_NAME["bool"]
uint8 = _BY_NAME["uint8"]
int8 = _BY_NAME["int8"]
int16 = _BY_NAME["int16"]
int32 = _BY_NAME["int32"]
int64 = _BY_NAME["int64"]
float16 = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float32 = _BY_NAME["float32"]
float64 = _BY_NAME["float64"]
complex64 = _BY_NAME["complex64"]
complex128 = _BY_NAME["complex128"]
_PARTS = {complex64: float32, complex128: float64}
_PYTHON_TYPES: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}
BY_TYPESTR: dict[str, dtype] = {d.typestr: d for d in DTYPES if d.typestr}


def as_dtype(value: object, function: str) -> dtype:
    """Convert an argument to a dtype; Python's `float`, `int`, `bool` and `complex` name one too."""
    if type(value) is dtype:
        return value
    if value in (float, int, bool, complex):
        return _PYTHON_TYPES[value]
    raise TypeError(
        f"{function}: argument 'dtype' must be an {namespace()}.dtype such as {namespace()}.float32, "
        f"got {type(value).__name__} {value!r}"
    )


_BUILT_IN = codes.DEVICES[:2]
"""The devices without an index, by code: cpu and meta."""


def _registered_devices() -> list[str]:
    types = filter(lib.uh_device_registered, range(len(codes.DEVICES)))
    return [ffi.string(lib.uh_device_name(type)).decode() for type in types]


_ABSENT = ("cuda", "xpu", "mps", "mtia", "xla", "hpu", "ipu", "hip", "vulkan", "mkldnn")
"""Types of PyTorch's devices that are never present: they have a name, but hold no tensors."""


device_aliases: dict[str, str] = {}
"""Names of devices that stand for another one: see `opencl.alias_cuda`."""


class _CurrentDevices(threading.local):
    """The current device of each type in this thread, if it is not the first."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}


current_devices = _CurrentDevices()


_ACCELERATOR = "opencl"  # whose device an index alone is
_LAST_INDEX = 127  # of the byte that the core has for it


class device:
    """The device of a tensor's memory: `cpu`, `meta` for tensors without memory, or the name of a backend.

    PyTorch's other devices have a name, so that a program can compare with it; using one raises
    AssertionError. Inside `with device("meta"):` factories create tensors there.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            if index is not None:
                raise TypeError(f"device: {type} is an index already, got index={index} as well")
            if not device(_ACCELERATOR).exists():
                raise RuntimeError("Cannot access accelerator device when none is available.")
            name, colon, number, index = _ACCELERATOR, "", "", type
        elif isinstance(type, str):
            name, colon, number = type.partition(":")
        else:
            raise TypeError(f"device: expected a name such as 'cpu', got {type!r}")
        name = device_aliases.get(name, name)
        known = name in _BUILT_IN or name in _ABSENT or lib.uh_device_type(name.encode()) >= 0
        if not known or (colon and not number.isdecimal()):
            raise RuntimeError(
                f"device: expected {' or '.join(_registered_devices())}, optionally with :index, got {type!r}"
            )
        if colon and index is not None:
            raise RuntimeError(f"device: {type!r} has an index already, got index={index} as well")
        self.type = name
        self.index = int(number) if colon else index
        if self.index is not None and self.index < 0:
            raise RuntimeError("Device index must not be negative")
        if self.index is not None and self.index > _LAST_INDEX:
            raise RuntimeError(
                f"device: expected an index of 0 to {_LAST_INDEX}, got {name}:{self.index}"
            )

    @property
    def code(self) -> int:
        """The device in the C ABI and in events; cpu and meta have no index.

        A device without an index is the current one of its type.
        """
        if self.type in _BUILT_IN:
            return _BUILT_IN.index(self.type)
        code = int(lib.uh_device_type(self.type.encode()))
        if code < 0:
            raise AssertionError(
                f"Torch not compiled with {self.type.upper()} enabled: there are no tensors on "
                f"{str(self)!r} here, only on {' and '.join(_registered_devices())}"
            )
        index = current_devices.index.get(self.type, 0) if self.index is None else self.index
        return code | codes.DEVICE_INDEX.pack(index + 1)

    def exists(self) -> bool:
        """Return whether tensors can be on this device."""
        type = int(lib.uh_device_type(self.type.encode()))
        return type >= 0 and (self.index or 0) < lib.uh_device_count(type)

    def __enter__(self) -> device:
        from engine.default_device import enter

        enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        from engine.default_device import leave

        leave()

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, tuple[str, int | None]]:
        return device, (self.type, self.index)


device.__module__ = "engine"
CPU, META = BUILT_IN_DEVICES = tuple(device(name) for name in _BUILT_IN)


def device_from_code(code: int) -> device:
    """Convert a device of the C ABI."""
    if code < len(BUILT_IN_DEVICES):
        return BUILT_IN_DEVICES[code]
    name = ffi.string(lib.uh_device_name(codes.DEVICE_TYPE.unpack(code))).decode()
    index = codes.DEVICE_INDEX.unpack(code) - 1
    return device(name, index if index >= 0 else None)


def at_location(rule: dict[Any, Any], location: str) -> Any:
    """Return where a `map_location` dict maps a device of a file; it may use the names of `device_aliases`."""
    for alias, name in device_aliases.items():
        if location.startswith(name):
            location_by_alias = alias + location[len(name) :]
            if location not in rule and location_by_alias in rule:
                return rule[location_by_alias]
    return rule.get(location, location)


def as_device(value: object, function: str) -> device:
    """Convert an argument, a device, its name or the index of an accelerator, to a device."""
    if type(value) is device:
        return value
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return device(value)
    raise TypeError(
        f"{function}: argument 'device' must be an {namespace()}.device or its name, "
        f"got {type(value).__name__} {value!r}"
    )


class _Constant:
    """A named constant that carries no data."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{namespace()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(_Constant):
    """The storage layout of a tensor: `engine.strided`, `engine.sparse_coo` or `engine.sparse_csr`."""

    __slots__ = ()


class memory_format(_Constant):
    """The order of a new tensor's elements in memory. Its int value is the operators' number for it."""

    __slots__ = ()

    def __index__(self) -> int:
        return codes.MEMORY_FORMATS.index(self.name)


_Constant.__module__ = layout.__module__ = memory_format.__module__ = "engine"
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc, sparse_bsr, sparse_bsc = (
    layout("sparse_csc"),
    layout("sparse_bsr"),
    layout("sparse_bsc"),
)
LAYOUTS = (
    strided,
    sparse_coo,
    sparse_csr,
)  # indexed by the engine's layout number; tensors have no other layouts
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple of ints that can be multiplied out.

    >>> Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        self = super().__new__(cls, sizes)  # type: ignore[arg-type]
        for position, size in enumerate(self):
            if not hasattr(size, "__index__"):
                kind = type(size).__name__
                raise TypeError(f"Size: takes ints, got {kind} {size!r} at position {position}")
        return self

    def numel(self) -> int:
        """Return the number of elements of a tensor of this size."""
        product = 1
        for size in self:
            product *= size
        return product

    def __repr__(self) -> str:
        return f"{namespace()}.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return _size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented  # `list += size` extends the list
        return _size(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return _size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        got = tuple.__getitem__(self, index)
        return _size(got) if isinstance(index, slice) else got

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


Size.__module__ = "engine"


def _size(sizes: Iterable[int]) -> Size:
    return tuple.__new__(Size, sizes)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that both can be converted to without changing category.

    >>> promote_types(uint8, int8)
    engine.int16
    """
    first, second = as_dtype(type1, "promote_types"), as_dtype(type2, "promote_types")
    return DTYPES[lib.uh_promote(first.code, second.code)]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return True if casting keeps the category: complex numbers do not become floats, nor floats ints."""

    def rank(d: dtype) -> int:
        return 3 if d.is_complex else 2 if d.is_floating_point else 0 if d is bool_ else 1

    return rank(as_dtype(from_, "can_cast")) <= rank(as_dtype(to, "can_cast"))


def check_format(function: str, value: object) -> None:
    """Raise TypeError unless the value is a memory format or None."""
    if value is not None and not isinstance(value, memory_format):
        raise TypeError(
            f"{function}(): argument 'memory_format' must be {namespace()}.memory_format, "
            f"not {type(value).__name__}"
        )


def get_default_dtype() -> dtype:
    """Return the dtype of tensors created from Python floats."""
    return DTYPES[lib.uh_get_default_dtype()]


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors created from Python floats. Raises: TypeError unless it is floating."""
    default = as_dtype(d, "set_default_dtype")
    if not default.is_floating_point:
        raise TypeError(f"set_default_dtype: expected a floating-point dtype, got {default}")
    lib.uh_set_default_dtype(default.code)


class finfo:
    """The range and precision of a floating dtype.

    >>> finfo(float32).eps
    1.1920928955078125e-07
    """

    # Significant bits (with the hidden one), largest exponent.
    _BITS: ClassVar[dict[str, tuple[int, int]]] = {
        "float16": (11, 15),
        "bfloat16": (8, 127),
        "float32": (24, 127),
        "float64": (53, 1023),
    }

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else as_dtype(type, "finfo").to_real()
        if not kind.is_floating_point:
            raise TypeError(
                f"finfo: expected a floating-point dtype, got {kind}; iinfo is for ints"
            )
        digits, top = finfo._BITS[kind.name]
        self.dtype = kind.name
        self.bits = kind.itemsize * 8
        self.eps = 2.0 ** (1 - digits)
        self.max = (2.0 - self.eps) * 2.0**top
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - top)
        self.resolution = 10.0 ** -int((digits - 1) * 0.30103)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        numbers = ", ".join(f"{name}={getattr(self, name):.6g}" for name in names)
        return f"finfo({numbers}, dtype={self.dtype})"


class iinfo:
    """The range of an integer dtype."""

    def __init__(self, type: dtype) -> None:
        kind = as_dtype(type, "iinfo")
        if kind.is_floating_point or kind.is_complex or kind is bool_:
            raise TypeError(f"iinfo: expected an integer dtype, got {kind}; finfo is for floats")
        self.dtype = kind.name
        self.bits = kind.itemsize * 8
        self.max = 2 ** (self.bits - kind.is_signed) - 1
        self.min = -self.max - 1 if kind.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


# PyTorch's other names; engine/__init__.py defines `engine.bool`, `engine.int` and `engine.float`.
half, double = float16, float64
cfloat, cdouble = complex64, complex128
short, long = int16, int64
