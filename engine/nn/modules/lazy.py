"""Lazy modules, which infer sizes from their first input.

Before it their parameters are uninitialized. A pre-hook of the first call allocates them and changes the
object's class to the ordinary one, `cls_to_become`.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, ClassVar

from engine.nn.hooks import RemovableHandle
from engine.nn.module import Module
from engine.nn.parameter import is_lazy
from engine.tensor import Tensor

__all__ = ["LazyModule", "LazyModuleMixin"]


class LazyModule(Module):
    """The base of lazy modules: initialises the parameters on the first call.

    A subclass sets `cls_to_become` and defines `initialize_parameters(*args, **kwargs)`.
    """

    cls_to_become: ClassVar[Any] = None
    _load_hook: RemovableHandle
    _initialize_hook: RemovableHandle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )
        warnings.warn(
            "Lazy modules are a new feature under heavy development so changes to the API or "
            "functionality can happen at any moment.",
            stacklevel=3,
        )

    def _tensors(self) -> Any:
        return itertools.chain(self._parameters.items(), self._buffers.items())

    def has_uninitialized_params(self) -> bool:
        """Return True if a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for _, tensor in self._tensors())

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Allocate the parameters in the sizes of the first input. Subclasses define it."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        """Allocate uninitialized tensors in the shapes of those that are loaded."""
        for name, tensor in self._tensors():
            loaded = state_dict.get(prefix + name)
            if is_lazy(tensor) and isinstance(loaded, Tensor) and not is_lazy(loaded):
                tensor.materialize(loaded.shape)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


LazyModuleMixin = LazyModule
