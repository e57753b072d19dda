"""Messages between a worker and the loader: a pickle, followed by the bytes of large tensors.

The worker writes a tensor's memory to the pipe, and the loader reads it into the memory of its tensor: only the pipe
copies it.
"""

from __future__ import annotations

import io
import pickle
from multiprocessing.connection import Connection
from typing import Any

import engine
from engine._native import ffi
from engine.storage import readable_address

_LARGE = 4096  # bytes; tensors of this size and above are sent separately


class Message:
    """A message to send: it is pickled on creation, so that later changes do not affect it."""

    def __init__(self, content: Any, owns_tensors: bool = False) -> None:
        """`owns_tensors`: the tensors of the content have no other holders and need no copy."""
        file = io.BytesIO()
        pickler = _Pickler(file, owns_tensors)
        pickler.dump(content)
        self.tensors = pickler.tensors
        kinds = [(tensor.dtype, tuple(tensor.shape)) for tensor in self.tensors]
        self.head = pickle.dumps((kinds, file.getvalue()))

    def send(self, connection: Connection) -> None:
        connection.send_bytes(self.head)
        for tensor in self.tensors:
            connection.send_bytes(_memory(tensor))


def receive(connection: Connection) -> Any:
    """Return the content of the next message. Raises: EOFError if the other side has ended."""
    kinds, body = pickle.loads(connection.recv_bytes())
    tensors = []
    for kind, sizes in kinds:
        tensor = engine.empty(sizes, dtype=kind)
        connection.recv_bytes_into(_memory(tensor))
        tensors.append(tensor)
    return _Unpickler(io.BytesIO(body), tensors).load()


def _memory(tensor: Any) -> memoryview:
    return memoryview(ffi.buffer(ffi.cast("char *", readable_address(tensor)), tensor.nbytes))


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, owns_tensors: bool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.owns_tensors = owns_tensors
        self.tensors: list[Any] = []
        self._positions: dict[int, int] = {}
        self._retained: list[Any] = []  # keeps ids from being reused

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not engine.Tensor or obj.is_meta or obj.nbytes < _LARGE:
            return None
        if obj.requires_grad:
            return None
        if id(obj) not in self._positions:
            self._positions[id(obj)] = len(self.tensors)
            self._retained.append(obj)
            dense = obj.contiguous()
            self.tensors.append(dense.clone() if dense is obj and not self.owns_tensors else dense)
        return self._positions[id(obj)]

    def reducer_override(self, obj: Any) -> Any:
        """Pickle a tensor with its own elements only: a row of the data, not its entire Storage."""
        if type(obj) is not engine.Tensor or obj.is_meta:
            return NotImplemented
        return obj.detach().clone().requires_grad_(obj.requires_grad).__reduce_ex__(2)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[Any]) -> None:
        super().__init__(file)
        self.tensors = tensors

    def persistent_load(self, pid: Any) -> Any:
        return self.tensors[pid]
