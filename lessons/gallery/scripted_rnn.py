"""A recurrent cell with its loop, compiled: control flow that depends on the data stays control flow."""

import engine
from engine import nn


class Cell(nn.Module):
    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.wide = nn.Linear(size, hidden)
        self.deep = nn.Linear(hidden, hidden)

    def forward(self, x, h):
        return engine.tanh(self.wide(x) + self.deep(h))


class Reader(nn.Module):
    """Reads rows until one is all zeros."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.cell = Cell(size, hidden)

    def forward(self, rows):
        h = engine.zeros([1, self.hidden])
        read = 0
        for i in range(rows.size(0)):
            row = rows[i].unsqueeze(0)
            if bool(row.abs().sum() == 0):
                break
            h = self.cell(row, h)
            read += 1
        return h, read


def fill(module):
    """The same weights in any library."""
    with engine.no_grad():
        for number, weight in enumerate(module.parameters()):
            n = weight.numel()
            values = engine.arange(n, dtype=engine.float32) * (0.7 + number) + number
            weight.copy_((values.sin() * 0.5).view(weight.shape))


reader = Reader(3, 4)
fill(reader)
compiled = engine.jit.script(reader)

rows = engine.tensor([[1.0, 0.0, 0.5], [0.2, 0.4, 0.6], [0.0, 0.0, 0.0], [9.0, 9.0, 9.0]])
for length in (1, 2, 4):
    h, read = compiled(rows[:length])
    print(f"{length} rows, {read} read:", [round(v, 4) for v in h[0].tolist()])

h, _ = reader(rows)
print("as in Python:", [round(v, 4) for v in h[0].tolist()])

kinds = [node.kind() for node in compiled.graph.nodes()]
print("the loop is in the graph:", "prim::Loop" in kinds)

# Trained through: the gradients are those of the Python program.
compiled(rows)[0].sum().backward()
compiled_grad = compiled.cell.wide.bias.grad.tolist()
print("gradient of a bias:", [round(v, 4) for v in compiled_grad])
