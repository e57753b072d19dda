"""Normalisation with running statistics: BatchNorm and InstanceNorm, and their lazy variants."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from engine.creation import ones, tensor, zeros
from engine.dtypes import int64
from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.lazy import LazyModule
from engine.nn.modules.utils import new_parameter, weight_and_bias
from engine.nn.parameter import UninitializedBuffer, UninitializedParameter
from engine.tensor import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """The parameters and the running statistics. Version 2 has `num_batches_tracked`."""

    _version = 2
    __constants__ = ("track_running_stats", "momentum", "eps", "num_features", "affine")

    ranks: ClassVar[tuple[int, ...]]  # numbers of dimensions that an input may have
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, has_parameter in (("weight", affine), ("bias", affine and bias)):
            parameter = new_parameter(num_features, device, dtype) if has_parameter else None
            self.register_parameter(name, parameter)
        self._set_up_statistics(num_features, device, dtype)
        self.reset_parameters()

    def _set_up_statistics(self, num_features: int, device: Any, dtype: Any) -> None:
        mean = var = count = None
        if self.track_running_stats:
            mean = zeros(num_features, device=device, dtype=dtype)
            var = ones(num_features, device=device, dtype=dtype)
            count = tensor(0, dtype=int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Reset the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight 1, bias 0, and reset the running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            expected = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=int64) if count is None or count.is_meta else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in self.ranks:
            self._check_input_dim(input)
        buffers = self._buffers
        mean, var = buffers.get("running_mean"), buffers.get("running_var")
        training = self.training
        momentum = 0.0 if self.momentum is None else self.momentum
        if training:
            if not self.track_running_stats:
                mean = var = None
            elif (count := buffers.get("num_batches_tracked")) is not None:
                count.add_(1)
                if self.momentum is None:  # the mean over all batches so far
                    momentum = 1.0 / float(count)
        elif mean is None and var is None:
            training = True
        weight, bias = weight_and_bias(self)
        return F.batch_norm(input, mean, var, weight, bias, training, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises every channel of (N, C) or (N, C, L) over the batch; then weight and bias.

    Formula: out = (x - mean) / sqrt(var + eps) * weight + bias, var without Bessel's correction.
    Training uses the batch's mean and variance and updates the running ones with `momentum` (None: they
    are means over all batches); evaluation uses the running ones.

    >>> import engine
    >>> BatchNorm1d(1)(engine.tensor([[1.], [3.]])).detach()
    tensor([[-1.0000],
            [ 1.0000]])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises every channel of (N, C, H, W) over the batch and all positions; see BatchNorm1d."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises every channel of (N, C, D, H, W) over the batch and all positions; see BatchNorm1d."""

    ranks = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = self.ranks[0]  # the number of dimensions without a batch
        channels = input.size(input.dim() - single)
        if channels != self.num_features:
            dim = input.dim() - single
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == single:
            return self._normalised(input.unsqueeze(0)).squeeze(0)
        return self._normalised(input)

    def _normalised(self, input: Tensor) -> Tensor:
        by_input = self.training or not self.track_running_stats
        weight, bias = weight_and_bias(self)
        mean, var = self.running_mean, self.running_var
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(input, mean, var, weight, bias, by_input, momentum, self.eps)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = [n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if names:
                quoted = " and ".join(f'"{prefix}{name}"' for name in names)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {quoted} for {type(self).__name__} with "
                    "track_running_stats=False."
                )
                for name in names:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, L) or (C, L) separately.

    >>> import engine
    >>> InstanceNorm1d(1, eps=0.)(engine.tensor([[[1., 3.]]]))
    tensor([[[-1.,  1.]]])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, H, W) or (C, H, W) separately."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises every channel of every sample of (N, C, D, H, W) or (C, D, H, W) separately."""

    ranks = (4, 5)


# ---- lazy variants, which infer num_features from the first input


class _LazyNormBase(LazyModule, _NormBase):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Reset parameters and statistics, once they have a size."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Allocate parameters and statistics in the size of the first input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for name in ("weight", "bias", "running_mean", "running_var"):
            waiting = getattr(self, name)
            if waiting is not None:
                waiting.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A BatchNorm1d that infers `num_features` from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A BatchNorm2d that infers `num_features` from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A BatchNorm3d that infers `num_features` from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An InstanceNorm1d that infers `num_features` from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An InstanceNorm2d that infers `num_features` from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An InstanceNorm3d that infers `num_features` from its first input."""

    cls_to_become = InstanceNorm3d


class SyncBatchNorm(_BatchNorm):
    """BatchNorm with the statistics of all processes of a group, which is one process here.

    Inputs have 2 dimensions or more.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    ranks = tuple(range(2, 65))

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return the module with a SyncBatchNorm of the same parameters in place of each BatchNorm."""
        result = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            sync = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for table in ("_parameters", "_buffers"):
                getattr(sync, table).update(getattr(module, table))
            sync.training = module.training
            result = sync
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
