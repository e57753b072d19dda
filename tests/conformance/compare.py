"""Two results, PyTorch's and the engine's, as the first difference between them, in words, or None.

Compared: structure (tuple or list, field names, Python scalars), dtype, shape, strides, which input's
storage a result shares and where, whether it *is* an input, and values. Strides of dimensions of size 1
and of empty tensors reach nothing and are compared in views only, where they follow from the view operator.

Values: torch.testing.assert_close's tolerances. Beyond them a floating result still passes if it is
at least as near to PyTorch's result in float64 as PyTorch's own: long sums, half precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import bridge
import torch
from tables import FREEDOMS, UNSPECIFIED, random_difference

import engine

Pairs = list[tuple[torch.Tensor, Any]]
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
WIDE = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), torch.float64),
    **dict.fromkeys((torch.complex32, torch.complex64, torch.complex128), torch.complex128),
}


class Call:
    """A call and its tensors: PyTorch's and the engine's input of each pair."""

    def __init__(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        pairs: Pairs,
        reference: Callable[[], Any],
        precision: torch.dtype | None = None,
    ) -> None:
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.pairs = pairs
        self.reference = reference  # PyTorch's result in float64
        self.precision = precision  # the dtype computed in, where out= has another

    def difference(self, theirs: Any, ours: Any) -> str | None:
        """Return the first difference between the results, then between what became of the inputs."""
        result = structure(theirs, ours)
        if result:
            return result
        leaves = list(leaves_of(theirs, ours))
        for path, a, b in leaves:
            if isinstance(a, torch.Tensor) and (result := self._description(a, b)):
                return path + result
        result = self._values(theirs, ours, leaves)
        if result:
            return result
        results = {id(a) for _, a, _ in leaves}
        for position, (a, b) in enumerate(self.pairs):
            if id(a) in results:
                continue
            result = self._description(a, b) or value_difference(a, b)
            if result:
                return f"input {position} afterwards: {result}"
        return None

    def _description(self, a: torch.Tensor, b: Any) -> str | None:
        if bridge.torch_dtype(b.dtype) is not bridge.SAME_BITS.get(a.dtype, a.dtype):
            return f"dtype {_name(b.dtype)}, PyTorch's is {str(a.dtype)[6:]}"
        if tuple(a.shape) != tuple(b.shape):
            return f"shape {tuple(b.shape)}, PyTorch's is {tuple(a.shape)}"
        if a.device.type != b.device.type:
            return f"device {b.device}, PyTorch's is {a.device}"
        other, ours = self._source(a, 0), self._source(b, 1)
        if other != ours:
            return f"{_shares(ours)}; PyTorch's {_shares(other)}"
        if _strides(a, other is not None) != _strides(b, other is not None):
            return f"strides {b.stride()}, PyTorch's are {a.stride()}"
        if other is not None and a.storage_offset() != b.storage_offset():
            return f"storage offset {b.storage_offset()}, PyTorch's is {a.storage_offset()}"
        return None

    def _source(self, t: Any, side: int) -> tuple[int, bool] | None:
        """Return the input that shares its storage, and true if it is that same object."""
        for position, pair in enumerate(self.pairs):
            if pair[side] is t:
                return position, True
        for position, pair in enumerate(self.pairs):
            if bridge.same_storage(pair[side], t):
                return position, False
        return None

    def _values(self, theirs: Any, ours: Any, leaves: list[tuple[str, Any, Any]]) -> str | None:
        if self.name.partition("/")[0] in UNSPECIFIED:
            return None
        converted = [(path, a, bridge.to_torch(b) if isinstance(a, torch.Tensor) else b)
                     for path, a, b in leaves]  # fmt: skip
        random = random_difference(self, converted)
        if random is not NotImplemented:
            return random
        if not any(value_difference(a, b, self.precision) for _, a, b in converted):
            return None
        freedom = FREEDOMS.get(self.name.partition("/")[0])
        if freedom and freedom.allows(
            self, [a for _, a, _ in converted], [b for *_, b in converted]
        ):
            return None
        for position, (path, a, b) in enumerate(converted):
            result = value_difference(a, b, self.precision)
            if result and not self._no_farther(position, a, b):
                return path + result
        return None

    def _no_farther(self, position: int, a: Any, b: Any) -> bool:
        if not isinstance(a, torch.Tensor) or a.dtype not in WIDE or a.is_meta:
            return False
        try:
            wide = [item for _, item, _ in leaves_of(*[self.reference()] * 2)][position]
        except Exception:
            return False  # PyTorch cannot do it in float64: there is no judge
        return wide.shape == a.shape and no_farther(wide, a, b, self.precision)


def _shares(source: tuple[int, bool] | None) -> str:
    if source is None:
        return "is a new tensor"
    return f"is input {source[0]} itself" if source[1] else f"is a view of input {source[0]}"


def _strides(t: Any, view: bool) -> Any:
    if view and t.numel() > 0:
        return tuple(t.stride())
    if t.numel() == 0:
        return None
    return [step for size, step in zip(t.shape, t.stride(), strict=True) if size != 1]


def leaves_of(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Everything within two results of the same structure that is not a container, side by side."""
    if isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        for position, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            yield from leaves_of(a, b, f"{path}result {position}: ")
    else:
        yield path, theirs, ours


