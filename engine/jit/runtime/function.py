"""ScriptFunction: a compiled function that is called like its Python original."""

from __future__ import annotations

import inspect
import itertools
import json
import keyword
import pickle
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.namespace import namespace
from engine.jit.c_results import c_integer, c_string
from engine.jit.ir.graph import Graph
from engine.jit.python_print.printer import python_of
from engine.jit.runtime import archive
from engine.jit.types.ivalues import BoxedArgs, NamedResults, ObjectBox, to_python
from engine.jit.types.type_introspection import Schema
from engine.jit.types.type_parser import from_text
from engine.tensor import wrap

_MAY_HAVE_NAMES = (tuple, list, dict)


class NativeFunction:
    """One reference to a function of the core: a name, a graph and its executor."""

    def __init__(self, handle: int) -> None:
        if not handle:
            raise_last()
        self.handle = handle

    @classmethod
    def of(cls, name: str, graph: int) -> NativeFunction:
        """Creates a function that takes a reference to this graph."""
        return cls(lib.uh_function_new(name.encode(), graph))

    def __del__(self) -> None:
        if lib is not None:  # None at exit: Python clears modules first
            lib.uh_function_release(getattr(self, "handle", 0))

    def set_defaults(self, values: Sequence[Any]) -> None:
        """Sets the defaults of the last parameters."""
        native = BoxedArgs(values)
        c_integer(lib.uh_function_set_defaults(self.handle, native.array, native.count))

    def call(self, args: Sequence[Any]) -> Any:
        """Runs the function. Raises: the errors of its operators; TypeError for arguments of wrong types."""
        native = BoxedArgs(args)
        result = ffi.new("uh_value *")
        if lib.uh_function_call(self.handle, native.array, native.count, result) != 0:
            raise_last()
        returned = to_python(result)
        return self._named(returned) if isinstance(returned, _MAY_HAVE_NAMES) else returned

    @cached_property
    def _named(self) -> NamedResults:
        """Converts results to named tuples."""
        (output,) = self.graph.outputs()
        return NamedResults(from_text(output.type()))

    @property
    def name(self) -> str:
        return c_string(lib.uh_function_name(self.handle))

    @property
    def schema(self) -> Schema:
        """The schema, such as "f(Tensor x, int n=2) -> Tensor"."""
        return Schema(c_string(lib.uh_function_schema(self.handle)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError("a function of the core cannot be pickled")

    def signature(self, skip: int = 0) -> inspect.Signature:
        """Returns the Python signature, without the first `skip` parameters."""
        value = ffi.new("uh_value *")
        parameters = []
        used_names: set[str] = set()
        for i, graph_input in enumerate(self.graph.inputs()):
            default: Any = inspect.Parameter.empty
            if c_integer(lib.uh_function_default(self.handle, i, value)):
                default = to_python(value)
            # "x.1" of the graph is the parameter x.
            name = graph_input.debugName().partition(".")[0]
            if not name.isidentifier() or keyword.iskeyword(name):
                name = f"argument_{i}"
            stem, others = name, itertools.count()
            while name in used_names:  # "x.1" and "x.3" of a trace
                name = f"{stem}{next(others)}"
            used_names.add(name)
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(name, kind, default=default))
        return inspect.Signature(parameters[skip:])

    @property
    def graph(self) -> Graph:
        """Returns the graph as it was compiled."""
        return Graph(lib.uh_function_graph(self.handle))

    def graph_for(self, args: Sequence[Any]) -> Graph:
        """Returns the graph that runs for such inputs: optimised, and after the first run specialised."""
        native = BoxedArgs(args)
        return Graph(lib.uh_function_graph_for(self.handle, native.array, native.count))

    def instructions(self, args: Sequence[Any]) -> str:
        """Returns the interpreter's instructions for such inputs, one per line."""
        native = BoxedArgs(args)
        return c_string(lib.uh_function_code(self.handle, native.array, native.count))

    def takes_tensors(self) -> bool:
        """Returns true if all parameters are tensors, and the result is one tensor."""
        graph = self.graph
        values = [*graph.inputs(), *graph.outputs()]
        return len(graph.outputs()) == 1 and all(_is_tensor(value.type()) for value in values)

    def record_source(self, origin: str, file: str, facts: dict[str, Any]) -> None:
        """Records the source of the function."""
        if not lib.uh_recording():
            return
        facts = {**facts, "graph": c_integer(lib.uh_graph_id(self.graph._handle))}
        lib.uh_function_record_origin(
            self.handle, origin.encode(), file.encode(), json.dumps(facts).encode()
        )


def misfit(
    name: str,
    schema: str,
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    more: int = 0,
) -> RuntimeError:
    """Returns PyTorch's error for arguments that do not match; `more` counts arguments before `args`."""
    parameters = signature.parameters.values()
    plain = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    passed = {*plain[: len(args)], *kwargs}
    if len(args) > len(plain):
        return RuntimeError(
            f"{name}() expected at most {len(plain) + more} argument(s) but received "
            f"{len(args) + len(kwargs) + more} argument(s). Declaration: {schema}"
        )
    for key in kwargs:
        if key not in signature.parameters:
            return RuntimeError(
                f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {schema}"
            )
        if key in plain[: len(args)]:
            return RuntimeError(
                f"Argument '{key}' specified both as positional and keyword argument. "
                f"Schema: {schema}"
            )
    missing = next(
        parameter.name
        for parameter in parameters
        if parameter.name not in passed and parameter.default is parameter.empty
    )
    return RuntimeError(
        f"{name}() is missing value for argument '{missing}'. Declaration: {schema}"
    )


def _is_tensor(type: str) -> bool:
    return bool(lib.uh_type_is_subtype(type.encode(), b"Tensor") == 1)


def _call_tensors(handle: int, args: tuple[Any, ...]) -> int:
    """Calls a function of tensors; up to three are passed without a list."""
    if len(args) == 1:
        return lib.uh_function_call_1(handle, args[0]._h)
    if len(args) == 2:
        return lib.uh_function_call_2(handle, args[0]._h, args[1]._h)
    if len(args) == 3:
        return lib.uh_function_call_3(handle, args[0]._h, args[1]._h, args[2]._h)
    return int(lib.uh_function_call_tensors(handle, [arg._h for arg in args], len(args)))


class ScriptFunction:
    """The result of `jit.script(fn)` and `jit.trace(fn, inputs)`.

    >>> import engine
    >>> @engine.jit.script
    ... def double(x):
    ...     return x + x
    >>> double(engine.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self,
        native: NativeFunction,
        signature: inspect.Signature,
        fn: Callable[..., Any],
        compiled: Any = None,
    ) -> None:
        self._native = native
        self._handle = native.handle
        self._compiled = compiled
        self.__signature__ = signature
        self._count = len(signature.parameters)
        self._simple = all(
            p.default is p.empty and p.kind is not p.KEYWORD_ONLY
            for p in signature.parameters.values()
        )
        self._plain = (
            self._simple and native.takes_tensors()
        )  # fast path for tensor arguments and one tensor result
        self.__name__ = self.__qualname__ = native.name
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        if not kwargs and self._simple and len(args) == self._count:
            return args
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError:
            raise misfit(self.name, self.schema, self.__signature__, args, kwargs) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain and not kwargs and len(args) == self._count:
            try:
                result = _call_tensors(self._handle, args)
            except AttributeError:
                pass  # not a tensor: the general call below raises the right error
            else:
                return wrap(result) if result else raise_last()
        return self._native.call(self._bound(args, kwargs))

    @property
    def name(self) -> str:
        """Returns the function's name."""
        return self._native.name

    @property
    def qualified_name(self) -> str:
        """Returns PyTorch's qualified name: `__torch__.f`."""
        return f"__torch__.{self.name}"

    @property
    def schema(self) -> Schema:
        """Parameters and result with their types."""
        return self._native.schema

    @property
    def graph(self) -> Graph:
        """The graph as it was compiled; calls of other functions are still calls."""
        return self._native.graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph with its calls inlined."""
        graph = self._native.graph.copy()
        c_integer(lib.uh_pass_run(graph._handle, b"inline"))
        return graph

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Returns the graph that runs for such inputs: optimised, and after the first run specialised."""
        return self._native.graph_for(self._bound(args, kwargs))

    def instructions(self, *args: Any, **kwargs: Any) -> str:
        """Returns the interpreter's instructions for such inputs, one per line."""
        return self._native.instructions(self._bound(args, kwargs))

    @property
    def code(self) -> str:
        """The graph, printed as Python source."""
        return python_of(self._native, getattr(self._compiled, "display_name", self.name))

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Writes the function to one file: see `jit.save`."""
        archive.write(self._as_module(), f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """Returns the bytes that `save` writes."""
        return archive.to_bytes(self._as_module(), _extra_files)

    def _as_module(self) -> ObjectBox:
        """Returns a module whose forward is this function, because files store modules."""
        return ObjectBox(lib.uh_function_module(self._native.handle))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError("ScriptFunction cannot be pickled; write it with jit.save")

    def __repr__(self) -> str:
        return f"<{namespace()}.jit.ScriptFunction {self.schema}>"
