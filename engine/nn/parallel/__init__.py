"""Modules replicated over devices or processes. With one device and one process they only call the
module."""

from engine.nn.parallel.data_parallel import DataParallel
from engine.nn.parallel.distributed import DistributedDataParallel
from engine.unsupported import module_getattr

_REFUSED = "gather parallel_apply replicate scatter"
__all__ = ["DataParallel", "DistributedDataParallel", *_REFUSED.split()]
__getattr__ = module_getattr(
    "nn.parallel",
    _REFUSED,
    "modules run on one device; pass the inputs to the module itself",
    globals(),
)
