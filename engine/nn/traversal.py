"""Traversal of a module: its submodules, parameters and buffers, with their paths as names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from engine.nn.parameter import Parameter
from engine.tensor import Tensor

if TYPE_CHECKING:
    from engine.nn.module import Module

Self = TypeVar("Self", bound="Traversed")


class Traversed:
    """The part of Module that traverses the tree of modules."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    # ---- modules

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over the module (under the name `prefix`) and all below it, each before its submodules.

        A module that occurs twice is returned once, unless `remove_duplicate` is False.

        >>> import engine
        >>> net = engine.nn.Sequential(engine.nn.ReLU(), engine.nn.Sequential())
        >>> [name for name, _ in net.named_modules()]
        ['', '0', '1']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterate over the module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the direct submodules, each once, with their names."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Iterate over the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def apply(self: Self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` with every submodule, then with the module itself; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    # ---- tensors

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Iterate over all parameters with their paths; without `recurse` over those of this module only.

        A parameter that occurs twice is returned once, unless `remove_duplicate` is False.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterate over all parameters, as an optimizer expects them."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over all buffers with their paths; without `recurse` over those of this module only."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over all buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- modes

    def train(self: Self, mode: bool = True) -> Self:
        """Set `training` in this module and all below it; dropout and batch normalisation depend on it.

        Raises: ValueError unless `mode` is a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter: False freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None; without `set_to_none` to zeros."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is None:
                gradient.requires_grad_(False)
            else:
                gradient.detach_()
            gradient.zero_()
