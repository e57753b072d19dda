"""k-means: three clouds of points, three centres that walk into their middles."""

import engine

CLOUDS, PER_CLOUD, ROUNDS = 3, 60, 12


def clouds():
    """Points around three places, in one tensor."""
    centres = engine.tensor([[0.0, 0.0], [6.0, 1.0], [2.0, 7.0]])
    spread = engine.randn(CLOUDS, PER_CLOUD, 2)
    return (centres.unsqueeze(1) + spread).reshape(CLOUDS * PER_CLOUD, 2)


def nearest_centre(points, centres):
    """For each point the number of its nearest centre: (n, 1, 2) - (k, 2) is (n, k, 2)."""
    difference = points.unsqueeze(1) - centres
    return (difference * difference).sum(2).argmin(1)


def means(points, belongs, centres):
    """The middle of each centre's points; a centre without points stays where it is."""
    moved = centres.clone()
    for k in range(len(centres)):
        cluster = points[belongs == k]
        if len(cluster) > 0:
            moved[k] = cluster.mean(0)
    return moved


engine.manual_seed(3)
points = clouds()
centres = points[[0, 1, 70]].clone()  # a poor start: two in one cloud, none in the third

for number in range(ROUNDS):
    belongs = nearest_centre(points, centres)
    moved = means(points, belongs, centres)
    shift = (moved - centres).abs().max().item()
    centres = moved
    print(f"round {number}: the centres moved by at most {shift:.4f}")
    if shift < 1e-4:
        break

for k, (x, y) in enumerate(centres.tolist()):
    size = int((belongs == k).sum().item())
    print(f"centre {k}: ({x:5.2f}, {y:5.2f}) with {size} points")

# The points as characters, each drawn as the number of its centre.
low, high = points.min(0).values, points.max(0).values
cells = ((points - low) / (high - low) * engine.tensor([59.0, 19.0])).to(engine.int64)
board = [[" "] * 60 for _ in range(20)]
for (column, row), k in zip(cells.tolist(), belongs.tolist(), strict=True):
    board[19 - row][column] = str(k)
print("\n".join("".join(line).rstrip() for line in board))
