"""Standard scores: each column to mean 0 and spread 1, by broadcasting, in two layouts."""

import engine


def scores(table):
    """(table - mean of each column) / spread of each column; (n, k) with (k,) needs no loop."""
    middle = table.mean(0)
    spread = (table - middle).square().mean(0).sqrt()
    return (table - middle) / spread


heights = engine.tensor([171.0, 183.0, 165.0, 178.0, 160.0, 187.0])
weights = engine.tensor([64.0, 92.0, 60.0, 75.0, 55.0, 98.0])
ages = engine.tensor([23.0, 41.0, 35.0, 52.0, 29.0, 36.0])

by_rows = engine.stack([heights, weights, ages], 1)  # one person after the other
by_columns = engine.stack([heights, weights, ages]).t()  # one measure after the other
print("the same table:", engine.equal(by_rows, by_columns))
print("strides by rows", by_rows.stride(), "and by columns", by_columns.stride())

result = scores(by_rows)
for person in result.tolist():
    print("  ".join(f"{score:6.2f}" for score in person))
print("the same scores:", engine.allclose(result, scores(by_columns)))
print("the result keeps the layout:", scores(by_columns).stride())

# What the scores have to do with each other: every column against every column, at once.
together = (result.unsqueeze(2) * result.unsqueeze(1)).mean(0)
for name, row in zip(("height", "weight", "age"), together.tolist(), strict=True):
    print(f"{name:7}", "  ".join(f"{value:5.2f}" for value in row))
