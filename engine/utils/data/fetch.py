"""Fetching one batch from a data set, in the loader's process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class MapFetcher:
    """Fetches samples by key; `keys` is a list, or a single key without batching."""

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate = collate

    def fetch(self, keys: Any) -> Any:
        if not self.batched:
            return self.collate(self.dataset[keys])
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.collate(self.dataset.__getitems__(keys))
        return self.collate([self.dataset[key] for key in keys])


class StreamFetcher:
    """Fetches the next samples of a stream: one for each of `keys`. Raises StopIteration at its end."""

    def __init__(
        self, dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.stream = iter(dataset)
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last

    def fetch(self, keys: Any) -> Any:
        if not self.batched:
            return self.collate(next(self.stream))
        batch = list(itertools.islice(self.stream, len(keys)))
        if not batch or (self.drop_last and len(batch) < len(keys)):
            raise StopIteration
        return self.collate(batch)
