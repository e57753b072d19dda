"""Write what autograd would have recorded, by hand: nodes, saved tensors, and a backward pass.

b = GradBuilder()
x = b.leaf((2,)); y = b.result("MulBackward0", (x, x), saves={"self": x})
b.backward(y)

The pass runs as the contract of csrc/events/event_list.inc says: dependencies, a queue ordered by
sequence, buffers, release. Tests compare it with the folded history.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.inspect.trace_builder import T, TraceBuilder

FIRST = -1  # the sequence of AccumulateGrad: the greatest unsigned number


@dataclass
class GraphNode:
    id: int
    name: str
    sequence: int
    edges: list[tuple[int, int]]  # (node or 0, input)
    saved: dict[int, int] = field(default_factory=dict)  # slot -> tensor
    variable: int = 0
    outputs: int = 1


class GradBuilder(TraceBuilder):
    """A TraceBuilder that knows which node made which tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, GraphNode] = {}
        self.made_by: dict[int, tuple[int, int]] = {}
        self.accumulators: dict[int, int] = {}
        self.versions: dict[int, int] = {}
        self.grads: dict[int, int] = {}

    # The graph

    def leaf(self, sizes: tuple[int, ...] = (2,), name: str = "", values: object = None) -> int:
        tensor = self.tensor(sizes, values=values)
        self.emit("REQUIRES_GRAD", tensor, 1)
        if name:
            self.bind(name, tensor)
        return tensor

    def node(
        self,
        name: str,
        edges: Iterable[tuple[int, int]] = (),
        call: int = 0,
        sequence: int | None = None,
        tensors: tuple[int, ...] = (),
    ) -> GraphNode:
        number = self.id("node")
        order = self.id("sequence") if sequence is None else sequence
        text = self.string(name)
        blob = struct.pack(f"<{1 + len(tensors)}q", len(tensors), *tensors)
        self.emit("NODE_NEW", number, text, call, order, blob=blob)
        result = GraphNode(number, name, order, list(edges))
        for index, (end, item) in enumerate(result.edges):
            self.emit("EDGE", number, index, end, item)
        self.nodes[number] = result
        return result

    def keep(self, node: GraphNode, tensor: int, name: str) -> None:
        slot = len(node.saved)
        node.saved[slot] = tensor
        text = self.string(f"_saved_{name}")
        version = self.counters.get(self._counter(tensor), 0)
        self.emit("SAVE", node.id, slot, tensor, version, text)
        self.retain(tensor, "SAVED", node.id)

    def _counter(self, tensor: int) -> int:
        return self.storages[self.state[tensor]["storage"]]["counter"]

    def grad_fn(self, tensor: int, node: GraphNode, output: int = 0) -> None:
        node.outputs = max(node.outputs, output + 1)
        self.made_by[tensor] = (node.id, output)
        self.emit("GRAD_FN", tensor, node.id, output)

    def edge_to(self, tensor: int) -> tuple[int, int]:
        """Return the node and input that a gradient for this tensor goes to."""
        if tensor in self.made_by:
            return self.made_by[tensor]
        if tensor not in self.accumulators:
            result = self.node("AccumulateGrad", sequence=FIRST)
            result.variable = tensor
            self.retain(tensor, "SAVED", result.id)
            self.accumulators[tensor] = result.id
        return self.accumulators[tensor], 0

    def result(
        self,
        name: str,
        inputs: Iterable[int],
        saves: Mapping[str, int] | None = None,
        sizes: tuple[int, ...] = (2,),
        outputs: int = 1,
        op: str = "",
        bind: str = "",
        is_view: bool = False,
    ) -> int:
        """Record an operator with a node; returns its first result."""
        inputs = list(inputs)
        op = op or name.removesuffix("Backward0").lower()
        edges = [self.edge_to(each) if each else (0, 0) for each in inputs]
        tensor_type = "Tensor(a)" if is_view else "Tensor"
        with self.op(
            f"{op}({tensor_type} self) -> {tensor_type}", [T(inputs[0] or inputs[-1])]
        ) as call:
            results = [self.tensor(sizes, values=None) for _ in range(outputs)]
            node = self.node(name, edges, call.number)
            for attribute, tensor in (saves or {}).items():
                self.keep(node, tensor or results[0], attribute)
            for output, result in enumerate(results):
                self.grad_fn(result, node, output)
            call.results(*results)
        if bind:
            self.bind(bind, results[0])
        return results[0]

    def free_node(self, node: int) -> None:
        freed = self.nodes.pop(node)
        for slot, tensor in list(freed.saved.items()):
            self._release(freed, slot, tensor)
        self.emit("NODE_FREE", node)

    def _release(self, node: GraphNode, slot: int, tensor: int) -> None:
        self.emit("RELEASE", node.id, slot, tensor)
        self.release(tensor, "SAVED", node.id)
        del node.saved[slot]

    # A backward pass

    def backward(
        self,
        *roots: int,
        keep_graph: bool = False,
        none: Iterable[int] = (),
        needs: Iterable[int] | None = None,
        captures: Iterable[int] = (),
        stops_at: int = 0,
    ) -> int:
        """Run backward from these tensors. Nodes in `none` give None; `needs` are the only nodes
        that have to run (as for `inputs=`), and the gradients of `captures` are requested;
        the pass fails in the node `stops_at`."""
        run, none, captures = self.id("run"), set(none), set(captures)
        expected = None if needs is None else set(needs) | captures
        starts = [(*self.made_by[root], self._gradient(root)) for root in roots]
        terms = [word for start in starts for word in start]
        blob = struct.pack(f"<{len(terms)}q", *terms)
        flags = 4 | int(keep_graph)
        self.emit("BACKWARD_BEGIN", run, 0, flags, len(starts), blob=blob)
        waits = self._dependencies([start[0] for start in starts])
        for node, count in waits.items():
            self.emit("DEPENDENCY", run, node, count, int(expected is None or node in expected))
        buffers: dict[tuple[int, int], int] = {}
        for node, item, gradient in starts:
            self._arrive(run, buffers, node, item, gradient)
        queue: list[int] = []
        for node in dict.fromkeys(start[0] for start in starts):
            if waits[node] == 0:
                self._push(run, queue, node)
        ran, failed = 0, False
        while queue and not failed:
            queue.sort(key=lambda n: (-(self.nodes[n].sequence % 2**64), n))
            number = queue.pop(0)
            self.emit("READY_POP", run, number)
            if number in captures:
                continue
            failed = number == stops_at
            results = self._run_node(run, self.nodes[number], buffers, number in none, failed)
            ran += 1
            if failed:
                break
            if not keep_graph:
                for slot, tensor in list(self.nodes[number].saved.items()):
                    self._release(self.nodes[number], slot, tensor)
            for (end, item), gradient in zip(self.nodes[number].edges, results, strict=True):
                if end and (expected is None or end in expected):
                    self._arrive(run, buffers, end, item, gradient)
                    waits[end] -= 1
                    if waits[end] == 0:
                        self._push(run, queue, end)
        self.emit("BACKWARD_END", run, ran, int(failed))
        return run

    def _gradient(self, like: int) -> int:
        return self.tensor(self.state[like]["sizes"], wrap=False)

    def _dependencies(self, starts: list[int]) -> dict[int, int]:
        waits, todo = dict.fromkeys(starts, 0), list(starts)
        while todo:
            for end, _ in self.nodes[todo.pop()].edges:
                if end:
                    if end not in waits:
                        todo.append(end)
                    waits[end] = waits.get(end, 0) + 1
        return waits

    def _push(self, run: int, queue: list[int], node: int) -> None:
        queue.append(node)
        self.emit("READY_PUSH", run, node, self.nodes[node].sequence)

    def _arrive(self, run: int, buffers: dict, node: int, slot: int, gradient: int) -> None:
        before = buffers.get((node, slot), 0)
        total = self._gradient(gradient) if gradient and before else gradient or before
        buffers[node, slot] = total
        self.emit("ARRIVE", run, node, slot, gradient, total)

    def _run_node(
        self, run: int, node: GraphNode, buffers: dict, none: bool, fails: bool
    ) -> list[int]:
        inputs = [buffers.get((node.id, index), 0) for index in range(node.outputs)]
        blob = struct.pack(f"<{len(inputs)}q", *inputs)
        self.emit("NODE_ENTER", run, node.id, len(inputs), blob=blob)
        for slot, tensor in node.saved.items():
            version = self.counters.get(self._counter(tensor), 0)
            self.emit("UNPACK", node.id, slot, tensor, version, version)
        if fails:
            return []
        results = [
            0 if none or not end else self._gradient(inputs[0] or 1) for end, _ in node.edges
        ]
        if node.variable:
            self._accumulate(run, node.variable, inputs[0])
        blob = struct.pack(f"<{len(results)}q", *results)
        self.emit("NODE_EXIT", run, node.id, len(results), blob=blob)
        return results

    def _accumulate(self, run: int, variable: int, incoming: int) -> None:
        if not incoming:
            return
        had = self.grads.get(variable, 0)
        grad = had or incoming
        self.grads[variable] = grad
        self.emit("ACCUMULATE", variable, incoming, grad, 2 if had else 0, run)
        self.emit("GRAD_SET", variable, grad)
        if not had:
            self.retain(grad, "GRAD", variable)
