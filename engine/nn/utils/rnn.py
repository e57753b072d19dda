"""Sequences of different lengths, padded to the longest or packed without padding.

A packed sequence stores the first elements of all sequences, then the second elements of those that have one,
and so on, longest sequence first; `batch_sizes` has the number of elements of each step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import engine
from engine.dtypes import int64
from engine.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """A packed batch of sequences: the result of `pack_padded_sequence`, an input of recurrent layers.

    `sorted_indices` is the order of the sequences by length, None if they were sorted already;
    `unsorted_indices` is its inverse.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. "
                "Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **options: Any) -> PackedSequence:
        """Convert the data to another dtype or device; without a change, return the sequence itself."""
        data = self.data.to(*args, **options)
        if data is self.data:
            return self
        moved = [
            index if index is None else index.to(data.device)
            for index in (self.sorted_indices, self.unsorted_indices)
        ]
        return PackedSequence(data, self.batch_sizes, *moved)

    def cpu(self) -> PackedSequence:
        """Move the data to main memory."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """Convert the data to float64."""
        return self.to(engine.float64)

    def float(self) -> PackedSequence:
        """Convert the data to float32."""
        return self.to(engine.float32)

    def half(self) -> PackedSequence:
        """Convert the data to float16."""
        return self.to(engine.float16)

    def long(self) -> PackedSequence:
        """Convert the data to int64."""
        return self.to(int64)

    def int(self) -> PackedSequence:
        """Convert the data to int32."""
        return self.to(engine.int32)

    def short(self) -> PackedSequence:
        """Convert the data to int16."""
        return self.to(engine.int16)

    def char(self) -> PackedSequence:
        """Convert the data to int8."""
        return self.to(engine.int8)

    def byte(self) -> PackedSequence:
        """Convert the data to uint8."""
        return self.to(engine.uint8)

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.device.type == "cuda"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse permutation; None for None.

    >>> invert_permutation(engine.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = engine.arange(permutation.numel(), dtype=permutation.dtype)
    inverse: Tensor = engine.empty_like(permutation).scatter_(0, permutation, positions)
    return inverse


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack (steps, batch, *), with `batch_first` (batch, steps, *).

    `lengths` are the numbers of steps of the sequences; with `enforce_sorted` they must not increase.
    Raises: RuntimeError for lengths that increase, are below 1, or are not one per sequence.
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=int64)
    else:
        lengths = engine.as_tensor(lengths, dtype=int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = engine.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(lengths, input)
    real = _real_steps(lengths, int(lengths[0]))
    rows = input[: real.shape[0]].flatten(0, 1)
    data = rows.index_select(0, real.flatten().nonzero().squeeze(1))
    return PackedSequence(data, real.sum(1), sorted_indices, None)


def _check_lengths(lengths: Tensor, input: Tensor) -> None:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.numel() != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} "
            f"(batch_size={input.shape[1]})"
        )
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if int(lengths[0]) > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]}, the number of steps, "
            f"but got {int(lengths[0])}"
        )


def _real_steps(lengths: Tensor, steps: int) -> Tensor:
    """Return a bool mask (steps, batch): True for the steps that a sequence has."""
    mask: Tensor = engine.arange(steps).unsqueeze(1) < lengths
    return mask


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the padded tensor of a packed sequence, and the lengths, in the order before packing.

    `total_length` pads to more steps than the longest sequence has.
    Raises: ValueError when it is less.
    """
    steps = sequence.batch_sizes.shape[0]
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, sizes = sequence.data, sequence.batch_sizes
    batch = int(sizes[0])
    lengths = (sizes.unsqueeze(1) > engine.arange(batch)).sum(0)
    positions = _real_steps(lengths, steps).flatten().nonzero().squeeze(1)
    padded = engine.full((steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype)
    padded = padded.index_copy(0, positions, data).unflatten(0, (steps, batch))
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | list[Tensor] | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences (length, *) of different lengths: (steps, batch, *) or (batch, steps, *).

    Raises: RuntimeError for an empty list, an argument that is not iterable, and a `padding_side` other than
    "left" and "right".

    >>> pad_sequence([engine.ones(3), engine.ones(1)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 0., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    listed = tuple(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    steps = max(sequence.shape[0] for sequence in listed)
    padded = []
    for sequence in listed:
        missing = steps - sequence.shape[0]
        if missing:
            filler = engine.full(
                (missing, *sequence.shape[1:]), padding_value, dtype=sequence.dtype
            )
            sequence = engine.cat(
                [filler, sequence] if padding_side == "left" else [sequence, filler]
            )
        padded.append(sequence)
    result: Tensor = engine.stack(padded, 0 if batch_first else 1)
    return result


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences of a padded tensor, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    pairs = zip(padded_sequences, lengths.tolist(), strict=True)
    return [sequence[:length] for sequence, length in pairs]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, *) of different lengths."""
    lengths = engine.as_tensor([sequence.shape[0] for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed sequence, in their original order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
