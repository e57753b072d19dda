"""Numbers that a dtype cannot hold: they are rejected with PyTorch's error, never wrapped silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import float32, int8, int32, int64, tensor, uint8

U = tensor([0, 3], dtype=uint8)
MASK = tensor([True, False])

REJECTED: dict[str, Callable[[], Any]] = {
    "tensor(-0.5)": lambda: tensor(-0.5, dtype=uint8),
    "tensor([-0.5])": lambda: tensor([-0.5], dtype=uint8),
    "tensor(-256)": lambda: tensor(-256, dtype=uint8),
    "tensor(256)": lambda: tensor(256, dtype=uint8),
    "tensor(255.5)": lambda: tensor(255.5, dtype=uint8),
    "tensor(-128.5)": lambda: tensor(-128.5, dtype=int8),
    "tensor(1e20)": lambda: tensor(1e20, dtype=int64),
    "tensor(inf)": lambda: tensor(float("inf"), dtype=int32),
    "tensor(nan)": lambda: tensor(float("nan"), dtype=int32),
    "full(-0.5)": lambda: engine.full((2,), -0.5, dtype=uint8),
    "new_full(-0.5)": lambda: U.new_full((2,), -0.5),
    "fill_(-0.5)": lambda: U.clone().fill_(-0.5),
    "fill_(-256)": lambda: U.clone().fill_(-256),
    "x[0] = -0.5": lambda: U.clone().__setitem__(0, -0.5),
    "masked_fill(-0.5)": lambda: U.masked_fill(MASK, -0.5),
    "clamp(-1, 300)": lambda: U.clamp(-1, 300),
    "clamp(max=300)": lambda: U.clamp(max=300),
    "clamp_(-1, 300)": lambda: U.clone().clamp_(-1, 300),
    "clamp_min(-300)": lambda: U.clamp_min(-300),
    "clamp_max(300)": lambda: U.clamp_max(300),
    "threshold(300)": lambda: engine.nn.functional.threshold(U, 300, 300),
    "hardtanh(200)": lambda: engine.nn.functional.hardtanh(U.to(int8), -1, 200),
    "where(300)": lambda: engine.where(MASK, U, 300),
    "where(300, x)": lambda: engine.where(MASK, 300, U),
    "add(alpha=300)": lambda: engine.add(U, U, alpha=300),
    "sub(alpha=-256)": lambda: engine.sub(U, U, alpha=-256),
    "add(float32, alpha=1e40)": lambda: engine.add(U.float(), U.float(), alpha=1e40),
    "addcmul(value=300)": lambda: engine.addcmul(U, U, U, value=300),
    "linspace(0, 300)": lambda: engine.linspace(0, 300, 4, dtype=uint8),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_number_out_of_range_is_rejected(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"value .*cannot be converted to type .* overflow"):
        REJECTED[name]()


TAKEN: dict[str, tuple[Callable[[], Any], Any]] = {
    "tensor(-1)": (lambda: tensor(-1, dtype=uint8), 255),
    "tensor(-255)": (lambda: tensor([-255], dtype=uint8), [1]),
    "tensor(3.7)": (lambda: tensor(3.7, dtype=int32), 3),
    "tensor(-0.5, int8)": (lambda: tensor(-0.5, dtype=int8), 0),
    "tensor(1e40, float32)": (lambda: tensor(1e40, dtype=float32), float("inf")),
    "fill_(-1)": (lambda: U.clone().fill_(-1), [255, 255]),
    "add(300)": (lambda: U + 300, [44, 47]),
    "x == 300": (lambda: U == 300, [False, False]),
    "add(alpha=-3)": (lambda: engine.add(U, U, alpha=-3), [0, 250]),
    "where(-3)": (lambda: engine.where(MASK, U, -3), [0, 253]),
    "clamp(0.5, 300)": (lambda: U.clamp(0.5, 300), [0.5, 3.0]),
    "linspace of nothing": (lambda: engine.linspace(0, 300, 0, dtype=uint8), []),
    "to(uint8)": (lambda: tensor([300, -1]).to(uint8), [44, 255]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_negative_integer_wraps_and_operands_are_cast(name: str) -> None:
    make, expected = TAKEN[name]
    assert make().tolist() == expected


@pytest.mark.parametrize(
    ("index", "error", "pattern"),
    [
        ("a", TypeError, "invalid data type 'str'"),
        (b"a", TypeError, "invalid data type 'bytes'"),
        ((0, "a"), TypeError, "invalid data type 'str'"),
        ((None, "a"), TypeError, "invalid data type 'str'"),
        (slice("a"), TypeError, "slice"),
        (slice(0, 2, -1), ValueError, "step must be greater than zero"),
        (2**70, ValueError, "Overflow when unpacking long long"),
        ((0, -(2**70)), ValueError, "Overflow when unpacking long long"),
        (1.5, IndexError, r"only integers, slices .* are valid indices"),
        (object(), IndexError, "valid indices"),
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
    ],
)
def test_an_index_of_the_wrong_kind_raises_pytorchs_class(
    index: Any, error: type[Exception], pattern: str
) -> None:
    x = engine.arange(12).view(3, 4)
    with pytest.raises(error, match=pattern):
        x[index]
    with pytest.raises(error, match=pattern):
        x[index] = 5


def test_messages_have_the_words_that_people_search_for() -> None:
    x = engine.ones(2, 3)
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size"):
        x.t().view(6)
    with pytest.raises(RuntimeError, match=r"shape '\[5\]' is invalid for input of size 6"):
        x.view(5)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        engine.ones(2, requires_grad=True).numpy()
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(2x3 and 2x3\)"):
        x @ x
