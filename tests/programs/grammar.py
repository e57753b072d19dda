"""One grammar of programs: views of views, writes into them, conversions, indices, gradients, hooks, errors.

A program is the text of a Python file whose statements name a library `lib`. While it is written it runs, in the
engine, so that the next statement knows the shapes and dtypes that are there: most statements are valid, some
are not. What draws is a `random.Random`, or Hypothesis's, which makes failing programs smaller.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import hypothesis.strategies as st

import engine
from tests.programs.memory import fill_added_memory

FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = (
    *FLOATS * 5, *COMPLEX * 2, "int64", "int64", "int32", "bool", "float16", "bfloat16", "uint8",
)  # fmt: skip
NAMES = 7
MAX_ELEMENTS = 72
MAX_VALUE = 1e4
Draw = Callable[["Writer"], str]


def patterns(text: str) -> list[str]:
    """The patterns of a text, two spaces apart."""
    return [part for line in text.splitlines() for part in line.strip().split("  ") if part]


# {} is the operand; {b} another that broadcasts with it; {n} a number, {d} a dimension, {i} an index along the
# first dimension, {s} a slice, {p} a shape of as many elements, {q} any shape, {t} a dtype ({w} one that any
# bytes are a value of), {v} any variable, {o} what takes a result, {k} a small count, {key} an index of tensors.
VIEWS = patterns("""
    {}[{i}]  {}[{s}]  {}[..., {s}]  {}[:, {s}]  {}[None]  {}[..., None]  {}[{i}, {s}]  {}[{s}, {s}]  {}[...]
    {}[..., -1]  {}[:]  {}[()]  {}[:, None]  {}.select({d}, {i})  {}.narrow({d}, {k}, {k})  {}.narrow({d}, 0, 1)
    {}.transpose({d}, {d})  {}.t()  {}.T  {}.mT  {}.swapaxes({d}, {d})  {}.movedim({d}, {d})  {}.view({p})
    {}.view({p})  {}.view(-1)  {}.reshape({p})  {}.flatten()  {}.flatten({d})  {}.ravel()  {}.view_as({b})
    {}.squeeze()  {}.squeeze({d})  {}.unsqueeze({d})  {}.unsqueeze(-1)  {}.expand(2, *{}.shape)  {}.expand({q})
    {}.expand_as({b})  {}.broadcast_to({q})  {}.diagonal()  {}.diagonal({k})  {}.diagonal(0, {d}, {d})
    {}.as_strided((2,), (1,))  {}.as_strided((2, 2), (1, 1))  {}.as_strided({q}, (2, 1), 1)
    {}.as_strided({q}, (2, 1))  {}.unfold({d}, 2, 1)  {}.unfold({d}, 1, 2)  {}.chunk(2)[0]  {}.chunk(2, {d})[-1]
    {}.split(1)[0]  {}.split(2, {d})[-1]  {}.unbind()[0]  {}.unbind({d})[-1]  {}.tensor_split(2)[0]  {}.detach()
    {}.data  {}.view({w})  {}.real  {}.imag  {}.contiguous()  {}.to({}.dtype)  {}.reshape_as({b})
    {}.permute(*range({}.dim())[::-1])  {}.unflatten({d}, (1, -1))  {}.unflatten(0, (-1, 2))
    lib.view_as_real({})  lib.view_as_complex({})  {}.hsplit(1)[0]  lib.atleast_2d({})
    lib.broadcast_tensors({}, {b})[0]  {}.positive()  {}.resolve_conj()  {}.type_as({v})  {}.expand(-1, -1)
