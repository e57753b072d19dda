"""LeNet, the convolutional network of 1998, reads digits that are drawn here, shifted and noisy."""

import random

import engine

# Seven rows of five dots for each digit; a bit is a dot.
FONT = {
    0: (14, 17, 19, 21, 25, 17, 14),
    1: (4, 12, 4, 4, 4, 4, 14),
    2: (14, 17, 1, 2, 4, 8, 31),
    3: (31, 2, 4, 2, 1, 17, 14),
    4: (2, 6, 10, 18, 31, 2, 2),
    5: (31, 16, 30, 1, 1, 17, 14),
    6: (6, 8, 16, 30, 17, 17, 14),
    7: (31, 1, 2, 4, 8, 8, 8),
    8: (14, 17, 17, 14, 17, 17, 14),
    9: (14, 17, 17, 15, 1, 2, 12),
}
SIZE, BATCH, STEPS = 20, 20, 120


def draw(digit, chance):
    """Rows of grey values: each dot of the font is 2 by 2 cells, somewhere on the sheet, with noise."""
    down, across = chance.randint(2, 4), chance.randint(4, 6)
    picture = [[chance.uniform(0.0, 0.3) for _ in range(SIZE)] for _ in range(SIZE)]
    for row in range(14):
        for column in range(10):
            if FONT[digit][row // 2] >> (4 - column // 2) & 1:
                picture[down + row][across + column] += 0.7
    return picture


def batch(engine, chance):
    """Pictures (BATCH, 1, SIZE, SIZE) and which digit each shows."""
    digits = [chance.randrange(10) for _ in range(BATCH)]
    pictures = engine.tensor([draw(digit, chance) for digit in digits])
    return pictures.unsqueeze(1), engine.tensor(digits)


def network(nn):
    """Two rounds of convolution and pooling find strokes; three layers say which digit they make."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5),  # (6, 16, 16)
        nn.ReLU(),
        nn.MaxPool2d(2),  # (6, 8, 8)
        nn.Conv2d(6, 16, 5),  # (16, 4, 4)
        nn.ReLU(),
        nn.MaxPool2d(2),  # (16, 2, 2)
        nn.Flatten(),
        nn.Linear(64, 60),
        nn.ReLU(),
        nn.Linear(60, 42),
        nn.ReLU(),
        nn.Linear(42, 10),
    )


def train(engine, model):
    """Adam, every step on new pictures; the loss of every step."""
    chance = random.Random(5)
    optimizer = engine.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for _ in range(STEPS):
        pictures, digits = batch(engine, chance)
        loss = engine.nn.functional.cross_entropy(model(pictures), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def show(picture):
    for row in picture.tolist():
        print("   ", "".join(" .:@"[min(3, int(grey * 4))] * 2 for grey in row).rstrip())


if __name__ == "__main__":
    engine.set_num_threads(1)  # these pictures are too small to be shared out
    engine.manual_seed(0)
    model = network(engine.nn)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    losses = train(engine, model)
    for step in range(0, STEPS, 15):
        print(f"step {step:3}: loss {losses[step]:.4f} " + "=" * round(15 * losses[step]))

    pictures, digits = batch(engine, random.Random(99))
    with engine.no_grad():
        guesses = model(pictures).argmax(1)
    print(f"{int((guesses == digits).sum().item())} of {BATCH} unseen pictures are read rightly")
    print(f"the first shows a {digits[0].item()} and was read as {guesses[0].item()}:")
    show(pictures[0, 0])
