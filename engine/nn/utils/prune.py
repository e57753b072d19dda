"""Pruning: a hook multiplies the dense values, the parameter NAME_orig, by a mask, the buffer NAME_mask.

A `BasePruningMethod` computes masks; each function prunes one tensor of one module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import engine
from engine.tensor import Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A pruning method: `compute_mask` returns a mask of the elements to keep.

    `PRUNING_TYPE` is "unstructured", "structured" (along `dim`) or "global"; a container of several methods passes
    each the part of the tensor that is not pruned yet.
    """

    _tensor_name: str
    PRUNING_TYPE: str = "unstructured"

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for the tensor `t`; `default_mask` is the mask of earlier pruning."""

    def apply_mask(self, module: Any) -> Tensor:
        """Return the pruned tensor."""
        name = self._tensor_name
        mask = getattr(module, f"{name}_mask")
        original: Tensor = getattr(module, f"{name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune the tensor `name` of a module, in addition to earlier pruning."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        previous = _hook_of(module, name)
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(tensor.shape):
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if previous is None:
            default_mask = engine.ones_like(tensor).detach()
        else:
            key, earlier = previous
            default_mask = getattr(module, f"{name}_mask").detach().clone()
            container = earlier
            if not isinstance(earlier, PruningContainer):
                container = PruningContainer(earlier)
            container.add_pruning_method(method)
            del module._forward_pre_hooks[key]
            method = container
        mask = method.compute_mask(scores.detach(), default_mask)
        if previous is None:
            original = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """Return a tensor pruned by this method, without a module."""
        mask = engine.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor a parameter, and drop the mask and the dense values."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if name in vars(module):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.detach()
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one tensor, in order: each prunes the elements that the earlier ones kept."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: list[Any] = []
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for method in methods:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same tensor. Raises: TypeError for another object, ValueError for another tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods.append(method)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` without the elements that the newest method prunes."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            part: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            others = [d for d in range(t.dim()) if d != method.dim % t.dim()]
            remaining = mask.sum(others) != 0
            part = (*(slice(None) for _ in range(method.dim % t.dim())), remaining)
        elif method.PRUNING_TYPE == "global":
            part = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = mask.clone()
        result[part] = method.compute_mask(t[part], default_mask=mask[part]).to(mask.dtype)
        return result


class Identity(BasePruningMethod):
    """Prunes nothing, but adds the parameter and the mask."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it is."""
        return default_mask


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    in_range = amount >= 0 if isinstance(amount, int) else 0 <= float(amount) <= 1
    if not in_range:
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: Any, size: int) -> int:
    """Return the number of pruned units among `size`: an int is a number, a float a fraction."""
    if isinstance(amount, int):
        if amount > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={size}"
            )
        return int(amount)
    return round(amount * size)


class _Ranked(BasePruningMethod):
    """Prunes the units with the lowest scores."""

    dim: int | None = None

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the units that have the lowest scores."""
        scores = self._scores(t)
        count = _count(self.amount, scores.numel())
        mask = default_mask.clone(memory_format=engine.contiguous_format)
        if not count:
            return mask
        lowest = engine.topk(scores.reshape(-1), count, largest=False).indices
        if self.dim is None:
            mask.view(-1)[lowest] = 0
        else:
            mask[(*(slice(None) for _ in range(self.dim % t.dim())), lowest)] = 0
        return mask


class RandomUnstructured(_Ranked):
    """Prunes elements at random."""

    def _scores(self, t: Tensor) -> Tensor:
        drawn: Tensor = engine.rand_like(t)
        return drawn


class L1Unstructured(_Ranked):
    """Prunes the elements with the smallest absolute values."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(_Ranked):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask without the slices along `dim` that have the lowest scores."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                f"shape {t.shape} with {t.dim()} dims"
            )
        assert self.dim is not None
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return super().compute_mask(t, default_mask)


class RandomStructured(_Structured):
    """Prunes slices along `dim` at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        drawn: Tensor = engine.rand(t.shape[self.dim or 0])
        return drawn


class LnStructured(_Structured):
    """Prunes the slices along `dim` with the smallest n-norms."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _scores(self, t: Tensor) -> Tensor:
        others = [d for d in range(t.dim()) if d != (self.dim or 0) % t.dim()]
        norms: Tensor = engine.norm(t, p=self.n, dim=others)
        return norms


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        assert default_mask.shape == self.mask.shape
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Add the mask and the hook to a module without pruning, and return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements at random: `amount` is a number of them or a fraction. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements with the smallest absolute values or scores. Returns the module.

    >>> layer = l1_unstructured(engine.nn.Linear(2, 2), "weight", amount=0.5)
    >>> int((layer.weight == 0).sum())
    2
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices along `dim` at random. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the slices along `dim` with the smallest n-norms. Returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune by a mask. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune pairs of a module and a name together: a method ranks the elements of all tensors."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = importance_scores or {}
    flat = engine.cat([scores.get(pair, getattr(*pair)).detach().reshape(-1) for pair in pairs])
    masks = [getattr(module, f"{name}_mask", None) for module, name in pairs]
    default = engine.cat(
        [
            (engine.ones_like(getattr(*pair)) if mask is None else mask).detach().reshape(-1)
            for pair, mask in zip(pairs, masks, strict=True)
        ]
    )
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(flat, default)
    offset = 0
    for module, name in pairs:
        tensor = getattr(module, name)
        part = final[offset : offset + tensor.numel()].view_as(tensor)
        custom_from_mask(module, name, part)
        offset += tensor.numel()


def _hook_of(module: Any, name: str) -> tuple[int, Any] | None:
    """Return the key and the hook that prunes this tensor."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


def remove(module: Any, name: str) -> Any:
    """Make a pruned tensor a parameter again, zeros included. Raises: ValueError if it is not pruned."""
    entry = _hook_of(module, name)
    if entry is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    key, hook = entry
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Return True if a tensor of the module or of a submodule is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
