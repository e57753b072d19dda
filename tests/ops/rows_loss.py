"""Losses, attention and distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import COMPLEX, FLOATS, NUMBERS, Array, Bad, Row, Sample, array

WIDE = ("float32", "float64")
REDUCTIONS = ("none", "mean", "sum")
F = "nn.functional."


def numbers(values: object) -> Array:
    return Array(np.asarray(values, np.int64), "int64")


def reduced(losses: np.ndarray, reduction: str = "mean") -> np.ndarray:
    return {"none": lambda x: x, "mean": np.mean, "sum": np.sum}[reduction](losses)


def of_elements(loss: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the reference of a loss that is computed element by element and then reduced."""

    def reference(x: np.ndarray, y: np.ndarray, *more: Any, **options: Any) -> np.ndarray:
        reduction = options.pop("reduction", "mean")
        return reduced(loss(x, y, *more, **options), reduction)

    return reference


def pairs(low: float = -4, high: float = 4, **options: Any) -> Callable[[str], Iterator[Sample]]:
    """Two tensors of one shape, every reduction; one large enough for several blocks."""

    def samples(dtype: str) -> Iterator[Sample]:
        for shape, reduction in itertools.product(((), (3,), (2, 3, 4), (0, 2)), REDUCTIONS):
            if 0 in shape and reduction == "mean":
                continue  # NaN, with a warning of NumPy's
            x, y = (array(dtype, *shape, seed=s, low=low, high=high) for s in (1, 2))
            yield Sample((x, y), {"reduction": reduction, **options}, f"{shape} {reduction}")
        if dtype in WIDE:
            x, y = (array(dtype, 3, 50_001, seed=s, low=low, high=high) for s in (1, 2))
            yield Sample((x, y), {"reduction": "mean", **options}, "large")

    return samples


def _logs(p: np.ndarray) -> np.ndarray:
    return np.maximum(np.log(p), -100)


def _bce(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -(y * _logs(p) + (1 - y) * _logs(1 - p))


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0, -x)


def _smooth(x: np.ndarray, y: np.ndarray, beta: float = 1.0) -> np.ndarray:
    d = np.abs(x - y)
    return np.where(d < beta, d * d / 2 / (beta or 1), d - beta / 2)


def _huber(x: np.ndarray, y: np.ndarray, delta: float = 1.0) -> np.ndarray:
    d = np.abs(x - y)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def _with_logits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (1 - y) * x - _log_sigmoid(x)


def _kl(x: np.ndarray, y: np.ndarray, log_target: bool = False) -> np.ndarray:
    if log_target:
        return np.exp(y) * (y - x)
    return np.where(y == 0, 0, y * np.log(np.where(y == 0, 1, y))) - y * x


def _kl_samples(dtype: str) -> Iterator[Sample]:
    x, y = array(dtype, 3, 4, low=-3, high=0), array(dtype, 3, 4, seed=1, low=0, high=1)
    for reduction, log in itertools.product(("none", "sum"), (False, True)):
        options = {"reduction": reduction, "log_target": log}
        yield Sample((x, x if log else y), options, f"{reduction} {log}")


def _poisson(
    x: np.ndarray, y: np.ndarray, log_input: bool = True, full: bool = False, eps: float = 1e-8
) -> np.ndarray:
    x, y = x.astype(np.float64), y.astype(np.float64)
    losses = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        many = np.maximum(y, 1)
        remainder = many * np.log(many) - many + np.log(2 * math.pi * many) / 2
        losses = losses + np.where(y > 1, remainder, 0)
    return losses


def _poisson_samples(dtype: str) -> Iterator[Sample]:
    x, y = array(dtype, 3, 4, low=1, high=3), array(dtype, 3, 4, seed=1, low=0, high=4)
    for reduction, log, full in itertools.product(REDUCTIONS, (False, True), (False, True)):
        options = {"reduction": reduction, "log_input": log, "full": full}
        yield Sample((x, y), options, f"{reduction} {log} {full}")


# ---- classes


def _log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    return x - np.logaddexp.reduce(x, axis=axis, keepdims=True)


