"""One operator call cell by cell: the input cells that feed an output cell, with their positions.

Point at a cell of the result to see its inputs, or at a cell of an input to see its outputs.
The rules in `_dependencies` define the dependencies; the numbers are those of the trace, the inputs'
from just before the call and the result's from just after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from engine.inspect.events import full_op
from engine.inspect.models._calls import call_text, chosen_call, ended
from engine.inspect.models._contents import Contents
from engine.inspect.models._dependencies import (
    CellFormula,
    CellInput,
    OpCall,
    Rule,
    Unknown,
    rule_of,
    written,
)
from engine.inspect.models._dependencies import base_name as base_name
from engine.inspect.models._dependencies.core import Index, numel, put, unravel
from engine.inspect.models._focus import cursor
from engine.inspect.models._grid import Grid, grid_of
from engine.inspect.models._numbers import dtype_of, exact, short

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

LISTED = 64  # feeds that the model lists one by one
HIGHLIGHTED = 4096  # feeds that are highlighted in the tables
SCANNED = 4096  # output cells that are checked for an input cell
WORK = 10_000  # feeds that are compared for that
LINE = 512  # output cells of one row that are checked, if not all are
TABLES = 6  # input tensors that are shown, unless more of them feed the cell
TERMS = 6  # terms of a formula that are all written out

# The errors of a rule that gets other arguments than its operator takes.
MISFITS = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class FeedRow:
    """One input cell, and where it is."""

    argument: str
    role: str
    tensor: int
    label: str
    index: Index
    storage: int
    byte: int
    address: int
    text: str  # "" when unknown
    exact: str


@dataclass(frozen=True)
class TableRow:
    """One tensor of the call as a table, with the cells that take part."""

    argument: str  # "out" for the result
    tensor: int
    storage: int
    label: str
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    address: int
    grid: Grid
    fed: frozenset[Index]  # the cells that are lit, up to HIGHLIGHTED


@dataclass(frozen=True, slots=True)
class MicroscopeModel:
    """Everything the microscope shows. `call` 0: nothing was called, and `why`."""

    why: str = ""
    call: int = 0
    name: str = ""
    schema: str = ""
    text: str = ""
    line: int = 0
    file: int = 0
    running: bool = False  # it has not returned at this moment: the result is from later
    known: bool = False  # whether there is a rule and it succeeded
    out: TableRow | None = None
    outs: tuple[int, ...] = ()  # the tensors that came out; one of them is shown
    index: Index = ()
    symbolic: str = ""  # out[1,2] = a[1,2] + b[2]
    numeric: str = ""  # 45. = 5. + 40.
    note: str = ""
    total: int = 0  # how many cells feed it
    feeds: tuple[FeedRow, ...] = ()  # the first LISTED
    inputs: tuple[TableRow, ...] = ()
    hidden: int = 0  # input tensors that feed nothing and are not among them
    arguments: tuple[tuple[str, str], ...] = ()  # those that are not tensors: name and value
    picked: FeedRow | None = None  # the input cell that was pointed at
    goes: int = 0  # output cells that it feeds, of those that were checked
    goes_counted: bool = True  # whether all were checked


class _Bench:
    """The tensors of one call: before it, and its results."""

    def __init__(self, history: History, call: Any, current: int) -> None:
        self.history, self.call, self.moment = history, call, current
        self.until = ended(history, call)
        self.names: dict[str, int] = {}
        self.values: dict[str, Any] = {}
        for argument in call.args:
            if argument.kind == "tensor":
                self.names[argument.name] = argument.value
            elif argument.kind == "tensors":
                for index, tensor in enumerate(argument.value):
                    if tensor:
                        self.names[f"{argument.name}[{index}]"] = tensor
            else:
                self.values[argument.name] = argument.value
        self.inputs = {
            name: fact
            for name, tensor in self.names.items()
            if name != "out" and (fact := history.tensor(tensor, call.since)) is not None
        }
        self._contents: dict[tuple[int, int], Contents] = {}

    def outs(self) -> tuple[int, ...]:
        """Return the tensors that came out: the results, or what the call wrote. A schema cannot mark the items
        of a list as written; the recording has their writes."""
        if self.call.results:
            return tuple(t for t in self.call.results if t)
        inside = self.call.schema.partition("->")[0]
        marked = [
            tensor
            for name, tensor in self.names.items()
            if f"!) {name.partition('[')[0]}" in inside
        ]
        if marked:
            return tuple(marked)
        writes = self.history.tables.writes
        rows = slice(*writes.since.searchsorted([self.call.since, self.until + 1]).tolist())
        written = set(writes.storage[rows].tolist())
        items = {name: fact for name, fact in self.inputs.items() if "[" in name}
        return tuple(fact.id for fact in items.values() if fact.storage in written)

    def contents(self, fact: Any, moment: int) -> Contents:
        key = (fact.storage, moment)
        if key not in self._contents:
            storage = self.history.storage(fact.storage, moment)
            size = storage.nbytes if storage is not None else 0
            self._contents[key] = Contents.of(self.history, fact.storage, moment, size, count=False)
        return self._contents[key]

    def read(self, argument: str, index: Index) -> Any:
        """Return the recorded value of an input cell; None if it was not recorded."""
        fact = self.inputs.get(argument)
        if fact is None or len(index) != len(fact.sizes):
            return None
        return self.contents(fact, self.call.since).value(
            dtype_of(fact.dtype), fact.extent.byte(index)
        )

    def op_call(self, out: Any, result: int) -> OpCall:
        name = full_op(self.call.schema)
        return OpCall(
            op=base_name(name),
            overload=name.partition(".")[2],
            tensors=self.inputs,
            values=self.values,
            out=out,
            result=result,
            argument=next((name for name, tensor in self.names.items() if tensor == out.id), ""),
            read=self.read,
        )

    def address(self, storage: int, moment: int) -> int:
        fact = self.history.storage(storage, moment)
        return int(fact.address) if fact is not None else 0

    def table(self, argument: str, fact: Any, moment: int, at: Index | None, fed: Any) -> TableRow:
        grid = grid_of(fact, fact.extent, self.contents(fact, moment), at)
        return TableRow(
            argument=argument,
            tensor=fact.id,
            storage=fact.storage,
            label=self.label(fact.id, moment),
            dtype=fact.dtype,
            sizes=fact.sizes,
            strides=fact.strides,
            offset=fact.offset,
            address=self.address(fact.storage, moment),
            grid=grid,
            fed=frozenset(fed),
        )

    def label(self, tensor: int, moment: int) -> str:
        """Return its name then; else its name at the end of the line, or now."""
        line = self.history.line_at(moment)
        later = min(line.until, self.history.end - 1) if line is not None else moment
        first = str(self.history.label(tensor, moment))
        for when in (moment, later, self.moment):
            if self.history.tensor(tensor, when) is not None:
                label = str(self.history.label(tensor, when))
                if not label.startswith("#"):
                    return label
        return first

    def row(self, cell_input: CellInput) -> FeedRow:
        fact = self.inputs[cell_input.argument]
        dtype, value = dtype_of(fact.dtype), self.read(cell_input.argument, cell_input.index)
        byte = fact.extent.byte(cell_input.index)
        return FeedRow(
            argument=cell_input.argument,
            role=cell_input.name,
            tensor=fact.id,
            label=self.label(fact.id, self.call.since),
            index=cell_input.index,
            storage=fact.storage,
            byte=byte,
            address=self.address(fact.storage, self.call.since) + byte,
            text="" if value is None else short(dtype, value),
            exact="" if value is None else exact(dtype, value),
        )


def project(history: History, moment: int, selection: Selection) -> MicroscopeModel:
    """Return the chosen call, and the chosen cell of it."""
    call = chosen_call(history, moment, selection)
    if call is None:
        return MicroscopeModel(why="No operator was called up to this moment: step forward.")
    bench = _Bench(history, call, moment)
    outs = tuple(t for t in bench.outs() if history.tensor(t, bench.until) is not None)
    head: dict[str, Any] = {
        "call": call.id,
        "name": full_op(call.schema),
        "schema": call.schema,
        "text": call_text(history, call),
        "line": call.line,
        "file": call.file,
        "running": moment < call.until,
        "outs": outs,
        "arguments": tuple((name, str(value)) for name, value in bench.values.items()),
    }
    if call.error:
        return MicroscopeModel(**head, why=f"The call failed: {call.error}")
    if not outs:
        why = "No tensor came out of this call"
        writes = "!)" in call.schema
        why += ": it writes into its arguments." if writes else "."
        return MicroscopeModel(**head, why=why, **_tables(bench, {}))
    selected = selection.tensor if selection.tensor in outs else outs[0]
    out = history.tensor(selected, bench.until)
    op_call = bench.op_call(out, outs.index(selected))
    rule = _rule(call, bench, out)
    picked, indices, counted = _picked(bench, op_call, rule, selection, outs)
    index = indices[0] if indices else _cell(out, selection, selected)
    fed = (index,) if index is not None and not picked else indices
    visible = bench.table("out", out, bench.until, index, fed)
    story: dict[str, Any] = {"out": visible, "index": index or (), "picked": picked}
    story |= {"goes": len(indices), "goes_counted": counted}
    if index is None:
        return MicroscopeModel(**head, **story, why="The result has no cell: a size is 0.")
    if not bench.inputs:
        named = f"{cell_name(visible.label, index)} = {head['text']}"
        note = "No tensor goes in: the operator makes its values itself."
        return MicroscopeModel(**head, **story, known=True, symbolic=named, note=note)
    if rule is None:
        why = f"No rule says which cells feed {head['name']}: here are its arguments."
        return MicroscopeModel(**head, **story, **_tables(bench, {}), note=why)
    try:
        formula = rule(op_call, index)
        cells = list(islice(formula.cells(), HIGHLIGHTED))
        formulas = _formulas(bench, formula, visible, index)
    except Unknown as unknown:
        return MicroscopeModel(**head, **story, **_tables(bench, {}), note=str(unknown))
    except MISFITS:  # a damaged trace: its arguments are not what the operator's schema says
        note = f"The recorded arguments do not fit {head['name']}: the trace is damaged here."
        return MicroscopeModel(**head, **story, **_tables(bench, {}), note=note)
    by_argument: dict[str, list[Index]] = {}
    for cell_input in cells:
        by_argument.setdefault(cell_input.argument, []).append(cell_input.index)
    if picked is not None:
        by_argument[picked.argument] = [picked.index]
    return MicroscopeModel(
        **head,
        **story,
        known=True,
        symbolic=formulas[0],
        numeric=formulas[1],
        note=formula.note,
        total=formula.total,
        feeds=tuple(bench.row(cell_input) for cell_input in cells[:LISTED]),
        **_tables(bench, by_argument),
    )


def _first(fact: Any) -> Index | None:
    return None if 0 in fact.sizes else (0,) * len(fact.sizes)


def _cell(out: Any, selection: Selection, selected: int) -> Index | None:
    """Return the selected cell of the result, else its first."""
    if selection.tensor == selected or (not selection.tensor and selection.storage == out.storage):
        return cursor(out, selection)
    return _first(out)


def _inside(index: Index | None, sizes: Index) -> bool:
    if index is None or len(index) != len(sizes):
        return False
    return all(0 <= i < n for i, n in zip(index, sizes, strict=True))


def _rule(call: Any, bench: _Bench, out: Any) -> Rule | None:
    own = bench.inputs.get("self")
    written_to = "!)" in call.schema
    view = own is not None and own.storage == out.storage and not written_to
    return rule_of(full_op(call.schema), view)


def _tables(bench: _Bench, by_argument: dict[str, list[Index]]) -> dict[str, Any]:
    """Return a table for each input, first those that feed the cell. One that feeds nothing is shown from its
    first cell on, if there is room: a step of an optimizer takes hundreds."""
    names = sorted(bench.inputs, key=lambda name: name not in by_argument)
    visible = by_argument.keys() | set(names[:TABLES])
    tables = tuple(
        bench.table(
            name,
            fact,
            bench.call.since,
            next(iter(by_argument.get(name, ())), _first(fact)),
            by_argument.get(name, ()),
        )
        for name, fact in ((name, bench.inputs[name]) for name in names)
        if name in visible
    )
    return {"inputs": tables, "hidden": len(bench.inputs) - len(tables)}


def _picked(
    bench: _Bench, op_call: OpCall, rule: Rule | None, selection: Selection, outs: tuple[int, ...]
) -> tuple[FeedRow | None, tuple[Index, ...], bool]:
    """Return the selected input cell, the output cells that it feeds, and whether all were checked."""
    index = selection.cell.index if selection.cell is not None else None
    if rule is None or index is None or selection.tensor in outs:
        return None, (), True
    name = next((n for n, fact in bench.inputs.items() if fact.id == selection.tensor), "")
    if not name or not _inside(index, bench.inputs[name].sizes):
        return None, (), True
    cell = tuple(index)
    indices, work = [], 0
    sizes = tuple(op_call.out.sizes)
    counted = numel(sizes) <= SCANNED
    for position in _all(sizes) if counted else _near(cell, sizes):
        hit, looked = _feeds_it(rule, op_call, position, name, cell)
        work += looked
        if hit:
            indices.append(position)
        if work > WORK:
            break
    if work > WORK:  # too many cells to check: only those near the same position
        counted, work = False, 0
        matches = set(indices)
        for position in _near(cell, sizes):
            hit, looked = _feeds_it(rule, op_call, position, name, cell)
            work += looked
            if hit:
                matches.add(position)
            if work > WORK:
                break
        indices = sorted(matches)
    return bench.row(CellInput(name, cell)), tuple(indices), counted


def _feeds_it(
    rule: Rule, op_call: OpCall, index: Index, name: str, cell: Index
) -> tuple[bool, int]:
    """Return whether the output cell at `index` depends on the input cell, and how many inputs were checked."""
    checked = 0
    try:
        for cell_input in rule(op_call, index).cells():
            checked += 1
            if cell_input.argument == name and cell_input.index == cell:
                return True, checked
    except (Unknown, *MISFITS):
        return False, checked + 1
    return False, checked + 1


def _all(sizes: Index) -> Iterator[Index]:
    return (unravel(index, sizes) for index in range(numel(sizes)))


def _near(cell: Index, sizes: Index) -> list[Index]:
    """Output cells that have something of the input cell's index: its place, its rows and columns."""
    rank = len(sizes)
    matches: dict[Index, None] = {}
    for own in (cell[len(cell) - rank :], cell[:rank]):  # the last dimensions agree, or the first
        padded = (0,) * (rank - len(own)) + own
        at = tuple(min(i, n - 1) for i, n in zip(padded, sizes, strict=True))
        matches[at] = None
        for steps in product((0, -1, 1, -2, 2), repeat=min(2, rank)):
            moved = (0,) * (rank - len(steps)) + steps
            near = tuple(i + step for i, step in zip(at, moved, strict=True))
            if _inside(near, sizes):
                matches[near] = None
        for dim, size in enumerate(sizes):
            matches |= dict.fromkeys(put(at, dim, i) for i in range(min(size, LINE)))
    return list(matches)


