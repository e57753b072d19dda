"""Modules replicated over devices or processes. There is one of each, so they forward to the module."""

from engine.nn.parallel.data_parallel import DataParallel
from engine.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
