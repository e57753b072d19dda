"""Messages between a worker and the loader: pickles, with large tensors beside them as plain bytes.

A tensor's memory goes into the pipe from where it lies and comes out into the memory of the tensor
that the loader gets: nothing is copied on the way but by the pipe itself.
"""

from __future__ import annotations

import io
import pickle
from multiprocessing.connection import Connection
from typing import Any

import engine
from engine._native import ffi
from engine.storage import readable_address

_LARGE = 4096  # bytes from which a tensor is sent on its own


class Message:
    """A message that is ready to be sent: pickled when it was made, whatever changes afterwards."""

    def __init__(self, content: Any, ours: bool = False) -> None:
        """`ours`: the tensors of the content belong to nobody else, so that none has to be copied."""
        file = io.BytesIO()
        pickler = _Pickler(file, ours)
        pickler.dump(content)
        self.tensors = pickler.tensors
        kinds = [(tensor.dtype, tuple(tensor.shape)) for tensor in self.tensors]
        self.head = pickle.dumps((kinds, file.getvalue()))

    def send(self, connection: Connection) -> None:
        connection.send_bytes(self.head)
        for tensor in self.tensors:
            connection.send_bytes(_memory(tensor))


def receive(connection: Connection) -> Any:
    """The content of the next message. Raises: EOFError where the other side is gone."""
    kinds, body = pickle.loads(connection.recv_bytes())
    tensors = []
    for kind, sizes in kinds:
        made = engine.empty(sizes, dtype=kind)
        connection.recv_bytes_into(_memory(made))
        tensors.append(made)
    return _Unpickler(io.BytesIO(body), tensors).load()


def _memory(tensor: Any) -> memoryview:
    return memoryview(ffi.buffer(ffi.cast("char *", readable_address(tensor)), tensor.nbytes))


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, ours: bool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.ours = ours
        self.tensors: list[Any] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the id of one that was seen

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not engine.Tensor or obj.is_meta or obj.nbytes < _LARGE:
            return None
        if obj.requires_grad:
            return None
        if id(obj) not in self._places:
            self._places[id(obj)] = len(self.tensors)
            self._kept.append(obj)
            dense = obj.contiguous()
            self.tensors.append(dense.clone() if dense is obj and not self.ours else dense)
        return self._places[id(obj)]

    def reducer_override(self, obj: Any) -> Any:
        """A tensor goes with its own elements only: of a sample that is a row, not the whole data."""
        if type(obj) is not engine.Tensor or obj.is_meta:
            return NotImplemented
        return obj.detach().clone().requires_grad_(obj.requires_grad).__reduce_ex__(2)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tensors: list[Any]) -> None:
        super().__init__(file)
        self.tensors = tensors

    def persistent_load(self, pid: Any) -> Any:
        return self.tensors[pid]
