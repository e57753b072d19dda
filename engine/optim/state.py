"""Conversion of an optimizer's state to a state dict, with positions in place of parameters, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Any

from engine.dtypes import float32
from engine.tensor import Tensor


def packed(state: dict[Any, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the dict of `state_dict`: parameters are numbered through all groups, from 0."""
    positions: dict[int, int] = {}
    written = []
    start = 0
    for group in groups:
        params = group["params"]
        for i, p in enumerate(params, start):
            positions.setdefault(id(p), i)
        options = {key: value for key, value in group.items() if key != "params"}
        written.append({**options, "params": [positions[id(p)] for p in params]})
        start += len(params)
    return {
        "state": {(positions[id(k)] if isinstance(k, Tensor) else k): v for k, v in state.items()},
        "param_groups": written,
    }


def unpacked(
    saved: dict[str, Any], groups: list[dict[str, Any]], saved_groups: list[dict[str, Any]]
) -> defaultdict[Any, Any]:
    """Return the state of a saved dict by parameter; `saved_groups` get the parameters of `groups`."""
    positions = chain.from_iterable(group["params"] for group in saved_groups)
    owners = {
        position: group
        for group in saved_groups
        for position in group[
            "params"
        ]  # the options of the group determine the dtype of a step count
    }
    params = dict(zip(positions, chain.from_iterable(g["params"] for g in groups), strict=True))
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in saved["state"].items():
        if key in params:
            state[params[key]] = _cast(value, params[key], owners[key])
        else:
            state[key] = value
    for group, saved_group in zip(groups, saved_groups, strict=True):
        saved_group["params"] = group["params"]
    return state


def _cast(value: Any, param: Tensor, group: dict[str, Any], key: Any = None) -> Any:
    """Copy the containers, with tensors cast to the parameter's dtype, but step counts unchanged."""
    if isinstance(value, Tensor):
        if key == "step":
            counted = group.get("fused") or group.get("capturable")
            return value.to(dtype=float32, device=param.device) if counted else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _cast(v, param, group, k) for k, v in value.items()}
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Iterable):
        return type(value)(_cast(v, param, group) for v in value)  # type: ignore[call-arg]
    return value
