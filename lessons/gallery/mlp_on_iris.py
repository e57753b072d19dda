"""A small network learns to distinguish three kinds of iris by four measurements (Fisher's, 1936)."""

import csv
import random
from pathlib import Path

import engine

KINDS = ("setosa", "versicolor", "virginica")
EPOCHS, BATCH = 30, 20


def flowers():
    """150 rows of four centimetres, and the number of each row's kind; always shuffled the same way."""
    with Path(__file__).with_name("iris.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    random.Random(1).shuffle(rows)
    return [[float(cm) for cm in row[:4]] for row in rows], [KINDS.index(row[4]) for row in rows]


def data(engine):
    """120 flowers to learn from and 30 to be asked about; every column with mean 0, deviation 1."""
    numbers, kinds = flowers()
    x, y = engine.tensor(numbers), engine.tensor(kinds)
    x = (x - x.mean(0)) / x.std(0)
    return x[:120], y[:120], x[120:], y[120:]


def network(nn):
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))


def train(engine, model):
    """Adam over small batches; the loss of every step."""
    x, y, _, _ = data(engine)
    optimizer = engine.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(EPOCHS):
        for rows, kinds in zip(x.split(BATCH), y.split(BATCH), strict=True):
            loss = engine.nn.functional.cross_entropy(model(rows), kinds)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    engine.manual_seed(0)
    model = network(engine.nn)
    losses = train(engine, model)
    for step in range(0, len(losses), 30):
        print(f"step {step:3}: loss {losses[step]:.4f} " + "=" * round(40 * losses[step]))

    _, _, x, y = data(engine)
    with engine.no_grad():
        guesses = model(x).argmax(1)
    print(f"{int((guesses == y).sum().item())} of {len(y)} unseen flowers are right")
    for number, kind in enumerate(KINDS):
        counts = [int(((y == number) & (guesses == k)).sum().item()) for k in range(3)]
        print(f"{kind:10} taken for", dict(zip(KINDS, counts, strict=True)))
