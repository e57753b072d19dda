"""Make x: three dimensions (none of size 1), int16, a block of exactly 24 bytes."""

import engine

# TODO: one line. This one has neither the dtype nor the dimensions.
x = engine.zeros(12)

print(x.shape, x.dtype, x.untyped_storage().nbytes(), "bytes")