""")
UNARY = patterns("""
    {}.clone()  {}.neg()  {} * {n}  {} + {n}  {n} - {}  {} / {n}  {}.abs()  {}.relu()  {}.square()  {}.sin()
    {}.tanh()  {}.sigmoid()  {}.sign()  {}.sgn()  {}.floor()  {}.cumsum({d})  {}.cumsum(0)  {}.cumprod({d})
    {}.sum()  {}.sum({d})  {}.sum({d}, keepdim=True)  {}.mean()  {}.mean({d})  {}.prod()  {}.prod({d})  {}.max()
    {}.amax({d})  {}.max({d})[0]  {}.min({d})[1]  {}.argmax()  {}.norm()  {}.any()  {}.all({d})  {}.flip(0)
    {}.roll(1)  {}.repeat(2, 1)  {}.tril()  {}.triu(1)  {}.diag()  {}.clamp(-1, 1)  {}.clamp(min=0)  {} ** 2
    {} % 2  {} // 2  {}.reciprocal()  {}.exp()  {}.softmax({d})  {}.sort({d})[0]  {}.topk(1, {d})[0]  {}.isnan()
    lib.zeros_like({})  lib.ones_like({})  lib.full_like({}, {n})  {}.new_zeros({q})  {}.new_ones(2)
    {}.new_tensor([1, 2])  {}.logical_not()  ~{}  -{}  abs({})  {}.conj_physical()  {}.angle()  {}.nonzero()
    {}.unique()  {}.var()  {}.std({d})  {}.diff()  {}.trace()  {}.round()  {}.count_nonzero()  {}.cummax({d})[0]
    {}.logsumexp({d})  {}.median()  {}.fill_diagonal_(1)  {}.rot90()  {}.kron({})  {}.tile(2)  {}.cov()
""")
CONVERSIONS = patterns("""
    {}.to({t})  {}.to({t})  {}.double()  {}.float()  {}.half()  {}.bfloat16()  {}.long()  {}.int()  {}.bool()
    {}.cfloat()  {}.to(lib.complex128)  {}.type({t})  {}.to({}, copy=True)  {}.to({v})  lib.complex({}, {})
    lib.tensor({}.tolist())  lib.as_tensor({})  {}.sum(dtype={t})  {}.cumsum(0, dtype={t})
    lib.zeros_like({}, dtype={t})
""")
BINARY = patterns("""
    {} + {b}  {} - {b}  {} * {b}  {} / {b}  {} > {b}  {} == {b}  {} <= {b}  {} != {n}  lib.maximum({}, {b})
    lib.where({} > 0, {}, {b})  lib.where({b} == {}, {}, {n})  lib.cat([{}, {b}])  lib.cat([{}, {}], {d})
    lib.stack([{}, {b}])  lib.stack([{}, {}], {d})  {} @ {b}  {}.matmul({}.mT)  {}.mv({b})  {}.dot({b})
    lib.outer({}, {b})  {}.addcmul({b}, {b})  {}.lerp({b}, 0.5)  {}.masked_fill({} > 0, {n})
    {}.add({b}, alpha=2)  {}.masked_fill({b} == 0, {n})  {}.index_select({d}, lib.tensor([0, 0]))
    {}.gather({d}, lib.zeros_like({}, dtype=lib.int64))  {}.masked_select({b} > 0)  {}.take(lib.tensor([0, 1]))
    {}.index_add({d}, lib.tensor([0]), {b})  {}.scatter({d}, lib.zeros_like({}, dtype=lib.int64), {n})
    {}.diagonal_scatter({b})  {}.select_scatter({b}, {d}, 0)  {}.slice_scatter({b}, {d})
    {}.as_strided_scatter({b}, (2,), (1,))  lib.add({n}, {})  {}.rsub({b})  {n} * {}  {}.remainder({b})
    {}.floor_divide({b})  {}.fmod({n})  {}.pow({n})  {}.logical_and({b})  {} & {b}  {} | {b}
    {}.sub({b}, alpha=0.5)  {}.mul({n}).add({b})  lib.addmm({b}, {}, {b})
    {}.index_fill({d}, lib.tensor([0]), {n})  {}.index_put((lib.tensor([0, 0]),), {b})
    lib.dot({}, {v}.conj_physical())  {}.cross({b})  lib.einsum('i,i->i', {}, {b})
