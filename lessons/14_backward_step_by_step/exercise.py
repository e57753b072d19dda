"""backward(result) in Python: counts, buffers, a ready queue."""

import engine


def outputs(node, gradient):
    """Return what a node gives to each of its next_functions, always as a tuple."""
    results = node(gradient)
    return results if isinstance(results, tuple) else (results,)


def backward(result):
    grads, order = {}, []

    # TODO: this runs a node once for each way that leads to it. Count first, and let it wait.
    def send(node, gradient):
        if type(node).__name__ == "AccumulateGrad":
            grads[node] = grads[node] + gradient if node in grads else gradient
            return
        order.append(node)
        for (next_node, _), results in zip(node.next_functions, outputs(node, gradient)):
            if next_node is not None:
                send(next_node, results)

    send(result.grad_fn, engine.ones(()))
    return grads, order


x = engine.tensor(3.0, requires_grad=True)
a = x * x
b = a * x
c = b + a
grads, order = backward(c)
print([gradient.item() for gradient in grads.values()])
print([type(node).__name__ for node in order])
