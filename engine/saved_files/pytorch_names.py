"""The names under which pickles of PyTorch refer to its classes and functions, and the engine's for them."""

from __future__ import annotations

import importlib
from typing import Any

from engine.layer_paths import PATHS

__all__ = ["engine_object", "pytorch_name"]

# Classes whose module has another name in PyTorch.
_HOMES = {name: f"torch.nn.modules.{module}" for name, module in PATHS.items()} | {
    name: home
    for home, names in {
        "torch._C": "Generator",
        "torch.storage": "TypedStorage UntypedStorage",
        "torch.nn.modules.linear": "NonDynamicallyQuantizableLinear",
        "torch.optim": "Adafactor Muon",
        "torch.optim.adamw": "AdamW",
        "torch.optim.lr_scheduler": "ChainedScheduler ConstantLR CosineAnnealingLR "
        "CosineAnnealingWarmRestarts CyclicLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR "
        "MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR",
    }.items()
    for name in names.split()
}
_FUNCTIONS = (
    "nn.functional",
    "",
    "special",
    "linalg",
    "fft",
)  # where PyTorch's functions are public
_PRIVATE = {
    "torch._C._nn": "engine.nn.functional",
    "torch._C._special": "engine.special",
    "torch._C._linalg": "engine.linalg",
    "torch._C._fft": "engine.fft",
}


def pytorch_name(value: Any) -> tuple[str, str]:
    """Return the module and the name of a class or function, in PyTorch if it is the engine's."""
    module, name = getattr(value, "__module__", None) or "", value.__qualname__
    if module != "engine" and not module.startswith("engine."):
        return module, name
    if isinstance(value, type):
        return _HOMES.get(name, "torch" + module.removeprefix("engine")), name
    for home in _FUNCTIONS:
        public = importlib.import_module(f"engine.{home}" if home else "engine")
        if getattr(public, name, None) is value:
            return f"torch.{home}" if home else "torch", name
    return "torch" + module.removeprefix("engine"), name


def engine_object(module: str, name: str) -> Any:
    """Return the engine's object for a name in PyTorch: in the module of that name, or in one that contains it.

    Raises: AttributeError if the engine does not have it.
    """
    if name == "NonDynamicallyQuantizableLinear":
        module = "torch.nn.modules.attention"
    home = _PRIVATE.get(module, "engine" + module.removeprefix("torch"))
    while home:
        try:
            return _attribute(importlib.import_module(home), name)
        except (ModuleNotFoundError, AttributeError):
            home = home.rpartition(".")[0]
    raise AttributeError(f"the engine has no {module}.{name}")


def _attribute(target: Any, path: str) -> Any:
    for name in path.split("."):
        target = getattr(target, name)
    return target
