"""One operator call as the dispatcher sees it: keys, hops, kernels, the loop, and the declaration.

The call is the selected one, else the running one, else the program's newest. All data was recorded:
a tensor's keys with the tensor, the union with each hop, the loop by the kernel. A fused group of the compiler
runs without the dispatcher: where a device ran one after that call, its kernel is shown instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.inspect.declarations import UNKNOWN, Origin, origin, origin_of_library
from engine.inspect.events import KEYS_BY_PRIORITY, full_op
from engine.inspect.history.arguments import show_argument
from engine.inspect.models._calls import (
    call_text,
    chosen_call,
    duration,
    ended,
    root_of,
    time_at,
)

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.facts import CommandFact
    from engine.inspect.selection import Selection

MAX_CALLS = 200  # rows of the tree of calls, and neighbours of the call
MAX_COMMANDS = 20  # commands of a device that the model holds
MAX_TENSORS = 64  # tensors of a list that are described


@dataclass(frozen=True, slots=True)
class TensorRow:
    """An argument or result, as it was at the time of the call."""

    tensor: int
    storage: int
    label: str
    dtype: str
    device: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One argument. `tensors` has one row for a tensor, several for a list of them."""

    name: str
    kind: str
    text: str
    tensors: tuple[TensorRow, ...]
    keys: tuple[str, ...]  # of all its tensors together
    recorded: bool  # whether the keys of its tensors are in the trace


@dataclass(frozen=True, slots=True)
class HopRow:
    """The dispatcher's choice of a kernel. `fell` are the higher keys of the set without a kernel."""

    moment: int
    key: str
    kernel: str
    keys: tuple[str, ...]
    fell: tuple[str, ...]
    start_ns: int  # nanoseconds since the call began
    duration_ns: int  # until the next hop, or until the call ended
    start_text: str  # both times, formatted
    duration_text: str
    done: bool  # it is at this moment or before


@dataclass(frozen=True, slots=True)
class OperandRow:
    name: str
    itemsize: int
    strides: tuple[int, ...]  # in bytes


@dataclass(frozen=True, slots=True)
class PlanRow:
    """The loop that a kernel ran."""

    moment: int
    loop: str
    isa: str
    vector: int  # bytes of a vector register; 0: one element at a time
    lanes: int  # elements of the output's dtype in one
    threads: int
    sizes: tuple[int, ...]
    operands: tuple[OperandRow, ...]
    done: bool


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call of the tree, or a neighbour on the same line."""

    call: int
    moment: int
    depth: int
    text: str
    duration_ns: int
    time: str
    current: bool
    done: bool
    error: str


@dataclass(frozen=True, slots=True)
class RegionRow:
    """A named part of the program: a profile, a `record_function` block, a distribution's sample."""

    name: str
    moment: int  # at which it began


@dataclass(frozen=True, slots=True)
class DeviceCommand:
    """A kernel or a copy that the call enqueued, and the source of the kernel."""

    moment: int
    device: str
    kind: str
    name: str
    bytes: int
    pinned: bool
    items: tuple[int, ...]
    group: tuple[int, ...]
    duration_ns: int
    time: str  # "": the trace does not say
    source: tuple[str, ...]  # lines of OpenCL C
    done: bool


@dataclass(frozen=True, slots=True)
class DispatchModel:
    """Everything the dispatch view shows. `call` 0: nothing was called, and `why`; or a fused group ran."""

    why: str = ""
    group: str = ""  # the name of a fused group's kernel; then there are only commands
    call: int = 0
    name: str = ""
    schema: str = ""
    text: str = ""
    file: int = 0
    line: int = 0
    code: str = ""
    since: int = -1
    until: int = -1
    duration_ns: int = 0
    time: str = ""
    running: bool = False
    error: str = ""
    arguments: tuple[ArgumentRow, ...] = ()
    union: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # keys that none of the arguments has
    hops: tuple[HopRow, ...] = ()
    results: tuple[TensorRow, ...] = ()
    more_results: int = 0  # results that the trace does not have
    fresh: tuple[bool, ...] = ()  # per result: a tensor with new memory, not a view or an input
    plans: tuple[PlanRow, ...] = ()
    commands: tuple[DeviceCommand, ...] = ()  # that it enqueued on a device
    tree: tuple[CallRow, ...] = ()  # the program's whole call, which contains this one
    neighbours: tuple[CallRow, ...] = ()  # the calls made by the same line
    regions: tuple[RegionRow, ...] = ()  # in which the call ran, outermost first
    origin: Origin = UNKNOWN


