"""A small network on the device meta: every shape and size before there is a number."""

import engine

BATCH, SIDE = 64, 224


def layers():
    """Name and weight of each layer; the last one is a matrix."""
    yield "stem", engine.empty(32, 3, 7, 7, device="meta")
    yield "middle", engine.empty(64, 32, 3, 3, device="meta")
    yield "deep", engine.empty(128, 64, 3, 3, device="meta")
    yield "head", engine.empty(128, 10, device="meta")


def mib(x):
    """Return the bytes that x would take."""
    return x.numel() * x.element_size() / 2**20


x = engine.empty(BATCH, 3, SIDE, SIDE, device="meta")
total = mib(x)
print(f"input   {tuple(x.shape)!s:20} {mib(x):8.2f} MiB")
for name, weight in layers():
    if weight.dim() == 4:
        edge = weight.shape[-1] // 2
        x = engine.nn.functional.conv2d(x, weight, stride=2, padding=edge).relu()
    else:
        x = x.mean((2, 3)) @ weight
    total += mib(x)
    print(f"{name:7} {tuple(x.shape)!s:20} {mib(x):8.2f} MiB")
print(f"together, for {BATCH} pictures of {SIDE} by {SIDE}: {total:.0f} MiB")

# A mistake in a shape is found without a single multiplication.
try:
    x @ engine.empty(12, 5, device="meta")
except RuntimeError:
    print("(64, 10) @ (12, 5) does not fit; no number was computed to find out")
