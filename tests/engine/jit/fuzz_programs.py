"""Random programs in which everything meets: views written to in loops within branches, containers of
tensors, tuples, optional values, calls, early ends, gradients off and on, errors.

A program is the text of a Python file with `f(x, y, n, s, p, w)` and what it calls. Every variable has one
type from its first line to its last, so that any may stand anywhere; shapes and dtypes are as they come: an
operator that refuses them ends the program with its error, compiled or not. What `library` names is
imported, so that PyTorch runs the same text.
"""

from __future__ import annotations

import re
from random import Random

TENSORS, INTS, FLOATS, FLAGS, TEXTS = (
    ("a", "b", "c"),
    ("n", "m"),
    ("s", "r"),
    ("p", "q"),
    ("w", "u"),
)
NAMES = (*TENSORS, *TENSORS, "v", "x", "xs[0]", "xs[-1]", 'd["k"]')
KEYS = ('"k"', '"l"', "w")
RESULT = "return a, b, c, v, n, m, s, r, p, q, w, u, xs, ns, d, t, o"
SIGNATURE = "x, y, n: int, s: float, p: bool, w: str"

HEAD = """\
from typing import Dict, List, Optional, Tuple

import {library} as lib
from {library} import Tensor, jit


def twice(x: Tensor, n: int) -> Tuple[Tensor, int]:
    if n > 2:
        return x * 2, n
    x = x + n
    return x.tanh(), n + 1


def write_into(x: Tensor, xs: List[Tensor]) -> Tensor:
    for i in range(len(xs)):
        if i == 2:
            break
        xs[i] = xs[i] + x.sum()
    x.mul_(0.5)
    return x


def first_or(o: Optional[Tensor], x: Tensor) -> Tensor:
    if o is None:
        return x
    return o


@jit.ignore
def in_python(x: Tensor, n: int) -> Tensor:
    return x.sin() * n


"""
START = """\
    a = x.clone()
    b = x + y
    c = y
    v = a[0:2]
    m = 1
    r = 0.5
    q = False
    u = "l"
    xs: List[Tensor] = [a, y]
    ns: List[int] = [n, 1]
    d: Dict[str, Tensor] = {"k": b}
    t: Tuple[Tensor, int] = (a, 2)
    o: Optional[Tensor] = None
"""
HOLDER = f"""

class Holder(lib.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = lib.nn.Parameter(lib.tensor([0.5, 1.0, -1.0, 2.0]), False)
        self.register_buffer("shift", lib.arange(12.0).reshape(3, 4) - 5)

    def forward(self, {SIGNATURE}):
        return f(x * self.scale, self.shift, n, s, p, w)
"""


def patterns(text: str) -> list[str]:
    """Split a text where there are two spaces or more."""
    return re.split(r"\s{2,}", text.strip())


