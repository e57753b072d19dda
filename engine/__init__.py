"""Underhood's engine: tensors with PyTorch's names, built so that everything they do can be watched.

    import engine

    x = engine.arange(6.).view(2, 3)
    y = x.t() + 1

Functions and methods that call operators are installed here from tables: those generated from
csrc/ops/*.yaml, and engine/overloads.py's.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from engine import casts as _casts
from engine import creation as _creation
from engine import decompositions as _decompositions  # noqa: F401  (adds to the tables of overloads)
from engine import dtypes as _dtypes
from engine import factories as _factories  # noqa: F401  (adds to the tables of overloads)
from engine import functional as _functional  # noqa: F401  (adds to the tables of overloads)
from engine import overloads as _overloads
from engine import random_factories as _random_factories
from engine._generated import ops as _raw
from engine.autograd import tensor_methods as _differentiable
from engine.autograd.grad_mode import enable_grad as enable_grad
from engine.autograd.grad_mode import inference_mode as inference_mode
from engine.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from engine.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from engine.autograd.grad_mode import no_grad as no_grad
from engine.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from engine.display import get_printoptions as get_printoptions
from engine.display import printoptions as printoptions
from engine.display import set_printoptions as set_printoptions
from engine.dtypes import *  # noqa: F403
from engine.indexing import getitem as _getitem
from engine.indexing import setitem as _setitem
from engine.random import Generator as Generator
from engine.random import default_generator as default_generator
from engine.random import fork_rng as fork_rng
from engine.random import get_rng_state as get_rng_state
from engine.random import initial_seed as initial_seed
from engine.random import manual_seed as manual_seed
from engine.random import seed as seed
from engine.random import set_rng_state as set_rng_state
from engine.storage import UntypedStorage as UntypedStorage
from engine.tensor import Tensor as Tensor
from engine.threads import get_num_threads as get_num_threads
from engine.threads import set_num_threads as set_num_threads

__version__ = "0.1.0"

_functions: dict[str, Any] = dict(_raw.FUNCTIONS)
_methods: dict[str, Any] = dict(_raw.METHODS)
_overloads.install(_functions, _methods)
_methods.update(_casts.METHODS, **_random_factories.METHODS, **_differentiable.METHODS)
_methods.update(__getitem__=_getitem, __setitem__=_setitem)
for _module in (_creation, _random_factories):
    _functions.update({_name: getattr(_module, _name) for _name in _module.__all__})
for _name, _method in _methods.items():
    setattr(Tensor, _name, _overloads.Later(_name, _method) if type(_method) is str else _method)
globals().update(
    {_name: _function for _name, _function in _functions.items() if type(_function) is not str}
)

# PyTorch's names that are also Python's: in this module they are dtypes.
globals().update(bool=_dtypes.bool_, int=_dtypes.int32, float=_dtypes.float32)

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e

# Created or imported on first use, so that `import engine` stays light.
_LAZY = {
    "from_dlpack": "engine.dlpack",
    "is_anomaly_enabled": "engine.autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "engine.autograd.anomaly_mode",
    "save": "engine.serialization",
    "load": "engine.serialization",
    **dict.fromkeys(
        ("autograd", "backends", "fft", "inspect", "jit", "linalg", "masked", "nn", "ops", "optim")
    ),
    **dict.fromkeys(("return_types", "signal", "special", "utils")),
}


if TYPE_CHECKING:
    from engine import (  # noqa: F401
        autograd,
        backends,
        fft,
        inspect,
        jit,
        linalg,
        masked,
        nn,
        ops,
        optim,
        return_types,
        signal,
        special,
        utils,
    )
    from engine._generated.functions import *  # noqa: F403
    from engine.autograd.anomaly_mode import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from engine.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
    from engine.dlpack import from_dlpack as from_dlpack
    from engine.serialization import load as load
    from engine.serialization import save as save
else:

    def __getattr__(name: str) -> Any:
        if name in _functions:
            value = globals()[name] = _raw.find(_functions[name])
            return value
        if name not in _LAZY:
            raise AttributeError(f"module 'engine' has no attribute {name!r}")
        home = _LAZY[name]
        if home is None:
            return importlib.import_module(f"engine.{name}")
        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions, *_LAZY} - {"annotations", "importlib", "math"})
