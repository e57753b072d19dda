"""Three names, two TensorImpls, one Storage of 96 bytes, one allocation."""

import engine

a = engine.zeros(24)

# TODO: b should be another tensor over the same Storage, c a second name of a.
b = None
c = None
