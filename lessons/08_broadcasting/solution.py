"""keepdim leaves a column, (3, 1); expand reads it as (3, 3) with a stride of zero."""

import engine

x = engine.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0], [6.0, 0.0, 0.0]])

wide = x.mean(1, keepdim=True).expand(3, 3)
centred = x - wide

print(wide)
print(centred)
print("sums of the rows", centred.sum(1))
