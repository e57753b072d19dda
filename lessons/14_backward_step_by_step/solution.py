"""backward(result) in Python: counts, buffers, a ready queue."""

import engine


def outputs(node, gradient):
    """What a node gives to each of its next_functions, always as a tuple."""
    made = node(gradient)
    return made if isinstance(made, tuple) else (made,)


def dependencies(result):
    counts = {result.grad_fn: 0}
    todo = [result.grad_fn]
    while todo:
        for behind, _ in todo.pop().next_functions:
            if behind is not None:
                if behind not in counts:
                    todo.append(behind)
                counts[behind] = counts.get(behind, 0) + 1
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
        for (behind, _), made in zip(node.next_functions, outputs(node, gradient)):
            if behind is None:
                continue
            buffers[behind] = buffers[behind] + made if behind in buffers else made
            waits[behind] -= 1
            if waits[behind] == 0:
                ready.append(behind)
    return grads, order


x = engine.tensor(3.0, requires_grad=True)
a = x * x
b = a * x
c = b + a
grads, order = backward(c)
print([gradient.item() for gradient in grads.values()])
print([type(node).__name__ for node in order])
