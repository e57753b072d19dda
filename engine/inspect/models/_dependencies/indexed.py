"""Operators whose indices are data: which cell is used is read from an index tensor."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as every

from engine.inspect.models._dependencies.core import (
    Feed,
    Given,
    Index,
    Recipe,
    Rule,
    Unknown,
    broadcast,
    numel,
    put,
    single,
    unravel,
    wrap,
)

MOST = 4096  # cells of an index tensor that are read to find who writes to one cell


def _dim(given: Given) -> int:
    return wrap(int(given.value("dim", 0)), max(1, len(given.sizes("self"))))


def _at(given: Given, name: str, index: Index, size: int) -> int:
    return wrap(given.number(name, index), size)


def gather(given: Given, index: Index) -> Recipe:
    dim, sizes = _dim(given), given.sizes("self")
    place = broadcast(given.sizes("index"), index)
    i = _at(given, "index", place, sizes[dim] if sizes else 1)
    cell = Feed("self", put(index, dim, i) if sizes else ())
    return single(cell, Feed("index", place), note="index says which cell of self")


def index_select(given: Given, index: Index) -> Recipe:
    dim, sizes = _dim(given), given.sizes("self")
    if not sizes:
        return single(Feed("self", ()))
    place = index[dim : dim + 1] if given.sizes("index") else ()
    i = _at(given, "index", place, sizes[dim])
    return single(
        Feed("self", put(index, dim, i)), Feed("index", place), note="index says which row of self"
    )


def embedding(given: Given, index: Index) -> Recipe:
    place = index[:-1]
    row = given.number("indices", place)
    cell = Feed("weight", (row, index[-1]))
    return single(cell, Feed("indices", place), note="indices says which row of weight")


def take(given: Given, index: Index) -> Recipe:
    sizes = given.sizes("self")
    i = _at(given, "index", index, numel(sizes))
    return single(
        Feed("self", unravel(i, sizes)), Feed("index", index), note="counted in reading order"
    )


def advanced(given: Given, index: Index) -> Recipe:
    """self[indices]: the index tensors broadcast; their dimensions stand where the first one was,
    or in front when other dimensions lie between them."""
    names = given.items("indices")
    sizes = given.sizes("self")
    places = [int(name[len("indices[") : -1]) for name in names]
    if not names:
        return single(Feed("self", index))
    shapes = [given.sizes(name) for name in names]
    rank = max(map(len, shapes))
    together = places == list(range(places[0], places[-1] + 1))
    start = places[0] if together else 0
    inner, rest = index[start : start + rank], index[:start] + index[start + rank :]
    cell, feeds, others = [0] * len(sizes), [], iter(rest)
    for d in range(len(sizes)):
        if d in places:
            name = names[places.index(d)]
            place = broadcast(given.sizes(name), inner)
            cell[d] = _at(given, name, place, sizes[d])
            feeds.append(Feed(name, place))
        else:
            cell[d] = next(others)
    return single(Feed("self", tuple(cell)), *feeds, note="the index tensors say which cell")


def index_put(given: Given, index: Index) -> Recipe:
    """self[indices] = values: the place of the index tensors that leads here says which value."""
    names, sizes = given.items("indices"), given.sizes("self")
    dims = [int(name[len("indices[") : -1]) for name in names]
    shapes = [given.sizes(name) for name in names]
    whole = _broadcast_all(shapes)
    if numel(whole) > MOST:
        raise Unknown(f"the index tensors have {numel(whole):,} cells: too many to read here")
    others = tuple(i for d, i in enumerate(index) if d not in dims)
    start = dims[0] if dims and dims == list(range(dims[0], dims[-1] + 1)) else 0
    cells: list[tuple[Feed, ...]] = []
    for number in range(numel(whole)):
        place = unravel(number, whole)
        naming = [Feed(n, broadcast(s, place)) for n, s in zip(names, shapes, strict=True)]
        at = [_at(given, f.argument, f.index, sizes[d]) for f, d in zip(naming, dims, strict=True)]
        if at == [index[d] for d in dims]:
            taken = (*others[:start], *place, *others[start:])
            cells.append((Feed("values", broadcast(given.sizes("values"), taken)), *naming))
    own = Feed("self", index)
    if not cells:
        return single(own, note="no index names this cell: self stays")
    adds = bool(given.value("accumulate", False))
    return _combined(given, own, " + " if adds else "", "{values}", cells if adds else cells[-1:])


def _broadcast_all(shapes: list[Index]) -> Index:
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in column if n != 1), 1) for column in zip(*padded, strict=True))


def _writers(given: Given, sizes: Index, dim: int, index: Index, size: int) -> Iterator[Index]:
    """The cells of `index` that name this output cell; only dimension `dim` can differ."""
    if not sizes:
        if _at(given, "index", (), size) == (index[dim] if index else 0):
            yield ()
        return
    if any(i >= n for d, (i, n) in enumerate(zip(index, sizes, strict=True)) if d != dim):
        return
    if sizes[dim] > MOST:
        raise Unknown(f"index has {sizes[dim]:,} cells along dim {dim}: too many to read here")
    for i in range(sizes[dim]):
        place = put(index, dim, i)
        if _at(given, "index", place, size) == index[dim]:
            yield place


def scatter(combine: str = "") -> Rule:
    """The cell of self unless an index names this place: then src, or self and src combined."""

    def rule(given: Given, index: Index) -> Recipe:
        sizes, dim = given.sizes("self"), _dim(given)
        how = combine or _HOW.get(str(given.value("reduce", "")), "")
        size = sizes[dim] if sizes else 1
        places = list(_writers(given, given.sizes("index"), dim, index, size))
        own = Feed("self", index)
        if not places:
            return single(own, note="no cell of index names this place: self stays")
        constant = "src" not in given.tensors
        if not how:
            places = places[-1:]
        cells: list[tuple[Feed, ...]]
        if constant:
            cells = [(Feed("index", place),) for place in places]
            term = "{value}" if "value" in given.values else "{src}"
        else:
            cells = [(Feed("src", place), Feed("index", place)) for place in places]
            term = "{src}"
        return _combined(given, own, how, term, cells)

    return rule


def _combined(
    given: Given, own: Feed, how: str, term: str, cells: list[tuple[Feed, ...]]
) -> Recipe:
    keeps = bool(how) and given.value("include_self", True)
    whole = {"": "{terms}", " + ": "{terms}", " * ": "{terms}"}.get(how, f"{how}({{terms}})")
    if keeps:
        inner = f"{{self}}{how if how in (' + ', ' * ') else ', '}{{terms}}"
        whole = whole.replace("{terms}", inner)
    join = how if how in (" + ", " * ") else ", "
    return Recipe(
        term,
        lambda i: cells[i],
        len(cells),
        join or ", ",
        whole,
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
    """index_add, index_copy, index_fill: whole rows along `dim` are named by a list of indices."""

    def rule(given: Given, index: Index) -> Recipe:
        sizes, dim = given.sizes("self"), _dim(given)
        how = combine or _HOW.get(str(given.value("reduce", "")), "")
        own = Feed("self", index)
        count = numel(given.sizes("index"))
        if count > MOST:
            raise Unknown(f"index has {count:,} cells: too many to read here")
        flat = bool(given.sizes("index"))
        size = sizes[dim] if sizes else 1
        here = index[dim] if index else 0
        places = [
            i for i in range(count) if _at(given, "index", (i,) if flat else (), size) == here
        ]
        if not places:
            return single(own, note="no cell of index names this row: self stays")
        if not how:
            places = places[-1:]
        cells: list[tuple[Feed, ...]] = []
        for i in places:
            naming = Feed("index", (i,) if flat else ())
            if source not in given.tensors or not given.sizes(source):
                only = (Feed(source, ()),) if source in given.tensors else ()
                cells.append((*only, naming))
            else:
                at = put(index, dim, i) if index else (i,)
                cells.append((Feed(source, at[: len(given.sizes(source))]), naming))
        term = f"{{{source}}}"
        if given.value("alpha", 1) != 1:
            term = f"{{alpha}} * {term}"
        return _combined(given, own, how, term, cells)

    return rule


def masked_select(given: Given, index: Index) -> Recipe:
    """The index-th True of the mask, in reading order."""
    whole = _broadcast_all([given.sizes("self"), given.sizes("mask")])
    if numel(whole) > MOST:
        raise Unknown(f"the mask has {numel(whole):,} cells: too many to count here")
    left = index[0]
    for cell in every(*map(range, whole)):
        place = broadcast(given.sizes("mask"), cell)
        if given.number("mask", place):
            if left == 0:
                own = Feed("self", broadcast(given.sizes("self"), cell))
                return single(own, Feed("mask", place), note="the mask is True there")
            left -= 1
    raise Unknown("the mask has no such True")


def one_hot(given: Given, index: Index) -> Recipe:
    return single(Feed("self", index[:-1]), term=f"1 if {{self}} == {index[-1]} else 0")


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