def project(history: History, moment: int, selection: Selection) -> DispatchModel:
    """Describe the chosen call; parts after `moment` are marked as not done."""
    call = chosen_call(history, moment, selection)
    commands = () if selection.call is not None else _fused(history, call, moment)
    if commands:
        return DispatchModel(group=commands[0].name, commands=commands)
    if call is None:
        return DispatchModel(why="No operator was called up to this moment: step forward.")
    until = ended(history, call)
    started = time_at(history, call.since)
    hops = _hops(history, call, until, moment)
    union = hops[0].keys if hops else ()
    results = tuple(
        row for each in call.results if (row := _tensor(history, each, until, moment)) is not None
    )
    arguments = _arguments(history, call)
    inputs = {row.storage for argument in arguments for row in argument.tensors}
    return DispatchModel(
        call=call.id,
        name=full_op(call.schema),
        schema=call.schema,
        text=call_text(history, call),
        file=call.file,
        line=call.line,
        code=history.line_text(call.file, call.line),
        since=call.since,
        until=until,
        duration_ns=time_at(history, until) - started,
        time=duration(time_at(history, until) - started),
        running=moment < call.until,
        error=call.error,
        arguments=arguments,
        union=union,
        absent=tuple(key for key in reversed(KEYS_BY_PRIORITY) if key not in union),
        hops=hops,
        results=results,
        more_results=max(0, _returned(history, call) - len(call.results)),
        fresh=tuple(row.storage not in inputs for row in results),
        plans=_plans(history, call, moment),
        commands=_commands(history, call, moment),
        tree=_tree(history, root_of(history, call), call.id, moment),
        neighbours=_neighbours(history, call, moment),
        regions=tuple(RegionRow(r.name, r.since) for r in history.regions_at(call.since)),
        origin=origin_of_library(call.defined_at, call.library)
        if call.defined_at
        else origin(full_op(call.schema)),
    )


def _returned(history: History, call: Any) -> int:
    """Return the number of results of the call; the trace has up to three."""
    if call.until >= history.end or call.error:
        return 0
    event = history.event(int(call.until))
    return int(event["n_results"]) if event.kind == "OP_EXIT" else 0


def _tensor(history: History, tensor: int, moment: int, later: int = -1) -> TensorRow | None:
    """Describe the tensor at the moment, by its name at `later` if it is alive then."""
    fact = history.tensor(tensor, moment) if tensor else None
    if fact is None:
        return None
    named = later if later > moment and history.tensor(tensor, later) is not None else moment
    return TensorRow(
        tensor=fact.id,
        storage=fact.storage,
        label=history.label(fact.id, named),
        dtype=fact.dtype,
        device=fact.device,
        sizes=fact.sizes,
        strides=fact.strides,
        offset=fact.offset,
        keys=fact.keys,
    )


def _arguments(history: History, call: Any) -> tuple[ArgumentRow, ...]:
    return tuple(_argument(history, argument, call.since) for argument in call.args)


def _argument(history: History, argument: Any, moment: int) -> ArgumentRow:
    ids = {"tensor": (argument.value,), "tensors": argument.value}.get(argument.kind, ())
    matches = (_tensor(history, each, moment) for each in ids[:MAX_TENSORS])
    rows = tuple(row for row in matches if row is not None)
    keys = {key for row in rows for key in row.keys}
    return ArgumentRow(
        name=argument.name,
        kind=argument.kind,
        text=show_argument(argument, lambda tensor: str(history.label(tensor, moment))),
        tensors=rows,
        keys=tuple(key for key in reversed(KEYS_BY_PRIORITY) if key in keys),
        recorded=all(row.keys for row in rows),
    )


def _hops(history: History, call: Any, until: int, moment: int) -> tuple[HopRow, ...]:
    matches = history.hops(call.id)
    started = time_at(history, call.since)
    ends = [*(hop.moment for hop in matches[1:]), until]
    rows = []
    for hop, end in zip(matches, ends, strict=False):
        start_ns = time_at(history, hop.moment) - started
        duration_ns = time_at(history, end) - time_at(history, hop.moment)
        rows.append(
            HopRow(
                moment=hop.moment,
                key=hop.key,
                kernel=hop.kernel,
                keys=hop.keys,
                fell=hop.keys[: hop.keys.index(hop.key)] if hop.key in hop.keys else (),
                start_ns=start_ns,
                duration_ns=duration_ns,
                start_text=duration(start_ns),
                duration_text=duration(duration_ns),
                done=hop.moment <= moment,
            )
        )
    return tuple(rows)