""")
READS = patterns("""
    {}[{key}]  {}[{key}]  {}[{key}]  {}[{} > 0]  {}[{i}, {key}]  {}[:, {key}]  {}[{key}, {s}]  {}[{key}, {key}]
    {}[..., {key}]  {}[None, {key}]  {}[{key}, None]  {}[{b} == 0]
""")
WRITES = patterns("""
    {}.add_({b})  {}.add_({n})  {}.mul_({b})  {}.mul_({n})  {}.sub_({b})  {}.div_({b})  {}.div_(2)
    {}.copy_({b})  {}.copy_({b})  {}.zero_()  {}.fill_({n})  {}.neg_()  {}.relu_()  {}.sin_()  {}.tanh_()
    {}.sigmoid_()  {}.abs_()  {}.square_()  {}.clamp_(-1, 1)  {}.clamp_(min=0)  {}.masked_fill_({} > 0, {n})
    {}.masked_fill_({b} > 0, {n})  {}.add_({b}, alpha=2)  {}.addcmul_({b}, {b})  {}.lerp_({b}, 0.5)
    {}.cumsum_({d})  {}.floor_()  {}.sign_()  {}.t_()  {}.unsqueeze_({d})  {}.squeeze_()  {}.squeeze_({d})
    {}.transpose_({d}, {d})  {}.as_strided_((2,), (1,))  {}.index_fill_({d}, lib.tensor([0]), {n})
    {}.index_add_({d}, lib.tensor([0, 0]), {b})  {}.fill_diagonal_({n})
    {}.index_copy_({d}, lib.tensor([0]), {b})  {}.masked_scatter_({} > 0, {b})  {}.put_(lib.tensor([0, 1]), {b})
    {}.index_put_((lib.tensor([0, 0]),), {b}, True)  {}.index_put_(({} > 0,), {b})  {}.tril_()  {}.triu_(1)
    {}.scatter_({d}, lib.zeros_like({}, dtype=lib.int64), {n})
    {}.scatter_add_({d}, lib.zeros_like({}, dtype=lib.int64), {b})
    {}.scatter_({d}, lib.zeros_like({}, dtype=lib.int64), {b})  {}.pow_(2)  {}.remainder_(3)  {}.round_()
    {}.exp_()  {}.eq_({b})  {}.gt_({n})  {}.logical_not_()  {}.bitwise_and_({b})  {}.fill_({b})  {}.mul_({})
    {}.add_({}.mT)  {}.conj_physical_()  {}.sgn_()  {}.reciprocal_()  {}.sub_({}.sum())
    {}.div_({b}, rounding_mode='floor')  {}.swapaxes_({d}, {d})  {}.addmm_({b}, {b})
    {}.scatter_reduce_({d}, lib.zeros_like({}, dtype=lib.int64), {b}, 'sum')  lib.relu_({})
    {}.floor_divide_({n})  {}.nan_to_num_()  {}.copysign_({n})  {}.cumprod_({d})  lib.nn.functional.hardtanh_({})
""")
CHANGES = patterns("""
    {} += {b}  {} *= {n}  {} -= {b}  {} /= 2  {}[{i}] += {n}  {}[{s}] *= {n}  {}[{i}] = {n}  {}[{s}] = {b}
    {}[...] = {b}  {}[{key}] = {n}  {}[{key}] = {b}  {}[{key}] = {n}  {}[:, {key}] = {n}  {}[{} > 0] = {n}
    {}[{} > 0] = {b}  {}[{key}, {key}] = {n}  {}[{key}, {s}] = {b}  {}[{i}, {key}] = {n}  {}[..., {i}] = {b}
    {}[{key}] += {n}  {}[{i}] = {}[{i}]  {}[{s}] = {}[{s}]  {}[None] = {b}  {}[:] = {n}  {}[()] = {b}
    {}[{b} == 0] = {n}  {}[{key}] *= {b}  {} **= 2  {} //= 2  {} &= {b}  {} %= 2  {}[True] = {n}
    {}[False] = {n}  {}[..., None] = {b}  {}[{s}][{key}] = {n}  {}.T[{i}] = {n}  {}[{i}][{i}] = {n}
