"""Random programs: views, writes in place, hooks and backwards in any order, the same for every module.

A program is a list of steps drawn from a seed. Every step works on a pool of tensors; its
outcome is a line: the class of its error, or its result. Two modules that behave the same keep the
same pool and write the same lines; the first line that differs names the step.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

from scenario_tools import plain

RECORDED = Path(__file__).with_name("recorded_programs.json")
STEPS = 30
MAX_TENSORS = 9  # tensors in the pool

UNARY = ("sin", "tanh", "sigmoid", "clone", "neg", "relu", "square", "exp", "abs", "cumsum")
VIEWS = ("select", "slice", "t", "view", "expand", "unsqueeze", "narrow", "detach", "diagonal",
         "squeeze", "view_as", "as_strided", "data")  # fmt: skip
PARTS = ("chunk", "unbind", "split", "tensor_split")
WRITES = ("add_", "mul_", "copy_", "zero_", "sin_", "tanh_", "sigmoid_", "setitem", "row", "fill_",
          "exp_", "neg_", "div_", "clamp_", "iadd", "masked_fill_")  # fmt: skip
KINDS = {
    "leaf": 2, "unary": 5, "binary": 5, "view": 8, "part": 2, "write": 8, "backward": 4, "grad": 2,
    "requires_grad_": 2, "retain_grad": 1, "hook": 2, "drop": 2, "detach_": 1, "reduce": 2,
    "zero_grad": 1, "index": 2, "cat": 1,
}  # fmt: skip


def program(seed: int) -> list[dict[str, Any]]:
    """Return the steps that belong to a seed; operands are numbers that the pool's size is taken of."""
    draw = random.Random(seed)
    steps = [{"kind": "leaf", "grad": True, "size": 2}]
    while len(steps) < STEPS:
        (kind,) = draw.choices(list(KINDS), list(KINDS.values()))
        steps.append(
            {
                "kind": kind,
                "grad": draw.random() < 0.7,
                "off": draw.random() < 0.15,  # under no_grad
                "keep": draw.random() < 0.6,
                "size": draw.randrange(3),
                "a": draw.randrange(1000),
                "b": draw.randrange(1000),
                "which": draw.randrange(1000),
            }
        )
    return steps


def log_of(m: Any, seed: int) -> list[Any]:
    """The lines of a program, up to its end."""
    pool: list[Any] = []
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in program(seed):
            lines.append(line_of(m, pool, step))
    return lines


def line_of(m: Any, pool: list[Any], step: dict[str, Any]) -> Any:
    try:
        with m.set_grad_enabled(not step.get("off", False)):
            result, output = do(m, pool, step)
        if result is None:
            return output
        flags = (result.requires_grad, result.is_leaf, result.grad_fn is not None)
        reported = "".join(mark if flag else "-" for mark, flag in zip("rlg", flags, strict=True))
        line = [f"{output} {reported} {result._version}"]
        total = result.detach().sum().item()
        if total == total and abs(total) < 1e12:
            line.append(round(total, 6))
    except Exception as error:
        return type(error).__name__
    return plain(line)


def do(m: Any, pool: list[Any], step: dict[str, Any]) -> tuple[Any, Any]:
    """One step: the tensor that it made or wrote (None for none), and a word about it."""
    kind = step["kind"]
    if kind == "leaf" or not pool:
        result = leaf(m, step)
        keep(pool, result)
        return result, "leaf"
    a, b = pool[step["a"] % len(pool)], pool[step["b"] % len(pool)]
    if kind in MAKERS:
        result, word = MAKERS[kind](m, a, b, step)
        keep(pool, result)
        return result, word
    return ACTIONS[kind](m, pool, a, b, step)


def keep(pool: list[Any], result: Any) -> None:
    pool.append(result)
    if len(pool) > MAX_TENSORS:
        del pool[0]


def leaf(m: Any, step: dict[str, Any]) -> Any:
    sizes = ((3,), (2, 2), (2, 3))[step["size"]]
    count = sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
    result = m.arange(float(count), dtype=m.float64).mul_(0.25).sub_(0.3).view(sizes)
    return result.requires_grad_(step["grad"])


