"""Optimizer: groups of parameters with their options, the state of each parameter, and step hooks."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from engine._native.iterations import end_iteration, listeners
from engine.nn.hooks import RemovableHandle
from engine.optim.hooks import register
from engine.optim.state import packed, unpacked
from engine.tensor import Tensor

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

_before_every_step: OrderedDict[int, Any] = OrderedDict()
_after_every_step: OrderedDict[int, Any] = OrderedDict()


class _Required:
    """The default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer.

    The hook may return `(args, kwargs)` to replace the arguments of `step`.
    """
    return register(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return register(_after_every_step, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `step` in its hooks; if it calls the parent's `step`, only the outer one runs them."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not hooked:
            return step(self, *args, **kwargs)
        for hook in (*_before_every_step.values(), *self._hooks("step_pre").values()):
            changed = hook(self, (self, *args), kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {changed}."
                )
            (_, *args), kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in (*self._hooks("step_post").values(), *_after_every_step.values()):
            hook(self, (self, *args), kwargs)
        if listeners:
            end_iteration(id(self))
        return result

    return hooked


class Optimizer:
    """The base of all optimizers.

    `params` are tensors, (name, tensor) pairs, or dicts with "params" and options of the group;
    `defaults` are the options that a group does not set. `state[p]` is the optimizer's state of a parameter. A
    subclass defines `step`.
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            type.__setattr__(cls, "step", _with_hooks(cls.__dict__["step"]))

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {_type_name(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in (
            "_optimizer_step_pre_hooks",
            "_optimizer_step_post_hooks",
            "_optimizer_state_dict_pre_hooks",
            "_optimizer_state_dict_post_hooks",
            "_optimizer_load_state_dict_pre_hooks",
            "_optimizer_load_state_dict_post_hooks",
        ):
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ---- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other arguments."""
        return register(self._hooks("step_pre"), hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return register(self._hooks("step_post"), hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return register(self._hooks("state_dict_pre"), hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` with the result of `state_dict`; it may return another."""
        return register(self._hooks("state_dict_post"), hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before it is loaded; it may return another."""
        return register(self._hooks("load_state_dict_pre"), hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return register(self._hooks("load_state_dict_post"), hook, prepend)

    def _hooks(self, name: str) -> OrderedDict[int, Any]:
        hooks: OrderedDict[int, Any] = self.__dict__[f"_optimizer_{name}_hooks"]
        return hooks

    # ---- state in and out

    def state_dict(self) -> dict[str, Any]:
        """Return `{"state": ..., "param_groups": ...}` with parameters replaced by their positions."""
        for hook in self._hooks("state_dict_pre").values():
            hook(self)
        packed_state = packed(self.state, self.param_groups)
        for hook in self._hooks("state_dict_post").values():
            changed = hook(self, packed_state)
            packed_state = packed_state if changed is None else changed
        return packed_state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of `state_dict` of such an optimizer; tensors are cast to each
        parameter's dtype.

        Raises: ValueError if the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._hooks("load_state_dict_pre").values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved_groups = deepcopy(state_dict["param_groups"])
        _check_groups(self.param_groups, saved_groups)
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        state = unpacked(state_dict, self.param_groups, saved_groups)
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._hooks("load_state_dict_post").values():
            hook(self)

    # ---- parameters

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or with `set_to_none=False` to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                    continue
                grad = p.grad
                if grad is None:
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters; `closure` recomputes the loss and returns it."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own options.

        Raises: TypeError for parameters that are not tensors; ValueError for a tensor that is not a leaf or is in
        another group, and if only some groups have names.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        names, params = _names_and_params(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for p in params:
            self._check_parameter(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if names else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_parameter(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {_type_name(p)}"
            )
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _names_and_params(params: Any) -> tuple[list[str], list[Any]]:
    if isinstance(params, Tensor):
        return [], [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but "
            "the ordering of tensors in sets will change between runs. "
            "Please use a list instead."
        )
    entries = list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return names, [entry[1] if isinstance(entry, tuple) else entry for entry in entries]


def _check_groups(groups: list[dict[str, Any]], saved: list[dict[str, Any]]) -> None:
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    sizes: Iterable[tuple[int, int]] = (
        (len(g["params"]), len(s["params"])) for g, s in zip(groups, saved, strict=True)
    )
    if any(size != saved_size for size, saved_size in sizes):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of "
            "optimizer's group"
        )
