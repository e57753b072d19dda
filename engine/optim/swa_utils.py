"""Averages of a model's parameters over training: stochastic weight averaging and moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import engine
from engine.nn import Module
from engine.optim.lr_scheduler.base import LRScheduler, per_group
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
AverageOfMany = Callable[[list[Tensor], list[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function `decay` * average + (1 - decay) * parameter."""
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with engine.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return the function that computes the mean of all parameters so far."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with engine.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageOfMany:
    """Return the function of `get_ema_avg_fn` for lists, in place."""
    _check_decay(decay)

    def ema_update(averages: list[Tensor], currents: list[Tensor], _: Any) -> None:
        with engine.no_grad():
            for average, current in zip(averages, currents, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> AverageOfMany:
    """Return the function of `get_swa_avg_fn` for lists, in place."""

    def swa_update(averages: list[Tensor], currents: list[Tensor], num_averaged: Any) -> None:
        part = 1 / (float(num_averaged) + 1)
        with engine.no_grad():
            for average, current in zip(averages, currents, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(current, part)
                else:
                    average.copy_(average + (current - average) * part)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are the averages of the original's over all updates.

    `avg_fn(average, parameter, count)` returns the new average, `multi_avg_fn` updates lists of them in place;
    the default is the mean. With `use_buffers` buffers are averaged too, else copied.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: AverageOfMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", engine.tensor(0, dtype=engine.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the model's parameters to the average."""
        averages, currents = (
            [p.detach() for p in self._averaged(owner)] for owner in (self.module, model)
        )
        count = self.n_averaged
        if not count:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(current)
        elif self.avg_fn is None:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, count)
        else:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(self.avg_fn(average, current, count))
        if not self.use_buffers:
            for averaged_buffer, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                averaged_buffer.detach().copy_(buffer.detach())
        self.n_averaged += 1

    def _averaged(self, model: Any) -> Iterable[Tensor]:
        parameters: Iterable[Tensor] = model.parameters()
        return itertools.chain(parameters, model.buffers()) if self.use_buffers else parameters


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch normalizations from the inputs of `loader`."""
    normalization: Any = engine.nn.modules.batchnorm._BatchNorm
    layers: list[Any] = [module for module in model.modules() if isinstance(module, normalization)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the plain mean of all batches
    with engine.no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals each group's rate to `swa_lr` in `anneal_epochs` epochs, then keeps it constant."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """Return the fraction of the annealing that is complete at the fraction `t` of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, current = (
            self.anneal_func(max(0, min(1, t / max(1, self.anneal_epochs))))
            for t in (step - 1, step)
        )
        rates = []
        for group in self.optimizer.param_groups:
            last, rate = group["swa_lr"], group["lr"]
            # Recover the initial rate from that of the previous step.
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * current + first * (1 - current))
        return rates
