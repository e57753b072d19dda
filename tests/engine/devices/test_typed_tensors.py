"""FloatTensor and the other types, Variable, Tensor.type and Tensor.new."""

import pytest

import engine

CASES = {
    "sizes": lambda t: t.FloatTensor(2, 3).shape == (2, 3),
    "no arguments": lambda t: t.LongTensor().numel() == 0,
    "a sequence": lambda t: t.FloatTensor([1, 2]).tolist() == [1.0, 2.0],
    "truncates": lambda t: t.LongTensor([1.7]).tolist() == [1],
    "dtype": lambda t: t.HalfTensor(1).dtype is t.float16,
    "instance": lambda t: isinstance(t.ones(2), t.FloatTensor),
    "not an instance": lambda t: not isinstance(t.ones(2), t.LongTensor),
    "shares": lambda t: (x := t.ones(2)).data_ptr() == t.FloatTensor(x).data_ptr(),
    "type by class": lambda t: t.ones(2).type(t.LongTensor).dtype is t.int64,
    "type by name": lambda t: t.ones(2).type("torch.DoubleTensor").dtype is t.float64,
    "new sizes": lambda t: t.ones(2).long().new(3).dtype is t.int64,
    "new data": lambda t: t.ones(2).new([1, 2]).tolist() == [1.0, 2.0],
    "new_zeros": lambda t: t.ones(2).new_zeros(2, requires_grad=True).requires_grad,
    "new_full": lambda t: t.ones(2).new_full((2,), 3, requires_grad=True).tolist() == [3, 3],
    "variable": lambda t: t.autograd.Variable(t.ones(2), requires_grad=True).is_leaf,
    "variable of": lambda t: isinstance(t.ones(2), t.autograd.Variable),
    "is_nonzero": lambda t: t.tensor(True).is_nonzero(),
    "frombuffer": lambda t: (
        t.frombuffer(bytearray(b"abcd"), dtype=t.uint8, count=2, offset=1).tolist() == [98, 99]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    assert CASES[name](engine)


@pytest.mark.parametrize("name", CASES)
def test_torch_agrees(name):
    assert CASES[name](pytest.importorskip("torch"))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda t: t.FloatTensor(t.ones(2).long()), TypeError),
        (lambda t: t.ByteTensor([300]), RuntimeError),
        (lambda t: t.set_default_tensor_type("torch.cuda.FloatTensor"), TypeError),
        (lambda t: t.set_default_tensor_type("torch.LongTensor"), TypeError),
        (lambda t: t.autograd.Variable([1]), TypeError),
        (lambda t: t.frombuffer(bytearray(3), dtype=t.int16), ValueError),
        (lambda t: t.frombuffer(bytearray(4), dtype=t.int16, count=3), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call(engine)


def test_default_tensor_type():
    try:
        engine.set_default_tensor_type("torch.DoubleTensor")
        assert engine.ones(1).dtype is engine.float64
    finally:
        engine.set_default_tensor_type(engine.FloatTensor)
    assert engine.ones(1).dtype is engine.float32
