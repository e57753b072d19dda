"""Operators that move cells without changing them: every output cell is an input cell or a fill value."""

from __future__ import annotations

from engine.inspect.layout import Extent
from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Described,
    Index,
    OpCall,
    Rule,
    Unknown,
    nothing,
    put,
    ravel,
    several,
    single,
    unravel,
    without,
    wrap,
)


def same_memory(call: OpCall, index: Index) -> CellFormula:
    """Return a view: the cell of the input at the same byte."""
    own, out = call.tensors["self"], call.out
    byte = _extent(out).byte(index)
    hit = next(_extent(own).elements(byte, byte + 1), None)
    if hit is None:
        raise Unknown("no index of the input leads to this byte")
    more = " (one of several indices that are this cell)" if hit.times > 1 else ""
    return single(CellInput("self", hit.index), note=f"a view: the very same bytes{more}")


def _extent(tensor: Described) -> Extent:
    return Extent.of(tensor.offset, tuple(tensor.sizes), tuple(tensor.strides), tensor.itemsize)


def in_order(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of reshape and similar operators: the same position in row-major order."""
    position = ravel(index, call.out.sizes)
    return single(
        CellInput("self", unravel(position, call.sizes("self"))), note="copied in reading order"
    )


def _list(call: OpCall) -> list[str]:
    return call.items("tensors")


def cat(call: OpCall, index: Index) -> CellFormula:
    # tensors of shape (0,) are skipped, whatever the others' rank
    names = [name for name in _list(call) if call.sizes(name) != (0,)]
    dim = wrap(int(call.value("dim", 0)), len(index))
    return _nth(call, names, dim, index)


def _nth(call: OpCall, names: list[str], dim: int, index: Index) -> CellFormula:
    at = index[dim]
    for name in names:
        size = call.sizes(name)[dim]
        if at < size:
            cell = (*index[:dim], at, *index[dim + 1 :])
            return single(CellInput(name, cell), note=f"the part that comes from {name}")
        at -= size
    raise Unknown("no tensor of the list reaches this far")


def stack(call: OpCall, index: Index) -> CellFormula:
    dim = wrap(int(call.value("dim", 0)), len(index))
    name = _list(call)[index[dim]]
    return single(CellInput(name, without(index, dim)), note=f"the layer that is {name}")


def side_by_side(dim: int, at_least: int, columns: bool = False) -> Rule:
    """Return the rule of hstack, vstack, dstack, column_stack: tensors of few dimensions get more, then cat."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        names = _list(call)
        low = max(len(call.sizes(name)) for name in names) < 2
        along = 0 if call.op == "hstack" and low else dim
        at = index[along]
        for name in names:
            sizes = call.sizes(name)
            real = _real(len(sizes), max(at_least, len(sizes)), columns)
            size = sizes[real.index(along)] if along in real else 1
            if at < size:
                cell = put(index, along, at)
                own = CellInput(name, tuple(cell[position] for position in real))
                return single(own, note=f"the part that comes from {name}")
            at -= size
        raise Unknown("no tensor of the list reaches this far")

    return rule


def _real(rank: int, padded: int, columns: bool) -> tuple[int, ...]:
    """Return which dimensions of the padded tensor are its own: (n) becomes (1, n), or as a column (n, 1)."""
    if rank == 1 and padded > 1 and not columns:
        return (1,)
    return tuple(range(rank))


def at_least(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of atleast_2d and similar: dimensions of size 1 are added."""
    return in_order(call, index)


def flip(call: OpCall, index: Index) -> CellFormula:
    sizes = call.sizes("self")
    dims = call.value("dims", ())
    dims = {wrap(d, len(sizes)) for d in ((dims,) if isinstance(dims, int) else dims)}
    if call.op == "fliplr":
        dims = {1}
    if call.op == "flipud":
        dims = {0}
    cell = tuple(
        n - 1 - i if d in dims else i for d, (i, n) in enumerate(zip(index, sizes, strict=True))
    )
    return single(CellInput("self", cell))


def roll(call: OpCall, index: Index) -> CellFormula:
    sizes = call.sizes("self")
    dims = (
        several(call.value("dims", ()), 0)
        if not call.value("dims", ())
        else several(call.values["dims"], 1)
    )
    shifts = several(call.value("shifts", 0), len(dims) or 1)
    if not dims:
        n = max(1, ravel([s - 1 for s in sizes], sizes) + 1)
        return single(CellInput("self", unravel((ravel(index, sizes) - shifts[0]) % n, sizes)))
    cell = list(index)
    for d, shift in zip(dims, shifts, strict=True):
        d = wrap(d, len(sizes))
        cell[d] = (cell[d] - shift) % sizes[d]
    return single(CellInput("self", tuple(cell)))


def repeat(call: OpCall, index: Index) -> CellFormula:
    sizes = call.sizes("self")
    own = index[len(index) - len(sizes) :]
    return single(CellInput("self", tuple(i % n for i, n in zip(own, sizes, strict=True))))


def triangle(call: OpCall, index: Index) -> CellFormula:
    down, right = index[-2], index[-1]
    diagonal = int(call.value("diagonal", 0))
    inside = right - down <= diagonal if call.op == "tril" else right - down >= diagonal
    return (
        single(CellInput("self", index))
        if inside
        else nothing("0", "the other side of the diagonal")
    )


def diagonal_of(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of diag: a matrix from its diagonal, or the diagonal of a matrix."""
    shift = int(call.value("diagonal", 0))
    if len(call.sizes("self")) == 2:
        return single(CellInput("self", (index[0] + max(0, -shift), index[0] + max(0, shift))))
    if index[1] - index[0] != shift:
        return nothing("0", "not on the diagonal")
    return single(CellInput("self", (index[0] + min(0, shift),)))


def pad(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of pad: constant, reflecting, replicating or circular; the pairs count from the
    last dimension."""
    name = "input" if "input" in call.tensors else "self"
    sizes, pairs = call.sizes(name), tuple(call.value("pad", call.value("padding", ())))
    mode = str(call.value("mode", _MODES.get(call.op.removesuffix("d").rstrip("123"), "constant")))
    cell = list(index)
    for position in range(len(pairs) // 2):
        d = len(sizes) - 1 - position
        at, size = index[d] - pairs[2 * position], sizes[d]
        if mode == "constant" and not 0 <= at < size:
            fill = call.value("value", 0)
            return nothing(f"{fill:g}" if isinstance(fill, (int, float)) else "0", "padding")
        if mode == "reflect":
            period = max(1, 2 * (size - 1))
            at = abs((at + period) % period)
            at = period - at if at >= size else at
        elif mode == "replicate":
            at = min(max(at, 0), size - 1)
        elif mode == "circular":
            at %= size
        cell[d] = at
    return single(CellInput(name, tuple(cell)))


_MODES = {"reflection_pad": "reflect", "replication_pad": "replicate", "_pad_circular": "circular"}


def repeat_interleave(call: OpCall, index: Index) -> CellFormula:
    times = call.values.get("repeats")
    dim = call.values.get("dim")
    if not isinstance(times, int):
        raise Unknown("how often each cell is repeated is data")
    if dim is None:
        return single(CellInput("self", unravel(index[0] // times, call.sizes("self"))))
    d = wrap(int(dim), len(index))
    return single(CellInput("self", (*index[:d], index[d] // times, *index[d + 1 :])))


def rotate(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of rot90: each quarter turn swaps the two dimensions and flips one."""
    a, b = (wrap(int(d), len(index)) for d in call.value("dims", (0, 1)))
    sizes, cell = list(call.out.sizes), list(index)
    for _ in range(int(call.value("k", 1)) % 4):
        sizes[a], sizes[b] = sizes[b], sizes[a]
        cell[a], cell[b] = cell[b], sizes[b] - 1 - cell[a]
    return single(CellInput("self", tuple(cell)))


def filled(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of zeros_like, normal_ and similar: only the sizes and dtype of the tensor are
    read."""
    fill = call.values.get("fill_value")
    if fill is None:
        fill = {"zeros": 0, "ones": 1}.get(call.op.removeprefix("new_").removesuffix("_like"))
    return nothing(call.op if fill is None else str(fill), "no input cell is read")


_MAKERS = ("zeros", "ones", "full", "empty", "rand", "randn", "randint")

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("reshape", "flatten", "ravel", "view", "_reshape_copy", "unflatten"), in_order
    ),
    "cat": cat,
    "concat": cat,
    "stack": stack,
    "hstack": side_by_side(1, 1),
    "vstack": side_by_side(0, 2),
    "row_stack": side_by_side(0, 2),
    "dstack": side_by_side(2, 3),
    "column_stack": side_by_side(1, 2, columns=True),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), at_least),
    **dict.fromkeys(("flip", "fliplr", "flipud"), flip),
    "roll": roll,
    "repeat": repeat,
    "tile": repeat,
    "tril": triangle,
    "triu": triangle,
    "diag": diagonal_of,
    **dict.fromkeys(("pad", "constant_pad_nd", "_pad_circular"), pad),
    **{f"{kind}{n}d": pad for kind in ("reflection_pad", "replication_pad") for n in (1, 2, 3)},
    "repeat_interleave": repeat_interleave,
    **{f"{name}_like": filled for name in _MAKERS},
    **{f"new_{name}": filled for name in _MAKERS},
    **dict.fromkeys(("normal", "uniform", "random", "exponential", "zero"), filled),
    "rot90": rotate,
}
