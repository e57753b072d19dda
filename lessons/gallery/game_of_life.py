"""Conway's game of life: neighbours are counted by adding eight shifted views."""

import engine

SIZE, GENERATIONS = 12, 24

# The board lies inside a frame of dead cells, so that every shift of it is a slice.
padded = engine.zeros(SIZE + 2, SIZE + 2, dtype=engine.int64)
board = padded[1:-1, 1:-1]
board[0:3, 0:3] = engine.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 1]])

shifted = [
    padded[1 + down : 1 + down + SIZE, 1 + right : 1 + right + SIZE]
    for down in (-1, 0, 1)
    for right in (-1, 0, 1)
    if (down, right) != (0, 0)
]
print("nine views, one storage:", padded.untyped_storage().nbytes(), "bytes")
print("offsets", [view.storage_offset() for view in shifted])


def step():
    """One generation, written into the storage that all nine views look at."""
    neighbours = shifted[0].clone()
    for view in shifted[1:]:
        neighbours += view
    survives = (board == 1) & ((neighbours == 2) | (neighbours == 3))
    births = (board == 0) & (neighbours == 3)
    board.copy_(survives | births)


def show(generation):
    print(f"\ngeneration {generation}, {int(board.sum().item())} alive")
    for row in board.tolist():
        print("   ", " ".join("#" if cell else "." for cell in row))


show(0)
for generation in range(1, GENERATIONS + 1):
    step()
    if generation % 12 == 0:
        show(generation)

rows = board.any(1).to(engine.int64)
columns = board.any(0).to(engine.int64)
print(f"\nThe glider has gone to row {int(rows.argmax().item())}, column", end=" ")
print(f"{int(columns.argmax().item())}: one cell down and right every four generations.")
print("writes that the version counter saw:", padded._version)
