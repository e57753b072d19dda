"""Libraries from Python: operators by their schemas, and functions as kernels for dispatch keys."""

from __future__ import annotations

import re
import sys
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from engine import ops
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine._native.namespace import namespace
from engine.autograd._callbacks import DROP, hold
from engine.function_schema import parse_schema
from engine.library._callbacks import PythonKernel
from engine.library.autograd import Formula, autograd_kernel

if TYPE_CHECKING:
    from engine.library.custom_ops import CustomOpDef

Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS = {
    "DEF": lib.UH_DEFINITIONS,
    "FRAGMENT": lib.UH_FRAGMENT,
    "IMPL": lib.UH_IMPLEMENTATIONS,
}
_ABSENT_DEVICES = frozenset({"cuda", "xla", "mps", "ipu", "xpu", "hpu", "mtia"})
_NAMELESS_SCHEMA = re.compile(r"\(.*\) -> .*")
_retained: list[Library] = []  # of registrations that name no library


class OperatorDefinition(ABC):
    """The base of CustomOpDef: an operator that registers its own kernels."""

    @abstractmethod
    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any: ...

    @abstractmethod
    def register_fake(self, fn: Any, /) -> Any: ...

    @abstractmethod
    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None: ...


definitions: weakref.WeakValueDictionary[str, OperatorDefinition] = weakref.WeakValueDictionary()
"""The operators that `custom_op` defined, by name."""


class _Kernels:
    """The Python kernels of one operator for one key: the newest is registered, the others wait."""

    def __init__(self) -> None:
        self.stack: list[_Registration] = []

    def push(self, registration: _Registration) -> None:
        if self.stack:
            self.stack[-1].disable()
        try:
            registration.enable()
        except BaseException:
            if self.stack:
                self.stack[-1].enable()
            raise
        self.stack.append(registration)

    def remove(self, registration: _Registration) -> None:
        if registration not in self.stack:
            return
        newest = self.stack[-1] is registration
        self.stack.remove(registration)
        registration.disable()
        if newest and self.stack:
            self.stack[-1].enable()


_kernels: dict[tuple[str, str], _Kernels] = {}


class _Registration:
    """One kernel, registered through a core library that has no other, so that it can be removed alone."""

    def __init__(self, namespace: str, name: str, key: str, kernel: PythonKernel) -> None:
        self.namespace, self.name, self.key, self.kernel = namespace, name, key, kernel
        self._library: Any = None

    def enable(self) -> None:
        library = _new_library(self.namespace, "IMPL", "")
        label = f"{getattr(self.kernel.function, '__name__', 'kernel')} (Python)"
        status = lib.uh_library_implement(
            library,
            self.name.encode(),
            self.key.encode(),
            lib.uh_py_kernel,
            -1,
            hold(self.kernel),
            DROP,
            label.encode(),
        )
        if status != 0:
            lib.uh_library_free(library)
            raise_last()
        self._library = library

    def disable(self) -> None:
        if self._library is not None:
            lib.uh_library_free(self._library)
            self._library = None


def _new_library(namespace: str, kind: str, location: str) -> Any:
    library = lib.uh_library_new(namespace.encode(), _KINDS[kind], location.encode())
    if library == ffi.NULL:
        raise_last()
    return library


def _destroy(library: Any, registrations: list[_Registration]) -> None:
    for registration in reversed(registrations):
        _kernels[f"{registration.namespace}::{registration.name}", registration.key].remove(
            registration
        )
    registrations.clear()
    lib.uh_library_free(library)


