"""The classic in-place bug: a skip connection added into a result that backward still needs."""

import engine


def block_with_bug(x, weight):
    hidden = (x @ weight).sigmoid()  # the node of sigmoid saves its result
    hidden += x  # and here it is overwritten
    return hidden


def block(x, weight):
    return (x @ weight).sigmoid() + x


def block_in_place(x, weight):
    """In place where it does no harm: a product's result is saved by nobody."""
    hidden = x @ weight
    hidden += x
    return hidden.sigmoid()


x = engine.linspace(-1, 1, 12).view(4, 3)
weight = engine.linspace(-0.5, 0.5, 9).view(3, 3).requires_grad_()

print("with the bug")
out = block_with_bug(x, weight)
print("   forward is right:", engine.allclose(out, block(x, weight)))
print("   out was made by", out.grad_fn.name(), "and has version", out._version)
try:
    out.sum().backward()
except RuntimeError as error:
    print("   backward:", str(error).split(" Hint")[0])
print("   weight.grad:", weight.grad)

print("corrected: a new tensor for the sum")
block(x, weight).sum().backward()
print("   weight.grad:", [[round(v, 4) for v in row] for row in weight.grad.tolist()])

print("another order, in place and allowed")
weight.grad = None
out = block_in_place(x, weight)
out.sum().backward()
print("   weight.grad:", [[round(v, 4) for v in row] for row in weight.grad.tolist()])

# What backward would have computed from the overwritten numbers, had nobody looked.
with engine.no_grad():
    hidden = (x @ weight).sigmoid()
    right = x.t() @ (hidden * (1 - hidden))
    hidden += x
    wrong = x.t() @ (hidden * (1 - hidden))
print("the bug, had it gone unnoticed")
print(f"   first gradient {wrong[0, 0].item():.4f} instead of {right[0, 0].item():.4f}")