def structure(theirs: Any, ours: Any) -> str | None:
    """Return the difference between two containers or between the classes of their items."""
    if isinstance(theirs, torch.Tensor):
        return None if isinstance(ours, engine.Tensor) else f"{_kind(ours)}, PyTorch's is a Tensor"
    if isinstance(theirs, torch.Size):
        return None if isinstance(ours, engine.Size) else f"{_kind(ours)}, PyTorch's is a Size"
    if isinstance(theirs, torch.dtype):
        return None if isinstance(ours, engine.dtype) else f"{_kind(ours)}, PyTorch's is a dtype"
    if not isinstance(theirs, (list, tuple)):
        same = type(theirs) is type(ours)
        return None if same else f"{_kind(ours)} {ours!r}, PyTorch's is a {_kind(theirs)}"
    base = list if isinstance(theirs, list) else tuple
    if not isinstance(ours, base):
        return f"{_kind(ours)}, PyTorch's is a {base.__name__}"
    if len(ours) != len(theirs):
        return f"{len(ours)} results, PyTorch's are {len(theirs)}"
    for position, name in enumerate(getattr(theirs, "__match_args__", ())):
        if getattr(ours, name, None) is not ours[position]:
            return f"no field {name!r} for result {position}"
    for position, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if result := structure(a, b):
            return f"result {position}: {result}"
    return None


def _name(dtype: Any) -> str:
    return str(bridge.torch_dtype(dtype)).removeprefix("torch.")


def _kind(value: Any) -> str:
    return type(value).__name__


def value_difference(a: Any, b: Any, precision: torch.dtype | None = None) -> str | None:
    """Return the difference of values beyond the dtype's tolerance (or `precision`'s); NaN equals NaN."""
    if isinstance(a, torch.dtype):
        return None if bridge.torch_dtype(b) is a else f"{b}, PyTorch's is {a}"
    if isinstance(a, (float, complex)):
        dtype = torch.float64 if isinstance(a, float) else torch.complex128
        a, b = torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype)
    elif not isinstance(a, torch.Tensor):
        same = tuple(a) == tuple(b) if isinstance(a, torch.Size) else a == b
        return None if same else f"{b!r}, PyTorch's is {a!r}"
    if isinstance(b, engine.Tensor):
        b = bridge.to_torch(b)
    if a.is_meta or a.numel() == 0:
        return None
    if a.shape != b.shape:
        return f"shape {tuple(b.shape)}, PyTorch's is {tuple(a.shape)}"
    a = a.resolve_conj().resolve_neg()
    a = a.view(bridge.SAME_BITS.get(a.dtype, a.dtype))
    if torch.equal(a, b):
        return None
    rtol, atol = max(TOLERANCES.get(dtype, (0, 0)) for dtype in (a.dtype, precision))
    close = torch.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    location = (~close).nonzero()[0].tolist()
    position = f" at {location}" if location else ""
    return (
        f"values: {b[tuple(location)].item()!r}{position}, PyTorch's is {a[tuple(location)].item()!r}"
        f" ({int((~close).sum())} of {a.numel()} differ)"
    )


def no_farther(
    wide: torch.Tensor,
    theirs: torch.Tensor,
    ours: torch.Tensor,
    precision: torch.dtype | None = None,
) -> bool:
    """Return true if ours is within tolerance of the float64 result, or has no larger error than PyTorch's."""
    rtol, atol = max(TOLERANCES.get(dtype, (0, 0)) for dtype in (ours.dtype, precision))
    ours, theirs = ours.to(wide.dtype), theirs.resolve_conj().to(wide.dtype)
    if torch.isclose(ours, wide, rtol=rtol, atol=atol, equal_nan=True).all():
        return True
    finite = torch.isfinite(theirs)
    if not torch.equal(torch.isfinite(ours), finite) or not torch.isfinite(wide[finite]).all():
        return False
    if not torch.equal(ours[~finite].nan_to_num(), theirs[~finite].nan_to_num()):
        return False
    return bool((ours - wide)[finite].abs().max() <= (theirs - wide)[finite].abs().max())
