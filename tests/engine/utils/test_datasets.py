"""Data sets, samplers and collation."""

import collections
import itertools

import numpy as np
import pytest

import engine
from engine.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)


class Squares(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index * index


class Stream(IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def test_tensor_dataset():
    data = TensorDataset(engine.arange(4), engine.arange(8).view(4, 2))
    assert len(data) == 4
    number, row = data[2]
    assert number.item() == 2
    assert row.tolist() == [4, 5]
    with pytest.raises(AssertionError, match=r"\[4, 3\]"):
        TensorDataset(engine.arange(4), engine.arange(3))


def test_stack_dataset():
    pairs = StackDataset(Squares(3), [7, 8, 9])
    assert pairs[1] == (1, 8)
    assert pairs.__getitems__([0, 2]) == [(0, 7), (4, 9)]
    named = StackDataset(a=Squares(3), b=Subset("xyz", [2, 1, 0]))
    assert named.__getitems__([1]) == [{"a": 1, "b": "y"}]
    with pytest.raises(ValueError, match="size mismatch"):
        StackDataset(Squares(3), Squares(2))
    with pytest.raises(ValueError, match="either"):
        StackDataset()


def test_concat_dataset():
    data = ConcatDataset([Squares(3), Squares(2), Squares(0), Squares(4)])
    assert [data[i] for i in range(len(data))] == [0, 1, 4, 0, 1, 0, 1, 4, 9]
    assert data[-1] == 9
    assert data.cumulative_sizes == [3, 5, 5, 9]
    with pytest.raises(ValueError, match="-10"):
        data[-10]
    with pytest.raises(AssertionError, match="empty"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        ConcatDataset([Stream(1)])
    assert isinstance(Squares(1) + Squares(1), ConcatDataset)


def test_chain_dataset():
    data = Stream(1, 2) + Stream(3)
    assert isinstance(data, ChainDataset)
    assert list(data) == [1, 2, 3]
    assert len(data) == 3
    with pytest.raises(AssertionError, match="Squares"):
        list(ChainDataset([Squares(2)]))


def test_what_a_subclass_has_to_write():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(IterableDataset())
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(Sampler())


def test_random_split():
    parts = random_split(range(10), [7, 3], engine.Generator().manual_seed(1))
    again = random_split(range(10), [7, 3], engine.Generator().manual_seed(1))
    assert [list(p) for p in parts] == [list(p) for p in again]
    assert sorted(itertools.chain(*parts)) == list(range(10))
    assert [len(p) for p in random_split(range(10), [0.34, 0.33, 0.33])] == [4, 3, 3]
    with pytest.raises(ValueError, match="12"):
        random_split(range(10), [7, 5])
    with pytest.raises(ValueError, match="index 0"):
        random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


def test_random_sampler():
    engine.manual_seed(0)
    first = list(RandomSampler(range(100)))
    second = list(RandomSampler(range(100)))
    engine.manual_seed(0)
    assert list(RandomSampler(range(100))) == first
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert sorted(RandomSampler(range(3), num_samples=6)) == [0, 0, 1, 1, 2, 2]
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=9000))
    assert len(drawn) == 9000
    assert min(collections.Counter(drawn).values()) > 2700
    assert list(RandomSampler(range(5), num_samples=0)) == []
    with pytest.raises(TypeError, match="bool"):
        RandomSampler(range(3), replacement=1)
    with pytest.raises(ValueError, match="-1"):
        RandomSampler(range(3), num_samples=-1)


def test_other_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    drawn = list(WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    counts = collections.Counter(drawn)
    assert counts[0] == 0
    assert 2.5 < counts[2] / counts[1] < 3.6
    assert sorted(WeightedRandomSampler([1.0, 1.0], 2, replacement=False)) == [0, 1]
    with pytest.raises(ValueError, match="positive"):
        WeightedRandomSampler([1.0], 0)
    with pytest.raises(ValueError, match="1d"):
        WeightedRandomSampler([[1.0]], 1)


@pytest.mark.parametrize(
    ("size", "drop", "expected"),
    [(2, False, [[0, 1], [2, 3], [4]]), (2, True, [[0, 1], [2, 3]]), (5, True, [[0, 1, 2, 3, 4]])],
)
def test_batch_sampler(size, drop, expected):
    batches = BatchSampler(SequentialSampler(range(5)), size, drop)
    assert list(batches) == expected
    assert len(batches) == len(expected)


@pytest.mark.parametrize("arguments", [(0, False), (-1, False), (True, False), (2, "no")])
def test_batch_sampler_refuses(arguments):
    with pytest.raises(ValueError, match="value"):
        BatchSampler(range(5), *arguments)


Point = collections.namedtuple("Point", "x y")


def test_default_collate():
    batch = default_collate([{"a": 1, "b": (1.5, "t")}, {"a": 2, "b": (2.5, "u")}])
    assert batch["a"].tolist() == [1, 2]
    assert batch["a"].dtype == engine.int64
    assert batch["b"][0].dtype == engine.float64
    assert batch["b"][1] == ("t", "u")
    points = default_collate([Point(1, engine.ones(2)), Point(2, engine.zeros(2))])
    assert isinstance(points, Point)
    assert points.y.tolist() == [[1, 1], [0, 0]]
    assert default_collate([np.ones((2, 3)), np.zeros((2, 3))]).shape == (2, 2, 3)
    assert default_collate([np.float32(1), np.float32(2)]).dtype == engine.float32
    assert default_collate([True, False]).dtype == engine.bool
    assert [x.tolist() for x in default_collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
    assert default_collate([b"x", b"y"]) == [b"x", b"y"]


def test_default_collate_refuses():
    with pytest.raises(TypeError, match="object"):
        default_collate([object()])
    with pytest.raises(TypeError, match="<U1"):
        default_collate([np.array(["x"])])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="stack"):
        default_collate([engine.ones(2), engine.ones(3)])


def test_default_convert():
    result = default_convert({"a": (1, np.ones(2)), "b": Point("t", [2.0])})
    assert result["a"][0] == 1
    assert result["a"][1].tolist() == [1, 1]
    assert result["b"] == Point("t", [2.0])
