"""An edge filter over a picture: windows by as_strided, then one matrix product."""

import engine

SIZE, K = 14, 3


def disc():
    """A bright disc on a dark ground."""
    axis = engine.arange(SIZE, dtype=engine.float32) - (SIZE - 1) / 2
    radius = (axis.unsqueeze(1) ** 2 + axis**2).sqrt()
    return engine.where(radius < 5.0, engine.ones(SIZE, SIZE), engine.zeros(SIZE, SIZE))


def windows_of(image, k):
    """(h - k + 1, w - k + 1, k, k): where the window stands, and where one looks inside it.

    Moving the window one row down and looking one row further down are the same step in memory.
    """
    height, width = image.shape
    rows, columns = image.stride()
    shape = (height - k + 1, width - k + 1, k, k)
    return image.as_strided(shape, (rows, columns, rows, columns))


def convolve(image, kernels):
    """Each kernel over each window: (positions, k * k) @ (k * k, kernels)."""
    windows = windows_of(image, K)
    high, wide = windows.shape[0], windows.shape[1]
    flat = windows.reshape(high * wide, K * K)  # no strides can say this, so here it is copied
    print("windows: strides", windows.stride(), " bytes", windows.untyped_storage().nbytes())
    print("flat:    strides", flat.stride(), " bytes", flat.untyped_storage().nbytes())
    return (flat @ kernels.reshape(-1, K * K).t()).view(high, wide, -1)


def show(title, image):
    print(title)
    for row in image.tolist():
        print("   ", " ".join("-" if v < -0.5 else "+" if v > 0.5 else "." for v in row))


across = engine.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
kernels = engine.stack([across, across.t()])

image = disc()
edges = convolve(image, kernels)

show("the disc", image)
show("bright to the right: +, to the left: -", edges[:, :, 0])
show("bright below: +, above: -", edges[:, :, 1])
strength = (edges * edges).sum(2).sqrt()
flat = int((strength == 0).sum().item())
print(f"strongest edge {strength.max().item():.2f}; flat places {flat}")

# The same at one position by hand.
y, x = 4, 2
by_hand = (image[y : y + K, x : x + K] * across).sum().item()
print(f"at ({y}, {x}): {edges[y, x, 0].item():.1f}, by hand {by_hand:.1f}")
