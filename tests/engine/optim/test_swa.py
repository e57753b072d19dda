"""Averages of a model over training."""

from __future__ import annotations

import math

import numpy as np
import pytest
from optim_cases import leaf, start

import engine
from engine import nn
from engine.optim import SGD, swa_utils


def updated(averaged: swa_utils.AveragedModel, model: nn.Module, values: list[float]) -> float:
    for value in values:
        with engine.no_grad():
            for p in model.parameters():
                p.fill_(value)
        averaged.update_parameters(model)
    return averaged.module.weight[0, 0].item()


def test_the_mean_of_all_and_moving_averages() -> None:
    model = nn.Linear(2, 2)
    mean = swa_utils.AveragedModel(model)
    assert updated(mean, model, [1.0, 2.0, 6.0]) == pytest.approx(3)
    assert mean.n_averaged.item() == 3
    assert mean(engine.ones(2)).tolist() == pytest.approx([9.0, 9.0])
    assert list(mean.state_dict()) == ["n_averaged", "module.weight", "module.bias"]
    for options in (
        {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
    ):
        moving = swa_utils.AveragedModel(model, **options)
        assert updated(moving, model, [1.0, 2.0, 6.0]) == pytest.approx(0.9 * 1.1 + 0.6)
    other = swa_utils.AveragedModel(model, avg_fn=swa_utils.get_swa_avg_fn())
    assert updated(other, model, [1.0, 2.0, 6.0]) == pytest.approx(3)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(model, avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError, match=r"Invalid decay value 1\.5"):
        swa_utils.get_ema_avg_fn(1.5)


def test_buffers_are_copied_or_averaged() -> None:
    model = nn.BatchNorm1d(1)
    for use, expected in ((False, 3.0), (True, 2.0)):
        averaged = swa_utils.AveragedModel(model, use_buffers=use)
        for value in (1.0, 3.0):
            model.running_mean.fill_(value)
            averaged.update_parameters(model)
        assert averaged.module.running_mean.item() == pytest.approx(expected)


def test_update_bn_takes_the_statistics_of_all_batches() -> None:
    engine.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)).eval()
    batches = [engine.randn(8, 3) + 5 for _ in range(4)]
    swa_utils.update_bn([(batch, 0) for batch in batches], model)
    means = np.mean([np.array(batch.tolist()).mean(0) for batch in batches], axis=0)
    np.testing.assert_allclose(model[0].running_mean.tolist(), means, rtol=1e-5)
    assert model[0].momentum == 0.1
    assert not model.training


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swalr(strategy: str) -> None:
    optimizer = SGD([leaf(engine, values) for values in start()], lr=0.5)
    schedule = swa_utils.SWALR(optimizer, 0.1, anneal_epochs=4, anneal_strategy=strategy)
    seen = []
    for _ in range(7):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    parts = [min(t, 4) / 4 for t in range(7)]
    done = parts if strategy == "linear" else [(1 - math.cos(math.pi * t)) / 2 for t in parts]
    assert seen == pytest.approx([0.1 * t + 0.5 * (1 - t) for t in done])
    with pytest.raises(ValueError, match="anneal_strategy must be one of"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="sine")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
