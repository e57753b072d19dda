"""The operator's keys, the highest first; the kernel of the last one computes."""

import engine
from engine.inspect import live

DEVICES = ("Meta", "PrivateUse2", "PrivateUse1", "OpenCL", "CPU")


def hops(name, *tensors):
    union = {key for t in tensors for key in live.key_set(t)} or {"CPU"}
    run = []
    for key in reversed(engine.ops.kernels(name)):
        if key in union:
            run.append(key)
            if key in DEVICES:
                break
    return run


x = engine.ones(2, 3)
m = engine.ones(2, 3, device="meta")
for name in ("neg", "neg_", "t"):
    print(f"{name:5}", hops(name, x), hops(name, m))
