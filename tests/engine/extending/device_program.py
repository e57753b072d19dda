"""Uses the device of toy_device.c, whose library is the argument: test_devices.py runs it in a separate process."""

import ctypes
import pickle
import sys

import pytest

import engine

library = ctypes.CDLL(sys.argv[1])


def fails(kind, text, function, *args, **options):
    with pytest.raises(kind, match=text):
        function(*args, **options)


fails(
    RuntimeError,
    "expected cpu or meta or opencl, optionally with :index, got 'toy'",
    engine.device,
    "toy",
)
assert library.register_toy(b"toy") == 2
assert library.register_toy(b"toy") == -1  # the name is taken
assert library.register_toy(b"other") == 3
assert library.register_toy(b"third") == -1
fails(RuntimeError, "expected cpu or meta or toy or other or opencl, ", engine.device, "third")

# names
toy = engine.device("toy")
assert (toy.type, toy.index, str(toy)) == ("toy", None, "toy")
assert engine.device("toy:0") == engine.device("toy", 0)
assert pickle.loads(pickle.dumps(toy)) == toy

# there and back
x = engine.arange(6.0).reshape(2, 3)
y = x.to("toy")
assert y.device == engine.device("toy:0")
assert str(y.device) == "toy:0"
assert y.untyped_storage().device == y.device
assert not y.is_cpu
assert not y.is_meta
assert y.cpu().device == engine.device("cpu")
assert y.cpu().tolist() == x.tolist()
assert y.tolist() == x.tolist()
assert y[1, 2].item() == 5
assert y.to("other").tolist() == x.tolist()
assert "device='toy:0'" in repr(y)
assert "5." in repr(y)
assert y.t().tolist() == x.t().tolist()
fails(TypeError, "Use Tensor.cpu\\(\\) to copy the tensor to host memory first", y.numpy)
fails(BufferError, "the memory is on toy:0", y.__dlpack__)
assert y.untyped_storage().tolist() == x.untyped_storage().tolist()
fails(RuntimeError, "there is no toy:1; the number of toy devices is 1", x.to, "toy:1")
fails(RuntimeError, "on the same device|cpu|toy", engine.add, x, y)

# operators: views and structured ones, out= and in-place forms, factories, gradients
assert (y * 2 + 1).device == y.device
assert (y * 2 + 1).tolist() == (x * 2 + 1).tolist()
assert y.sum(0).device == y.device
assert y.sum(0).tolist() == [3, 5, 7]
values, indices = y.max(1)
assert values.device == indices.device == y.device
assert indices.tolist() == [2, 2]
assert engine.cat([y, y]).softmax(1).tolist() == engine.cat([x, x]).softmax(1).tolist()
out = engine.empty(0, device="toy")
engine.sum(y, 1, out=out)
assert out.tolist() == [3, 12]
y.add_(1)
assert y.tolist() == (x + 1).tolist()
assert engine.zeros(2, device=toy).tolist() == [0, 0]
assert engine.ones_like(y).device == y.device
w = engine.ones(3, device="toy", requires_grad=True)
(y @ w).sum().backward()
assert w.grad.device == w.device
assert w.grad.tolist() == (x + 1).sum(0).tolist()
print("all of it holds")