class Library:
    """A registration block of a namespace, which lasts as long as this object.

    `kind` is "DEF" (one per namespace) or "FRAGMENT" to define operators, "IMPL" to implement those of others;
    `dispatch_key` is the key that `impl` registers for. Raises: ValueError for another kind or a reserved
    namespace; RuntimeError for a second "DEF" of a namespace.

    >>> import engine
    >>> library = engine.library.Library("docs_library", "DEF")
    >>> library.define("double(Tensor x) -> Tensor")
    'double'
    >>> library.impl("double", lambda x: x + x, "CompositeImplicitAutograd")
    >>> engine.ops.docs_library.double(engine.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}")
        frame = sys._getframe(1)
        location = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self.m: Any = _new_library(ns, kind, location)
        self._registrations: list[_Registration] = []
        self._finalizer = weakref.finalize(self, _destroy, self.m, self._registrations)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Sequence[str] = ()) -> str:
        """Define an operator and return its name. Raises: RuntimeError for a malformed or second definition."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        _refuse_tags(tags)
        if lib.uh_library_define(self._alive(), schema.encode()) != 0:
            raise_last()
        return schema.partition("(")[0]

    def impl(
        self,
        op_name: str | ops.Overload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        allow_override: bool = True,
    ) -> None:
        """Register a function as an operator's kernel; a later one replaces it for as long as its library lasts.

        Without a key the kernel is "CompositeImplicitAutograd": its gradient is that of the operators it calls.
        Raises: TypeError for what is not callable, RuntimeError for an unknown operator or key.
        """
        self._alive()
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = self._local_name(op_name)
        qualified = f"{self.ns}::{name}"
        kernels = _kernels.setdefault((qualified, key), _Kernels())
        if kernels.stack and not allow_override:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{name}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        if (
            key == "Meta"
            and _kernels.get((qualified, "CompositeImplicitAutograd"), _Kernels()).stack
        ):
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{qualified}', because it has a "
                "CompositeImplicitAutograd kernel. Instead we should let the operator decompose, and ensure that we "
                "have meta kernels for the base ops that it decomposes into."
            )
        kernel = PythonKernel(fn, ops.schema(qualified), qualified)
        registration = _Registration(self.ns, name, key, kernel)
        kernels.push(registration)
        self._registrations.append(registration)

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], *, allow_override: bool = True
    ) -> None:
        self.impl(op_name, fn, "Meta", allow_override=allow_override)

    def _destroy(self) -> None:
        """Remove what the library registered now."""
        self._finalizer()
        self.m = None

    def _alive(self) -> Any:
        if self.m is None:
            raise AssertionError("Library object has been destroyed")
        return self.m

    def _local_name(self, op_name: str | ops.Overload) -> str:
        if isinstance(op_name, ops.Overload):
            op_name = op_name.qualified_name
        if not isinstance(op_name, str):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument, got "
                f"{type(op_name)}"
            )
        namespace, _, name = op_name.rpartition("::")
        if namespace not in ("", self.ns):
            raise ValueError(f"library {self.ns}: '{op_name}' is in another namespace")
        return name


def _refuse_tags(tags: Sequence[str]) -> None:
    if tags:
        raise NotImplementedError(
            f"define: operators of a library have no tags yet, got tags={tags!r}"
        )


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Split "namespace::name". Raises: ValueError for another form."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            f"{namespace()}.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> ops.Overload:
    """Return the operator of this name. Raises: AttributeError if there is none."""
    namespace, name = parse_namespace(qualname)
    packet = getattr(getattr(ops, namespace), name.partition(".")[0])
    overload: ops.Overload = getattr(packet, name.partition(".")[2] or "default")
    return overload


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Sequence[str] = (),
) -> Any:
    """Define an operator: `define("mine::f", "(Tensor x) -> Tensor")`, `@define(library, "f(Tensor x) -> Tensor")`."""
    if isinstance(qualname, Library):
        library = qualname

        def wrap(function: Function) -> Function:
            library.impl(library.define(schema, alias_analysis), function)
            return function

        return wrap
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}"
        )
    namespace, name = parse_namespace(qualname)
    if not _NAMELESS_SCHEMA.fullmatch(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    _library(namespace, lib).define(name + schema, alias_analysis, tags=tags)
    return None


def _library(namespace: str, library: Library | None) -> Library:
    if library is not None:
        return library
    _retained.append(Library(namespace, "FRAGMENT"))
    return _retained[-1]


def device_keys(device_types: str | Sequence[str]) -> list[str]:
    """Return the dispatch keys of devices; "default" is all of them, and a key stands for itself.

    Devices that PyTorch has and the engine has not are left out, for no tensor is there.
    Raises: RuntimeError for what is neither a device nor a key.
    """
    keys = []
    for device_type in [device_types] if isinstance(device_types, str) else device_types:
        if device_type == "default":
            keys.append("CompositeExplicitAutograd")
        elif device_type in _backend_keys():
            keys.append(_backend_keys()[device_type])
        elif device_type[:1].isupper():
            keys.append(device_type)
        elif device_type not in _ABSENT_DEVICES:
            devices = ", ".join(sorted({*_backend_keys(), *_ABSENT_DEVICES}))
            raise RuntimeError(
                f"Expected one of {devices} device type at start of device string: {device_type}"
            )
    return list(dict.fromkeys(keys))


def _backend_keys() -> dict[str, str]:
    names = [ffi.string(lib.uh_key_name(i)).decode() for i in range(lib.uh_key_count())]
    return {name.lower(): name for name in names if name in ("CPU", "Meta", "OpenCL")}


@overload
def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: str | None = None,
    *,
    lib: Library | None = None,
) -> Callable[[Function], Function]: ...
@overload
def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable[..., Any],
    *,
    lib: Library | None = None,
) -> None: ...
def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable[..., Any] | str | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for device types or dispatch keys: `@impl("mine::f", "cpu")`.

    The older form is `@impl(library, "f", "CPU")`.
    """
    if isinstance(qualname, Library):
        library, name = qualname, types
        key = func if isinstance(func, str) else ""

        def implement(function: Function) -> Function:
            library.impl(str(name), function, key)
            return function

        return implement

    def register(function: Callable[..., Any]) -> Any:
        namespace, _ = parse_namespace(qualname)
        for key in keys:
            _library(namespace, lib).impl(qualname, function, key)
        return function

    keys = device_keys(types)
    if func is None:
        return register
    if not callable(func):
        raise TypeError(f"Input function is required to be a callable but found type {type(func)}")
    register(func)
    return None


def _resolve(op: Any, caller: str) -> Any:
    """Return the custom operator itself, or the operator's name."""
    if isinstance(op, OperatorDefinition):
        return op
    if isinstance(op, ops.Overload):
        op = op.qualified_name
    if not isinstance(op, str):
        raise ValueError(f"{caller}({op}): got unexpected type for op: {type(op)}")
    return definitions.get(op) or op