""")
OUTS = patterns("""
    lib.add({}, {b}, out={o})  lib.mul({}, {n}, out={o})  lib.sin({}, out={o})  lib.neg({}, out={o})
    lib.sum({}, {d}, out={o})  lib.cumsum({}, {d}, out={o})  lib.cat([{}, {b}], out={o})
    lib.matmul({}, {b}, out={o})  lib.abs({}, out={o})  lib.gt({}, {n}, out={o})  lib.stack([{}, {b}], out={o})
    lib.index_select({}, 0, lib.tensor([0, 0]), out={o})  lib.maximum({}, {b}, out={o})
    lib.mean({}, {d}, out={o})  lib.sub({}, {b}, alpha=2, out={o})  lib.add({}, {b}, out={})
    lib.where({} > 0, {}, {b}, out={o})  lib.clamp({}, 0, 1, out={o})  lib.tril({}, out={o})
    lib.diag({}, out={o})  lib.arange(4, out={o})  lib.masked_select({}, {} > 0, out={o})
    lib.prod({}, {d}, out={o})  lib.div({}, {n}, out={o})  lib.mm({}, {b}, out={o})  lib.eq({}, {b}, out={o})
    lib.take({}, lib.tensor([0]), out={o})  lib.amax({}, {d}, out={o})
    lib.gather({}, 0, lib.zeros(1, dtype=lib.int64), out={o})  lib.zeros(2, 3, out={o})  lib.ones(2, out={o})
""")
MEMORY = patterns("""
    {}.set_({v})  {}.set_({v}.untyped_storage())  {}.set_({v}.untyped_storage(), {k}, (2,), (1,))  {}.set_()
    {}.data = {v}  {}.data = {v}.data  {}.data = {v}.clone()  {}.resize_({p})  {}.resize_(1)  {}.resize_(2, 1)
    {}.resize_as_({v})  {}.detach_()  {}.resize_(4, 4).fill_({n})  {}.data.mul_(2)  {}.data[0] = {n}
    {}.resize_(0)  {}.detach().resize_(1)  {}.detach().zero_()  {}.detach().set_({v})  {}.detach().t_()
    {}.data.copy_({b})  {}.swapaxes_(0, -1)  {}.unsqueeze_(0)
""")
GRADIENTS = patterns("""
    {}.requires_grad_()  {}.requires_grad_()  {}.requires_grad_(False)  {}.requires_grad = True
    {}.requires_grad = False  {}.retain_grad()  {}.sum().backward()  {}.sum().backward()
    ({} * {b}).sum().backward()  {}.sum().backward(retain_graph=True)  {}.backward()
    {}.backward(lib.ones_like({}))  {}.square().sum().backward()  {}.backward({b})
    ({} * {}).sum().backward(create_graph=True)  {}.grad = None  {}.grad = {v}  {}.grad = {}.clone()
    {}.grad.zero_()  {}.grad.mul_(2)  {}.register_hook(lambda g: g * 2)
    {}.register_hook(lambda g: seen.append(g.tolist()))  {}.register_hook(lambda g: None)
    {}.register_hook(lambda g: g.mul_(2))  {}.register_post_accumulate_grad_hook(lambda x: x.grad.mul_(2))
    {}.register_hook(lambda g: g.sum())  h = {}.register_hook(lambda g: g + 1)  h.remove()
    {}.abs().sum().backward()  {}.prod().backward()  {}.sum().backward(inputs=[{v}])
    {}.abs().pow(2).sum().backward()  {}.real.sum().backward()  {}.grad.requires_grad_()
    {}.untyped_storage().resize_({}.untyped_storage().nbytes())