def _formulas(bench: _Bench, formula: CellFormula, out: TableRow, index: Index) -> tuple[str, str]:
    """Return the recipe with names, and with numbers."""
    value = out.grid.cell(index).text or "?"
    named = _formula(bench, formula, lambda row: cell_name(row.label, row.index))
    counted = _formula(bench, formula, lambda row: row.text or "?")
    return f"{cell_name(out.label, index)} = {named}", f"{value} = {counted}"


def cell_name(label: str, index: Index) -> str:
    """Return `x[1,2]`; a tensor without dimensions is its own cell."""
    return f"{label}[{','.join(map(str, index))}]" if index else label


def _formula(bench: _Bench, formula: CellFormula, say: Any) -> str:
    extras = {cell_input.name: say(bench.row(cell_input)) for cell_input in formula.extras}

    def known(own: dict[str, str], name: str) -> str | None:
        if name in own:
            return own[name]
        value = bench.values.get(name)
        return _constant(value) if name in bench.values else None

    def term(number: int) -> str:
        own = extras | {
            cell_input.name: say(bench.row(cell_input)) for cell_input in formula.feeds(number)
        }
        return written(formula.term, lambda name: known(own, name))

    if formula.count > TERMS:
        visible = [term(number) for number in range(TERMS - 2)]
        visible += [f"... {formula.count - TERMS + 1:,} more ...", term(formula.count - 1)]
    else:
        visible = [term(number) for number in range(formula.count)]
    complete = extras | {"terms": formula.join.join(visible)}
    return written(formula.wrapper, lambda name: known(complete, name))


def _constant(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