def register_kernel(
    op: str | ops.Overload | CustomOpDef,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register an operator's kernel for device types; None is every device. Without `func` it decorates one."""
    target = _resolve(op, "register_kernel")
    if not isinstance(target, str):
        return target.register_kernel(device_types, func)
    types = "default" if device_types is None else device_types
    return impl(target, types, lib=lib) if func is None else impl(target, types, func, lib=lib)


def register_fake(
    op: str | ops.Overload | CustomOpDef,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register the function that computes an operator's results on meta tensors. Without `func` it decorates one."""
    target = _resolve(op, "register_fake")
    if not isinstance(target, str):
        return target.register_fake if func is None else target.register_fake(func)

    def register(function: Function) -> Function:
        namespace, name = parse_namespace(target)
        _library(namespace, lib)._register_fake(name, function, allow_override=allow_override)
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None
) -> Any:
    """Register a fake kernel: the older name of `register_fake`."""
    message = "`library.impl_abstract` was renamed to `library.register_fake`"
    warnings.warn(message, FutureWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: str | ops.Overload | CustomOpDef,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register an operator's gradient: `backward(ctx, *grads)` returns one gradient per argument.

    `setup_context(ctx, inputs, output)` saves what it needs after the forward pass; for an operator with
    keyword-only arguments it is called with `keyword_only_inputs` as well. `ctx` is that of `autograd.Function`.
    Raises: RuntimeError for an operator that writes its arguments or returns views of them.
    """
    target = _resolve(op, "register_autograd")
    if not isinstance(target, str):
        target.register_autograd(backward, setup_context=setup_context)
        return
    overload = lookup_op(target)
    check_functional(overload)
    namespace, name = parse_namespace(target)
    kernel = autograd_kernel(overload, Formula(backward, setup_context))
    _library(namespace, lib).impl(name, kernel, "Autograd")


def check_functional(op: ops.Overload) -> None:
    """Raise RuntimeError for an operator that writes its arguments, returns views of them or returns nothing."""
    schema = op.schema
    if any(part.alias_set for part in (*schema.arguments, *schema.returns)) or not schema.returns:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op.qualified_name} with schema "
            f"{schema.text}. Please create a functional operator and register an autograd formula for that."
        )
    check_no_keyword_tensors(schema.text)


def check_no_keyword_tensors(schema: str) -> None:
    """Raise NotImplementedError for a schema with keyword-only Tensors."""
    if any(a.keyword_only and a.type.base == "Tensor" for a in parse_schema(schema).arguments):
        raise NotImplementedError(
            f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {schema}"
        )


def get_ctx() -> NoReturn:
    """Raise: PyTorch's context of fake tensors makes data-dependent sizes, which meta tensors do not have."""
    raise RuntimeError(
        "get_ctx(): You're trying to run this operator with meta Tensors (as opposed to FakeTensors), but this "
        "operator may return an output Tensor with data-dependent shape. Meta Tensors don't support operators with "
        "outputs that have data-dependent shapes."
    )
