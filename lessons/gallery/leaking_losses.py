"""A memory leak in one line: losses.append(loss) keeps the graph of every step."""

import engine

STEPS = 20


def held_by(losses):
    """Count the nodes in the graphs of the losses, and the bytes that they have saved."""
    todo = [loss.grad_fn for loss in losses if getattr(loss, "grad_fn", None) is not None]
    nodes, saved = set(todo), {}
    while todo:
        node = todo.pop()
        for name in dir(node):
            if not name.startswith("_saved_"):
                continue
            try:
                value = getattr(node, name)
            except RuntimeError:  # backward has released it
                continue
            if isinstance(value, engine.Tensor):
                saved[value.data_ptr()] = value.untyped_storage().nbytes()
        for next_node, _ in node.next_functions:
            if next_node is not None and next_node not in nodes:
                nodes.add(next_node)
                todo.append(next_node)
    return len(nodes), sum(saved.values())


def loss_of(step, weight):
    x = engine.linspace(0, 1 + step, 64).view(1, 64)
    return ((x @ weight).tanh() - 0.5).pow(2).mean()


def evaluate(weight, keep):
    """Return the losses of STEPS batches; only their numbers are needed."""
    losses = []
    for step in range(STEPS):
        losses.append(keep(loss_of(step, weight)))
    return losses


weight = engine.linspace(-1, 1, 64 * 32).view(64, 32).requires_grad_()

print(f"{STEPS} losses are kept for a curve. What do they hold?")
for name, keep in (
    ("losses.append(loss)", lambda loss: loss),
    ("losses.append(loss.detach())", lambda loss: loss.detach()),
    ("losses.append(loss.item())", lambda loss: loss.item()),
):
    losses = evaluate(weight, keep)
    nodes, size = held_by(losses)
    print(
        f"   {name:30} {nodes:4} nodes, {size // 1024:3} KiB saved for a backward that never comes"
    )

with engine.no_grad():
    losses = evaluate(weight, lambda loss: loss)
nodes, size = held_by(losses)
print(f"   {'the first, under no_grad()':30} {nodes:4} nodes, {size // 1024:3} KiB")

print("And where backward() runs in every step?")
losses = []
for step in range(STEPS):
    loss = loss_of(step, weight)
    loss.backward()
    losses.append(loss)
nodes, size = held_by(losses)
print(f"   what was saved is released: {size} bytes are left; but {nodes} nodes are still there")

average = 0.0
for step in range(STEPS):
    average = 0.9 * average + 0.1 * loss_of(step, weight)
nodes, size = held_by([average])
print(f"   a running average of losses is one tensor, and holds {nodes} nodes, {size // 1024} KiB")
