"""Convolutions and pooling: each output cell depends on one position of a window that slides over the
input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every

from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    Rule,
    Unknown,
    input_name,
    several,
)


def _padding(call: OpCall, kernel: Sequence[int], dilation: Sequence[int], rank: int) -> Index:
    padding = call.values.get("padding", 0)
    if padding == "valid":
        return (0,) * rank
    if padding == "same":  # the odd cell of padding is on the right
        return tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilation, strict=True))
    return several(padding, rank, 0)


def convolution(call: OpCall, index: Index) -> CellFormula:
    """Return the sum over channels and window of input times weight, plus bias; padding adds nothing."""
    if call.value("transposed", False):
        return transposed(call, index)
    name, weight, source = input_name(call), call.sizes("weight"), call.sizes(input_name(call))
    rank = len(weight) - 2
    stride, dilation = (several(call.values.get(x), rank) for x in ("stride", "dilation"))
    padding = _padding(call, weight[2:], dilation, rank)
    batch, channel, position = index[: len(index) - rank - 1], index[-rank - 1], index[-rank:]
    sizes = source[-rank:]
    first = channel // (weight[0] // int(call.value("groups", 1))) * weight[1]
    windows = [
        [
            (k, i)
            for k in range(weight[2 + d])
            if 0 <= (i := position[d] * stride[d] - padding[d] + k * dilation[d]) < sizes[d]
        ]
        for d in range(rank)
    ]
    pairs = [tuple(zip(*cells, strict=True)) for cells in every(*windows)]

    def feeds(number: int) -> tuple[CellInput, ...]:
        c, at = divmod(number, len(pairs))
        kernel, cell = pairs[at]
        return (
            CellInput(name, (*batch, first + c, *cell), "x"),
            CellInput("weight", (channel, c, *kernel), "w"),
        )

    return _with_bias(call, CellFormula("{x} * {w}", feeds, weight[1] * len(pairs)), channel)


def transposed(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of conv_transpose: the input cells whose window, laid over the output, covers
    this cell."""
    name, weight, source = input_name(call), call.sizes("weight"), call.sizes(input_name(call))
    rank = len(weight) - 2
    stride, dilation = (several(call.values.get(x), rank) for x in ("stride", "dilation"))
    padding = several(call.values.get("padding", 0), rank, 0)
    batch, channel, position = index[: len(index) - rank - 1], index[-rank - 1], index[-rank:]
    groups = int(call.value("groups", 1))
    group, within = divmod(channel, weight[1])
    per_group = weight[0] // groups
    windows = []
    for d in range(rank):
        hits = []
        for k in range(weight[2 + d]):
            i, remaining = divmod(position[d] + padding[d] - k * dilation[d], stride[d])
            if remaining == 0 and 0 <= i < source[-rank + d]:
                hits.append((k, i))
        windows.append(hits)
    pairs = [tuple(zip(*cells, strict=True)) for cells in every(*windows)]

    def feeds(number: int) -> tuple[CellInput, ...]:
        c, at = divmod(number, len(pairs))
        kernel, cell = pairs[at]
        return (
            CellInput(name, (*batch, group * per_group + c, *cell), "x"),
            CellInput("weight", (group * per_group + c, within, *kernel), "w"),
        )

    return _with_bias(call, CellFormula("{x} * {w}", feeds, per_group * len(pairs)), channel)


def _with_bias(call: OpCall, formula: CellFormula, channel: int) -> CellFormula:
    if "bias" not in call.tensors:
        return formula
    bias = (CellInput("bias", (channel,)),)
    template = "{terms} + {bias}" if formula.count else "{bias}"
    return CellFormula(formula.term, formula.feeds, formula.count, wrapper=template, extras=bias)