def _nll(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> np.ndarray:
    axis = min(1, x.ndim - 1)
    weight = np.ones(x.shape[axis]) if weight is None else weight
    saved = target != ignore_index
    safe = np.where(saved, target, 0)
    selected = np.take_along_axis(x, np.expand_dims(safe, axis), axis).squeeze(axis)
    own = weight[safe] * saved
    losses = -selected * own
    return losses.sum() / own.sum() if reduction == "mean" else reduced(losses, reduction)


def _cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> np.ndarray:
    axis = min(1, x.ndim - 1)
    logs, classes = _log_softmax(x, axis), x.shape[axis]
    if target.shape == x.shape:
        shares = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -(logs * shares).sum(axis)
        return reduced(losses, reduction)
    loss = _nll(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    even = np.where(target == ignore_index, 0, -logs.sum(axis))
    mean = even.sum() / (target != ignore_index).sum()
    smooth = mean if reduction == "mean" else reduced(even, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / classes * smooth


def _class_samples(dtype: str) -> Iterator[Sample]:
    weight = array(dtype, 4, low=1, high=3)
    ones = ((), (5,), (2, 3), (2, 3, 2), (2, 3, 2, 2))
    for positions, reduction in itertools.product(ones, REDUCTIONS):
        shape = (*positions[:1], 4, *positions[1:])
        x = array(dtype, *shape)
        target = numbers(np.arange(int(np.prod(positions))).reshape(positions) % 4)
        yield Sample((x, target), {"reduction": reduction}, f"{shape} {reduction}")
        yield Sample((x, target, weight), {"reduction": reduction}, f"{shape} {reduction} weights")
        if positions:
            options = {"reduction": reduction, "ignore_index": 1}
            yield Sample((x, target), options, f"{shape} {reduction} ignored")


def _entropy_samples(dtype: str) -> Iterator[Sample]:
    yield from _class_samples(dtype)
    x, shares = array(dtype, 3, 4), array(dtype, 3, 4, seed=1, low=0, high=1)
    for reduction in REDUCTIONS:
        smooth = {"reduction": reduction, "label_smoothing": 0.25}
        yield Sample((x, shares), {"reduction": reduction}, f"shares {reduction}")
        yield Sample((x, shares), smooth, f"shares {reduction} smooth")
        yield Sample((x, numbers([3, 0, 1])), smooth, f"smooth {reduction}")


def _multi_margin(
    x: np.ndarray,
    target: np.ndarray,
    p: int = 1,
    margin: float = 1.0,
    weight: np.ndarray | None = None,
    reduction: str = "mean",
) -> np.ndarray:
    rows, t = np.atleast_2d(x), np.atleast_1d(target)
    own = rows[np.arange(len(rows)), t][:, None]
    gaps = np.maximum(0, margin - own + rows) ** p
    gaps[np.arange(len(rows)), t] = 0
    losses = gaps.sum(1) / rows.shape[1]
    losses = losses if weight is None else losses * weight[t]
    return reduced(losses.reshape(target.shape), reduction)


def _multi_margin_samples(dtype: str) -> Iterator[Sample]:
    for p, reduction in itertools.product((1, 2), REDUCTIONS):
        options = {"p": p, "margin": 0.5, "reduction": reduction}
        yield Sample((array(dtype, 3, 4), numbers([0, 3, 1])), options, f"{p} {reduction}")
        yield Sample((array(dtype, 4), numbers(2)), options, f"{p} {reduction} one row")
    weight = array(dtype, 4, low=1, high=2)
    yield Sample((array(dtype, 3, 4), numbers([0, 3, 1])), {"weight": None}, "no weight")
    yield Sample((array(dtype, 3, 4), numbers([0, 3, 1]), 1, 1.0, weight), {}, "weight")


def _multilabel_margin(x: np.ndarray, target: np.ndarray, reduction: str = "mean") -> np.ndarray:
    rows, targets = np.atleast_2d(x), np.atleast_2d(target)
    losses = []
    for row, listed in zip(rows, targets, strict=True):
        selected = list(itertools.takewhile(lambda t: t >= 0, listed))
        others = [c for c in range(len(row)) if c not in selected]
        losses.append(sum(max(0, 1 - row[t] + row[c]) for t in selected for c in others) / len(row))
    return reduced(np.array(losses).reshape(target.shape[:-1]), reduction)


def _multilabel_samples(dtype: str) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        listed = numbers([[1, 3, -1, 0], [-1, 0, 0, 0]])
        yield Sample((array(dtype, 2, 4), listed), {"reduction": reduction}, reduction)
        yield Sample((array(dtype, 3), numbers([2, 0, -1])), {"reduction": reduction}, "one row")


def _ctc(
    log_probs: np.ndarray,
    targets: np.ndarray,
    steps: list[int],
    lengths: list[int],
    blank: int = 0,
    reduction: str = "mean",
) -> np.ndarray:
    """Adds up every path there is."""
    losses = []
    for b, (t, n) in enumerate(zip(steps, lengths, strict=True)):
        total = 0.0
        for path in itertools.product(range(log_probs.shape[2]), repeat=t):
            merged = [c for c, _ in itertools.groupby(path) if c != blank]
            if merged == list(targets[b, :n]):
                total += math.exp(sum(log_probs[i, b, c] for i, c in enumerate(path)))
        losses.append(-math.log(total) if total else math.inf)
    result = np.array(losses)
    return (
        np.mean(result / np.maximum(lengths, 1))
        if reduction == "mean"
        else reduced(result, reduction)
    )


def _ctc_samples(dtype: str) -> Iterator[Sample]:
    rng = np.random.default_rng(0)
    logs = _log_softmax(rng.normal(size=(5, 2, 3)), 2).astype(dtype)
    for reduction, blank in itertools.product(REDUCTIONS, (0, 2)):
        targets = numbers([[1, 1], [1, 0]]) if blank == 2 else numbers([[1, 1], [2, 0]])
        arguments = (Array(logs, dtype), targets, [5, 4], [2, 1])
        yield Sample(arguments, {"blank": blank, "reduction": reduction}, f"{reduction} {blank}")


# ---- margins


def _signs(dtype: str, *shape: int) -> Array:
    return Array(
        np.where(array("bool", *shape).values, 1, -1).astype(array(dtype, 1).values.dtype), dtype
    )


def _signed(dtype: str) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        yield Sample((array(dtype, 3, 4), _signs(dtype, 3, 4)), {"reduction": reduction}, reduction)


def _ranking(dtype: str) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        arguments = (array(dtype, 3, 4), array(dtype, 3, 4, seed=1), _signs(dtype, 3, 4))
        yield Sample(arguments, {"margin": 0.5, "reduction": reduction}, reduction)


def _margin_ranking(
    a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float, reduction: str
) -> np.ndarray:
    return reduced(np.maximum(0, -y * (a - b) + margin), reduction)


def _cosine_embedding(
    a: np.ndarray, b: np.ndarray, y: np.ndarray, margin: float = 0.0, reduction: str = "mean"
) -> np.ndarray:
    squares = ((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12)
    cosine = (a * b).sum(-1) / np.sqrt(squares)
    return reduced(np.where(y == 1, 1 - cosine, np.maximum(0, cosine - margin)), reduction)


def _directions(dtype: str) -> Iterator[Sample]:
    for reduction in REDUCTIONS:
        a, b = array(dtype, 4, 3), array(dtype, 4, 3, seed=1)
        options = {"margin": 0.25, "reduction": reduction}
        yield Sample((a, b, numbers([1, -1, -1, 1])), options, reduction)
    yield Sample((array(dtype, 3), array(dtype, 3, seed=1), numbers(-1)), {}, "one pair")


def _norm(x: np.ndarray, p: float) -> np.ndarray:
    return np.asarray(np.linalg.norm(x, ord=p, axis=-1))


def _triplet(
    a: np.ndarray,
    near: np.ndarray,
    far: np.ndarray,
    margin: float = 1.0,
    p: float = 2.0,
    swap: bool = False,
    reduction: str = "mean",
) -> np.ndarray:
    item, other = _norm(a - near + 1e-6, p), _norm(a - far + 1e-6, p)
    if swap:
        other = np.minimum(other, _norm(near - far + 1e-6, p))
    return reduced(np.maximum(0, margin + item - other), reduction)


def _triplets(dtype: str) -> Iterator[Sample]:
    three = tuple(array(dtype, 4, 3, seed=s) for s in range(3))
    for reduction, swap in itertools.product(REDUCTIONS, (False, True)):
        yield Sample(three, {"reduction": reduction, "swap": swap}, f"{reduction} {swap}")


# ---- distances and attention


def _pairwise(a: np.ndarray, b: np.ndarray, p: float = 2.0, keepdim: bool = False) -> np.ndarray:
    return np.asarray(np.linalg.norm(a - b + 1e-6, ord=p, axis=-1, keepdims=keepdim))


def _vectors(dtype: str) -> Iterator[Sample]:
    for p, keepdim in ((2.0, False), (1.0, True), (math.inf, False)):
        a, b = array(dtype, 4, 3), array(dtype, 4, 3, seed=1)
        yield Sample((a, b), {"p": p, "keepdim": keepdim}, f"{p}")
    yield Sample((array(dtype, 4, 3), array(dtype, 3, seed=1)), {}, "broadcast")


def _cosine(a: np.ndarray, b: np.ndarray, dim: int = 1, eps: float = 1e-8) -> np.ndarray:
    sizes = np.broadcast_shapes(a.shape, b.shape)
    a, b = np.broadcast_to(a, sizes), np.broadcast_to(b, sizes)
    lengths = [np.maximum(np.linalg.norm(v, axis=dim, keepdims=True), eps) for v in (a, b)]
    return (a / lengths[0] * b / lengths[1]).sum(dim)


def _angles(dtype: str) -> Iterator[Sample]:
    for dim in (0, 1, -1):
        a, b = array(dtype, 4, 3, 2), array(dtype, 4, 3, 2, seed=1)
        yield Sample((a, b, dim), {}, f"{dim}")
    yield Sample((array(dtype, 4, 3), array(dtype, 3, seed=1), -1), {}, "broadcast")


def _attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> np.ndarray:
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    largest = scores.max(-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - largest)
    return weights @ v / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


def _attention_samples(dtype: str) -> Iterator[Sample]:
    def three(*lead: int, queries: int = 5, keys: int = 7, width: int = 8) -> tuple[Array, ...]:
        q = array(dtype, *lead, queries, width, low=-1, high=1)
        k, v = (array(dtype, *lead, keys, width, seed=s, low=-1, high=1) for s in (1, 2))
        return q, k, v

    for lead in ((), (2,), (2, 3)):
        yield Sample(three(*lead), {}, f"{lead}")
        yield Sample(three(*lead), {"is_causal": True}, f"{lead} causal")
        yield Sample(three(*lead), {"scale": 0.25}, f"{lead} scale")
        saved = Array(np.tril(np.ones((5, 7), bool), -1), "bool")  # the first query has no key
        yield Sample((*three(*lead), saved), {}, f"{lead} bool mask")
        yield Sample((*three(*lead), array(dtype, 7, seed=5)), {}, f"{lead} row mask")
    yield Sample((*three(2, 3), array(dtype, 2, 1, 5, 7, seed=5)), {}, "mask of batches")
    q = three(2, 4)[0]
    yield Sample((q, *three(2, 2)[1:]), {"enable_gqa": True}, "shared heads")
    yield Sample((three()[0], *three(2, 3)[1:]), {}, "broadcast")
    yield Sample(three(2, queries=3, keys=0), {}, "no keys")
    if dtype in WIDE:
        yield Sample(three(2, queries=130, keys=1100, width=4), {}, "several blocks")
        many = {"is_causal": True}
        yield Sample(three(2, queries=600, keys=1100, width=4), many, "several causal blocks")


# ---- what is refused

BAD_WORD = Bad(
    lambda m: m.nn.functional.mse_loss(m.ones(2), m.ones(2), reduction="avg"),
    ValueError,
    "avg is not a valid value for reduction",
)
NO_CLASS = Bad(
    lambda m: m.nn.functional.cross_entropy(m.ones(2, 3), m.tensor([0, 3])),
    IndexError,
    "Target 3 is out of bounds",
)
BATCHES = Bad(
    lambda m: m.nn.functional.nll_loss(m.ones(2, 3), m.tensor([0])), ValueError, "batch_size"
)
NOT_PROBABLE = Bad(
    lambda m: m.nn.functional.binary_cross_entropy(m.tensor([1.5]), m.tensor([1.0])),
    RuntimeError,
    "between 0 and 1",
)
SIZES = Bad(
    lambda m: m.nn.functional.binary_cross_entropy(m.ones(2), m.ones(3)), ValueError, "target size"
)
NEGATIVE = Bad(
    lambda m: m.nn.functional.huber_loss(m.ones(2), m.ones(2), delta=-1.0),
    RuntimeError,
    "non-positive values for delta",
)
TWO_MASKS = Bad(
    lambda m: m.nn.functional.scaled_dot_product_attention(
        *[m.ones(1, 2, 2)] * 3, attn_mask=m.ones(2, 2), is_causal=True
    ),
    RuntimeError,
    "attn_mask should not be set when is_causal",
)
WHOLE_COSINE = Bad(
    lambda m: m.cosine_similarity(m.tensor([[1]]), m.tensor([[1]])), RuntimeError, "floating point"
)

ROWS = [
    Row(F + "mse_loss", of_elements(lambda x, y: (x - y) ** 2), pairs(), FLOATS, bad=(BAD_WORD,)),
    Row(F + "l1_loss", of_elements(lambda x, y: np.abs(x - y)), pairs(), FLOATS + COMPLEX, "real"),
    Row(F + "smooth_l1_loss", of_elements(_smooth), pairs(beta=0.5), FLOATS),
    Row(F + "huber_loss", of_elements(_huber), pairs(delta=2.0), FLOATS, bad=(NEGATIVE,)),
    Row(F + "binary_cross_entropy", of_elements(_bce), pairs(0, 1), FLOATS, bad=(NOT_PROBABLE, SIZES)),
    Row(F + "binary_cross_entropy_with_logits", of_elements(_with_logits), pairs(), FLOATS),
    Row(F + "soft_margin_loss", of_elements(lambda x, y: np.logaddexp(0, -y * x)), _signed, FLOATS),
    Row(F + "kl_div", of_elements(_kl), _kl_samples, FLOATS),
    Row(F + "poisson_nll_loss", of_elements(_poisson), _poisson_samples, NUMBERS, "float"),
    Row(F + "nll_loss", _nll, _class_samples, FLOATS, bad=(BATCHES,)),
    Row(F + "cross_entropy", _cross_entropy, _entropy_samples, FLOATS, bad=(NO_CLASS,)),
    Row(F + "ctc_loss", _ctc, _ctc_samples, WIDE),
    Row(F + "multi_margin_loss", _multi_margin, _multi_margin_samples, WIDE),
    Row(F + "multilabel_margin_loss", _multilabel_margin, _multilabel_samples, WIDE),
    Row(F + "hinge_embedding_loss", of_elements(lambda x, y: np.where(y == 1, x, np.maximum(0, 1 - x))), _signed, FLOATS),
    Row(F + "margin_ranking_loss", _margin_ranking, _ranking, FLOATS),
    Row(F + "cosine_embedding_loss", _cosine_embedding, _directions, FLOATS),
    Row(F + "triplet_margin_loss", _triplet, _triplets, WIDE),
    Row("pairwise_distance", _pairwise, _vectors, WIDE),
    Row("cosine_similarity", _cosine, _angles, FLOATS, bad=(WHOLE_COSINE,)),
    Row(F + "scaled_dot_product_attention", _attention, _attention_samples, FLOATS, bad=(TWO_MASKS,)),
]  # fmt: skip
