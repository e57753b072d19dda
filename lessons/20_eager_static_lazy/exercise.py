"""A static graph whose equal parts are computed only once."""

ran = []


class Op:
    """A node of the graph. It equals only itself."""

    def __init__(self, name, *inputs):
        self.name, self.inputs = name, inputs

    def __add__(self, other):
        return Op("add", self, other)

    def __mul__(self, other):
        return Op("mul", self, other)


def compute(name, a, b):
    ran.append(name)
    return a * b if name == "mul" else a + b


def evaluate(op, number):
    # TODO: what was computed in this call, need not be computed again.
    if op.name == "input":
        return number
    return compute(op.name, *[evaluate(i, number) for i in op.inputs])


x = Op("input")
y = (x * x + x) * (x * x + x)
z = y
for _ in range(10):
    z = z + z
print("y at 3:", evaluate(y, 3.0), "with", len(ran), "operations")
