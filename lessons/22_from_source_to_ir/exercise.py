"""A front end: from source over the tree to a graph that runs."""

import ast

import engine


def to_graph(source):
    function = ast.parse(source).body[0]
    graph = engine.jit.Graph()
    values = {argument.arg: graph.addInput(argument.arg) for argument in function.args.args}

    def emit(tree):
        """Adds what the tree computes to the graph; gives the Value of its result."""
        match tree:
            case ast.Name(id=name):
                return values[name]
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return graph.call("aten::mul", emit(left), emit(right)).output()
            # TODO: sums, differences, a minus in front, numbers.
        raise NotImplementedError(ast.dump(tree))

    for statement in function.body:
        match statement:
            # TODO: assignments.
            case ast.Return(value=value):
                graph.registerOutput(emit(value))
    return graph


graph = to_graph("def f(x, y): return x * y * x")
print(graph)
print(graph.run(engine.tensor(2.0), engine.tensor(3.0)))
