"""Flips, crops and channels of a picture: which are views, and which move pixels?"""

import engine

HEIGHT, WIDTH = 12, 16


def picture():
    """A red-to-green gradient with a bright square, as height x width x 3 bytes."""
    image = engine.zeros(HEIGHT, WIDTH, 3, dtype=engine.uint8)
    image[:, :, 0] = (engine.arange(WIDTH) * 10).expand(HEIGHT, WIDTH)
    image[:, :, 1] = (engine.arange(HEIGHT) * 12).unsqueeze(1).expand(HEIGHT, WIDTH)
    image[2:6, 3:9] = 250
    return image


def show(title, image):
    """The picture in characters, dark to bright."""
    light = image.to(engine.float32).mean(2)
    print(title, tuple(image.shape))
    for row in light.tolist():
        print("   ", "".join(" .:-=+*#%@"[int(value * 9.99 / 256)] for value in row))


def describe(name, image, original):
    """Is it a view of the original, and by which numbers?"""
    address = image.untyped_storage().data_ptr()
    kind = "view" if address == original.untyped_storage().data_ptr() else "COPY"
    print(f"{name:12} {kind}  strides {image.stride()}  offset {image.storage_offset()}")


image = picture()
crop = image[2:6, 3:9]
small = image[::2, ::2]
red = image[:, :, 0]
planar = image.permute(2, 0, 1)
mirrored = image.flip(1)
by_index = image[:, list(range(WIDTH - 1, -1, -1))]

show("the picture", image)
show("mirrored", mirrored)
show("every other pixel", small)

for name in ("crop", "small", "red", "planar", "mirrored", "by_index"):
    describe(name, globals()[name], image)
print("A flip would need a stride of -3; there is none, so it copies.")

crop.fill_(0)
print("\nAfter crop.fill_(0) the picture itself has a hole; the mirrored copy has not:")
show("the picture", image)
print("brightest pixel: picture", image.max().item(), " mirrored", mirrored.max().item())
