"""Description of a sparse tensor, whose bytes are those of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.inspect.history.sentences import tensor_words

if TYPE_CHECKING:
    from engine.inspect.history import History


def sparse_words(history: History, moment: int, tensor: Any) -> str:
    """Return the text that a view of bytes shows for a sparse tensor, "" for any other.

    It names the parts, with their sizes and bytes: each is a tensor that can be selected.
    """
    if not tensor.is_sparse:
        return ""
    layout = "CSR" if "SparseCsrCPU" in tensor.keys else "COO"
    parts = []
    for name, part in history.parts_of(tensor.id, moment):
        fact = history.tensor(part, moment)
        if fact is None:
            continue
        nbytes = fact.numel * fact.itemsize
        label = tensor_words(history, moment, part)
        parts.append(f"{name} {label}: {fact.dtype} {fact.sizes}, {nbytes} bytes")
    listed = "; ".join(parts) or "they were not recorded"
    return (
        f"{tensor_words(history, moment, tensor.id)} is sparse ({layout}) of sizes {tensor.sizes}: all its bytes "
        f"are in its parts. Pick one: {listed}."
    )
