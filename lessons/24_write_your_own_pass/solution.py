"""A pass: what is never below zero needs no relu and no abs."""

import engine

NEVER_BELOW_ZERO = ("aten::relu", "aten::abs")


@engine.jit.register_pass
def tidy(graph):
    """relu and abs change nothing where nothing is below zero."""
    for kind in NEVER_BELOW_ZERO:
        for node in graph.findAllNodes(kind):
            inner = node.input().node()
            if inner.kind() not in NEVER_BELOW_ZERO:
                continue
            if len(inner.output().uses()) > 1:
                continue  # somebody else might see it, and write into it
            with graph.rewrite("never below zero", node, inner):
                node.output().replaceAllUsesWith(inner.output())
                node.destroy()


def f(x):
    y = x.abs().relu().relu()
    return y.relu() + y


graph = engine.jit.trace(f, engine.ones(2)).graph.copy()
print(engine.jit.run_pass(graph, "tidy"), "rewrites")
engine.jit.run_pass(graph, "dce")
print(graph.str(False))
print(graph.run(engine.tensor([-2.0, 3.0])), "should be", f(engine.tensor([-2.0, 3.0])))
