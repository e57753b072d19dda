"""A front end: from source over the tree to a graph that runs."""

import ast

import engine

KINDS = {ast.Mult: "aten::mul", ast.Add: "aten::add", ast.Sub: "aten::sub"}


def to_graph(source):
    function = ast.parse(source).body[0]
    graph = engine.jit.Graph()
    values = {argument.arg: graph.addInput(argument.arg) for argument in function.args.args}

    def emit(tree):
        """Adds what the tree computes to the graph; gives the Value of its result."""
        match tree:
            case ast.Name(id=name):
                return values[name]
            case ast.Constant(value=value):
                return graph.insertConstant(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return graph.call("aten::neg", emit(operand)).output()
            case ast.BinOp(left=left, op=op, right=right):
                return graph.call(KINDS[type(op)], emit(left), emit(right)).output()
        raise NotImplementedError(ast.dump(tree))

    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = emit(value)
            case ast.Return(value=value):
                graph.registerOutput(emit(value))
    return graph


graph = to_graph("""
def f(x, y):
    z = x * y + 1
    z = -z
    return z - x
""")
print(graph)
print(graph.run(engine.tensor(2.0), engine.tensor(3.0)))
