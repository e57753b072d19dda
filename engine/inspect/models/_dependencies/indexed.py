"""Operators whose indices are data: which cell is used is read from an index tensor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as every

from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    Rule,
    Unknown,
    broadcast,
    numel,
    put,
    single,
    unravel,
    wrap,
)

MAX_SEARCHED = 4096  # cells of an index tensor that are read to find the writers of one cell


def _dim(call: OpCall) -> int:
    return wrap(int(call.value("dim", 0)), max(1, len(call.sizes("self"))))


def _at(call: OpCall, name: str, index: Index, size: int) -> int:
    return wrap(call.number(name, index), size)


def gather(call: OpCall, index: Index) -> CellFormula:
    dim, sizes = _dim(call), call.sizes("self")
    position = broadcast(call.sizes("index"), index)
    i = _at(call, "index", position, sizes[dim] if sizes else 1)
    cell = CellInput("self", put(index, dim, i) if sizes else ())
    return single(cell, CellInput("index", position), note="index says which cell of self")


def index_select(call: OpCall, index: Index) -> CellFormula:
    dim, sizes = _dim(call), call.sizes("self")
    if not sizes:
        return single(CellInput("self", ()))
    position = index[dim : dim + 1] if call.sizes("index") else ()
    i = _at(call, "index", position, sizes[dim])
    return single(
        CellInput("self", put(index, dim, i)),
        CellInput("index", position),
        note="index says which row of self",
    )


def embedding(call: OpCall, index: Index) -> CellFormula:
    position = index[:-1]
    row = call.number("indices", position)
    cell = CellInput("weight", (row, index[-1]))
    return single(cell, CellInput("indices", position), note="indices says which row of weight")


def take(call: OpCall, index: Index) -> CellFormula:
    sizes = call.sizes("self")
    i = _at(call, "index", index, numel(sizes))
    return single(
        CellInput("self", unravel(i, sizes)),
        CellInput("index", index),
        note="counted in reading order",
    )


def advanced(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of self[indices]: the index tensors broadcast; their dimensions replace the first
    one,
    or come first if other dimensions are between them."""
    names = call.items("indices")
    sizes = call.sizes("self")
    indices = [int(name[len("indices[") : -1]) for name in names]
    if not names:
        return single(CellInput("self", index))
    shapes = [call.sizes(name) for name in names]
    rank = max(map(len, shapes))
    together = indices == list(range(indices[0], indices[-1] + 1))
    start = indices[0] if together else 0
    inner, remaining = index[start : start + rank], index[:start] + index[start + rank :]
    cell, feeds, others = [0] * len(sizes), [], iter(remaining)
    for d in range(len(sizes)):
        if d in indices:
            name = names[indices.index(d)]
            position = broadcast(call.sizes(name), inner)
            cell[d] = _at(call, name, position, sizes[d])
            feeds.append(CellInput(name, position))
        else:
            cell[d] = next(others)
    return single(CellInput("self", tuple(cell)), *feeds, note="the index tensors say which cell")


