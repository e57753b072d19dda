"""Programs in which a pass finds something to do."""

import engine


# TODO: four functions that are as the exercise says.
@engine.jit.script
def transposed(x):
    return x.t()


@engine.jit.script
def shared(x):
    return x.exp()


@engine.jit.script
def stuck(x):
    return x.exp()


@engine.jit.script
def repeated(x):
    return x * 2


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
