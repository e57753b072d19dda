"""One published sample differentiated on both sides, and the first difference between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from bridge import Arguments, Missing, counterpart, to_torch
from checks import seed, widened
from compare import no_farther, value_difference
from tables import CHANCES, RANDOM

import engine

# An error this small relative to the largest element is rounding.
SCALE = {torch.float32: 1e-6, torch.float64: 1e-10, torch.complex128: 1e-10}


class GradientSample:
    """`difference()` runs the sample; afterwards `compared` is true if PyTorch differentiates it."""

    def __init__(self, op: Any, ours: Callable[..., Any], sample: Any) -> None:
        self.op = op
        self.ours = ours
        self.sample = sample
        self.compared = False
        self.name = ""  # "SinBackward0, PyTorch's is CosBackward0" where the grad_fn differ
        self.random = op.name in RANDOM or sample.kwargs.get(CHANCES.get(op.name, ""), 0) > 0

    def difference(self, twice: bool) -> str | None:
        """Return the first difference in words."""
        sample = self.sample
        arguments = ((sample.input, *sample.args), sample.kwargs)
        left, right = Arguments("torch"), Arguments("engine")
        their_args, their_kwargs = left.copy(arguments)
        our_args, our_kwargs = right.copy(arguments)
        pairs = [
            (a, b)
            for (original, a), (_, b) in zip(left.pairs, right.pairs, strict=True)
            if original.requires_grad
        ]
        for a, b in pairs:
            a.requires_grad_()
            b.requires_grad_()
        try:
            other, their_plain = self._call(self.op.op, torch, their_args, their_kwargs)
        except Exception:
            return None  # PyTorch itself refuses the sample
        their_outputs = [t for t in tensors(other) if t.requires_grad]
        if not pairs or not their_outputs:
            return None
        self.compared = True
        try:
            result, our_plain = self._call(self.ours, engine, our_args, our_kwargs)
        except Missing:
            raise
        except Exception as error:
            return f"raises {_line(error)}"
        self._names(their_plain, our_plain)
        flags = [t.requires_grad for t in tensors(other)]
        matches = [t.requires_grad for t in tensors(result)]
        if matches != flags:
            return f"results that require gradients: {matches}, PyTorch's {flags}"
        our_outputs = [t for t in tensors(result) if t.requires_grad]
        return self._gradients(pairs, their_outputs, our_outputs, twice)

    def _call(self, f: Any, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the results as PyTorch's own gradient tests take them, and as the operator gave them."""
        wrapper, process = self.op.gradcheck_wrapper, self.sample.output_process_fn_grad
        if module is engine:
            wrapper, process = counterpart(wrapper), counterpart(process)
        plain: list[Any] = []

        def called(*args: Any, **kwargs: Any) -> Any:
            plain.append(f(*args, **kwargs))
            return plain[0]

        seed()
        return process(wrapper(called, *args, **kwargs)), plain[0]

    def _names(self, theirs: Any, ours: Any) -> None:
        for a, b in zip(tensors(theirs), tensors(ours), strict=False):
            if a.grad_fn is None or b.grad_fn is None or a.grad_fn.name() == b.grad_fn.name():
                continue
            self.name = f"{b.grad_fn.name()}, PyTorch's is {a.grad_fn.name()}"
            return

    def _gradients(self, pairs: Any, theirs: Any, ours: Any, twice: bool) -> str | None:
        twice = twice and self.op.supports_gradgrad
        left, right = drawn(theirs)
        if twice:
            for t in (*left, *right):
                t.requires_grad_()
        inputs = list(zip(*pairs, strict=True))
        try:
            expected = torch.autograd.grad(
                theirs, inputs[0], left, create_graph=twice, allow_unused=True
            )
        except Exception:
            self.compared = False
            return None
        try:
            got = engine.autograd.grad(
                ours, inputs[1], right, create_graph=twice, allow_unused=True
            )
        except Exception as error:
            return f"backward raises {_line(error)}"
        for position, (a, b) in enumerate(zip(expected, got, strict=True)):
            result = self._compared(a, b)
            if result and not self._no_farther(position, len(expected), a, b, left):
                return f"gradient {position}: {result}"
        return self._second(inputs, left, right, expected, got) if twice else None

    def _no_farther(self, position: int, count: int, a: Any, b: Any, grads: Any) -> bool:
        """Return true if a float32 gradient is as near to PyTorch's in float64 as PyTorch's float32 one."""
        if a is None or b is None or a.dtype is not torch.float32:
            return False
        arguments = ((self.sample.input, *self.sample.args), self.sample.kwargs)
        wide = widened(arguments)
        pairs = zip(tensors([arguments[0], *arguments[1].values()]), tensors([wide[0], *wide[1].values()]),
                    strict=True)  # fmt: skip
        inputs = [own.requires_grad_() for original, own in pairs if original.requires_grad]
        if len(inputs) != count:
            return False
        outputs = [t for t in tensors(self._call(self.op.op, torch, *wide)[0]) if t.requires_grad]
        weights = [grad.detach().to(t.dtype) for grad, t in zip(grads, outputs, strict=True)]
        reference = torch.autograd.grad(outputs, inputs, weights, allow_unused=True)[position]
        return reference is not None and no_farther(reference, a.detach(), to_torch(b.detach()))

    def _second(self, inputs: Any, left: Any, right: Any, theirs: Any, ours: Any) -> str | None:
        saved = [
            (a, b)
            for a, b in zip(theirs, ours, strict=True)
            if a is not None and a.requires_grad and b is not None
        ]
        if not saved:
            return None
        for position, (_, b) in enumerate(saved):
            if not b.requires_grad:
                return f"gradient {position} of {len(saved)} has no graph"
        their_grads, our_grads = zip(*saved, strict=True)
        weights, our_weights = drawn(their_grads)
        try:
            expected = torch.autograd.grad(
                their_grads, (*inputs[0], *left), weights, allow_unused=True
            )
        except Exception:
            return None  # PyTorch has no second derivative here
        try:
            got = engine.autograd.grad(
                our_grads, (*inputs[1], *right), our_weights, allow_unused=True
            )
        except Exception as error:
            return f"second backward raises {_line(error)}"
        for position, (a, b) in enumerate(zip(expected, got, strict=True)):
            if (a is None) != (b is None):  # nothing is zero
                a = to_torch(b) * 0 if a is None else a
                b = engine.zeros_like(inputs[1][0]).new_zeros(tuple(a.shape)) if b is None else b
            if result := self._compared(a, b, lenient=True):
                return f"second derivative {position}: {result}"
        return None

    def _compared(self, a: Any, b: Any, lenient: bool = False) -> str | None:
        if a is None or b is None:
            return None if a is b else f"{_kind(b)}, PyTorch's is {_kind(a)}"
        if tuple(a.shape) != tuple(b.shape):
            return f"shape {tuple(b.shape)}, PyTorch's is {tuple(a.shape)}"
        b = to_torch(b.detach())
        a = a.detach().resolve_conj().resolve_neg()
        if not lenient and a.dtype is not b.dtype:
            return f"dtype {b.dtype}, PyTorch's is {a.dtype}"
        if self.random:
            return None
        result = value_difference(a, b)
        finite = bool(result) and bool(a.isfinite().all()) and bool(b.isfinite().all())
        if finite and float((a - b).abs().max()) <= SCALE.get(a.dtype, 1e-10) * float(
            a.abs().max()
        ):
            return None
        return result


def drawn(results: Any) -> tuple[list[torch.Tensor], list[Any]]:
    """Random tensors like the results, the same for both sides."""
    generator = torch.Generator().manual_seed(7)
    other = [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in results]
    return other, Arguments("engine").copy(other)


def tensors(value: Any) -> Iterator[Any]:
    """Yield all tensors of a result."""
    if isinstance(value, (torch.Tensor, engine.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def _kind(value: Any) -> str:
    return "none" if value is None else "a tensor"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"