""")
GRADIENT_VALUES = patterns("""
    lib.autograd.grad({}.sum(), {v}, allow_unused=True)[0].clone()  lib.autograd.grad({}.sum(), {v})[0].clone()
    {}.grad  lib.autograd.grad({}.square().sum(), {v}, create_graph=True)[0].clone()
    lib.autograd.grad({}, {v}, lib.ones_like({}))[0].clone()  {}.requires_grad_().mul(2)
    lib.autograd.grad({}.sum(), [{}, {v}], allow_unused=True, retain_graph=True)[0].clone()
    {}.grad.detach().clone()  {}.grad[0].clone()  {}.detach().requires_grad_()  {}.clone().detach()
    {}.detach().clone().requires_grad_()
    lib.autograd.grad(({} * {b}).sum(), {v}, create_graph=True, materialize_grads=True, allow_unused=True)[0].clone()
""")
NUMBERS = patterns("""
    seen.append({}.tolist())  seen.append({}.sum().item())  seen.append(bool({}))  seen.append(len({}))
    seen.append(int({}[0]))  seen.append({}.is_contiguous())  seen.append({}.equal({b}))  seen.append({b} in {})
    seen.append({}.is_set_to({v}))  seen.append([r.sum().item() for r in {}])  seen.append(float({}))
    seen.append({}.allclose({b}))  seen.append({}.stride())  seen.append({}._version)  seen.append({}.numel())
""")
CONDITIONS = patterns("""
    {}.sum() > 0  {}.dim() == 2  {}.requires_grad  {}.is_floating_point()  {}.numel() > 3  ({} > 0).any()
    {}.is_contiguous()  {}.shape[0] > 1  {}.dtype == lib.float32  {}.is_leaf
""")
# Statements that only Python runs: what no script can say.
PYTHON_ONLY = (
    "seen",
    "untyped_storage",
    "lambda",
    ".grad",
    "backward",
    "h.",
    "*",
    ".tolist()",
    "retain_grad",
    "_version",
    "range(",
)


class Variable:
    """A text that stands for a tensor, and that tensor."""

    def __init__(self, text: str, value: Any) -> None:
        self.text, self.value = text, value


class Session:
    """Runs the statements of a program in a library."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        fill_added_memory(lib)
        self.names: dict[str, Any] = {"lib": lib, "seen": []}

    def run(self, statement: str) -> BaseException | None:
        """Runs a statement; the error that it raised."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(statement, self.names)
            except Exception as error:
                error.__traceback__ = None
                return error
        return None

    def value(self, text: str) -> Any:
        """The value of an expression, None where it raises."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return eval(text, self.names)
            except Exception:
                return None

    def tensors(self) -> dict[str, Any]:
        tensor = self.lib.Tensor
        return {name: x for name, x in sorted(self.names.items()) if isinstance(x, tensor)}


