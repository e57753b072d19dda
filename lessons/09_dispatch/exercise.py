"""hops(name, *tensors): the keys whose kernels run, in order."""

import engine
from engine.inspect import live


def hops(name, *tensors):
    # TODO: which of these keys has a kernel? And the keys of the other tensors?
    return list(live.key_set(tensors[0]))


x = engine.ones(2, 3)
m = engine.ones(2, 3, device="meta")
for name in ("neg", "neg_", "t"):
    print(f"{name:5}", hops(name, x), hops(name, m))
