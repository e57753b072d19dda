"""Normalisations: layer, group, batch, instance, RMS and local response normalisation, and `normalize`."""

from __future__ import annotations

from collections.abc import Sequence

from engine._generated import ops
from engine.functional.norm import norm
from engine.tensor import Tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every row of the last dimensions by its mean and variance: `engine.layer_norm`.

    >>> import engine
    >>> layer_norm(engine.tensor([[1., 3.]]), (2,), eps=0.)
    tensor([[-1.,  1.]])
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide every row of the last dimensions by its root mean square.

    >>> import engine
    >>> rms_norm(engine.tensor([[1., 7.]]), (2,), eps=0.)
    tensor([[0.2000, 1.4000]])
    """
    return ops.rms_norm(input, normalized_shape, weight, eps)


def _check_batch(sizes: Sequence[int], input_size: object) -> None:
    """Raise ValueError for a single value per channel, which has no variance."""
    values = sizes[0]
    for size in sizes[2:]:
        values *= size
    if values == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input_size}"
        )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise groups of channels of every sample by their mean and variance.

    Raises: RuntimeError for fewer than two dimensions, ValueError when a group has one value only.

    >>> import engine
    >>> group_norm(engine.tensor([[1., 3., 5., 9.]]), 2, eps=0.)
    tensor([[-1.,  1., -1.,  1.]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"group_norm: expected at least 2 dimensions for the input, got {input.dim()}"
        )
    if num_groups > 0:
        sizes = [input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]]
        _check_batch(sizes, list(input.shape))
    return ops.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel by the batch's statistics (in training) or by the running ones.

    Memory: `running_mean` and `running_var` are updated in place when training.
    Raises: ValueError when training on one value per channel or with `eps` 0, and for a negative `eps`.

    >>> import engine
    >>> batch_norm(engine.tensor([[1.], [3.]]), None, None, training=True, eps=1e-12)
    tensor([[-1.],
            [ 1.]])
    """
    if (running_mean is None) != (running_var is None):
        raise ValueError("batch_norm: expected both running_mean and running_var, or neither")
    if training:
        _check_batch(input.shape, input.shape)
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return ops.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample by its own statistics, or by the running ones.

    Raises: ValueError for one spatial element with `use_input_stats`.

    >>> import engine
    >>> instance_norm(engine.tensor([[[1., 3.]]]), eps=0.)
    tensor([[[-1.,  1.]]])
    """
    if use_input_stats:
        elements = 1
        for size in input.shape[2:]:
            elements *= size
        if elements == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.shape}"
            )
    return ops.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide every element by a power of the mean square of its neighbouring channels.

    Formula: out = x / (k + alpha * mean of x * x over `size` channels around) ** beta
    Shape: (N, C, ...), as for the result; channels beyond the ends count as 0.
    Raises: ValueError for fewer than 3 dimensions.

    >>> import engine
    >>> local_response_norm(engine.tensor([[[1.], [1.]]]), 2, alpha=1., beta=1.)
    tensor([[[0.6667],
             [0.5000]]])
    """
    if input.dim() < 3:
        raise ValueError(f"local_response_norm: expected 3 or more dimensions, got {input.dim()}")
    if input.numel() == 0:
        return input
    around = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    padded = ops.pad(input * input, around)
    total = padded.unfold(1, size, 1).sum(-1)
    mean = total / size if input.is_floating_point() else total // size
    return input / (mean * alpha + k) ** beta


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | Sequence[int] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """Divide the vectors along `dim` by their p-norm, or by `eps` if the norm is smaller.

    Formula: out = x / max(norm(x, p, dim), eps)
    Shape: the input's.
    Memory: a new tensor.

    >>> import engine
    >>> normalize(engine.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    lengths = norm(input, p, dim, keepdim=True).clamp_min(eps)
    return ops.div(input, lengths) if out is None else ops.div_out(input, lengths, out=out)
