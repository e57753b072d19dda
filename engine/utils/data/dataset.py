"""Data sets: by index (Dataset), as a stream (IterableDataset), and compositions of them."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import engine

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by key: subclasses define `__getitem__`, and `__len__` for most samplers.

    An optional `__getitems__(indices)` fetches a batch at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__}: a Dataset must have __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples as a stream: subclasses define `__iter__`.

    Each worker of a DataLoader has its own copy, and selects its part by `get_worker_info()`.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: an IterableDataset must have __iter__")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of equal first size; sample i is the tuple of their rows i.

    >>> data = TensorDataset(engine.arange(3), engine.arange(3) * 10)
    >>> data[1]
    (tensor(1), tensor(10))
    """

    def __init__(self, *tensors: Any) -> None:
        sizes = [x.size(0) for x in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(
                f"TensorDataset: size mismatch between tensors: first sizes {sizes}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Data sets of equal length, combined: samples are tuples, or dicts for named data sets.

    >>> StackDataset(image=[1, 2], label=["a", "b"])[1]
    {'image': 2, 'label': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset: either positional or named data sets, "
                f"got {len(args)} and {len(kwargs)}"
            )
        self.datasets: Any = args or kwargs
        lengths = [len(d) for d in self._all()]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset: size mismatch between datasets: {lengths}")

    def _all(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = [_fetched(d, indices) for d in self._all()]
        rows = zip(*columns, strict=True)
        if isinstance(self.datasets, dict):
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(rows)

    def __len__(self) -> int:
        return len(next(iter(self._all())))


def _fetched(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    samples: list[Any] = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"StackDataset: the nested dataset's __getitems__ returned {len(samples)} samples "
            f"for {len(indices)} indices"
        )
    return samples


class ConcatDataset(Dataset[Any]):
    """A concatenation of data sets.

    >>> ConcatDataset([[1, 2], [3]])[2]
    3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        position = index + len(self) if index < 0 else index
        if position < 0:
            raise ValueError(
                f"ConcatDataset: absolute value of index {index} exceeds the length {len(self)}"
            )
        which = bisect.bisect_right(self.cumulative_sizes, position)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][position - before]


class ChainDataset(IterableDataset[Any]):
    """A concatenation of streams."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
                )
            yield dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[T_co]):
    """The samples of a data set at the given indices.

    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        indices = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return list(self.dataset.__getitems__(indices))
        return [self.dataset[i] for i in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None
) -> list[Subset[Any]]:
    """Split a data set into disjoint random Subsets of the given lengths, or of fractions whose sum is 1.

    The samples left over by rounding fractions go to the first Subsets, one each.

    Raises: ValueError for another sum than the data set's length.

    >>> [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25])]
    [6, 2, 2]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for index, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(
                    f"random_split: fraction at index {index} is not between 0 and 1, got {part}"
                )
        sizes = [math.floor(total * part) for part in lengths]
        for index in range(total - sum(sizes)):
            sizes[index % len(sizes)] += 1
        for index, size in enumerate(sizes):
            if size == 0:
                warnings.warn(
                    f"random_split: length of split at index {index} is 0: an empty dataset",
                    UserWarning,
                    stacklevel=2,
                )
    else:
        sizes = [int(part) for part in lengths]
    if sum(sizes) != total:
        raise ValueError(
            f"random_split: sum of input lengths ({sum(lengths)}) does not equal the length of the "
            f"input dataset ({total})"
        )
    order = engine.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