def index_put(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of self[indices] = values: the position in the index tensors that refers to this
    cell selects
    the value."""
    names, sizes = call.items("indices"), call.sizes("self")
    dims = [int(name[len("indices[") : -1]) for name in names]
    shapes = [call.sizes(name) for name in names]
    shape = _broadcast_all(shapes)
    if numel(shape) > MAX_SEARCHED:
        raise Unknown(f"the index tensors have {numel(shape):,} cells: too many to read here")
    others = tuple(i for d, i in enumerate(index) if d not in dims)
    start = dims[0] if dims and dims == list(range(dims[0], dims[-1] + 1)) else 0
    cells: list[tuple[CellInput, ...]] = []
    for number in range(numel(shape)):
        position = unravel(number, shape)
        naming = [CellInput(n, broadcast(s, position)) for n, s in zip(names, shapes, strict=True)]
        at = [_at(call, f.argument, f.index, sizes[d]) for f, d in zip(naming, dims, strict=True)]
        if at == [index[d] for d in dims]:
            used = (*others[:start], *position, *others[start:])
            cells.append((CellInput("values", broadcast(call.sizes("values"), used)), *naming))
    own = CellInput("self", index)
    if not cells:
        return single(own, note="no index names this cell: self stays")
    adds = bool(call.value("accumulate", False))
    return _combined(call, own, " + " if adds else "", "{values}", cells if adds else cells[-1:])


def _broadcast_all(shapes: list[Index]) -> Index:
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in column if n != 1), 1) for column in zip(*padded, strict=True))


def _writers(call: OpCall, sizes: Index, dim: int, index: Index, size: int) -> Iterator[Index]:
    """Return the cells of `index` that refer to this output cell; only dimension `dim` can
    differ."""
    if not sizes:
        if _at(call, "index", (), size) == (index[dim] if index else 0):
            yield ()
        return
    if any(i >= n for d, (i, n) in enumerate(zip(index, sizes, strict=True)) if d != dim):
        return
    if sizes[dim] > MAX_SEARCHED:
        raise Unknown(f"index has {sizes[dim]:,} cells along dim {dim}: too many to read here")
    for i in range(sizes[dim]):
        position = put(index, dim, i)
        if _at(call, "index", position, size) == index[dim]:
            yield position


def scatter(combine: str = "") -> Rule:
    """Return the cell of self unless an index refers to it: then src, or self and src combined."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        sizes, dim = call.sizes("self"), _dim(call)
        mode = combine or _HOW.get(str(call.value("reduce", "")), "")
        size = sizes[dim] if sizes else 1
        indices = list(_writers(call, call.sizes("index"), dim, index, size))
        own = CellInput("self", index)
        if not indices:
            return single(own, note="no cell of index names this place: self stays")
        constant = "src" not in call.tensors
        if not mode:
            indices = indices[-1:]
        cells: list[tuple[CellInput, ...]]
        if constant:
            cells = [(CellInput("index", position),) for position in indices]
            term = "{value}" if "value" in call.values else "{src}"
        else:
            cells = [
                (CellInput("src", position), CellInput("index", position)) for position in indices
            ]
            term = "{src}"
        return _combined(call, own, mode, term, cells)

    return rule


def _combined(
    call: OpCall, own: CellInput, mode: str, term: str, cells: list[tuple[CellInput, ...]]
) -> CellFormula:
    keeps = bool(mode) and call.value("include_self", True)
    template = {"": "{terms}", " + ": "{terms}", " * ": "{terms}"}.get(mode, f"{mode}({{terms}})")
    if keeps:
        inner = f"{{self}}{mode if mode in (' + ', ' * ') else ', '}{{terms}}"
        template = template.replace("{terms}", inner)
    join = mode if mode in (" + ", " * ") else ", "
    return CellFormula(
        term,
        lambda i: cells[i],
        len(cells),
        join or ", ",
        template,
        (own,) if keeps else (),
        "index names this place",
    )


_HOW = {
    "add": " + ",
    "sum": " + ",
    "multiply": " * ",
    "prod": " * ",
    "amax": "max",
    "amin": "min",
    "mean": "mean",
}


def index_write(combine: str, source: str) -> Rule:
    """Return the rule of index_add, index_copy, index_fill: a list of indices selects whole rows along `dim`."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        sizes, dim = call.sizes("self"), _dim(call)
        mode = combine or _HOW.get(str(call.value("reduce", "")), "")
        own = CellInput("self", index)
        count = numel(call.sizes("index"))
        if count > MAX_SEARCHED:
            raise Unknown(f"index has {count:,} cells: too many to read here")
        flat = bool(call.sizes("index"))
        size = sizes[dim] if sizes else 1
        current = index[dim] if index else 0
        indices = [
            i for i in range(count) if _at(call, "index", (i,) if flat else (), size) == current
        ]
        if not indices:
            return single(own, note="no cell of index names this row: self stays")
        if not mode:
            indices = indices[-1:]
        cells: list[tuple[CellInput, ...]] = []
        for i in indices:
            naming = CellInput("index", (i,) if flat else ())
            if source not in call.tensors or not call.sizes(source):
                only = (CellInput(source, ()),) if source in call.tensors else ()
                cells.append((*only, naming))
            else:
                at = put(index, dim, i) if index else (i,)
                cells.append((CellInput(source, at[: len(call.sizes(source))]), naming))
        term = f"{{{source}}}"
        if call.value("alpha", 1) != 1:
            term = f"{{alpha}} * {term}"
        return _combined(call, own, mode, term, cells)

    return rule


def masked_select(call: OpCall, index: Index) -> CellFormula:
    """Return the index-th True of the mask, in row-major order."""
    shape = _broadcast_all([call.sizes("self"), call.sizes("mask")])
    if numel(shape) > MAX_SEARCHED:
        raise Unknown(f"the mask has {numel(shape):,} cells: too many to count here")
    left = index[0]
    for cell in every(*map(range, shape)):
        position = broadcast(call.sizes("mask"), cell)
        if call.number("mask", position):
            if left == 0:
                own = CellInput("self", broadcast(call.sizes("self"), cell))
                return single(own, CellInput("mask", position), note="the mask is True there")
            left -= 1
    raise Unknown("the mask has no such True")


def one_hot(call: OpCall, index: Index) -> CellFormula:
    return single(CellInput("self", index[:-1]), term=f"1 if {{self}} == {index[-1]} else 0")


RULES: dict[str, Rule] = {
    "gather": gather,
    "take_along_dim": gather,
    "index_select": index_select,
    "embedding": embedding,
    "take": take,
    "index": advanced,
    "_unsafe_index": advanced,
    "index_put": index_put,
    "scatter": scatter(),
    "scatter_add": scatter(" + "),
    "scatter_reduce": scatter(),
    "index_add": index_write(" + ", "source"),
    "index_copy": index_write("", "source"),
    "index_fill": index_write("", "value"),
    "index_reduce": index_write("", "source"),
    "masked_select": masked_select,
    "one_hot": one_hot,
}
