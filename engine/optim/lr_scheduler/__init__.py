"""Learning rate schedules: `scheduler.step()` after every epoch (or batch) sets the new rate.

Chainable schedules modify the optimizer's current rate, so that several can be combined.
"""

from engine.optim.lr_scheduler.base import LRScheduler
from engine.optim.lr_scheduler.composed import ChainedScheduler, SequentialLR
from engine.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from engine.optim.lr_scheduler.cyclic import CyclicLR
from engine.optim.lr_scheduler.factors import ConstantLR, ExponentialLR, LinearLR, PolynomialLR
from engine.optim.lr_scheduler.functions import LambdaLR, MultiplicativeLR
from engine.optim.lr_scheduler.milestones import MultiStepLR, StepLR
from engine.optim.lr_scheduler.one_cycle import OneCycleLR
from engine.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


class _LRScheduler(LRScheduler):
    """The name that older programs derive their schedules from."""
