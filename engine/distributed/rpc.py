"""Calls of functions in other processes, which are not there: as in a PyTorch that was built without them."""

from __future__ import annotations

from engine.unsupported import module_getattr


def is_available() -> bool:
    """Return False: processes do not call each other here.

    >>> is_available()
    False
    """
    return False


__getattr__ = module_getattr(
    "distributed.rpc",
    "BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo get_worker_info init_rpc remote "
    "rpc_async rpc_sync shutdown",
    "processes do not call each other here; start the script as one process, and call the function itself",
    globals(),
)
