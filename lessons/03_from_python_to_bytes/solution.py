"""A view is another TensorImpl over the Storage that is there."""

import engine

a = engine.zeros(24)

b = a.view(4, 6)
c = a
