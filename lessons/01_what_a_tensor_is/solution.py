"""24 bytes are 12 numbers of 2 bytes; 12 = 2 * 2 * 3."""

import engine

x = engine.zeros(2, 2, 3, dtype=engine.int16)

print(x.shape, x.dtype, x.untyped_storage().nbytes(), "bytes")
