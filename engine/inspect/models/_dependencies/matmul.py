"""Products of matrices: sums of products along the dimension that both share."""

from __future__ import annotations

from engine.inspect.models._dependencies.core import (
    Feed,
    Given,
    Index,
    Recipe,
    Rule,
    Unknown,
    broadcast,
    numel,
    unravel,
)


def product(a: str, b: str) -> Rule:
    """matmul: row times column for matrices, with the batch dimensions broadcast."""

    def rule(given: Given, index: Index) -> Recipe:
        return _product(given, a, b, index)

    return rule


def _product(given: Given, a: str, b: str, index: Index) -> Recipe:
    left, right = given.sizes(a), given.sizes(b)
    row = index[-2 if len(right) > 1 else -1] if len(left) > 1 else None
    column = index[-1] if len(right) > 1 else None
    batch = index[: len(index) - (row is not None) - (column is not None)]
    before = broadcast(left[:-2], batch)
    after = broadcast(right[:-2], batch)

    def feeds(k: int) -> tuple[Feed, ...]:
        at_left = (k,) if row is None else (*before, row, k)
        at_right = (k,) if column is None else (*after, k, column)
        return Feed(a, at_left, "a"), Feed(b, at_right, "b")

    return Recipe("{a} * {b}", feeds, left[-1])


def added(a: str, b: str, batched: bool = False) -> Rule:
    """addmm, addmv, baddbmm (and addbmm, which sums over the batch): beta * self + alpha * product."""

    def rule(given: Given, index: Index) -> Recipe:
        inner = _summed(given, a, b, index) if batched else _product(given, a, b, index)
        beta, alpha = given.value("beta", 1), given.value("alpha", 1)
        extras: tuple[Feed, ...] = (Feed("self", broadcast(given.sizes("self"), index)),)
        times = "{terms}" if alpha == 1 else "{alpha} * ({terms})"
        kept = "{self} + " if beta == 1 else "{beta} * {self} + "
        if beta == 0:  # then self is not even read
            extras, kept = (), ""
        return Recipe(inner.term, inner.feeds, inner.count, whole=kept + times, extras=extras)

    return rule


def _summed(given: Given, a: str, b: str, index: Index) -> Recipe:
    inner = given.sizes(a)[2]

    def feeds(number: int) -> tuple[Feed, ...]:
        n, k = divmod(number, inner)
        return Feed(a, (n, index[0], k), "a"), Feed(b, (n, k, index[1]), "b")

    return Recipe("{a} * {b}", feeds, given.sizes(a)[0] * inner)


def linear(given: Given, index: Index) -> Recipe:
    """input @ weight.t() + bias."""
    weight = given.sizes("weight")
    out = index[-1] if len(weight) > 1 else None
    lead = index if out is None else index[:-1]

    def feeds(k: int) -> tuple[Feed, ...]:
        return Feed(_input(given), (*lead, k), "x"), Feed(
            "weight", (k,) if out is None else (out, k), "w"
        )

    bias = (Feed("bias", broadcast(given.sizes("bias"), index)),) if "bias" in given.tensors else ()
    whole = "{terms} + {bias}" if bias else "{terms}"
    return Recipe("{x} * {w}", feeds, weight[-1], whole=whole, extras=bias)


def _input(given: Given) -> str:
    return "input" if "input" in given.tensors else "self"


def outer(a: str, b: str) -> Rule:
    def rule(given: Given, index: Index) -> Recipe:
        pair = (Feed(a, index[:1], "a"), Feed(b, index[1:], "b"))
        return Recipe("{a} * {b}", lambda _: pair)

    return rule


def addr(given: Given, index: Index) -> Recipe:
    pair = (Feed("vec1", index[:1], "a"), Feed("vec2", index[1:], "b"))
    own = (Feed("self", broadcast(given.sizes("self"), index)),)
    whole = "{beta} * {self} + {alpha} * {terms}"
    return Recipe("{a} * {b}", lambda _: pair, whole=whole, extras=own)


def inner(given: Given, index: Index) -> Recipe:
    """The last dimensions are summed over; the others of self come first, then those of other."""
    left, right = given.sizes("self"), given.sizes("other")
    if not left or not right:
        pair = (Feed("self", index if left else ()), Feed("other", index if right else ()))
        return Recipe("{self} * {other}", lambda _: pair)
    cut = len(left) - 1
    return Recipe(
        "{self} * {other}",
        lambda k: (Feed("self", (*index[:cut], k)), Feed("other", (*index[cut:], k))),
        left[-1],
    )


def einsum(given: Given, index: Index) -> Recipe:
    """Sum over the letters that the output does not have."""
    equation = str(given.value("equation", "")).replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    names = given.items("tensors")
    subscripts = inputs.split(",")
    if "." in equation or len(subscripts) != len(names):
        raise Unknown("an equation with ... is not taken apart here")
    letters = sorted(set(inputs) - {","})
    if not arrow:
        output = "".join(x for x in letters if inputs.count(x) == 1)
    size = {
        letter: n
        for name, letters_of in zip(names, subscripts, strict=True)
        for letter, n in zip(letters_of, given.sizes(name), strict=True)
    }
    summed = [letter for letter in letters if letter not in output]
    fixed = dict(zip(output, index, strict=True))

    def feeds(number: int) -> tuple[Feed, ...]:
        at = fixed | dict(zip(summed, unravel(number, [size[x] for x in summed]), strict=True))
        return tuple(
            Feed(name, tuple(at[x] for x in own), f"t{place}")
            for place, (name, own) in enumerate(zip(names, subscripts, strict=True))
        )

    term = " * ".join(f"{{t{place}}}" for place in range(len(names)))
    return Recipe(term, feeds, numel([size[x] for x in summed]))


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
