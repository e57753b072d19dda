"""Gradient descent, drawn: three ways of walking down a long, narrow valley."""

import engine

WIDTH, HEIGHT, STEPS = 64, 21, 40


def valley(point):
    """Steep across, flat along; the lowest point is at (2, 1)."""
    x, y = point.unbind()
    return 0.1 * (x - 2) ** 2 + 2.0 * (y - 1) ** 2


def walk(make):
    """The places that an optimiser comes through, from (-8, 2.2)."""
    point = engine.tensor([-8.0, 2.2], dtype=engine.float64, requires_grad=True)
    optimizer = make([point])
    path = [point.tolist()]
    for _ in range(STEPS):
        optimizer.zero_grad()
        valley(point).backward()
        optimizer.step()
        path.append(point.tolist())
    return path


def draw(path):
    """The path as numbers (the digit of every step) over the lines of equal height."""
    x = engine.linspace(-9, 5, WIDTH, dtype=engine.float64)
    y = engine.linspace(3, -1, HEIGHT, dtype=engine.float64)
    across, down = x.expand(HEIGHT, WIDTH), y.unsqueeze(1).expand(HEIGHT, WIDTH)
    heights = valley(engine.stack([across, down]))
    sheet = [["." if int(h * 1.5) % 2 else " " for h in row] for row in heights.tolist()]
    for number, (px, py) in enumerate(path):
        column, row = round((px + 9) / 14 * (WIDTH - 1)), round((3 - py) / 4 * (HEIGHT - 1))
        if 0 <= column < WIDTH and 0 <= row < HEIGHT:
            sheet[row][column] = str(number % 10)
    print("\n".join("   |" + "".join(row).rstrip() for row in sheet))


SGD, Adam = engine.optim.SGD, engine.optim.Adam
for name, make in (
    ("plain descent, a step of 0.45: swings across the valley", lambda p: SGD(p, lr=0.45)),
    ("with momentum: swings less, and runs along it", lambda p: SGD(p, lr=0.1, momentum=0.8)),
    ("Adam: the same pace in every direction", lambda p: Adam(p, lr=0.5)),
):
    path = walk(make)
    print(name)
    draw(path)
    (x, y), low = path[-1], valley(engine.tensor(path[-1], dtype=engine.float64)).item()
    print(f"   after {STEPS} steps at ({x:.3f}, {y:.3f}), {low:.5f} above the lowest point\n")
