"""Embeddings: look-ups in tables of vectors."""

from __future__ import annotations

from engine._generated import ops
from engine.arguments import check_tensor
from engine.creation import arange
from engine.nn.functional.sizes import followed_size
from engine.tensor import Tensor

_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the row of `weight` for every index in `input`.

    Shape: that of `input`, with weight.size(1) appended.
    Memory: a new tensor. `max_norm` first rescales longer rows of `weight` in place.
    `padding_idx`, `scale_grad_by_freq` and `sparse` affect the gradient only.
    Raises: IndexError for an index out of range, AssertionError for such a `padding_idx`.

    >>> import engine
    >>> engine.nn.functional.embedding(engine.tensor([1, 0]), engine.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    check_tensor("embedding", "weight", weight)
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows and padding_idx != 0:
            raise AssertionError(
                f"embedding: padding_idx must be within num_embeddings: {padding_idx}, {rows}"
            )
        padding_idx += rows if padding_idx < 0 else 0
    if max_norm is not None:
        ops.embedding_renorm_(weight.detach(), input, max_norm, norm_type)  # not differentiated
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Reduce the rows of `weight` at the indices of each bag of `input`: `mode` is sum, mean or max.

    Shape: a 2-d `input` has one bag per row; in a 1-d `input` bags start at `offsets`.
    Memory: a new tensor; the rows are not copied.
    Raises: ValueError for arguments that exclude each other, IndexError for an index out of range.

    >>> import engine
    >>> w = engine.tensor([[1., 2.], [3., 4.]])
    >>> engine.nn.functional.embedding_bag(engine.tensor([[0, 1], [1, 1]]), w, mode="sum")
    tensor([[4., 6.],
            [6., 8.]])
    """
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights has the shape {tuple(per_sample_weights.shape)}, "
            f"but must have that of the input: {tuple(input.shape)}"
        )
    if weight.dim() != 2:
        raise ValueError(f"embedding_bag: weight must be 2-d, got {weight.dim()} dimensions")
    if mode not in _MODES:
        raise ValueError(f"embedding_bag: mode must be sum, mean or max, got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("embedding_bag: max goes neither with scale_grad_by_freq nor with sparse")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: 2-d input has one bag per row: offsets must be None")
        bags = arange(followed_size(input, 0), dtype=input.dtype, device=input.device)
        offsets = bags * followed_size(input, 1)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None or offsets.dim() != 1:
            raise ValueError("embedding_bag: 1-d input needs 1-d offsets")
    else:
        raise ValueError(f"embedding_bag: input must be 1-d or 2-d, got {input.dim()} dimensions")
    if max_norm is not None:
        ops.embedding_renorm_(weight.detach(), input, max_norm, norm_type)  # not differentiated
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights goes with mode='sum' only, got {mode!r}"
        )
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"embedding_bag: padding_idx must be within the number of embeddings: "
                f"{padding_idx}, {rows}"
            )
        padding_idx %= rows
    return ops.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
