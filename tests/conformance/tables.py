"""Results that need not be equal, and the checks that replace equality, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# Memory as it was found: only dtype, shape, strides are the operator's.
UNSPECIFIED = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted",
               "resize_", "resize_as_"}  # fmt: skip


# (operator, kind of out=) that corrupts PyTorch's own heap (2.13, tried without the engine): there is
# nothing to compare with.
CRASHES_PYTORCH = {(name, "strided") for name in ("tril", "triu", "lu_unpack", "linalg.lu")}

# ---- results that are one of several right ones


@dataclass(frozen=True)
class Freedom:
    """Results that may differ, and a function of them (and of the call's inputs) that must be equal."""

    reason: str
    invariant: Callable[[Any, list[torch.Tensor]], list[torch.Tensor]]
    eps: float = 100  # the tolerance, in units of the dtype's precision

    def allows(self, call: Any, theirs: list[Any], ours: list[Any]) -> bool:
        """Return true if the invariants are equal, within a tolerance for a few multiplications."""
        left, right = self.invariant(call, theirs), self.invariant(call, ours)
        for a, b in zip(left, right, strict=True):
            eps = torch.finfo(a.dtype).eps if a.dtype.is_floating_point or a.is_complex() else 0.0
            scale = float(a.abs().max()) if eps and a.numel() else 0.0
            if not torch.allclose(
                a, b, rtol=self.eps * eps, atol=self.eps * eps * (scale + 1), equal_nan=True
            ):
                return False
        return True


def _adjoint_product(m: torch.Tensor) -> torch.Tensor:
    return m.mH @ m


def _svd(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    if len(results) == 1:
        return results
    u, s, v = results
    if call.name.startswith("linalg"):
        v = v.mH
    k = s.shape[-1]
    product = (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k].mH
    return [s, product, _adjoint_product(u), _adjoint_product(v)]


def _qr(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    q, r = results
    return [q @ r, _adjoint_product(q)] if q.numel() else [_adjoint_product(r)]


def _eigh(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    values, vectors = results
    return [values, (vectors * values.unsqueeze(-2)) @ vectors.mH, _adjoint_product(vectors)]


def _eig(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    values, vectors = results
    matrix = call.args[0].to(vectors.dtype)
    return [values, matrix @ vectors - vectors * values.unsqueeze(-2), vectors.abs()]


def _tied(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    """Values, and that the indices lead to them."""
    values, indices = results if len(results) == 2 else (None, results[0])
    source = call.args[0]
    if source.dim() == 0 or indices.dtype is not torch.int64 or call.kwargs.get("stable"):
        return results
    numbers = [a for a in call.args[1:] if type(a) is int]
    before = 1 if call.name in ("topk", "kthvalue") else 0  # their k
    dim = call.kwargs.get("dim", numbers[before] if len(numbers) > before else -1)
    at = indices if indices.dim() == source.dim() else indices.unsqueeze(dim)
    led = source.gather(dim, at)
    return [led if values is None else values, led]


def _unique(call: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    """The elements, the elements at the inverse and the counts; in any order unless `sorted`."""
    values = results[0]
    if call.kwargs.get("sorted", True) or call.kwargs.get("dim") is not None:
        return results
    order = values.argsort()
    remainder = results[1:]
    saved = [values[order]]
    if call.kwargs.get("return_inverse") and remainder:
        saved.append(values[remainder.pop(0)])
    return saved + [counts[order] for counts in remainder]


SIGNS = "vectors are unique up to a factor of absolute value 1, or a rotation where values repeat"
ROUNDED = "each element is a sum over all: its error is relative to the largest, not to itself"
TIES = "among equal elements PyTorch promises no index"
FREEDOMS = {
    "svd": Freedom(SIGNS, _svd),
    "linalg.svd": Freedom(SIGNS, _svd),
    "qr": Freedom(SIGNS, _qr),
    "linalg.qr": Freedom(SIGNS, _qr),
    "linalg.eigh": Freedom(SIGNS, _eigh),
    "linalg.eig": Freedom(SIGNS, _eig),
    "fft.hfft2": Freedom(ROUNDED, lambda call, results: results, eps=1),
    "unique": Freedom("sorted=False leaves the order open", _unique),
    **dict.fromkeys(("topk", "kthvalue", "median", "nanmedian", "mode", "sort", "argsort", "msort"),
                    Freedom(TIES, _tied)),
}  # fmt: skip


# ---- random results


def _finite(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    finite = torch.isfinite(theirs).all() and not torch.isfinite(ours).all()
    return "values: not finite" if finite else None


def _normal(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    """Finite, not all equal, and with a mean within 6 standard errors of PyTorch's."""
    if result := _finite(call, theirs, ours):
        return result
    count = ours.numel()
    if count < 8 or not theirs.isfinite().all():
        return None
    wide = torch.complex128 if ours.is_complex() else torch.float64
    a, b = theirs.to(wide), ours.to(wide)
    if float(a.std()) > 0 and float(b.std()) == 0:
        return f"values: all are {b.flatten()[0].item()!r}"
    bound = 6 * (a.std() + b.std()) * (2 / count) ** 0.5
    far = (a.mean() - b.mean()).abs() > bound
    return (
        f"values: mean {b.mean().item():.4g}, PyTorch's is {a.mean().item():.4g}" if far else None
    )


def _between(low: float, high: float) -> Callable[..., str | None]:
    def check(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
        parts = torch.view_as_real(ours) if ours.is_complex() else ours
        inside = (parts >= low) & (parts < high)
        return (
            None if inside.all() else f"values: {parts[~inside][0].item()!r} not in [{low}, {high})"
        )

    return check


def _randint(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    numbers = [a for a in call.args if type(a) is int]
    low = call.kwargs.get("low", numbers[0] if len(numbers) > 1 else 0)
    high = call.kwargs.get("high", numbers[-1] if numbers else None)
    return None if high is None else _between(low, high)(call, theirs, ours)


def _bernoulli(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    chances = call.args[1] if len(call.args) > 1 else call.kwargs.get("p", call.args[0])
    if isinstance(chances, torch.Tensor) and chances.is_floating_point():
        sure = (chances == 0) | (chances == 1)
        if not torch.equal(ours[sure], chances[sure].to(ours.dtype)):
            return "values: a chance of 0 or 1 did not decide"
    alien = (ours != 0) & (ours != 1)
    return f"values: {ours[alien][0].item()!r}" if alien.any() else None


def _multinomial(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    weights = call.args[0]
    if ours.numel() and not (int(ours.min()) >= 0 and int(ours.max()) < weights.shape[-1]):
        return "values: an index is out of range"
    if (weights.gather(-1, ours) == 0).any():
        return "values: an index of weight 0 was drawn"
    replacement = call.kwargs.get("replacement", call.args[2] if len(call.args) > 2 else False)
    rows = ours.reshape(-1, ours.shape[-1]).tolist() if not replacement else []
    return "values: drawn twice" if any(len(set(row)) < len(row) for row in rows) else None


def _dropped(call: Any, theirs: torch.Tensor, ours: torch.Tensor) -> str | None:
    """Elements that both invariant are equal; both keep all or none if p is 0 or 1, else a similar number."""
    p = call.kwargs.get("p", call.args[1] if len(call.args) > 1 else 0.5)
    if p in (0, 1) or not call.kwargs.get("training", True):
        return None if torch.equal(theirs, ours) else "values: differ, though chance has no part"
    left, right = theirs != 0, ours != 0
    both = left & right
    rtol = 1e-5 if theirs.itemsize >= 4 else 1e-2
    if not torch.allclose(theirs[both], ours[both], rtol=rtol):
        return "values: an element that was invariant differs"
    saved, own = float(left.double().mean()), float(right.double().mean())
    few = theirs.numel() < 50
    if few or call.name != "nn.functional.dropout" or abs(saved - own) < 0.4:
        return None  # the others drop whole channels: few draws
    return f"values: {own:.2f} of the elements invariant, PyTorch keeps {saved:.2f}"


RANDOM: dict[str, Callable[[Any, torch.Tensor, torch.Tensor], str | None]] = {
    "rand_like": _normal,  # the database calls randn_like under this name
    "randint": _randint,
    "randint_like": _randint,
    "randn": _normal,
    "randn_like": _normal,
    "normal": _normal,
    "bernoulli": _bernoulli,
    "multinomial": _multinomial,
    "uniform": _finite,
    "cauchy": _finite,
    "exponential": _finite,
    "geometric": _finite,
    "log_normal": _finite,
    "nn.functional.dropout": _dropped,
    "nn.functional.dropout2d": _dropped,
    "nn.functional.dropout3d": _dropped,
    "nn.functional.alpha_dropout": _finite,
    "nn.functional.feature_alpha_dropout": _finite,
    "nn.functional.multi_head_attention_forward": _finite,
    "nn.functional.fractional_max_pool2d": _finite,
    "nn.functional.fractional_max_pool3d": _finite,
    "nn.functional.rrelu": _finite,
    "svd_lowrank": _finite,
    "pca_lowrank": _finite,
}
# Drawn only if this argument is above 0.
CHANCES = {"nn.functional.scaled_dot_product_attention": "dropout_p"}


def random_difference(call: Any, leaves: list[tuple[str, Any, Any]]) -> Any:
    """Return the fault of a random result, or None; NotImplemented for calls without random numbers."""
    name = call.name.partition("/")[0]
    check = RANDOM.get(name)
    if check is None and call.kwargs.get(CHANCES.get(name, ""), 0) > 0:
        check = _finite
    if check is None:
        return NotImplemented
    for path, a, b in leaves:
        if isinstance(a, torch.Tensor) and not a.is_meta and (result := check(call, a, b)):
            return path + result
    return None
