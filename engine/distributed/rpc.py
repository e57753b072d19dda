"""PyTorch's `torch.distributed.rpc`, as in a PyTorch that was built without it: nothing is available."""

from __future__ import annotations

from engine.unsupported import module_getattr


def is_available() -> bool:
    """Return False: processes cannot call each other.

    >>> is_available()
    False
    """
    return False


__getattr__ = module_getattr(
    "distributed.rpc",
    "BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo get_worker_info init_rpc remote "
    "rpc_async rpc_sync shutdown",
    "processes cannot call each other; start the script as one process, and call the function itself",
    globals(),
)
