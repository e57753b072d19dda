"""custom_op: an operator from an annotated function."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from engine._native import lib
from engine.library.autograd import Formula, autograd_kernel
from engine.library.registration import (
    Library,
    OperatorDefinition,
    check_functional,
    check_no_keyword_tensors,
    definitions,
    device_keys,
    lookup_op,
    parse_namespace,
)
from engine.library.schema_inference import infer_schema
from engine.tensor import Tensor

log = logging.getLogger(__name__)
DeviceTypes = str | Sequence[str] | None

# By the operator's name: a second definition replaces the first.
_libraries: dict[str, Library] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
) -> Any:
    """Define the operator "namespace::name", whose kernel is the decorated function.

    The schema comes from the annotations, or is passed as "(Tensor x, int n) -> Tensor". `mutates_args` names the
    tensors that the function writes, "unknown" stands for all. The function returns no tensor that shares memory
    with an argument or another result. Defining a name again replaces it.

    Raises: ValueError for a function without annotations, or a schema that contradicts `mutates_args`.
    """

    def define(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, op_name = parse_namespace(name)
        result = CustomOpDef(namespace, op_name, text, function)
        written = {a.name for a in result._opoverload.schema.arguments if a.is_write}
        if schema is not None and written != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
                f"suggests that the op mutates {written}which is different from what was provided to us in "
                "`mutates_args`. Please make these consistent."
            )
        result.register_kernel(device_types)(function)
        return result

    return define if fn is None else define(fn)


class CustomOpDef(OperatorDefinition):
    """An operator that `custom_op` defined: callable, with the methods that register more about it."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any]) -> None:
        check_no_keyword_tensors(name + schema)
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._disabled_kernel: set[str | None] = set()
        self._abstract_fn: Callable[..., Any] | None = None
        self._formula = Formula(None, None)
        if self._qualname in _libraries:
            _libraries.pop(self._qualname)._destroy()
        self._lib = _libraries[self._qualname] = Library(namespace, "FRAGMENT")
        self._lib.define(name + schema)
        self._opoverload = lookup_op(self._qualname)
        self._lib.impl(name, self._fake, "Meta")
        declared = self._opoverload.schema
        if declared.returns and not any(
            p.alias_set for p in (*declared.arguments, *declared.returns)
        ):
            kernel = autograd_kernel(self._opoverload, self._formula)
            self._lib.impl(name, kernel, "Autograd")
        definitions[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        declared = self._opoverload.schema
        if declared.written is not None and not declared.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Switch a device's kernel off, so that the decorated function runs instead, or on again, for a block."""
        before = device_type in self._disabled_kernel
        if device_type not in self._backend_fns:
            action = "enable" if enabled else "disable"
            log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                action,
                device_type,
            )
        if enabled:
            self._disabled_kernel.discard(device_type)
        else:
            self._disabled_kernel.add(device_type)
        try:
            yield
        finally:
            if before:
                self._disabled_kernel.add(device_type)
            else:
                self._disabled_kernel.discard(device_type)

    def register_kernel(
        self, device_types: DeviceTypes, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Register the kernel of these device types; None is every device without one. Decorates without `fn`."""
        arguments = self._opoverload.schema.arguments
        if device_types is not None and not any(
            a.type.base in ("Tensor", "Device") for a in arguments
        ):
            raise ValueError(
                "Functions without tensor inputs are required to have a `device: torch.device` argument"
            )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            types: list[str | None] = (
                [device_types]
                if device_types is None or isinstance(device_types, str)
                else list(device_types)
            )
            for device_type in types:
                is_new = device_type not in self._backend_fns
                self._backend_fns[device_type] = function
                keys = device_keys("default" if device_type is None else device_type)
                for key in keys if is_new else ():
                    self._lib.impl(self._name, self._kernel(device_type), key)
            return function

        return register if fn is None else register(fn)

    def _kernel(self, device_type: str | None) -> Callable[..., Any]:
        declared = self._opoverload.schema
        is_view = any(part.alias_set for part in declared.returns)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            disabled = device_type in self._disabled_kernel
            function = self._init_fn if disabled else self._backend_fns[device_type]
            result = function(*args, **kwargs)
            if not is_view:
                check_no_aliases(self._name, function, (*args, *kwargs.values()), result)
            return result

        kernel.__name__ = self._init_fn.__name__
        return kernel

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the function that computes sizes and dtypes of the results on meta tensors."""
        self._abstract_fn = fn
        return fn

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Register the gradient: see `engine.library.register_autograd`."""
        check_functional(self._opoverload)
        self._formula.backward, self._formula.setup_context = backward, setup_context


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Iterate over the tensors of a value and of the lists and tuples in it."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)


def check_no_aliases(
    name: str, function: Callable[..., Any], arguments: Sequence[Any], result: Any
) -> None:
    """Raise RuntimeError if a result shares its Storage with an argument or another result."""
    storages = {lib.uh_storage_id(t._h) for t in tensors_of(tuple(arguments))}
    for tensor in tensors_of(result):
        storage = lib.uh_storage_id(tensor._h)
        if storage in storages:
            raise RuntimeError(
                f"{name} (with implementation in {inspect.getmodule(function)}): The output of this custom operator "
                "(1) must not also be an input to this custom operator and (2) may not alias any inputs to this "
                "custom operator or other returns. The most common way to trigger this error is if we have y = "
                "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output "
                "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        storages.add(storage)
