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
    numbers = {}  # Op -> the number of its meaning
    meanings = {}  # (name, meanings of the inputs) -> its number
    values = []  # by number

    def visit(op):
        if op in numbers:
            return numbers[op]
        key = (op.name, *[visit(i) for i in op.inputs])
        if key not in meanings:
            meanings[key] = len(values)
            is_input = op.name == "input"
            values.append(number if is_input else compute(op.name, *[values[i] for i in key[1:]]))
        numbers[op] = meanings[key]
        return numbers[op]

    return values[visit(op)]


x = Op("input")
y = (x * x + x) * (x * x + x)
z = y
for _ in range(10):
    z = z + z
print("y at 3:", evaluate(y, 3.0), "with", len(ran), "operations")
