"""Why the engine prints something else than PyTorch for the examples of a docstring: name -> reason.

Listed so far: distributions, amp, func, profiler, utils, autograd, jit, multiprocessing, compiler, serialization,
random, testing and sparse tensors. `torch`, `Tensor`, `nn`, `optim`, `linalg`, `fft` and `special`
were not run to the end.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "torch.nn.utils.parametrizations.orthogonal": "missing: orthogonal parametrizations",
    "torch.compiler.set_default_backend": "missing: other backends than the compiler here",
    "torch.compiler.substitute_in_graph": "missing: functions that bytecode is compiled with",
    "torch.sparse.mm": "a sum is the Node of the product, SparseAddmmBackward0",
    "torch.sparse_bsc_tensor": "of the sparse layouts COO and CSR are here",
    "torch.sparse_bsr_tensor": "of the sparse layouts COO and CSR are here",
    "torch.sparse_csc_tensor": "of the sparse layouts COO and CSR are here",
    "torch.nn.parallel.DistributedDataParallel": "torch.distributed.autograd: processes do not communicate here",
    "torch.func.functionalize": "torch.fx is not part of the engine",
    "torch.func.rearrange": "missing: notation of dimensions by names",
    "torch.func.vmap": "the example prints a function: the engine's is written in Python",
    "torch.profiler.record_function": "missing: autograd.profiler, the older interface; profiler.profile is there",
    "torch.autograd.enforce_grad_layout_policy": "missing: gradients have the layout of the parameter",
    "torch.autograd.functional.jvp": "the last Node of the second result has the name of another view",
    "torch.autograd.forward_ad.dual_level": "missing: forward mode by dual numbers; func.jvp is there",
    "torch.autograd.forward_ad.make_dual": "missing: forward mode by dual numbers; func.jvp is there",
    "torch.autograd.forward_ad.unpack_dual": "missing: forward mode by dual numbers; func.jvp is there",
    "torch.autograd.graph.allow_mutation_on_saved_tensors": "missing: a version that changed is an error",
    "torch.autograd.graph.register_multi_grad_hook": "objects print the engine's module",
    "torch.serialization.skip_data": "missing: files without the bytes of storages",
    "torch.random.thread_safe_generator": "missing: generators of data loading threads",
}
