"""wide shows each row's mean in every cell, over three numbers; centred is x without them."""

import engine

x = engine.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0], [6.0, 0.0, 0.0]])

# TODO: the means of the rows, read as a (3, 3) block.
wide = x.mean(1)
centred = x - wide

print(wide)
print(centred)
print("sums of the rows", centred.sum(1))
