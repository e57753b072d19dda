"""Programs in which a pass finds something to do."""

import engine


@engine.jit.script
def transposed(x):
    return x.t().t().t().t()


@engine.jit.script
def shared(x):
    return x.exp() + x.exp()


@engine.jit.script
def stuck(x):
    a = x.exp()
    x.add_(1)
    return a + x.exp()


@engine.jit.script
def repeated(x):
    for _ in range(4):
        x = x * 2
    return x


for function, name in (
    (transposed, "peephole"),
    (shared, "cse"),
    (stuck, "cse"),
    (repeated, "unroll_loops"),
):
    graph = function.graph.copy()
    before = [node.kind() for node in graph.all_nodes()]
    engine.jit.run_pass(graph, name)
    print(name, before, "->", [node.kind() for node in graph.all_nodes()])
