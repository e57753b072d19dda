"""Optimizers with options, and what they are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPES = ((3, 4), (4,), (2, 1, 5), ())
STEPS = 20

# name -> (class, options)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd decay": ("SGD", {"lr": 0.1, "weight_decay": 0.02}),
    "sgd momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "sgd dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "sgd nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd maximize": ("SGD", {"lr": 0.1, "momentum": 0.5, "maximize": True}),
    "adam": ("Adam", {"lr": 0.01}),
    "adam betas": ("Adam", {"lr": 0.01, "betas": (0.3, 0.6), "eps": 1e-3}),
    "adam decay": ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    "adam amsgrad": ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    "adam maximize": ("Adam", {"lr": 0.01, "maximize": True}),
    "adam decoupled": ("Adam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "adamw": ("AdamW", {"lr": 0.01}),
    "adamw amsgrad": ("AdamW", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "centered": True, "weight_decay": 0.1}),
    "rmsprop momentum": ("RMSprop", {"momentum": 0.9, "centered": True, "maximize": True}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad decay": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
    "adagrad start": ("Adagrad", {"initial_accumulator_value": 0.5, "maximize": True}),
    "adadelta": ("Adadelta", {}),
    "adadelta decay": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    "adamax": ("Adamax", {"weight_decay": 0.1}),
    "nadam": ("NAdam", {"lr": 0.01}),
    "nadam decoupled": (
        "NAdam",
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1},
    ),
    "nadam decay": ("NAdam", {"weight_decay": 0.1, "maximize": True}),
    "radam": ("RAdam", {"lr": 0.01}),
    "radam decay": ("RAdam", {"weight_decay": 0.1, "betas": (0.8, 0.9)}),
    "radam decoupled": ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    "rprop": ("Rprop", {"lr": 0.01}),
    "rprop etas": ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.02), "maximize": True}),
    "asgd": ("ASGD", {"lr": 0.1, "lambd": 0.01, "t0": 5, "weight_decay": 0.1}),
}
# Those with a native step over all parameters.
FUSED = [name for name, (kind, _) in CASES.items() if kind in ("SGD", "Adam", "AdamW", "Adagrad")]


def start(seed: int = 0, dtype: str = "float64") -> list[np.ndarray]:
    """Return the parameters' first values."""
    draw = np.random.default_rng(seed)
    return [np.asarray(draw.standard_normal(shape), dtype) for shape in SHAPES]


def gradients(step: int, dtype: str = "float64") -> list[np.ndarray]:
    """Return a gradient for every parameter, some elements of which are zero."""
    draw = np.random.default_rng(1000 + step)
    matches = [np.asarray(draw.standard_normal(shape), dtype) for shape in SHAPES]
    return [np.where(np.abs(g) < 0.1, 0, g).astype(dtype) for g in matches]


def leaf(library: Any, values: np.ndarray) -> Any:
    """Return a parameter of `library` (engine or torch) with these values."""
    return library.tensor(
        values.tolist(), dtype=getattr(library, str(values.dtype))
    ).requires_grad_()


def set_gradients(library: Any, params: list[Any], step: int, dtype: str = "float64") -> None:
    for p, grad in zip(params, gradients(step, dtype), strict=True):
        p.grad = library.tensor(grad.tolist(), dtype=getattr(library, dtype))


def train(
    library: Any, kind: str, options: dict[str, Any], dtype: str = "float64", steps: int = STEPS
) -> tuple[Any, list[list[np.ndarray]]]:
    """Return the optimizer after `steps` steps, and the parameters after each."""
    params = [leaf(library, values) for values in start(dtype=dtype)]
    optimizer = getattr(library.optim, kind)(params, **options)
    seen = []
    for step in range(steps):
        set_gradients(library, params, step, dtype)
        optimizer.step()
        seen.append([np.array(p.tolist()) for p in params])
    return optimizer, seen