def unary(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = UNARY[step["which"] % len(UNARY)]
    return (a.cumsum(0) if name == "cumsum" else getattr(a, name)()), name


def binary(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = ("add", "mul", "sub", "maximum", "where")[step["which"] % 5]
    return (m.where(a > 0, a, b) if name == "where" else getattr(a, name)(b)), name


def view(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = VIEWS[step["which"] % len(VIEWS)]
    results = {
        "select": lambda: a[-1],
        "slice": lambda: a[..., 1:],
        "t": lambda: a.t(),
        "view": lambda: a.view(-1),
        "expand": lambda: a.expand(2, *a.shape),
        "unsqueeze": lambda: a.unsqueeze(0),
        "narrow": lambda: a.narrow(0, 0, 1),
        "detach": lambda: a.detach(),
        "diagonal": lambda: a.diagonal(),
        "squeeze": lambda: a.squeeze(),
        "view_as": lambda: a.view_as(a),
        "as_strided": lambda: a.as_strided((2,), (1,)),
        "data": lambda: a.data,
    }[name]()
    return results, name


def part(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = PARTS[step["which"] % len(PARTS)]
    parts = {
        "chunk": lambda: a.chunk(2),
        "unbind": lambda: a.unbind(),
        "split": lambda: a.split(1),
        "tensor_split": lambda: a.tensor_split(2),
    }[name]()
    return parts[step["size"] % len(parts)], name


def index(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    return a[m.tensor([0, 0])], "index"


def reduce(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = ("sum", "mean", "max", "prod", "norm")[step["which"] % 5]
    return getattr(a, name)(), name


def cat(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    return m.stack([a, b]), "stack"


def gradient(m: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    (result,) = m.autograd.grad(
        a.sum(), b, create_graph=step["grad"], retain_graph=step["keep"] or None, allow_unused=True
    )
    if result is None:
        return m.zeros(2, dtype=m.float64), "unused"
    return result.clone(), "gradient"  # its version does not depend on the formula


MAKERS = {
    "unary": unary, "binary": binary, "view": view, "part": part, "index": index, "reduce": reduce,
    "cat": cat, "grad": gradient,
}  # fmt: skip


def write(m: Any, pool: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    name = WRITES[step["which"] % len(WRITES)]
    other = b if step["grad"] else 0.5
    if name in ("add_", "mul_"):
        getattr(a, name)(other)
    elif name == "iadd":
        a += other
    elif name == "copy_":
        a.copy_(b)
    elif name == "div_":
        a.div_(2.0)
    elif name == "fill_":
        a.fill_(0.5)
    elif name == "clamp_":
        a.clamp_(-1.0, 1.0)
    elif name == "masked_fill_":
        a.masked_fill_(a > 0.2, 0.1)
    elif name == "setitem":
        a[..., 0] = 0.25
    elif name == "row":
        a[0] = b[0]
    else:
        getattr(a, name)()
    return a, name


def backward(m: Any, pool: list[Any], a: Any, b: Any, step: dict[str, Any]) -> tuple[None, Any]:
    a.sum().backward(retain_graph=step["keep"])
    return None, [gradient_of(x) for x in pool]


def gradient_of(x: Any) -> Any:
    """Return a number for its .grad; None where it has none."""
    if x.grad is None:
        return None
    total = x.grad.detach().sum().item()
    return round(total, 6) if abs(total) < 1e12 else "large"


def requires_grad(m: Any, pool: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, str]:
    return a.requires_grad_(step["grad"]), "set"


def retain_grad(m: Any, pool: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, Any]:
    a.retain_grad()
    return a, "retains"


def hook(m: Any, pool: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, Any]:
    a.register_hook(lambda g: g * 2)
    return a, "hooked"


def drop(m: Any, pool: list[Any], a: Any, b: Any, step: dict[str, Any]) -> tuple[None, Any]:
    del pool[step["a"] % len(pool)]
    return None, len(pool)


def detach_in_place(m: Any, pool: Any, a: Any, b: Any, step: dict[str, Any]) -> tuple[Any, Any]:
    return a.detach_(), "detached"


def zero_grad(m: Any, pool: list[Any], a: Any, b: Any, step: dict[str, Any]) -> tuple[None, Any]:
    for x in pool:
        if x.is_leaf:
            x.grad = None
    return None, "cleared"


ACTIONS = {
    "write": write, "backward": backward, "requires_grad_": requires_grad, "hook": hook,
    "retain_grad": retain_grad, "drop": drop, "detach_": detach_in_place, "zero_grad": zero_grad,
}  # fmt: skip
