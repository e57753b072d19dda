"""Python functions as kernels: the core calls them with lent values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import boxed
from engine._native import ffi, lib
from engine._native.errors import pass_on, raise_last
from engine.arguments import accepts, type_word
from engine.autograd._callbacks import borrow
from engine.dtypes import DTYPES, device_from_code
from engine.function_schema import FunctionSchema
from engine.jit.tracer.tensors import paused
from engine.marshal import complex_value


class PythonKernel:
    """A function with the schema of the operator that it implements."""

    def __init__(
        self, function: Callable[..., Any], schema: FunctionSchema, qualified_name: str
    ) -> None:
        self.function = function
        self.schema = schema
        self.qualified_name = qualified_name
        self.positional = sum(not argument.keyword_only for argument in schema.arguments)

    def run(self, args: Any, n: int, results: Any) -> None:
        """Call the function and add its results. Raises: what it raises; RuntimeError if they do not fit."""
        values = [read(args[i]) for i in range(n)]
        names = [argument.name for argument in self.schema.arguments[self.positional :]]
        options = dict(zip(names, values[self.positional :], strict=True))
        with paused():  # a trace records the call, not what the kernel does
            result = self.function(*values[: self.positional], **options)
        for slot in self._boxed(result):
            if lib.uh_values_add(results, slot) != 0:
                raise_last()

    def _boxed(self, result: Any) -> Any:
        returns = self.schema.returns
        several = len(returns) > 1
        values = [] if not returns and result is None else [result]
        if several and isinstance(result, (tuple, list)):
            values = list(result)
        if len(returns) == 1 and isinstance(result, tuple) and len(result) == 1:
            values = list(result)
        if len(values) != len(returns):
            raise RuntimeError(
                f"{self.qualified_name}: the kernel returned {len(values)} results where the schema has "
                f"{len(returns)}; schema: {self.schema.text}"
            )
        for position, (declared, value) in enumerate(zip(returns, values, strict=True)):
            if not accepts(declared.type, value):
                raise RuntimeError(
                    f"{self.qualified_name}: the kernel returned {type_word(value)} as result {position}, where the "
                    f"schema has {declared.type_text}; schema: {self.schema.text}"
                )
        slots, alive = boxed.box_values([declared.type for declared in returns], values)
        for i in range(len(values)):
            yield ffi.addressof(slots, i)
        del alive


def read(value: Any) -> Any:
    """Return a lent uh_value as a Python value: Python's own object of a tensor, copies of lists and strings."""
    match value.tag:
        case boxed.NONE:
            return None
        case boxed.TENSOR:
            return borrow(value.i)
        case boxed.INT:
            return int(value.i)
        case boxed.FLOAT:
            return float(value.d)
        case boxed.BOOL:
            return bool(value.i)
        case boxed.INTS:
            return ffi.unpack(ffi.cast("int64_t *", value.p), value.i) if value.i else []
        case boxed.STRING:
            text = ffi.unpack(ffi.cast("char *", value.p), value.i) if value.i else b""
            return text.decode()
        case boxed.TENSORS:
            handles = ffi.unpack(ffi.cast("uh_handle *", value.p), value.i) if value.i else []
            return [borrow(handle) for handle in handles]
        case boxed.DTYPE:
            return DTYPES[value.i] if value.i >= 0 else None
        case boxed.DEVICE:
            return device_from_code(value.i) if value.i >= 0 else None
        case boxed.FLOATS:
            return ffi.unpack(ffi.cast("double *", value.p), value.i) if value.i else []
        case boxed.COMPLEX:
            return complex_value(value.d, value.i)
        case tag:
            raise TypeError(f"a kernel got a value of the unknown tag {tag}")


@ffi.def_extern()
def uh_py_kernel(context: Any, args: Any, n: int, results: Any) -> int:
    try:
        ffi.from_handle(context).run(args, n, results)
    except BaseException as error:
        pass_on(error)
        return -1
    return 0
