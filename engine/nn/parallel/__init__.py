"""Modules replicated over devices or processes. With one device and one process they only call the
module."""

from engine.nn.parallel.data_parallel import DataParallel
from engine.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