def _plans(history: History, call: Any, moment: int) -> tuple[PlanRow, ...]:
    tensors = [a.name for a in call.args if a.kind in ("tensor", "int", "float", "bool")]
    rows = []
    for plan in history.plans(call.id):
        names = ["out", *tensors]
        first = plan.operands[0].itemsize if plan.operands else 0
        rows.append(
            PlanRow(
                moment=plan.moment,
                loop=plan.loop,
                isa=plan.isa,
                vector=plan.vector,
                lanes=plan.vector // first if first else 0,
                threads=plan.threads,
                sizes=plan.sizes,
                operands=tuple(
                    OperandRow(
                        names[index] if index < len(names) else f"operand {index}",
                        operand.itemsize,
                        operand.strides,
                    )
                    for index, operand in enumerate(plan.operands)
                ),
                done=plan.moment <= moment,
            )
        )
    return tuple(rows)


def _commands(history: History, call: Any, moment: int) -> tuple[DeviceCommand, ...]:
    facts = history.commands_of(call.id)[:MAX_COMMANDS]
    return tuple(_command(history, fact, moment) for fact in facts)


def _fused(history: History, call: Any, moment: int) -> tuple[DeviceCommand, ...]:
    """Return the commands of the newest launch of a fused group on a device, unless the call is newer."""
    table, launches = history.tables.commands, history.jit.tables.launches
    if not len(launches):
        return ()
    first, last = table.started_by(call.since) if call else 0, table.started_by(moment)
    rows = range(last - 1, max(first, last - MAX_CALLS) - 1, -1)
    newest = next((row for row in rows if _is_fused(history.command(row))), None)
    if newest is None:
        return ()
    launch = launches.started_by(int(table.since[newest]))  # recorded after its commands
    if launch == len(launches):
        return ()
    first = table.started_by(int(launches.since[launch - 1])) if launch else 0
    last = table.started_by(int(launches.since[launch]))
    facts = [history.command(row) for row in range(max(first, last - MAX_COMMANDS), last)]
    return tuple(_command(history, fact, moment) for fact in facts if _is_fused(fact))


def _is_fused(fact: CommandFact) -> bool:
    """Return whether it is the kernel of a fused group: no call has enqueued it."""
    return not fact.call and fact.kind == "kernel"


def _command(history: History, fact: CommandFact, moment: int) -> DeviceCommand:
    return DeviceCommand(
        moment=fact.since,
        device=fact.device,
        kind=fact.kind,
        name=fact.name,
        bytes=fact.bytes,
        pinned=fact.pinned,
        items=fact.items,
        group=fact.group,
        duration_ns=fact.ended - fact.started,
        time=duration(fact.ended - fact.started) if fact.ended else "",
        source=tuple(history.program_source(fact.program).splitlines()),
        done=fact.since <= moment,
    )


def _call_row(history: History, call: Any, depth: int, current: int, moment: int) -> CallRow:
    duration_ns = time_at(history, ended(history, call)) - time_at(history, call.since)
    return CallRow(
        call=call.id,
        moment=call.since,
        depth=depth,
        text=call_text(history, call),
        duration_ns=duration_ns,
        time=duration(duration_ns),
        current=call.id == current,
        done=call.since <= moment,
        error=call.error,
    )


def _tree(history: History, root: Any, current: int, moment: int) -> tuple[CallRow, ...]:
    """Return the call and its nested calls, each below its caller; the first MAX_CALLS."""
    rows: list[CallRow] = []
    waiting = [(root, 0)]
    while waiting and len(rows) < MAX_CALLS:
        call, depth = waiting.pop()
        rows.append(_call_row(history, call, depth, current, moment))
        inner = [item for item in history.calls_of(call.id) if item is not None]
        waiting += [(item, depth + 1) for item in reversed(inner)]
    return tuple(rows)


def _neighbours(history: History, call: Any, moment: int) -> tuple[CallRow, ...]:
    """Return the program's calls while the same line ran, including this one."""
    root = root_of(history, call)
    line = history.line_at(root.since)
    table = history.tables.calls
    lo = table.started_by(line.since) if line is not None else 0
    hi = table.started_by(min(line.until, history.end - 1)) if line is not None else len(table)
    own = history.tables.by_compiler[lo:hi] == history.of_compiler(root.id)
    rows = [int(row) + lo for row in ((table.parent[lo:hi] == 0) & own).nonzero()[0]]
    at = next((index for index, row in enumerate(rows) if table.id[row] == root.id), 0)
    first = max(0, min(at - MAX_CALLS // 2, len(rows) - MAX_CALLS))
    calls = (history.call(int(table.id[row])) for row in rows[first : first + MAX_CALLS])
    return tuple(_call_row(history, each, 0, root.id, moment) for each in calls if each is not None)