UNARY = patterns("""
    {}.relu()  {}.tanh()  {}.sigmoid()  {}.abs()  {}.neg()  (-{})  ({}*2)  ({}+1)  ({}-0.5)
    ({}/2)  {}.square()  {}.sin()  {}.exp().log()  {}.clamp(-1,1)  {}.sum()  {}.mean()  {}.sum(-1)
    {}.sum(0,keepdim=True)  {}.contiguous()  {}.clone()  {}.detach()  {}.float()  {}.double()
    {}.to(lib.int64)  ({}+0.0)  ({}*1)  ({}*0)  {}.t().t()  {}.sqrt()  {}.reciprocal()
    {}.softmax(-1)  {}.cumsum(0)  {}.flip(0)  {}.max()  {}.isnan().float()  {}.sign()  {}.floor()
    {}.to({})  {}.type_as({})  (1-{})  (2/{})  ({}%3)  ({}**2)  {}.pow(3)  ({}//2)  (~({}>0))
    {}.log1p()  lib.nn.functional.gelu({})  {}.to(lib.float32)  {}.half().float()
    lib.zeros_like({})  lib.ones_like({})  {}.new_zeros(2)  ({}!=0)  {}.argmax(-1)  {}.var(0)
""")
BINARY = patterns("""
    ({}+{})  ({}-{})  ({}*{})  ({}/{})  lib.maximum({},{})  lib.minimum({},{})
    lib.where({}>0,{},{})  ({}>{})  ({}=={})  lib.add({},{},alpha=2)  lib.cat([{},{}])
    lib.stack([{},{}])  {}.matmul({}.t())  ({}*{}.sum())
    ({}+{}.mean())  {}.expand_as({})  {}.lerp({},0.25)  lib.atan2({},{})
    {}.masked_fill({}>0,-1.0)
""")
VIEWS = patterns("""
    {}[0]  {}[1:]  {}[:,1:3]  {}[-1]  {}[...,0]  {}[:,None]  {}.t()  {}.view(-1)  {}.select(0,1)
    {}.transpose(0,-1)  {}[::2]  {}.unsqueeze(0)  {}.squeeze()  {}.reshape(-1)  {}.narrow(0,0,1)
    {}.detach()  {}[0:0]  {}.flatten()  {}.diagonal()  {}.expand(2,3,4)  {}.chunk(2)[0]
    {}.unbind(0)[-1]  {}.permute(1,0)  {}.contiguous()  {}.view(2,-1)  {}  {}[n:m]  {}.float()
    {}[n%3]  {}[:,m%2]
""")
WRITES = patterns("""
    {}.add_({})  {}.mul_(0.5)  {}.relu_()  {}.zero_()  {}.copy_({})  {}.neg_()  {}.fill_(s)
    {}.sub_({}.sum())  {}.tanh_()  {}.clamp_(min=-1)  {}.masked_fill_({}>0,0.5)  {}[0]=0.25
    {}[...]=s  {}[:,0]=1  {}[n%2]={}.sum()  {}+=1  {}*={}  {}-={}.mean()  {}[0]+=1  {}[1:]*=0.5
    {}/=2  {}.exp_()  {}.addcmul_({},{})  {}[{}>0]=0.5  {}.unsqueeze_(0)  {}.t_()  {}.sigmoid_()
    {}.add_(n)  {}.div_(3)
""")
CONDITIONS = patterns("""
    {}.sum()>0  n>{k}  n%2==0  p  s>0.5  {}.mean()<0.5 and n<{k}  {}.dim()==2  len(xs)>{k}  not p
    {}.numel()>{k}  {}.size(0)==3  w=="k"  "k" in w  q or n>m  {}.requires_grad  0<n<=m
    {}.is_floating_point()  n in [1,2]  bool(({}>0).any())  {}.shape[0]>1
    len({})==3  o is None  s!=s  {}.dtype==lib.float32  w in d  len(ns)>{k}  t[1]>m
""")
NUMBERS = patterns("""
    n+{k}  (n*2-{k})  n//2  n%3  max(n,{k})  abs(n-{k})  n  m  {k}  len(xs)  {}.size(0)  {}.dim()
    n//m  n%m  int(s)  int({}.sum())  ns[0]  ns[-1]  t[1]  {}.numel()  len(w)  int(p)
    {}.shape[-1]  -n  min(n,m)  ns[n]  n//-2  -n%3  len(d)  int({}.max())  sum(ns)  n&3  n|m  n^1
    n<<1  n>>1
""")
REALS = patterns("""
    s+{k}.5  s*0.5  s-n  min(s,3.0)  float(n)  s/4  float({}.sum())*0.1  float({}.mean().item())  r  s/n
    s//1  s%2.5  -s  abs(r)  -0.0  float("inf")  float("nan")  n/3  1e10  s*r
    float({}.sum())
""")


