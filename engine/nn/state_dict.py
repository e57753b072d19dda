"""`state_dict` and `load_state_dict`: the tensors of a module and its submodules, by path."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.autograd.grad_mode import no_grad
from engine.nn.hook_registers import BoundHook, Register
from engine.nn.hooks import RemovableHandle
from engine.nn.parameter import Parameter, is_lazy
from engine.nn.traversal import Traversed
from engine.tensor import Tensor

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: the names that only one side has."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys({', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"

    def __str__(self) -> str:
        return repr(self)


class Stateful(Traversed):
    """The part of Module that saves and loads.

    `_version` is written to the metadata of a `state_dict`, so that a class can read the state of its
    earlier versions.
    """

    _version = 1
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Register
    _state_dict_pre_hooks: Register
    _load_state_dict_pre_hooks: Register
    _load_state_dict_post_hooks: Register

    # ---- saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return all parameters and persistent buffers by path, in an OrderedDict with `_metadata`.

        Memory: the tensors are detached views of the module's; with `keep_vars` they are the parameters
        themselves.

        >>> import engine
        >>> list(engine.nn.Sequential(engine.nn.Linear(1, 2)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            replacement = hook(self, destination, prefix, metadata)
            if replacement is None:
                continue
            if not getattr(hook, "_from_public_api", True):
                destination = replacement
            else:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add this module's own tensors to `destination`, without those of submodules."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else _detached(parameter)
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else _detached(buffer)
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Return extra state for the `state_dict`, next to the tensors; a subclass also defines `set_extra_state`."""
        raise RuntimeError(_never_called("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Restore the extra state that `get_extra_state` returned."""
        raise RuntimeError(_never_called("set_extra_state"))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        hook._from_public_api = False  # type: ignore[attr-defined]
        return _added(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)`, which may change the `state_dict` in place."""
        if getattr(hook, "_from_public_api", True) is False:
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via _register_state_dict_hook"
            )
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _added(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module is saved."""
        return _added(self._state_dict_pre_hooks, hook)

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a `state_dict` into the module's parameters and buffers.

        `strict`: both must have the same names. `assign`: the tensors of `state_dict` replace the module's,
        with their own dtype and memory. Returns the names that only one side has.
        Raises: TypeError unless `state_dict` is a mapping; RuntimeError, which lists missing and
        unexpected names (when strict) and sizes that differ.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            state._metadata = metadata
        report = _Report([], [], [])
        _load(self, state, "", metadata, assign, report)
        errors = report.errors
        if strict:
            for kind, names in (
                ("Unexpected", report.unexpected_keys),
                ("Missing", report.missing_keys),
            ):
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            details = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}"
            )
        return _IncompatibleKeys(report.missing_keys, report.unexpected_keys)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors, without those of submodules; a subclass may convert older versions."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own: dict[str, Tensor] = {k: v for k, v in self._parameters.items() if v is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                _take(self, name, tensor, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if not strict:
            return
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + EXTRA_STATE:
                continue
            first, dot, _ = key[len(prefix) :].partition(".")
            if first not in (self._modules if dot else own):
                unexpected_keys.append(key)

    def _load_extra_state(
        self,
        state_dict: Any,
        prefix: str,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
    ) -> None:
        key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        bound = BoundHook(hook, self) if with_module else hook
        return _added(self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Register a hook that runs before the module is loaded.

        `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists in place."""
        return _added(self._load_state_dict_post_hooks, hook)


class _Report(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]
    errors: list[str]


def _load(
    module: Any, state: Any, prefix: str, metadata: Any, assign: bool, report: _Report
) -> None:
    """Load a module and its submodules, each from its own part of the state."""
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = True
    missing, unexpected, errors = report
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
    for name, below in module._modules.items():
        if below is not None:
            path = f"{prefix}{name}."
            part = {key: value for key, value in state.items() if key.startswith(path)}
            _load(below, part, path, metadata, assign, report)
    keys = _IncompatibleKeys(missing, unexpected)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )


def _take(
    module: Any,
    name: str,
    target: Tensor,
    key: str,
    source: Any,
    assign: bool,
    errors: list[str],
) -> None:
    """Load one tensor of the state into the module; problems are appended to `errors`."""
    if not isinstance(source, Tensor):
        errors.append(
            f'While copying the parameter named "{key}", expected engine.Tensor or Tensor-like '
            f"object from checkpoint but received {type(source)}"
        )
        return
    if not is_lazy(target):
        if target.dim() == 0 and tuple(source.shape) == (1,):
            source = source[0]
        if source.shape != target.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {source.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
            return
    if target.is_meta and not source.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
            "parameter in the current model, which is a no-op. (Did you mean to pass "
            "`assign=True` to assign items in the state dictionary to their corresponding key in "
            "the module instead of copying them in place?)",
            stacklevel=2,
        )
    try:
        with no_grad():
            if not assign:
                target.copy_(source)
                return
            if isinstance(target, Parameter):
                if isinstance(source, Parameter):
                    source.requires_grad_(target.requires_grad)
                else:
                    source = Parameter(source, target.requires_grad)
            setattr(module, name, source)
    except Exception as error:  # reported together with the other errors
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{target.size()} and whose dimensions in the checkpoint are {source.size()}, "
            f"an exception occurred : {error.args}."
        )


def _detached(tensor: Tensor) -> Tensor:
    return tensor if is_lazy(tensor) else tensor.detach()


def _added(register: Register, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(register)
    register[handle.id] = hook
    return handle


def _never_called(name: str) -> str:
    return f"{name}: Module has no extra state; a subclass that has some defines this method"
