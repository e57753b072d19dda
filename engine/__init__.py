"""Underhood's engine: tensors with PyTorch's names, built so that everything they do can be watched.

    import engine

    x = engine.arange(6.).view(2, 3)
    y = x.t() + 1

Functions and methods that call operators are installed here from tables: those generated from csrc/ops/*.yaml, and
those of engine/overloads.py.
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
from engine._native import fallback as _fallback  # noqa: F401  (installs the warning)
from engine._native import namespace as _namespace
from engine._native.errors import OutOfMemoryError as OutOfMemoryError
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

_SPARSE_METHODS = (
    "_nnz coalesce dense_dim is_coalesced resize_as_sparse_ smm sparse_dim to_dense to_sparse to_sparse_bsc "
    "to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values"
)
for _name in _SPARSE_METHODS.split():
    setattr(Tensor, _name, _overloads.Later(_name, f"engine.sparse.tensor_methods:{_name}"))

_ABSENT_METHODS = (
    "ccol_indices chalf dequantize eig index int_repr lstsq q_per_channel_axis q_per_channel_scales "
    "q_per_channel_zero_points q_scale q_zero_point qscheme reinforce resize resize_as row_indices "
    "slice_inverse solve sspaddmm symeig to_mkldnn to_padded_tensor volatile"
)
for _name in _ABSENT_METHODS.split():
    setattr(Tensor, _name, _overloads.Absent(_name))

# PyTorch's names that are also Python's: in this module they are dtypes.
globals().update(bool=_dtypes.bool_, int=_dtypes.int32, float=_dtypes.float32)

newaxis = None
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e

# Imported on first use, so that `import engine` stays light: the names of each module, then whole modules.
_NAMES = {
    "amp": "GradScaler",
    "amp.autocast_mode": "autocast clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
    "get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
    "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype "
    "set_autocast_enabled",
    "compiler": "compile",
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "accelerator": "AcceleratorError",
    "checks": "_check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type "
    "_check_value",
    "control_flow": "SymBool SymFloat SymInt cond sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt "
    "sym_sum while_loop",
    "default_device": "get_default_device set_default_device",
    "dlpack": "from_dlpack",
    "func.vmap": "vmap",
    "fake_quantize": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "files": "from_file",
    "function_forms": "alpha_dropout_ binomial compiled_with_cxx11_abi conv_tbc detach_ dropout_ "
    "feature_alpha_dropout_ feature_dropout_ get_device get_device_module get_file_path has_lapack has_mkl has_openmp "
    "has_spectral is_distributed is_inference is_neg is_nonzero is_same_size is_signed is_storage "
    "is_vulkan_available norm_except_dim range rrelu rrelu_ set_anomaly_enabled "
    "set_num_interop_threads to_dlpack typename",
    "futures": "Future",
    "jit": "fork wait",
    "modes": "are_deterministic_algorithms_enabled get_deterministic_debug_mode "
    "get_float32_matmul_precision get_num_interop_threads is_deterministic_algorithms_warn_only_enabled "
    "is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision "
    "set_flush_denormal set_warn_always use_deterministic_algorithms",
    "overrides": "DisableTorchFunction DisableTorchFunctionSubclass",
    "serialization": "load save",
    "sparse.construct": "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
    "sparse_csc_tensor sparse_csr_tensor",
    "sparse.tensor_methods": "resize_as_sparse_ smm spmm",
    "typed_storage": "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage "
    "DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage TypedStorage",
    "typed_tensors": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
    "IntTensor LongTensor ShortTensor set_default_tensor_type",
}
_MODULES = (
    "_C __config__ _dynamo _inductor _tensor_str accelerator amp autograd backends compiler cpu cuda distributed "
    "distributions export fft func futures fx hub inspect jit library linalg masked mps mtia multiprocessing nn onnx "
    "opencl ops optim overrides profiler return_types serialization signal sparse sparse_conv special testing types "
    "utils version xpu"
)
_LAZY = {
    **{_name: f"engine.{_home}" for _home, _names in _NAMES.items() for _name in _names.split()},
    **dict.fromkeys(_MODULES.split()),
}


if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from engine import (  # noqa: F401
        __config__,
        _dynamo,
        _inductor,
        accelerator,
        amp,
        autograd,
        backends,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        export,
        fft,
        func,
        fx,
        hub,
        inspect,
        jit,
        library,
        linalg,
        masked,
        mps,
        mtia,
        multiprocessing,
        nn,
        onnx,
        opencl,
        ops,
        optim,
        overrides,
        profiler,
        return_types,
        signal,
        sparse,
        sparse_conv,
        special,
        testing,
        types,
        utils,
        version,
        xpu,
    )
    from engine._generated.functions import *  # noqa: F403
    from engine.accelerator import AcceleratorError as AcceleratorError
    from engine.amp import GradScaler as GradScaler
    from engine.amp.autocast_mode import autocast as autocast
    from engine.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
    from engine.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
    from engine.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
    from engine.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
    from engine.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
    from engine.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
    from engine.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
    from engine.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
    from engine.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
    from engine.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
    from engine.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
    from engine.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
    from engine.autograd.anomaly_mode import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from engine.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
    from engine.checks import _check as _check
    from engine.checks import _check_index as _check_index
    from engine.checks import _check_is_size as _check_is_size
    from engine.checks import _check_not_implemented as _check_not_implemented
    from engine.checks import _check_tensor_all as _check_tensor_all
    from engine.checks import _check_type as _check_type
    from engine.checks import _check_value as _check_value
    from engine.compiler import compile as compile
    from engine.control_flow import SymBool as SymBool
    from engine.control_flow import SymFloat as SymFloat
    from engine.control_flow import SymInt as SymInt
    from engine.control_flow import cond as cond
    from engine.control_flow import sym_float as sym_float
    from engine.control_flow import sym_int as sym_int
    from engine.control_flow import sym_ite as sym_ite
    from engine.control_flow import sym_max as sym_max
    from engine.control_flow import sym_min as sym_min
    from engine.control_flow import sym_not as sym_not
    from engine.control_flow import sym_sqrt as sym_sqrt
    from engine.control_flow import sym_sum as sym_sum
    from engine.control_flow import while_loop as while_loop
    from engine.default_device import get_default_device as get_default_device
    from engine.default_device import set_default_device as set_default_device
    from engine.dlpack import from_dlpack as from_dlpack
    from engine.fake_quantize import (
        fake_quantize_per_channel_affine as fake_quantize_per_channel_affine,
    )
    from engine.fake_quantize import (
        fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine,
    )
    from engine.files import from_file as from_file
    from engine.func.vmap import vmap as vmap
    from engine.function_forms import alpha_dropout_ as alpha_dropout_
    from engine.function_forms import binomial as binomial
    from engine.function_forms import compiled_with_cxx11_abi as compiled_with_cxx11_abi
    from engine.function_forms import conv_tbc as conv_tbc
    from engine.function_forms import detach_ as detach_
    from engine.function_forms import dropout_ as dropout_
    from engine.function_forms import feature_alpha_dropout_ as feature_alpha_dropout_
    from engine.function_forms import feature_dropout_ as feature_dropout_
    from engine.function_forms import get_device as get_device
    from engine.function_forms import get_device_module as get_device_module
    from engine.function_forms import get_file_path as get_file_path
    from engine.function_forms import has_lapack as has_lapack
    from engine.function_forms import has_mkl as has_mkl
    from engine.function_forms import has_openmp as has_openmp
    from engine.function_forms import has_spectral as has_spectral
    from engine.function_forms import is_distributed as is_distributed
    from engine.function_forms import is_inference as is_inference
    from engine.function_forms import is_neg as is_neg
    from engine.function_forms import is_nonzero as is_nonzero
    from engine.function_forms import is_same_size as is_same_size
    from engine.function_forms import is_signed as is_signed
    from engine.function_forms import is_storage as is_storage
    from engine.function_forms import is_vulkan_available as is_vulkan_available
    from engine.function_forms import norm_except_dim as norm_except_dim
    from engine.function_forms import range as range
    from engine.function_forms import rrelu as rrelu
    from engine.function_forms import rrelu_ as rrelu_
    from engine.function_forms import set_anomaly_enabled as set_anomaly_enabled
    from engine.function_forms import set_num_interop_threads as set_num_interop_threads
    from engine.function_forms import to_dlpack as to_dlpack
    from engine.function_forms import typename as typename
    from engine.futures import Future as Future
    from engine.jit import fork as fork
    from engine.jit import wait as wait
    from engine.modes import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    )
    from engine.modes import get_deterministic_debug_mode as get_deterministic_debug_mode
    from engine.modes import get_float32_matmul_precision as get_float32_matmul_precision
    from engine.modes import get_num_interop_threads as get_num_interop_threads
    from engine.modes import (
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    )
    from engine.modes import is_warn_always_enabled as is_warn_always_enabled
    from engine.modes import set_deterministic_debug_mode as set_deterministic_debug_mode
    from engine.modes import set_float32_matmul_precision as set_float32_matmul_precision
    from engine.modes import set_flush_denormal as set_flush_denormal
    from engine.modes import set_warn_always as set_warn_always
    from engine.modes import use_deterministic_algorithms as use_deterministic_algorithms
    from engine.overrides import DisableTorchFunction as DisableTorchFunction
    from engine.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
    from engine.serialization import load as load
    from engine.serialization import save as save
    from engine.sparse.construct import sparse_bsc_tensor as sparse_bsc_tensor
    from engine.sparse.construct import sparse_bsr_tensor as sparse_bsr_tensor
    from engine.sparse.construct import sparse_compressed_tensor as sparse_compressed_tensor
    from engine.sparse.construct import sparse_coo_tensor as sparse_coo_tensor
    from engine.sparse.construct import sparse_csc_tensor as sparse_csc_tensor
    from engine.sparse.construct import sparse_csr_tensor as sparse_csr_tensor
    from engine.sparse.tensor_methods import resize_as_sparse_ as resize_as_sparse_
    from engine.sparse.tensor_methods import smm as smm
    from engine.sparse.tensor_methods import spmm as spmm
    from engine.typed_storage import BFloat16Storage as BFloat16Storage
    from engine.typed_storage import BoolStorage as BoolStorage
    from engine.typed_storage import ByteStorage as ByteStorage
    from engine.typed_storage import CharStorage as CharStorage
    from engine.typed_storage import ComplexDoubleStorage as ComplexDoubleStorage
    from engine.typed_storage import ComplexFloatStorage as ComplexFloatStorage
    from engine.typed_storage import DoubleStorage as DoubleStorage
    from engine.typed_storage import FloatStorage as FloatStorage
    from engine.typed_storage import HalfStorage as HalfStorage
    from engine.typed_storage import IntStorage as IntStorage
    from engine.typed_storage import LongStorage as LongStorage
    from engine.typed_storage import ShortStorage as ShortStorage
    from engine.typed_storage import TypedStorage as TypedStorage
    from engine.typed_tensors import BFloat16Tensor as BFloat16Tensor
    from engine.typed_tensors import BoolTensor as BoolTensor
    from engine.typed_tensors import ByteTensor as ByteTensor
    from engine.typed_tensors import CharTensor as CharTensor
    from engine.typed_tensors import DoubleTensor as DoubleTensor
    from engine.typed_tensors import FloatTensor as FloatTensor
    from engine.typed_tensors import HalfTensor as HalfTensor
    from engine.typed_tensors import IntTensor as IntTensor
    from engine.typed_tensors import LongTensor as LongTensor
    from engine.typed_tensors import ShortTensor as ShortTensor
    from engine.typed_tensors import set_default_tensor_type as set_default_tensor_type

else:

    def __getattr__(name: str) -> Any:
        if name in _functions:
            value = globals()[name] = _raw.find(_functions[name])
            return value
        if name.startswith("_foreach_"):
            value = globals()[name] = getattr(importlib.import_module("engine.foreach"), name)
            return value
        if name not in _LAZY:
            from engine.absent_names import absent

            raise absent("", name)
        home = _LAZY[name]
        if home is None:
            return importlib.import_module(f"engine.{name}")
        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value


def imported_as(name: str) -> Callable[[ModuleType], None]:
    """Print dtypes, sizes and classes under the name by which a program imports the engine.

    Imported as `torch`, the engine reports the version of PyTorch that it follows, because scripts compare it. Returns
    a function that renames the classes of a module that is imported later.
    """
    from engine import class_names, version

    if not isinstance(name, str):
        raise TypeError(f"imported_as: name must be a str, got {type(name).__name__}")
    _namespace.set_namespace(name)
    globals()["__name__"] = name
    if name == "torch":
        globals()["__version__"] = version.__version__ = f"{version.pytorch}+underhood"
    return class_names.name_classes(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions, *_LAZY} - {"annotations", "importlib", "math"})
