"""The content of the autograd view, as plain data: see autograd.py, which fills these in.

Two kinds of data, because a key must be fast with ten thousand nodes:

* `Part` and `NodeFact` never change. They are built once per history and are the
  same objects at every moment, so a layout can be cached under `Part.key`.
* `NodeBox` and its parts hold at one moment. They are built on their first use:
  `Autograd.nodes` is a sequence that builds its items on access; its columns (`ids`, `codes`, `alive`)
  have what colours and counts need of all nodes.

Everything is in the order of node ids, which is the order of their creation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from engine.inspect.history.autograd.backward_pass import STATES as STATES

SLOT_STATES = ("not yet", "none", "zero", "one", "sum")
"""The contents of a slot of a node's input buffer; `BufferSlot.state` is one of these.

not yet: no gradient has arrived; none: only None (undefined gradients) has arrived; zero: a tensor
whose elements are all known to be 0; one: one gradient, unchanged; sum: the sum of several."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One of `next_functions`: gradient number `index` goes to input `input` of node `next`."""

    index: int
    next: int  # 0: this argument needs no gradient
    input: int


@dataclass(frozen=True, slots=True)
class NodeFact:
    """The facts about a node that never change."""

    id: int
    name: str  # PyTorch's: "MulBackward0", "AccumulateGrad"
    label: str  # short: "Mul"; for a leaf the variable's name: "w"
    op: str  # full name of the operator that created it, "mul.Tensor"; "" for none
    call: int  # the operator call that created it; 0 for none
    file: int
    line: int  # the line of the user's program on which that call ran; 0: not known
    frame: int  # the Python frame it ran in
    function: str  # and that frame's function
    is_view: (
        bool  # that operator may only rearrange elements: its result may be a view of an argument
    )
    module: str  # "net.fc1" if its parameters are attributes of that; "" if unknown
    leaf: bool  # AccumulateGrad: the gradient ends here, in .grad of `variable`
    variable: int  # the leaf's tensor; 0 for other nodes, or if it was not recorded
    sequence: int  # the ready queue's sort key: the larger runs first
    edges: tuple[Edge, ...]
    since: int  # NODE_NEW
    until: int  # NODE_FREE; FOREVER if it was never freed
    inside: int = (
        0  # the CopySlices node that runs this one as a part of itself: no edge leads here
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A connected component: all nodes that were connected at any time, other than through a leaf.

    One training step is one part, though all steps share the parameters' AccumulateGrad nodes; a
    leaf is in every part that leads to it. `nodes` has all its nodes in the trace: those with `since`
    after the moment do not exist yet, and their positions are empty.
    """

    id: int  # its first node that is not a leaf
    nodes: tuple[NodeFact, ...]
    key: tuple[int, int, int]  # (id, number of nodes, number of edges): same key, same layout


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The first in-place write to a tensor after it was saved, and how many there were."""

    moment: int
    call: int
    op: str  # "add_"
    version: int  # the version that this write made
    file: int
    line: int
    code: str
    writes: int  # this one and those after it


@dataclass(frozen=True, slots=True)
class SavedBox:
    """A tensor that a node keeps for its formula."""

    slot: int
    name: str  # "_saved_self"
    tensor: int
    label: str
    dtype: str
    sizes: tuple[int, ...]
    nbytes: int
    saved: int  # the version it was saved at
    current: int  # and the version it has now
    stale: bool  # they differ: using it would be an error
    released: int  # the moment at which the node released it; -1: not released
    unpacked: bool  # released by the pass that is shown
    overwrite: Overwrite | None


@dataclass(frozen=True, slots=True)
class BufferSlot:
    """One input of a node, with the gradients that arrived in the pass that is shown."""

    input: int
    state: str  # one of SLOT_STATES
    tensor: int  # the tensor in the buffer; 0: none
    arrived: int  # gradients that have arrived, including None
    expected: int  # gradients that will arrive in total
    dtype: str
    sizes: tuple[int, ...]
    text: str  # its first numbers, as far as they were recorded: "1, 0.5, ..."


@dataclass(frozen=True, slots=True)
class Flow:
    """A tensor in one line: an output of the node, or a gradient that it returned."""

    index: int
    tensor: int  # 0: None
    label: str
    dtype: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """One line of the operator's `gradient:` in its yaml entry."""

    argument: str
    text: str


@dataclass(frozen=True, slots=True)
class HookRow:
    """A hook that ran."""

    moment: int
    kind: str  # "tensor hook", "node pre-hook", "node post-hook", ...
    before: int
    after: int
    replaced: bool  # it returned another tensor


@dataclass(frozen=True, slots=True)
class GradBox:
    """A leaf's .grad."""

    tensor: int  # the tensor that .grad is; 0: None
    mode: str  # how the last gradient got there: "taken over", "copied", "added in place"
    moment: int  # since when; -1: never set
    dtype: str
    sizes: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class NodeBox:
    """A node at one moment."""

    fact: NodeFact
    alive: bool  # False: freed, its place is empty
    state: str  # one of STATES (history/autograd/backward_pass.py says what each means)
    waits_for: int  # gradients that must still arrive before it may run
    dependencies: int  # the number that it waited for at first
    queue_position: int  # in the ready queue, 0 runs next; -1: not in it
    order: int  # position in the order of execution, from 1; 0: not run
    thread: int  # the pass that it ran in; 0: none
    outputs: tuple[Flow, ...]  # the tensors whose grad_fn it is: what flows in has their shapes
    sent: Flows  # the gradient along each edge, after it ran
    inputs: tuple[BufferSlot, ...]
    saved: tuple[SavedBox, ...]
    stale: bool  # one of the saved tensors is
    formula: tuple[FormulaRow, ...]
    hooks: tuple[HookRow, ...]
    grad: GradBox | None  # of a leaf
    touches: tuple[int, ...]  # every tensor that belongs to it at this moment
    highlighted: bool  # it is part of the selection


@dataclass(frozen=True, slots=True)
class ReadyRow:
    """A node in the ready queue."""

    node: int
    label: str
    sequence: int
    since: int


@dataclass(frozen=True, slots=True)
class RunBox:
    """A backward pass."""

    id: int
    outer: int  # the enclosing pass; 0: none
    thread: int
    since: int
    until: int
    active: bool
    keep_graph: bool
    create_graph: bool
    accumulate: bool  # backward(), into .grad; else autograd.grad()
    roots: tuple[Flow, ...]  # `index` is the root node here, `tensor` its gradient
    file: int
    line: int
    code: str
    running: tuple[int, ...]  # nodes between enter and exit
    done: int
    total: int  # nodes that have to run
    last: int  # the node that ran last; 0: none yet
    failed: bool
    error: str


@dataclass(frozen=True, slots=True)
class FreedRow:
    """A release: of a saved tensor by its node, of a node, or of a tensor."""

    moment: int
    kind: str  # "saved", "node", "tensor"
    node: int
    tensor: int
    label: str  # "_saved_self of 5 (MulBackward0)", "5 (MulBackward0)", "#17"
    nbytes: int  # of a tensor whose storage was freed with it
    fresh: bool  # since the previous stop, at grain node


class Flows(Sequence[Flow]):
    """The gradients that a node returned, built on access: a stack of many tensors has as many edges."""

    def __init__(self, tensors: Sequence[int], make: Callable[[int, int], Flow]):
        self.tensors = tensors
        self._make = make

    def __len__(self) -> int:
        return len(self.tensors)

    @overload
    def __getitem__(self, index: int) -> Flow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Flow]: ...
    def __getitem__(self, index: int | slice) -> Flow | Sequence[Flow]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return self._make(index, self.tensors[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Nodes(Sequence[NodeBox]):
    """The nodes of the shown parts that exist so far, in the order of their ids.

    `ids`, `codes` (places in STATES), `alive` and `waits` are NumPy columns of the same order.
    """

    def __init__(
        self, ids: Any, codes: Any, alive: Any, waits: Any, make: Callable[[int], NodeBox]
    ):
        self.ids, self.codes, self.alive, self.waits = ids, codes, alive, waits
        self._make = make
        self._boxes: dict[int, NodeBox] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> NodeBox: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NodeBox]: ...
    def __getitem__(self, index: int | slice) -> NodeBox | Sequence[NodeBox]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if index not in self._boxes:
            self._boxes[index] = self._make(index)
        return self._boxes[index]

    def __iter__(self) -> Iterator[NodeBox]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nodes) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def place_of(self, node: int) -> int:
        """Return the position of the node with this id; -1 if it is not among these."""
        index = int(self.ids.searchsorted(node))
        return index if index < len(self.ids) and self.ids[index] == node else -1

    def of(self, node: int) -> NodeBox | None:
        index = self.place_of(node)
        return self[index] if index >= 0 else None


@dataclass(frozen=True, slots=True)
class Autograd:
    """The graph at one moment, and the backward pass that is running, or ran last."""

    moment: int
    parts: tuple[Part, ...]  # with a living node, a node of the pass, or the selected node
    nodes: Nodes
    created: int  # nodes created so far, in the whole program
    living: int  # of these, the nodes that are alive
    hidden: int  # parts left out because there are too many
    saved_count: int  # tensors that nodes keep
    saved_bytes: int  # the storages of those, each counted once
    stale: tuple[int, ...]  # nodes with a saved tensor that was written since
    run: RunBox | None
    runs: tuple[RunBox, ...]  # all that are running, outermost and oldest first
    ready: tuple[ReadyRow, ...]  # the first rows of the queue of `run`; the first is next
    ready_count: int  # the length of the queue
    freed: tuple[FreedRow, ...]  # since `run` began, newest first
    freed_count: int  # the number of all of those: `freed` may have only the newest
    focus: int  # the node in focus; 0: none
    why: str  # the reason for that focus