class Writer:
    """Writes the program of a seed (or of any Random)."""

    def __init__(self, random: Random, size: int = 6, nesting: int = 3) -> None:
        self.random, self.size, self.nesting = random, size, nesting
        self.lines: list[str] = []
        self.counters = 0

    def text(self, library: str = "engine") -> str:
        if not self.lines:
            self.block(1, self.nesting, in_loop=False, min_lines=2)
            self.line(1, RESULT)
        body = "\n".join(self.lines)
        return f"{HEAD.format(library=library)}def f({SIGNATURE}):\n{START}{body}\n{HOLDER}"

    # Expressions

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def choose(self, *choices: str) -> str:
        return self.random.choice(choices)

    def filled(self, text: str, depth: int = 0) -> str:
        """Return a pattern with a tensor for each {} and a number for each {k}."""
        text = text.replace("{k}", str(self.random.randint(0, 4)))
        while "{}" in text:
            text = text.replace("{}", self.tensor(depth), 1)
        return text

    def write(self) -> str:
        """In place, or into a part; `t[0]` is the one name that takes no `+=`."""
        return self.filled(self.choose(*WRITES).replace("{}", self.choose(*NAMES), 1))

    def name(self) -> str:
        return self.choose(*TENSORS, *TENSORS, "v", "x", "y")

    def tensor(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.2):
            return self.choose(
                *(self.name() for _ in range(6)), "t[0]", 'd["k"]', "xs[0]", "xs[-1]", "xs[n % 2]"
            )
        kind = self.random.random()
        if kind < 0.5:
            return self.filled(self.choose(*UNARY), depth - 1)
        if kind < 0.75:
            return self.filled(self.choose(*BINARY), depth - 1)
        if kind < 0.9:
            return self.filled(self.choose(*VIEWS), depth - 1)
        return self.choose(
            self.filled("({} * s)"), self.filled("({} + n)"), self.filled("first_or(o, {})"),
            self.filled("twice({}, n)[0]"), "lib.zeros(3, 4)", "lib.arange(n % 5)", "lib.tensor(s)",
            "lib.tensor([n, m])", "lib.full([3, 4], s)", "lib.stack(xs).sum(0)", "lib.cat(xs)",
            self.filled("({} if p else {})"), self.filled("in_python({}, n)"), "lib.ones(2, 0)",
            self.filled("{}.index_select(0, lib.tensor([n % 2, 0]))"), self.filled("{}[lib.tensor([0, 1])]"),
            self.filled("{}[{} > 0]"), self.filled("lib.nn.functional.linear({}, {})"),
        )  # fmt: skip

    def condition(self) -> str:
        first = self.filled(self.choose(*CONDITIONS))
        if self.chance(0.2):
            return (
                f"bool({first}) {self.choose('and', 'or')} {self.filled(self.choose(*CONDITIONS))}"
            )
        return f"not ({first})" if self.chance(0.1) else first

    def number(self) -> str:
        return f"({self.filled(self.choose(*NUMBERS))}) % {self.choose('7', '97', '-5')}"

    def real(self) -> str:
        return self.filled(self.choose(*REALS))

    # Statements

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, nesting: int, in_loop: bool, min_lines: int = 1) -> None:
        for _ in range(
            self.random.randint(min_lines, max(min_lines, self.size if depth == 1 else 3))
        ):
            self.statement(depth, nesting, in_loop)

    def statement(self, depth: int, nesting: int, in_loop: bool) -> None:
        kind = self.random.random()
        if kind < 0.62 or nesting == 0:
            self.line(depth, self.simple())
        elif kind < 0.77:
            self.branch(depth, nesting, in_loop)
        elif kind < 0.93:
            self.loop(depth, nesting)
        elif kind < 0.96:
            self.line(depth, f"with lib.{self.choose('no_grad()', 'enable_grad()')}:")
            self.block(depth + 1, nesting - 1, in_loop=False)
        else:
            self.leave(depth, in_loop)

    def simple(self) -> str:
        name = self.choose(*TENSORS)
        kind = self.random.random()
        if kind < 0.28:
            return f"{name} = {self.tensor(2)}"
        if kind < 0.38:
            return f"v = {self.filled(self.choose(*VIEWS))}"
        if kind < 0.6:
            return self.write()
        if kind < 0.68:
            return f"{self.choose(*INTS)} = {self.number()}"
        if kind < 0.74:
            return f"{self.choose(*FLOATS)} = {self.real()}"
        return self.choose(
            f"xs.append({self.tensor(1)})",
            f"xs[{self.choose('0', '-1', 'n % 2')}] = {self.tensor(1)}",
            f"xs = [{self.tensor(1)}, {self.tensor(1)}]",
            "xs = [one * 2 for one in xs[:3]]",
            f"xs = xs[:2] + [{self.tensor(1)}]",
            f"xs[0] += {self.tensor(1)}",
            f"{name} = xs.pop()",
            f"xs = list({self.tensor(0)}.unbind(0)) + [y]",
            f"ns.append({self.number()})",
            f"ns[0] = {self.number()}",
            f"ns = [n, {self.number()}]",
            f"d[{self.choose(*KEYS)}] = {self.tensor(1)}",
            f'd["k"] += {self.tensor(0)}',
            f"t = ({self.tensor(1)}, {self.number()})",
            f"{name}, n = t",
            f"{name}, m = twice({self.tensor(1)}, n)",
            f"{name} = write_into({self.name()}, xs)",
            f"o = {self.tensor(1)}",
            "o = None",
            f"{self.choose(*FLAGS)} = bool({self.condition()})",
            f"{self.choose(*TEXTS)} = {self.choose('w', 'u', 'str(n)', '(w + u)[:4]', 'w[1:]', 'w.upper()')}",
            'u = f"{n}:{w}"[:5]',
            "a, b = b, a",
            f"{name} = v",
            f"{name} = {self.name()}",
            f"assert {self.condition()}, w",
        )

    def branch(self, depth: int, nesting: int, in_loop: bool) -> None:
        if self.chance(0.12):
            self.line(depth, "if o is not None:")
            self.line(depth + 1, f"{self.choose(*TENSORS)} = o * 2")
        else:
            self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, nesting - 1, in_loop)
        if self.chance(0.15):
            self.line(depth, f"elif {self.condition()}:")
            self.block(depth + 1, nesting - 1, in_loop)
        if self.chance(0.5):
            self.line(depth, "else:")
            self.block(depth + 1, nesting - 1, in_loop)

    def loop(self, depth: int, nesting: int) -> None:
        i, g = f"i{depth}", f"g{depth}"
        if self.chance(0.15):
            self.counters += 1
            count = f"c{self.counters}"
            self.line(depth, f"{count} = 0")
            self.line(
                depth, f"while {count} < {self.random.randint(1, 4)} and ({self.condition()}):"
            )
            self.line(depth + 1, f"{count} += 1")
        else:
            header, use = self.random.choice([
                (f"for {i} in range({self.choose('n % 4', '2', '3', '0', 'len(xs)', '1, 6, 2')}):", f"m = m + {i}"),
                (f"for {i} in range({self.choose('n % 5', '3', '5')}):", f"a = a + {i}"),
                (f"for {g} in xs[:3]:", f"{g}.mul_(0.5)"),
                (f"for {g} in xs[:3]:", f"b = b + {g}"),
                (f"for {i}, {g} in enumerate(xs[:3]):", f"a = {g} + {i}"),
                (f"for {g}, {i} in zip(xs[:2], ns):", f"a = {g} * {i}"),
                (f"for {g} in {self.name()}[:]:", f"b = b + {g}.sum()"),
                (f"for {i} in ns[:4]:", f"n = {i}"),
                (f"for {g} in {self.name()}.unbind(0):", f"{g}.add_(1)"),
                (f"for {i} in w[:3]:", f"u = {i} + u[:2]"),
            ])  # fmt: skip
            self.line(depth, header)
            self.line(depth + 1, use)
        self.block(depth + 1, nesting - 1, in_loop=True)

    def leave(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.condition()}:")
        terms = [RESULT, 'raise ValueError("stopped at " + w)']
        terms += ["break", "continue"] * (3 * in_loop)
        self.line(depth + 1, self.random.choice(terms))
