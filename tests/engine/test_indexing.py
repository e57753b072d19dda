"""x[...] and x[...] = value against NumPy."""

import random

import numpy as np
import pytest

import engine
from engine.inspect import live


def random_index(rng, shape):
    """An index of basic items and at most one advanced one, and the same for NumPy."""
    items, advanced = [], rng.randrange(len(shape) + 1)
    for dim, size in enumerate(shape[: rng.randrange(len(shape) + 1)]):
        kind = rng.choice(["int", "slice", "slice", "none"])
        if dim == advanced:
            kind = rng.choice(["list", "mask", "array"])
        if kind == "none":
            items += [None, slice(None)]
        elif kind == "int":
            items.append(rng.randrange(-size, size))
        elif kind == "slice":
            ends = [None, *range(-size - 1, size + 2)]
            items.append(slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3])))
        elif kind == "list":
            items.append([rng.randrange(-size, size) for _ in range(rng.randrange(1, 4))])
        elif kind == "array":
            items.append(np.array([[rng.randrange(size)], [rng.randrange(size)]]))
        else:
            items.append(np.array([rng.random() < 0.5 for _ in range(size)]))
    if rng.random() < 0.3:
        items.append(...)
    return tuple(items)


def is_numpys(index):
    """NumPy counts an int next to an advanced index as advanced too; PyTorch does not."""
    advanced = any(isinstance(item, (list, np.ndarray)) for item in index)
    return not (advanced and any(isinstance(item, int) for item in index))


@pytest.mark.parametrize("seed", range(4))
def test_reading_and_writing_as_numpy(seed):
    rng = random.Random(seed)
    for _ in range(250):
        shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 5)))
        array = np.arange(np.prod(shape)).reshape(shape)
        index = random_index(rng, shape)
        if not is_numpys(index):
            continue
        x = engine.tensor(array)
        expected = array[index]
        assert x[index].tolist() == expected.tolist(), (shape, index)
        assert tuple(x[index].shape) == expected.shape, (shape, index)
        x[index], array[index] = 99, 99
        assert x.tolist() == array.tolist(), (shape, index)
        values = rng.randrange(100) + np.arange(expected.size).reshape(expected.shape)
        x[index] = engine.tensor(values)
        copied = array.copy()
        copied[index] = values
        unique = not any(isinstance(item, (list, np.ndarray)) for item in index)
        assert not unique or x.tolist() == copied.tolist(), (shape, index)


def test_every_item_of_a_basic_index_is_one_view_operator():
    x = engine.arange(24).view(2, 3, 4)
    before = live.tensor_id(engine.zeros(1))
    y = x[1, ::2, None, ..., 1:]
    assert live.tensor_id(y) == before + 4, "select, slice, unsqueeze, slice"
    assert live.tensor_id(x[:, :]) == before + 5, "a colon alone does nothing; x[:] is an alias"
    assert y.untyped_storage() == x.untyped_storage()
    assert (tuple(y.shape), y.stride(), y.storage_offset()) == ((2, 1, 3), (8, 4, 1), 13)


def test_bools_ellipsis_and_zero_dimensional_indices():
    x = engine.arange(6).view(2, 3)
    assert tuple(x[True].shape) == (1, 2, 3)
    assert tuple(x[False].shape) == (0, 2, 3)
    assert tuple(x[engine.tensor(True)].shape) == (1, 2, 3)
    assert x[engine.tensor(1)].tolist() == [3, 4, 5]
    assert x[np.int64(1), np.int32(2)].item() == 5
    assert engine.tensor(5)[...].item() == 5
    assert tuple(engine.tensor(5)[None].shape) == (1,)
    assert x[x > 3].tolist() == [4, 5]
    assert tuple(x[[]].shape) == (0, 3)
    assert x[range(1)].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("index", "error", "pattern"),
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 2"),
        ((0, 5), IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0), IndexError, "too many indices"),
        (2**70, ValueError, "Overflow when unpacking long long"),
        (1.0, IndexError, "float"),
        ("a", TypeError, "str"),
        ({1}, IndexError, "set"),
        ([0, 5], IndexError, "index 5 is out of bounds"),
        ([True, False, True], IndexError, r"mask \[3\]"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(1.5, None), TypeError, "float 1.5"),
    ],
)
def test_wrong_indices(index, error, pattern):
    x = engine.zeros(2, 3)
    with pytest.raises(error, match=pattern):
        x[index]
    with pytest.raises(error, match=pattern):
        x[index] = 1


def test_float_tensors_are_no_indices():
    with pytest.raises(IndexError, match="float32"):
        engine.zeros(3)[engine.tensor([0.5])]


@pytest.mark.parametrize("value", [[1, 2, 3], "a", np.arange(3)])
def test_values_that_cannot_be_assigned(value):
    with pytest.raises(TypeError, match="can't assign a"):
        engine.zeros(3)[0:3] = value


def test_assigning_broadcasts_and_converts():
    x = engine.zeros(2, 3, dtype=engine.int64)
    x[:, 1] = engine.tensor([1.9, 2.9])
    x[0] = engine.ones(1, 1, 3)
    assert x.tolist() == [[1, 1, 1], [0, 2, 0]]
    with pytest.raises(RuntimeError):
        x[0] = engine.zeros(4)
