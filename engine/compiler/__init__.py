"""PyTorch's `torch.compile` over `jit.script`: programs that the compiler understands run compiled, others eagerly.

The first call decides. One warning says why a program runs eagerly; `fullgraph=True` raises instead.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine import jit
from engine.absent_names import getattr_of
from engine.nn.module import Module
from engine.tensor import Tensor

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]
__getattr__ = getattr_of("compiler")

_DISABLED = "_engine_compiler_disabled"


class _Compiled:
    """A function or module with its compiled form, once the first call has decided."""

    def __init__(
        self, program: Any, fullgraph: bool, eager: Callable[..., Any] | None = None
    ) -> None:
        self.program, self.fullgraph = program, fullgraph
        self._eager = eager or program
        self._forms: dict[Any, Any] = {}  # by the training flags of modules; None runs eagerly

    def _key(self) -> Any:
        modules = self.program.modules() if isinstance(self.program, Module) else ()
        return tuple(module.training for module in modules)

    def _refuse(self, reason: str) -> None:
        name = getattr(self.program, "__qualname__", type(self.program).__name__)
        message = f"compile: {name} runs eagerly: {reason}"
        if self.fullgraph:
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=4)

    def _form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key = self._key()
        if key in self._forms:
            return self._forms[key]
        form = None
        others = [
            type(value).__name__
            for value in (*args, *kwargs.values())
            if not isinstance(value, Tensor)
        ]
        hooked = isinstance(self.program, Module) and any(
            module._forward_hooks or module._forward_pre_hooks for module in self.program.modules()
        )
        if others:
            self._refuse(f"an argument is a {others[0]}, and only tensors are compiled for")
        elif hooked:
            self._refuse("it has hooks, which compiled modules do not call")
        else:
            try:
                form = jit.script(self.program)
            except (RuntimeError, TypeError, NotImplementedError) as error:
                self._refuse(str(error).strip().partition("\n")[0])
        self._forms[key] = form
        return form

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if getattr(self.program, _DISABLED, False):
            return self._eager(*args, **kwargs)
        form = self._form(args, kwargs)
        is_fit = form is not None and all(isinstance(x, Tensor) for x in (*args, *kwargs.values()))
        return (form if is_fit else self._eager)(*args, **kwargs)


class OptimizedModule(Module):
    """A module whose calls run compiled; `_orig_mod` is the module itself, whose parameters it shares."""

    _orig_mod: Module

    def __init__(self, module: Module, fullgraph: bool = False, is_eager: bool = False) -> None:
        super().__init__()
        self._orig_mod = module
        self.training = module.training
        self.__dict__["_call"] = module if is_eager else _Compiled(module, fullgraph)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_call"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **unused: Any,
) -> Any:
    """Return a function or module that runs compiled where the compiler understands it; decorates without `model`.

    `backend="eager"` and `disable=True` leave it as it is; any other backend, mode or option means the same compiler.

    >>> import engine
    >>> compile(engine.sin)(engine.zeros(2))
    tensor([0., 0.])
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, backend=backend, mode=mode, disable=disable
        )
    if not callable(model):
        raise AssertionError(
            f"torch.compile: expected a function or module, got {type(model).__name__}"
        )
    if disable or backend == "eager":
        return OptimizedModule(model, is_eager=True) if isinstance(model, Module) else model
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph)
    compiled = _Compiled(model, fullgraph)

    @functools.wraps(model)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    return call


def compiled_call(module: Module, backend: Any = "inductor", **options: Any) -> Callable[..., Any]:
    """Return what calls a module that `Module.compile(...)` was called on; the options are those of `compile`."""
    unknown = set(options) - {"fullgraph", "dynamic", "mode", "options", "disable"}
    if unknown:
        raise TypeError(f"compile() got an unexpected keyword argument {min(unknown)!r}")
    if options.get("disable") or backend == "eager":
        return module._call_impl
    return _Compiled(module, options.get("fullgraph", False), module._call_impl)


def disable_of(program: Any) -> Any:
    """Mark a function or module so that it always runs eagerly, and return it."""
    setattr(program, _DISABLED, True)
    return program


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **unused: Any) -> Any:
    """Decorate a function or module that shall run eagerly also where it is compiled."""
    return disable_of if fn is None else disable_of(fn)


def is_compiling() -> bool:
    """Return False: a program is compiled from its source, not by running it."""
    return False


def reset() -> None:
    """Forget compiled programs: there is no cache that outlives them, so this does nothing."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the names that `compile` takes: all mean the compiler here."""
    return ["inductor"]


def allow_in_graph(fn: Any) -> Any:
    """Return the function: those that the compiler does not understand run eagerly."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Return the function: the compiler here does not fold its result."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Mark the start of an iteration for CUDA graphs: there are none."""


def is_dynamo_compiling() -> bool:
    """Return False: a program is compiled from its source, not by running it."""
    return False


def is_exporting() -> bool:
    """Return False: nothing is exported by running it."""
    return False


@contextmanager
def set_stance(stance: str = "default", **options: Any) -> Iterator[None]:
    """Choose when to recompile inside the block: programs here compile once for all sizes."""
    yield
