"""backward(result) in Python: counts, buffers, a ready queue."""

import engine


def outputs(node, gradient):
    """Return what a node gives to each of its next_functions, always as a tuple."""
    results = node(gradient)
    return results if isinstance(results, tuple) else (results,)


def dependencies(result):
    counts = {result.grad_fn: 0}
    todo = [result.grad_fn]
    while todo:
        for next_node, _ in todo.pop().next_functions:
            if next_node is not None:
                if next_node not in counts:
                    todo.append(next_node)
                counts[next_node] = counts.get(next_node, 0) + 1
    return counts


def backward(result):
    waits = dependencies(result)
    buffers = {result.grad_fn: engine.ones(())}
    ready, order, grads = [result.grad_fn], [], {}
    while ready:
        node = max(ready, key=lambda node: node._sequence_nr())
        ready.remove(node)
        gradient = buffers.pop(node)
        if type(node).__name__ == "AccumulateGrad":
            grads[node] = gradient
            continue
        order.append(node)
        for (next_node, _), results in zip(node.next_functions, outputs(node, gradient)):
            if next_node is None:
                continue
            buffers[next_node] = buffers[next_node] + results if next_node in buffers else results
            waits[next_node] -= 1
            if waits[next_node] == 0:
                ready.append(next_node)
    return grads, order


x = engine.tensor(3.0, requires_grad=True)
a = x * x
b = a * x
c = b + a
grads, order = backward(c)
print([gradient.item() for gradient in grads.values()])
print([type(node).__name__ for node in order])