def pool(rank: int, template: str, join: str = ", ") -> Rule:
    """Return every cell of the window; `{n}` in `whole` is what an average divides by."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        name, sizes = input_name(call), call.sizes(input_name(call))
        kernel = several(call.values.get("kernel_size"), rank)
        stride = call.values.get("stride")
        steps = kernel if stride in (None, ()) else several(stride, rank)
        padding = several(call.values.get("padding", 0), rank, 0)
        dilation = several(call.values.get("dilation"), rank)
        lead, position = index[:-rank], index[-rank:]
        ranges, area = [], 1
        for d in range(rank):
            start, size = position[d] * steps[d] - padding[d], sizes[d - rank]
            taps = (start + k * dilation[d] for k in range(kernel[d]))
            ranges.append([i for i in taps if 0 <= i < size])
            area *= min(start + kernel[d], size + padding[d]) - start
        cells = list(every(*ranges))
        n = area if call.value("count_include_pad", True) else len(cells)
        n = call.value("divisor_override", n)
        return CellFormula(
            "{x}",
            lambda number: (CellInput(name, (*lead, *cells[number]), "x"),),
            len(cells),
            join,
            template.replace("{n}", str(n)),
        )

    return rule


def adaptive(rank: int, template: str, join: str = ", ") -> Rule:
    """Return the rule of adaptive pooling: the output's size is an argument; the window is the part of the input
    over the output cell."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        name, sizes = input_name(call), call.sizes(input_name(call))
        lead, position, out = index[:-rank], index[-rank:], tuple(call.out.sizes)[-rank:]
        ranges = []
        for d in range(rank):
            size = sizes[d - rank]
            first, last = position[d] * size // out[d], -(-(position[d] + 1) * size // out[d])
            ranges.append(range(first, last))
        cells = list(every(*ranges))
        return CellFormula(
            "{x}",
            lambda number: (CellInput(name, (*lead, *cells[number]), "x"),),
            len(cells),
            join,
            template.replace("{n}", str(len(cells))),
        )

    return rule


def unfold(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of im2col: each column of the output is one window of the input, or a zero of its
    padding."""
    name, sizes = input_name(call), call.sizes(input_name(call))
    kernel, stride, dilation = (
        several(call.values.get(x), 2) for x in ("kernel_size", "stride", "dilation")
    )
    padding = several(call.values.get("padding", 0), 2, 0)
    lead, row, column = index[:-2], index[-2], index[-1]
    channel, k = divmod(row, kernel[0] * kernel[1])
    k0, k1 = divmod(k, kernel[1])
    across = (sizes[-1] + 2 * padding[1] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    y, x = divmod(column, across)
    at = (
        y * stride[0] - padding[0] + k0 * dilation[0],
        x * stride[1] - padding[1] + k1 * dilation[1],
    )
    if not all(0 <= i < n for i, n in zip(at, sizes[-2:], strict=True)):
        return CellFormula("", lambda _: (), 0, wrapper="0", note="a cell of the padding")
    return CellFormula("{x}", lambda _: (CellInput(name, (*lead, channel, *at), "x"),))


def nearest(rank: int) -> Rule:
    """Return the rule of interpolate(mode="nearest"): the input cell that lies under the output cell."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        if any(call.value(x) for x in ("scale_factors", "scales", "scales_h", "scales_w")):
            raise Unknown("with a scale factor given, the rounding is the kernel's")
        name, sizes = input_name(call), call.sizes(input_name(call))
        out = tuple(call.out.sizes)
        at = tuple(
            min(int(index[d - rank] * (sizes[d - rank] / out[d - rank])), sizes[d - rank] - 1)
            for d in range(rank)
        )
        return CellFormula("{x}", lambda _: (CellInput(name, (*index[:-rank], *at), "x"),))

    return rule


_MEAN = "({terms}) / {n}"

RULES: dict[str, Rule] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution", "_convolution"), convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), transposed),
    **{f"avg_pool{n}d": pool(n, _MEAN, " + ") for n in (1, 2, 3)},
    **{f"max_pool{n}d": pool(n, "max({terms})") for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": pool(n, "max({terms})") for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": adaptive(n, _MEAN, " + ") for n in (1, 2, 3)},
    **{f"_adaptive_avg_pool{n}d": adaptive(n, _MEAN, " + ") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": adaptive(n, "max({terms})") for n in (1, 2, 3)},
    **{f"upsample_nearest{n}d": nearest(n) for n in (1, 2, 3)},
    "im2col": unfold,
}
