"""Functions, traced and scripted programs that are exported, each with inputs of two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engine
from engine import Tensor, nn
from tests.engine.onnx.layer_cases import Case

# A trace warns of tensors that it sees being created from numbers
FIRST_AND_THIRD, SECOND_AND_FIRST = engine.tensor([0, 2]), engine.tensor([1, 0])
LAST_AND_THIRD, FOURTH_AND_SECOND = engine.tensor([-1, 2]), engine.tensor([3, 1])

# Operators, each in a function of one or two matrices

OPERATORS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x, y: (x + y * 2 - y / 3.0) ** 2,
    "alpha": lambda x, y: engine.add(x, y, alpha=3) + engine.rsub(x, y, alpha=2),
    "integer division": lambda x, y: (x * 10).long() // 3 + (x * 10).long() % 4,
    "true division": lambda x, y: (x * 10).long() / 4,
    "rounding": lambda x, y: (x * 3).round() + x.ceil() - y.floor() + x.trunc() + y.frac(),
    "exponentials": lambda x, y: (x.exp() + y.exp2() + x.expm1(), x.abs().log1p() + y.abs().log2()),
    "trigonometry": lambda x, y: x.sin() + y.cos() + x.tanh() + x.atan() + engine.atan2(x, y),
    "roots": lambda x, y: x.abs().sqrt() + (y.abs() + 1).rsqrt() + (y.abs() + 1).reciprocal(),
    "errors": lambda x, y: x.erf() + y.erfc(),
    "comparisons": lambda x, y: (x > y, x <= 0.5, (x * 2).long() == 1, x != y),
    "logic": lambda x, y: ((x > 0) & (y > 0)) | ~(x < -1) ^ (y > 1),
    "where": lambda x, y: engine.where(x > 0, x, y * 2),
    "masks": lambda x, y: x.masked_fill(y > 0, 7.0),
    "masked rows": lambda x, y: x[y[:, 0] > 0],
    "clamps": lambda x, y: x.clamp(-0.5, 0.5) + y.clamp_min(0.0) + engine.clamp(x, max=y),
    "extremes": lambda x, y: (engine.maximum(x, y), engine.minimum(x, y)),
    "sums": lambda x, y: (x.sum(), y.sum(0), x.sum(1, keepdim=True), (x > 0).sum()),
    "means": lambda x, y: (x.mean(), y.mean(1), x.var(), y.std(1), x.var(0, unbiased=False)),
    "products": lambda x, y: (x.prod(), y.prod(1), x.cumsum(0)),
    "largest": lambda x, y: (x.max(), y.max(1), x.argmax(1), y.argmin(), x.amax(0), y.min(0)),
    "all and any": lambda x, y: ((x > 0).any(), (y > -9).all(1)),
    "norms": lambda x, y: (x.norm(), engine.linalg.vector_norm(y, 1, dim=1), x.norm(3, dim=1)),
    "logsumexp": lambda x, y: x.logsumexp(1),
    "sorting": lambda x, y: (x.sort(1), y.topk(2, dim=1), x.argsort(1, descending=True)),
    "matrices": lambda x, y: (x @ y.t(), x.t().mm(y), engine.einsum("ij,kj->ik", x, y)),
    "outer": lambda x, y: engine.outer(x[0], y[0]),
    "views": lambda x, y: (x.view(-1), y.reshape(x.shape[0], 2, -1), x.unsqueeze(1).squeeze(1)),
    "sizes": lambda x, y: x.reshape(x.size(0) * 2, x.size(1) // 2) * x.numel(),
    "transposes": lambda x, y: (x.t(), y.view(-1, 2, 3).permute(1, 0, 2), x.movedim(0, 1)),
    "joins": lambda x, y: (engine.cat([x, y], 0), engine.stack([x, y], 1)),
    "parts": lambda x, y: (*x.chunk(2, 1), *y.split([1, 5], 1), *x.unbind(1)),
    "slices": lambda x, y: (x[:, 1:-1], y[-1], x[::2, ::3], y[..., None, 0], x[1:, 2]),
    "repeats": lambda x, y: (x.repeat(2, 3), y[:, :1].expand(-1, 4), x.flip(1), y.roll(1, 1)),
    "indices": lambda x, y: (
        x[:, FIRST_AND_THIRD],
        y[SECOND_AND_FIRST, LAST_AND_THIRD],
    ),
    "gathering": lambda x, y: (x.gather(1, y.argsort(1)), x.index_select(1, FOURTH_AND_SECOND)),
    "scattering": lambda x, y: x.scatter(1, y.argsort(1), y) + x.scatter_add(1, y.argsort(1), y),
    "one_hot": lambda x, y: nn.functional.one_hot((x[:, 0] > 0).long(), 3),
    "triangles": lambda x, y: (x.tril(), y.triu(1)),
    "creation": lambda x, y: (
        x + engine.zeros(x.shape[0], 6) + engine.ones_like(y) + engine.full((6,), 2.0)
    ),
    "ranges": lambda x, y: x + engine.arange(6) + engine.arange(x.shape[0]).unsqueeze(1),
    "dtypes": lambda x, y: (x.double() + 1, y.long(), x.to(engine.float16).float(), (x > 0).int()),
    "mixed dtypes": lambda x, y: x + (y * 3).long() + 0.5,
    "lerp": lambda x, y: engine.lerp(x, y, 0.3) + engine.addcmul(x, x, y, value=2.0),
    "padding": lambda x, y: nn.functional.pad(x, (1, 2, 0, 1), value=3.0),
    "normalize": lambda x, y: nn.functional.normalize(x, dim=1),
    "softmax": lambda x, y: x.softmax(-1) + y.log_softmax(0),
    "logaddexp by parts": lambda x, y: engine.stack([x, y]).logsumexp(0),
}


def _written(x: Tensor, y: Tensor) -> Any:
    z = x * 1
    z[:, 0] = 5.0
    row = z[1]
    row += y[1]
    z[:, 2:4] *= 2
    z.relu_()
    z[0, 1:3] = y[0, 1:3]
    return z, row


def _written_inputs(x: Tensor, y: Tensor) -> Any:
    row = x.relu_()[0]
    flat = y.flatten()
    flat.mul_(2)
    row += 1
    return x, row, flat


OPERATORS["writes in place"] = _written
OPERATORS["writes to inputs"] = _written_inputs
OPERATORS["aliases"] = lambda x, y: (
    x.swapaxes(0, 1).swapdims(0, 1) + nn.functional.dropout(y * 1, 0.5, False, inplace=True),
    x.round(decimals=1),
    (x * 100).round(decimals=-1),
)


def _matrices(size: int) -> tuple[Any, ...]:
    return engine.randn(3 + size, 6), engine.randn(3 + size, 6)


PROGRAMS = [
    Case(name, lambda function=function: function, _matrices)
    for name, function in OPERATORS.items()
]


# Scripted programs


@engine.jit.script
def branches(x: Tensor, y: Tensor) -> Tensor:
    """An If whose branches have different sizes."""
    z = y - 1
    if bool(x.sum() > y.sum()):
        z = engine.cat([x, y], 0)
    return z * 2


@engine.jit.script
def early_return(x: Tensor, y: Tensor) -> Tensor:
    """Returns from a branch."""
    if bool(x.sum() > 0):
        return x
    z = y * 3
    if bool(z.max() > 1):
        return z + 1
    return z


@engine.jit.script
def collatz(x: Tensor, y: Tensor) -> tuple[Tensor, int]:
    """A while loop with an If in it, and a number that it counts."""
    steps = 0
    n = (x.abs().sum() * 3).long() + 1
    while bool(n > 1):
        n = n // 2 if bool(n % 2 == 0) else 3 * n + 1
        steps += 1
    return n, steps


@engine.jit.script
def running_sums(x: Tensor, y: Tensor) -> Tensor:
    """A loop over a dynamic size that appends to a list."""
    sums: list[Tensor] = []
    total = engine.zeros(6)
    for i in range(x.size(0)):
        total = total + x[i] * y[i]
        sums.append(total)
    return engine.stack(sums)


@engine.jit.script
def growing(x: Tensor, y: Tensor) -> Tensor:
    """A loop whose carried tensor grows."""
    for _ in range(x.size(0)):
        x = engine.cat([x, y[:1]], 0)
    return x


@engine.jit.script
def checked(x: Tensor, y: Tensor) -> Tensor:
    """Asserts, and branches that constants decide."""
    assert x.size(1) == y.size(1), "sizes differ"
    if x.dim() != 2:
        raise ValueError(f"expected a matrix, got {x.dim()} dimensions")
    limit = 3 if x.size(1) > 4 else 100
    for i in range(limit):
        x = x + i
    return x


@engine.jit.script
def breaking(x: Tensor, y: Tensor) -> Tensor:
    """break and continue."""
    total = y.sum()
    for i in range(x.size(0)):
        if bool(x[i].sum() > 2):
            continue
        total = total + x[i].sum() * i
        if bool(total > 4):
            break
    return total


@engine.jit.script
def written_in_a_loop(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A loop that is repeated, for it writes in place to a tensor that has another name and a view outside."""
    z = x
    row = x[0]
    for _ in range(3):
        z += 1
        z.view(-1)[0] = 7.0
    return x * 2, z, row


_FUNCTIONS = (branches, early_return, collatz, running_sums, growing, checked, breaking)
for _function in (*_FUNCTIONS, written_in_a_loop):
    PROGRAMS.append(Case(_function.name, lambda function=_function: function, _matrices))


class Experts(nn.Module):
    """A loop over modules, and a branch of each."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.scale = nn.Parameter(engine.rand(6))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
            if bool(x.mean() > 0):
                x = x * self.scale + y
        return x


class Repeated(nn.Module):
    """A loop whose body uses weights."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(6, 6)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for _ in range(y.size(0)):
            x = engine.tanh(self.cell(x))
        return x


for _model in (Experts, Repeated):
    PROGRAMS.append(
        Case(
            f"scripted {_model.__name__}",
            lambda model=_model: engine.jit.script(model()),
            _matrices,
        )
    )