class Writer:
    """Writes the program of a source of random numbers; `compiled` ones are bodies of functions."""

    def __init__(self, random: Random, compiled: bool = False) -> None:
        self.random, self.compiled = random, compiled
        self.session = Session(engine)
        self.statements: list[str] = []
        self.count = 0

    def text(self) -> str:
        self.inputs()
        for _ in range(self.random.randint(3, 14)):
            self.append(self.statement())
        return "\n".join(self.statements) + "\n"

    # Choices

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choice(self, *options: Any) -> Any:
        return self.random.choice(options)

    def variables(self) -> list[Variable]:
        return [Variable(name, x) for name, x in self.session.tensors().items()]

    def variable(self) -> Variable:
        """Any tensor, more often a late one."""
        options = self.variables()
        if not options:  # it deleted them all
            self.append("x0 = lib.ones(2)")
            options = self.variables()
        return options[
            max(self.random.randrange(len(options)), self.random.randrange(len(options)))
        ]

    def operand(self, depth: int = 1) -> Variable:
        """A variable, or a view of one."""
        operand = self.variable()
        while depth and self.chance(0.3):
            text = self.filled(self.pattern(VIEWS), operand)
            value = self.session.value(text)
            if isinstance(value, engine.Tensor) and not self.is_large(value):
                operand = Variable(text, value)
            depth -= 1
        return operand

    def pattern(self, options: list[str]) -> str:
        while True:
            pattern = self.random.choice(options)
            if not self.compiled or not any(word in pattern for word in PYTHON_ONLY):
                return pattern

    # The parts of a pattern

    def filled(self, pattern: str, operand: Variable) -> str:
        """A pattern with something for each of its parts."""
        pieces = pattern.split("{")
        text = pieces[0]
        for piece in pieces[1:]:
            part, _, tail = piece.partition("}")
            text += (operand.text if not part else PARTS[part](self, operand.value)) + tail
        return text

    def number(self, x: Any = None) -> str:
        return str(
            self.choice(
                2, 0.5, -1, 3, 0, 1, -0.25, 2, 1.5, 1, *(["1j", True] if self.chance(0.1) else [])
            )
        )

    def other(self, x: Any) -> str:
        """An operand that broadcasts with x: a variable, a part of one, a new tensor; sometimes anything."""
        if self.chance(0.15):
            return self.number()
        for _ in range(4):
            other = self.operand()
            if self.chance(0.05) or (broadcasts(other.value, x) and same_kind(other.value, x)):
                return other.text
        if self.chance(0.2):
            return self.number()
        shape = tuple(x.shape)[self.random.randint(0, x.dim()) :] if x.dim() else ()
        return self.tensor(shape, str(x.dtype).split(".")[-1])

    def any_variable(self, x: Any) -> str:
        return self.variable().text

    def out(self, x: Any) -> str:
        """A tensor for `out=`, mostly of the result's dtype."""
        if self.chance(0.3):
            return self.tensor(
                (self.random.randint(0, 3),) * self.random.randint(0, 2),
                str(x.dtype).split(".")[-1],
            )
        for _ in range(4):
            other = self.operand()
            if self.chance(0.1) or (other.value.dtype == x.dtype and not other.value.requires_grad):
                return other.text
        return self.variable().text

    def dimension(self, x: Any) -> str:
        if self.chance(0.05):
            return str(self.random.randint(-4, 4))
        return (
            str(self.random.randint(-x.dim(), x.dim() - 1)) if x.dim() else self.choice("0", "-1")
        )

    def index(self, x: Any) -> str:
        if self.chance(0.05) or not x.dim() or not x.shape[0]:
            return str(self.random.randint(-3, 3))
        return str(self.random.randint(-x.shape[0], x.shape[0] - 1))

    def slice(self, x: Any) -> str:
        options = ("1:", ":2", "::2", ":-1", "1:3", "0:1", "-2:", "1::2", ":1", "2:1", "0:0")
        return str(self.choice(*options))

    def count_of(self, x: Any) -> str:
        return str(self.choice(0, 1, 1, 2))

    def shape_of_all(self, x: Any) -> str:
        n = x.numel()
        options = [(-1, 2), (2, -1), (1, -1), (-1, 1)]
        options += [(k, n // k) for k in range(1, n + 1) if n % k == 0] * 3
        options += [(n,), (1, n, 1)]
        return str(self.random.choice(options))

    def any_shape(self, x: Any) -> str:
        if self.chance(0.5):
            return str(tuple(n if n != 1 or self.chance(0.5) else 2 for n in x.shape))
        return str(self.choice((2, 2), (2, 3), (3,), (1, 2), (2, 1, 3), (2,), (), (0, 2)))

    def dtype(self, x: Any = None) -> str:
        name = self.random.choice(DTYPES)
        if name == "uint8" and x is not None and (x.is_floating_point() or x.is_complex()):
            name = "int64"
        return f"lib.{name}"

    def dtype_of_bytes(self, x: Any) -> str:
        return str(
            self.choice(
                "lib.int32", "lib.uint8", "lib.int64", "lib.float32", "lib.float64", "lib.int16"
            )
        )

    def key(self, x: Any) -> str:
        """An index of tensors, lists or masks along the first dimension."""
        n = x.shape[0] if x.dim() else 1
        numbers = [
            self.random.randint(-n, n - 1) if n else 0 for _ in range(self.random.randint(1, 3))
        ]
        mask = [self.chance(0.5) for _ in range(n)]
        return str(
            self.choice(
                f"lib.tensor({numbers})", f"lib.tensor({numbers})", f"{numbers}", f"lib.tensor({mask})", f"{mask}",
                f"lib.tensor([{numbers}])", f"lib.tensor({numbers[0]})", "lib.tensor([], dtype=lib.int64)",
                f"lib.tensor({numbers}, dtype=lib.int32)", "lib.tensor(True)", "None", "...",
            )
        )  # fmt: skip

    # Tensors

    def tensor(self, shape: tuple[int, ...], dtype: str) -> str:
        count = math.prod(shape)
        kind = self.random.random()
        if kind < 0.25:
            return f"lib.{self.choice('ones', 'zeros', 'ones')}({shape}, dtype=lib.{dtype})"
        if kind < 0.45:
            return f"lib.arange({count}).view({shape}).to(lib.{dtype})"
        if kind < 0.55:
            return f"lib.full({shape}, {self.choice(2, 1, 3)}).to(lib.{dtype})"
        numbers = [self.random.randint(-8, 8) / 4 for _ in range(count)]
        if dtype in ("uint8", "bool"):
            numbers = [abs(int(n)) for n in numbers]
        if dtype in COMPLEX:
            numbers = [complex(n, self.random.randint(-2, 2)) for n in numbers]
        return (
            f"lib.tensor({numbers}, dtype=lib.{dtype}).view({shape})"
            if "int" not in dtype
            else (f"lib.tensor({[int(n) for n in numbers]}, dtype=lib.{dtype}).view({shape})")
        )

    def inputs(self) -> None:
        for number in range(self.random.randint(1, 3)):
            shape = self.choice(
                (2, 3),
                (3,),
                (2, 2),
                (4,),
                (),
                (1, 3),
                (2, 1),
                (2, 3, 2),
                (3, 3),
                (0,),
                (6,),
                (2, 0),
            )
            dtype = self.random.choice(DTYPES)
            text = self.tensor(shape, dtype)
            if self.chance(0.15) and math.prod(shape) > 1:
                text = self.choice(
                    f"{text}.t()" if len(shape) < 3 else f"{text}.transpose(0, -1)",
                    f"{text}.expand(2, *{shape})",
                    f"{text}[0:1].expand{shape}",
                    f"{text}[::2]",
                )
            if (dtype in FLOATS or dtype in COMPLEX) and self.chance(0.5):
                text += ".requires_grad_()"
            self.append(f"x{number} = {text}")

    def fresh(self) -> str:
        self.count += 1
        if self.compiled or len(self.session.tensors()) < NAMES:
            return f"v{self.count}"
        return str(self.random.choice(list(self.session.tensors())))

    # Statements

    def append(self, statement: str) -> None:
        """Runs the statement, and deletes variables that have become too large."""
        before = set(self.session.names)
        error = self.session.run(statement)
        if self.compiled and error is not None and self.chance(0.8):
            for name in set(self.session.names) - before:
                del self.session.names[name]
            return
        self.statements.append(statement)
        for name, x in self.session.tensors().items():
            if self.is_large(x):
                del self.session.names[name]
                if not self.compiled:
                    self.statements.append(f"del {name}")

    def is_large(self, x: Any) -> bool:
        if x.numel() > MAX_ELEMENTS:
            return True
        if not x.numel() or not (x.is_floating_point() or x.is_complex()):
            return False
        return not float(x.detach().abs().max()) < MAX_VALUE

    def statement(self, depth: int = 0) -> str:
        kind = self.random.random()
        if depth < 2 and kind < 0.07:
            return self.block(depth)
        if kind < 0.25:
            return self.assignment(VIEWS, self.variable())
        if kind < 0.36:
            return self.assignment(UNARY, self.operand())
        if kind < 0.42:
            return self.assignment(CONVERSIONS, self.operand())
        if kind < 0.50:
            return self.assignment(BINARY, self.operand())
        if kind < 0.55:
            return self.assignment(READS, self.operand())
        if kind < 0.67:
            return self.write()
        if kind < 0.77:
            return self.filled(self.pattern(CHANGES), self.variable())
        if kind < 0.80:
            return self.filled(self.pattern(OUTS), self.operand())
        if kind < 0.85:
            text = self.filled(self.pattern(MEMORY), self.variable())
            # Compiled code does not fill what it adds to a storage.
            return f"{text}.zero_()" if self.compiled and ".resize_" in text else text
        if self.compiled:
            return self.write()
        if kind < 0.93:
            return self.filled(self.pattern(GRADIENTS), self.operand())
        if kind < 0.97:
            return self.assignment(GRADIENT_VALUES, self.operand())
        return self.filled(self.pattern(NUMBERS), self.operand())

    def assignment(self, options: list[str], operand: Variable) -> str:
        return f"{self.fresh()} = {self.filled(self.pattern(options), operand)}"

    def write(self) -> str:
        text = self.filled(self.pattern(WRITES), self.operand(2))
        return f"{self.fresh()} = {text}" if self.chance(0.15) else text

    def block(self, depth: int) -> str:
        head = self.choice(
            "with lib.no_grad():", "with lib.no_grad():", "with lib.no_grad():", "with lib.enable_grad():",
            f"if {self.filled(self.pattern(CONDITIONS), self.operand())}:", f"for i in range({self.choice(1, 2, 3)}):",
            *([] if self.compiled else [f"for row in {self.operand().text}:"]),
        )  # fmt: skip
        body = []
        if head.startswith("for row"):
            body.append(
                self.choice("row.mul_(2)", "row += 1", "row[...] = 0", "seen.append(row.tolist())")
            )
        for _ in range(self.random.randint(1, 3)):
            # In a function, a name that a branch binds is not bound after it.
            statement = self.write() if self.compiled else self.statement(depth + 1)
            body += statement.split("\n")
        return "\n".join([head, *("    " + line for line in body)])


def broadcasts(a: Any, b: Any) -> bool:
    return (
        all(m == n or m == 1 for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False))
        and a.dim() <= b.dim()
    )


def same_kind(a: Any, b: Any) -> bool:
    """Return true if a's values can be written into b."""
    order = [x.is_complex() * 2 + x.is_floating_point() for x in (a, b)]
    return order[0] <= order[1]


PARTS: dict[str, Callable[[Writer, Any], str]] = {
    "b": Writer.other,
    "n": Writer.number,
    "d": Writer.dimension,
    "i": Writer.index,
    "s": Writer.slice,
    "p": Writer.shape_of_all,
    "q": Writer.any_shape,
    "t": Writer.dtype,
    "w": Writer.dtype_of_bytes,
    "k": Writer.count_of,
    "v": Writer.any_variable,
    "o": Writer.out,
    "key": Writer.key,
}


def program(seed: int, compiled: bool = False) -> str:
    """The program of a seed."""
    return Writer(Random(f"{seed} {compiled}"), compiled).text()


def programs(compiled: bool = False) -> st.SearchStrategy[str]:
    """Programs that Hypothesis draws, and makes smaller."""
    return st.randoms(use_true_random=False).map(lambda random: Writer(random, compiled).text())
