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


def digits_of(engine):
    """(10, 14, 10): each digit as dots of 2 by 2 cells."""
    dots = [[[rows >> 4 - c & 1 for c in range(5)] for rows in FONT[digit]] for digit in range(10)]
    return engine.tensor(dots).repeat_interleave(2, 1).repeat_interleave(2, 2).float()


def batch(engine, chance, shapes):
    """Pictures (BATCH, 1, SIZE, SIZE), noisy sheets with a digit somewhere, and which digit."""
    noise = engine.tensor(list(chance.randbytes(BATCH * SIZE * SIZE)))
    pictures = noise.view(BATCH, 1, SIZE, SIZE) / 255 * 0.3
    digits = chance.choices(range(10), k=BATCH)
    for picture, digit in zip(pictures, digits, strict=True):
        down, across = chance.randint(2, 4), chance.randint(4, 6)
        picture[0, down : down + 14, across : across + 10] += 0.7 * shapes[digit]
    return pictures, engine.tensor(digits)


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
    chance, shapes = random.Random(5), digits_of(engine)
    optimizer = engine.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for _ in range(STEPS):
        pictures, digits = batch(engine, chance, shapes)
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

    pictures, digits = batch(engine, random.Random(99), digits_of(engine))
    with engine.no_grad():
        guesses = model(pictures).argmax(1)
    print(f"{int((guesses == digits).sum().item())} of {BATCH} unseen pictures are read rightly")
    print(f"the first shows a {digits[0].item()} and was read as {guesses[0].item()}:")
    show(pictures[0, 0])
