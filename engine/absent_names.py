"""Why public names of PyTorch are not here, and what to use: the text of the AttributeError.

tests/conformance/NAMES.md lists all of them. Each pattern (fnmatch) is a name with its module's, without "torch.".
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from engine._native.namespace import no_attribute

REASONS = {
    "it belongs to PyTorch's own runtime and compiler; compiled code is in jit": """
        AVG AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats
        Block BoolType BufferDict CallStack Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType
        ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext DictType
        DispatchKey DispatchKeySet EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FatalError FileCheck
        FloatType FunctionSchema FutureType Gradient Graph GraphExecutorState IODescriptor InferredType IntType
        InterfaceType JITException ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType
        NoopLogger NumberType OperatorInfo OptionalType PRIVATE_OPS ParameterDict PyObjectType PyTorchFile* RRefType
        SUM ScriptClass* ScriptDict* ScriptFunction ScriptList* ScriptMethod ScriptModule ScriptModuleSerializer
        ScriptObject* SerializationStorageContext StaticModule StringType SymBoolType SymIntType Tag TensorType
        ThroughputBenchmark TracingState TupleType Type USE_* UnionType Use Value autocast_*_nesting classproperty
        cpp import_ir_module* init_num_threads merge_type_from_type_comment monitor parse_ir parse_schema
        parse_type_comment prepare_multiprocessing_environment profiler_allow_* unify_type_list windows
        legacy_contiguous_format testing.FileCheck optim.Optimizer.Optimizer* optim.Optimizer.profile_hook_step
        nn.Module.T_destination nn.factory_kwargs native_norm slice_inverse Tensor.slice_inverse Storage
        StorageBase Tensor.index nn.functional.BroadcastingList? nn.functional.*_MODES
        nn.functional.*_notes nn.functional.assert_int_or_pair nn.functional.boolean_dispatch nn.functional.grad
        linalg.common_notes nn.functional.Tensor fft.Tensor autograd.NestedIOFunction
        autograd.graph.region_activation_memory_budget autograd.graph.set_override_stale_capture_stream
        autograd.graph.set_warn_on_accumulate_grad_stream_mismatch utils.checkpoint.DefaultDeviceType
        utils.checkpoint.GraphExecGroup random.thread_safe_generator thread_safe_generator""",
    "it is part of normalization over several GPUs: use nn.BatchNorm1d, 2d or 3d": """
        batch_norm_*elemt batch_norm_*reduce batch_norm_*stats batch_norm_gather_stats_with_counts""",
    "the library or device is not here: call the function without its name": """
        cudnn_* miopen_* mkldnn_* fbgemm_* Tensor.to_mkldnn nn.Module.ipu
        nn.Module.xpu nn.Module.mtia get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_*_enabled
        set_autocast_gpu_dtype set_autocast_ipu_* set_autocast_xla_* Generator.graphsafe_* Generator.*_offset""",
    "the CPU has no queue; that of an OpenCL device is opencl.Stream, its events opencl.Event": """
        Event Stream DeviceObjType StreamObjType""",
    "quantized tensors are not here: compute in float32 or bfloat16": """
        QInt* QUInt* choose_qparams_optimized dequantize empty_quantized fused_moving_avg_* int_repr per_* q_* qint*
        qscheme quantization quantize_* quantized_* quint* ao nn.intrinsic nn.qat nn.quantizable nn.quantized
        Tensor.dequantize Tensor.int_repr Tensor.q_* Tensor.qscheme""",
    "the dtype is not here: use int8 to int64, uint8, float16, bfloat16, float32, float64 or complex": """
        bit bits* chalf complex32 float4_* float8_* int1 int2 int3 int4 int5 int6 int7 uint? uint16 uint32 uint64
        Tensor.chalf nn.functional.ScalingType nn.functional.SwizzleType nn.functional.*scaled*_mm""",
    "nested (jagged) tensors are not here: use padding with a mask": "jagged nested Tensor.to_padded_tensor",
    "the sparse layouts are COO and CSR: use one of these, and sparse.mm or sparse.addmm": """
        ccol_indices* row_indices* Tensor.ccol_indices Tensor.row_indices dsmm hsmm hspmm saddmm *sspaddmm""",
    "PyTorch has removed it too: calling it raises an error there": """
        *eig *lstsq matrix_rank *solve *symeig Tensor.reinforce Tensor.resize Tensor.resize_as Tensor.volatile""",
    "sizes are ints here, and functions run as Python: call the function itself": """
        func.functionalize func.debug_unwrap torch_version sym_constrain_range* sym_fresh_size""",
    "it sets up PyTorch's own compiler; compile here is over jit.script": """
        compiler.* library.triton_op library.wrap_triton jit.strict_fusion profiler.ExecutionTraceObserver
        profiler.DeviceType""",
    "calls do not look for __torch_function__: pass plain tensors": "nn.functional.handle_torch_function",
    "kernels do not look for it: write the operator with library.custom_op": """
        overrides.redispatch_function library.register_torch_dispatch library.fallthrough_kernel library.get_kernel
        library.register_autocast library.register_vmap""",
    "files do not hold code here: use modules, with save and load": "classes package",
    "data pipes are deprecated in PyTorch: use Dataset, IterableDataset and DataLoader": """
        utils.data.DFIterDataPipe utils.data.DataChunk utils.data.IterDataPipe utils.data.MapDataPipe
        utils.data.*_validation* utils.data.functional_datapipe utils.data.guaranteed_datapipes_determinism
        utils.data.non_deterministic""",
    "make another optimizer over the other parameters, and call its load_state_dict": """
        optim.swap_in_optimizer_params_and_state""",
    "use linalg.eigh, and take the first or last eigenvalues": "lobpcg",
    "use autograd.detect_anomaly": "utils.checkpoint.set_checkpoint_debug_enabled",
    "use indices(), values(), crow_indices() or col_indices(), and clone()": """
        indices_copy values_copy crow_indices_copy col_indices_copy""",
    "use scipy.stats.qmc.Sobol": "quasirandom",
    "use einops.rearrange": "func.rearrange",
    "use a loop over matmul, or bmm with padding": "nn.functional.grouped_mm",
    "gradients have the strides of the parameter: call contiguous() where others are wanted": """
        autograd.enforce_grad_layout_policy""",
    "a tensor that backward needs may not be written: clone it before the write": """
        autograd.graph.allow_mutation_on_saved_tensors""",
    "choose what is recomputed with autograd.graph.saved_tensors_hooks": """
        utils.checkpoint.CheckpointPolicy utils.checkpoint.SAC_IGNORED_OPS
        utils.checkpoint.SelectiveCheckpointContext utils.checkpoint.create_selective_checkpoint_contexts""",
}


def reason(full_name: str) -> str | None:
    """Return why a name is not here.

    >>> reason("quantize_per_tensor")
    'quantized tensors are not here: compute in float32 or bfloat16'
    """
    for text, patterns in REASONS.items():
        if any(fnmatchcase(full_name, pattern) for pattern in patterns.split()):
            return text
    return None


def absent(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module, named from the engine on, does not have."""
    error = no_attribute(module, name)
    text = reason(f"{module}.{name}".lstrip("."))
    return AttributeError(f"{error}: {text}") if text else error


def getattr_of(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that has no other."""

    def find(name: str) -> NoReturn:
        raise absent(module, name)

    return find
