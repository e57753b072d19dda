"""Embedding and EmbeddingBag: look-ups in a learned table."""

from __future__ import annotations

from typing import Any, TypeVar

from engine.autograd.grad_mode import no_grad
from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.utils import new_parameter
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

__all__ = ["Embedding", "EmbeddingBag"]

E = TypeVar("E", bound="_Table")


class _Table(Module):
    """The table: a row for every index; the row of `padding_idx` is initially zero."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Any

    def _set_up(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
        name: str,
    ) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and padding_idx != 0:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"{name} must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = new_parameter((num_embeddings, embedding_dim), device, dtype)
            if freeze:
                self.weight.requires_grad_(False)
            self.reset_parameters()
            return
        if tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise AssertionError(
                "Shape of weight does not match num_embeddings and embedding_dim: "
                f"{tuple(weight.shape)}, ({num_embeddings}, {embedding_dim})"
            )
        self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the table from the normal distribution, and set the row of `padding_idx` to zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _of(cls: type[E], embeddings: Tensor, **options: Any) -> E:
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return cls(*embeddings.shape, _weight=embeddings, **options)


class Embedding(_Table):
    """Looks up the row of a table for every index.

    Shape: that of the indices, with a dimension `embedding_dim` appended. The row of `padding_idx` gets no
    gradient; with `max_norm` a look-up first rescales longer rows.

    >>> import engine
    >>> table = Embedding.from_pretrained(engine.tensor([[1., 2.], [3., 4.]]))
    >>> table(engine.tensor([1]))
    tensor([[3., 4.]])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        size = (num_embeddings, embedding_dim)
        self._set_up(*size, padding_idx, _weight, _freeze, device, dtype, "Padding_idx")

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + ", sparse=True" * (self.sparse is not False)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Create an Embedding over an existing table; `freeze`: the table is not learned."""
        return cls._of(
            embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """Computes the sums, means or maxima of bags of a table's rows, without copying the rows.

    Shape: (B, N) indices give (B, embedding_dim); for (N) indices, bags start at `offsets`.

    >>> import engine
    >>> bags = EmbeddingBag.from_pretrained(engine.tensor([[1., 2.], [3., 4.]]), mode="sum")
    >>> bags(engine.tensor([[0, 1]]))
    tensor([[4., 6.]])
    """

    __constants__ = (
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        size = (num_embeddings, embedding_dim)
        self._set_up(*size, padding_idx, _weight, False, device, dtype, "padding_idx")

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Create an EmbeddingBag over an existing table; `freeze`: the table is not learned."""
        bag = cls._of(
            embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag
