"""Products of matrices: sums of products along the dimension that both share."""

from __future__ import annotations

from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    Rule,
    Unknown,
    broadcast,
    input_name,
    numel,
    unravel,
)


def product(a: str, b: str) -> Rule:
    """Return the rule of matmul: row times column for matrices, with the batch dimensions broadcast."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        return _product(call, a, b, index)

    return rule


def _product(call: OpCall, a: str, b: str, index: Index) -> CellFormula:
    left, right = call.sizes(a), call.sizes(b)
    row = index[-2 if len(right) > 1 else -1] if len(left) > 1 else None
    column = index[-1] if len(right) > 1 else None
    batch = index[: len(index) - (row is not None) - (column is not None)]
    before = broadcast(left[:-2], batch)
    after = broadcast(right[:-2], batch)

    def feeds(k: int) -> tuple[CellInput, ...]:
        at_left = (k,) if row is None else (*before, row, k)
        at_right = (k,) if column is None else (*after, k, column)
        return CellInput(a, at_left, "a"), CellInput(b, at_right, "b")

    return CellFormula("{a} * {b}", feeds, left[-1])


def added(a: str, b: str, batched: bool = False) -> Rule:
    """Return the rule of addmm, addmv, baddbmm (and addbmm, which sums over the batch): beta * self + alpha *
    product."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        inner = _summed(call, a, b, index) if batched else _product(call, a, b, index)
        beta, alpha = call.value("beta", 1), call.value("alpha", 1)
        extras: tuple[CellInput, ...] = (CellInput("self", broadcast(call.sizes("self"), index)),)
        times = "{terms}" if alpha == 1 else "{alpha} * ({terms})"
        addend = "{self} + " if beta == 1 else "{beta} * {self} + "
        if beta == 0:  # then self is not even read
            extras, addend = (), ""
        return CellFormula(
            inner.term, inner.feeds, inner.count, wrapper=addend + times, extras=extras
        )

    return rule


def _summed(call: OpCall, a: str, b: str, index: Index) -> CellFormula:
    inner = call.sizes(a)[2]

    def feeds(number: int) -> tuple[CellInput, ...]:
        n, k = divmod(number, inner)
        return CellInput(a, (n, index[0], k), "a"), CellInput(b, (n, k, index[1]), "b")

    return CellFormula("{a} * {b}", feeds, call.sizes(a)[0] * inner)


def linear(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of input @ weight.t() + bias."""
    weight = call.sizes("weight")
    out = index[-1] if len(weight) > 1 else None
    lead = index if out is None else index[:-1]

    def feeds(k: int) -> tuple[CellInput, ...]:
        return CellInput(input_name(call), (*lead, k), "x"), CellInput(
            "weight", (k,) if out is None else (out, k), "w"
        )

    bias = (
        (CellInput("bias", broadcast(call.sizes("bias"), index)),) if "bias" in call.tensors else ()
    )
    template = "{terms} + {bias}" if bias else "{terms}"
    return CellFormula("{x} * {w}", feeds, weight[-1], wrapper=template, extras=bias)


def outer(a: str, b: str) -> Rule:
    def rule(call: OpCall, index: Index) -> CellFormula:
        pair = (CellInput(a, index[:1], "a"), CellInput(b, index[1:], "b"))
        return CellFormula("{a} * {b}", lambda _: pair)

    return rule


def addr(call: OpCall, index: Index) -> CellFormula:
    pair = (CellInput("vec1", index[:1], "a"), CellInput("vec2", index[1:], "b"))
    own = (CellInput("self", broadcast(call.sizes("self"), index)),)
    template = "{beta} * {self} + {alpha} * {terms}"
    return CellFormula("{a} * {b}", lambda _: pair, wrapper=template, extras=own)


def inner(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of inner: the last dimensions are summed over; the others of self come first,
    then those of other."""
    left, right = call.sizes("self"), call.sizes("other")
    if not left or not right:
        pair = (
            CellInput("self", index if left else ()),
            CellInput("other", index if right else ()),
        )
        return CellFormula("{self} * {other}", lambda _: pair)
    cut = len(left) - 1
    return CellFormula(
        "{self} * {other}",
        lambda k: (CellInput("self", (*index[:cut], k)), CellInput("other", (*index[cut:], k))),
        left[-1],
    )


def einsum(call: OpCall, index: Index) -> CellFormula:
    """Sum over the letters that the output does not have."""
    equation = str(call.value("equation", "")).replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    names = call.items("tensors")
    subscripts = inputs.split(",")
    if "." in equation or len(subscripts) != len(names):
        raise Unknown("an equation with ... is not taken apart here")
    letters = sorted(set(inputs) - {","})
    if not arrow:
        output = "".join(x for x in letters if inputs.count(x) == 1)
    size = {
        letter: n
        for name, letters_of in zip(names, subscripts, strict=True)
        for letter, n in zip(letters_of, call.sizes(name), strict=True)
    }
    summed = [letter for letter in letters if letter not in output]
    fixed = dict(zip(output, index, strict=True))

    def feeds(number: int) -> tuple[CellInput, ...]:
        at = fixed | dict(zip(summed, unravel(number, [size[x] for x in summed]), strict=True))
        return tuple(
            CellInput(name, tuple(at[x] for x in own), f"t{position}")
            for position, (name, own) in enumerate(zip(names, subscripts, strict=True))
        )

    term = " * ".join(f"{{t{position}}}" for position in range(len(names)))
    return CellFormula(term, feeds, numel([size[x] for x in summed]))


RULES: dict[str, Rule] = {
    "mm": product("self", "mat2"),
    "bmm": product("self", "mat2"),
    "mv": product("self", "vec"),
    "dot": product("self", "tensor"),
    "vdot": product("self", "other"),
    "matmul": product("self", "other"),
    "linalg_matmul": product("input", "other"),
    "addmm": added("mat1", "mat2"),
    "addmv": added("mat", "vec"),
    "baddbmm": added("batch1", "batch2"),
    "addbmm": added("batch1", "batch2", batched=True),
    "linear": linear,
    "outer": outer("self", "vec2"),
    "ger": outer("self", "vec2"),
    "addr": addr,
    "inner": inner,
    "einsum": einsum,
}
