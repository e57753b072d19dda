"""SparseConvTensor: the features of the active sites of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import engine
from engine.sparse_conv.library import operators
from engine.sparse_conv.rulebook import Rulebook
from engine.tensor import Tensor


class SparseConvTensor:
    """Features of active sites, one row each; every other cell of the grid is zero.

    `features` has the shape (sites, channels). `indices` (int32 or int64) has a row per site: its sample and a
    coordinate per dimension of `spatial_shape`. `rulebooks` are those that layers have built, by their `indice_key`;
    tensors that layers derive from this one share them.

    Raises: TypeError or ValueError for arguments that do not fit, also for duplicate sites; IndexError for a site
    outside of `batch_size` and `spatial_shape`.

    >>> import engine
    >>> from engine.sparse_conv import SparseConvTensor
    >>> x = SparseConvTensor(engine.ones(2, 1), engine.tensor([[0, 0, 1], [0, 2, 2]]), [3, 3], 1)
    >>> x.dense()[0, 0]
    tensor([[0., 1., 0.],
            [0., 0., 0.],
            [0., 0., 1.]])
    """

    def __init__(
        self, features: Tensor, indices: Tensor, spatial_shape: Sequence[int], batch_size: int
    ) -> None:
        for name, value in (("features", features), ("indices", indices)):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"SparseConvTensor: {name} must be a Tensor, got {type(value).__name__}"
                )
        if features.dim() != 2:
            raise ValueError(
                f"SparseConvTensor: features must have the shape (sites, channels), got {tuple(features.shape)}"
            )
        if indices.dtype not in (engine.int32, engine.int64):
            raise TypeError(
                f"SparseConvTensor: indices must be int32 or int64, got {str(indices.dtype).rpartition('.')[2]}"
            )
        self.features = features
        self.indices = indices
        self.spatial_shape = tuple(int(size) for size in spatial_shape)
        self.batch_size = batch_size
        self.rulebooks: dict[str, Rulebook] = {}
        operators().check_sites(indices, batch_size, list(self.spatial_shape))
        self._check_rows(features)

    def _check_rows(self, features: Tensor) -> None:
        if features.dim() != 2 or features.size(0) != self.indices.size(0):
            raise ValueError(
                f"SparseConvTensor: features need a row per site, got the shape {tuple(features.shape)} "
                f"for {self.indices.size(0)} sites"
            )

    @classmethod
    def from_dense(cls, dense: Tensor) -> SparseConvTensor:
        """Return the cells of a tensor of shape (batch, channels, *sizes) that are not zero in every channel."""
        if dense.dim() < 3:
            raise ValueError(
                f"from_dense: expected the shape (batch, channels, *sizes), got {tuple(dense.shape)}"
            )
        last = dense.movedim(1, -1)
        indices = (last != 0).any(-1).nonzero()
        return cls(last[tuple(indices.unbind(1))], indices, dense.shape[2:], dense.size(0))

    @property
    def channels(self) -> int:
        """The number of features of a site."""
        return self.features.size(1)

    @property
    def density(self) -> float:
        """The fraction of the cells that are active sites."""
        cells = self.batch_size
        for size in self.spatial_shape:
            cells *= size
        return self.indices.size(0) / cells

    def replace_feature(self, features: Tensor) -> SparseConvTensor:
        """Return a tensor of the same sites with other features, a row per site."""
        self._check_rows(features)
        return self._derive(features, self.indices, self.spatial_shape)

    def output(self, features: Tensor, rulebook: Rulebook) -> SparseConvTensor:
        """Return the tensor of a rulebook's output sites; it shares the cached rulebooks."""
        return self._derive(features, rulebook.out_indices, rulebook.out_shape)

    def _derive(
        self, features: Tensor, indices: Tensor, spatial_shape: tuple[int, ...]
    ) -> SparseConvTensor:
        derived = object.__new__(SparseConvTensor)
        derived.features, derived.indices = features, indices
        derived.spatial_shape, derived.batch_size = spatial_shape, self.batch_size
        derived.rulebooks = self.rulebooks
        return derived

    def dense(self) -> Tensor:
        """Return a tensor of shape (batch, channels, *spatial_shape), zero at the other cells."""
        cells = engine.zeros(
            self.batch_size, *self.spatial_shape, self.channels, dtype=self.features.dtype
        )
        filled = cells.index_put(tuple(self.indices.long().unbind(1)), self.features)
        return filled.movedim(-1, 1)

    def __repr__(self) -> str:
        return (
            f"SparseConvTensor({self.indices.size(0)} sites, {self.channels} channels, "
            f"spatial_shape={self.spatial_shape}, batch_size={self.batch_size})"
        )
