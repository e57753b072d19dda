"""Reductions, scans and operators that read a whole row."""

from __future__ import annotations

from dataclasses import replace

from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    Rule,
    Unknown,
    broadcast,
    numel,
    put,
    single,
    unravel,
    wrap,
)


def _dims(call: OpCall, rank: int) -> tuple[int, ...]:
    """Return the reduced dimensions: all if none is passed."""
    dim = call.values.get("dim")
    if dim is None or dim == ():
        return tuple(range(rank))
    given_dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted({wrap(int(d), rank) for d in given_dims}))


def _row(call: OpCall, index: Index) -> tuple[int, tuple[int, ...], Index]:
    """Return (how many cells, the reduced dims, the index with 0 in them) of an output cell."""
    sizes = call.sizes("self")
    dims = _dims(call, len(sizes)) if sizes else ()
    retained = [d for d in range(len(sizes)) if d not in dims]
    start = [0] * len(sizes)
    keeps = len(index) == len(sizes)  # keepdim, or nothing was reduced away
    for position, d in enumerate(retained):
        start[d] = index[d] if keeps else index[position]
    return numel([sizes[d] for d in dims]), dims, tuple(start)


def reduction(join: str = ", ", template: str = "", term: str = "{self}") -> Rule:
    """Return every cell along the reduced dimensions; `{n}` in `whole` is how many there are."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        sizes = call.sizes("self")
        count, dims, start = _row(call, index)

        def feeds(number: int) -> tuple[CellInput, ...]:
            at = list(start)
            for d, i in zip(dims, unravel(number, [sizes[d] for d in dims]), strict=True):
                at[d] = i
            return (CellInput("self", tuple(at)),)

        outer = (template or f"{call.op}({{terms}})").replace("{n}", str(count))
        return CellFormula(term, feeds, count, join, outer)

    return rule


def scan(join: str, template: str = "{terms}") -> Rule:
    """Return every cell of the row up to this one."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        if not index:
            return CellFormula("{self}", lambda _: (CellInput("self", ()),))
        dim = wrap(int(call.value("dim", 0)), len(index))
        return CellFormula(
            "{self}",
            lambda i: (CellInput("self", put(index, dim, i)),),
            index[dim] + 1,
            join,
            template,
        )

    return rule


def row(template: str = "", self: str = "self", picked: bool = False) -> Rule:
    """Return every cell of the row along `dim`; `picked`: the output's row may be of another length."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        sizes = call.sizes(self)
        if not sizes:
            return CellFormula("{x}", lambda _: (CellInput(self, (), "x"),), 1, ", ", template)
        dim = wrap(int(call.value("dim", -1)), len(sizes))
        base = index if len(index) == len(sizes) else (*index[:dim], 0, *index[dim:])
        own = () if picked else (CellInput(self, base, "x"),)
        return CellFormula(
            "{y}",
            lambda i: (CellInput(self, put(base, dim, i), "y"),),
            sizes[dim],
            ", ",
            template or f"{call.op}({{terms}})",
            own,
        )

    return rule


def normalized(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of layer_norm and rms_norm: the cell, its whole row, and the weight and bias at
    its position."""
    name = "input" if "input" in call.tensors else "self"
    sizes = call.sizes(name)
    inner = len(call.value("normalized_shape", sizes[-1:]))
    lead, tail = index[: len(index) - inner], index[len(index) - inner :]
    row_sizes = sizes[len(sizes) - inner :]
    extras = [CellInput(name, index, "x")]
    template = (
        "({x} - mean) / sqrt(var + eps)" if call.op != "rms_norm" else "{x} / sqrt(mean(y*y) + eps)"
    )
    for weight, sign in (("weight", " * "), ("bias", " + ")):
        if weight in call.tensors:
            extras.append(CellInput(weight, broadcast(call.sizes(weight), tail)))
            template += f"{sign}{{{weight}}}"
    return CellFormula(
        "{y}",
        lambda i: (CellInput(name, lead + unravel(i, row_sizes), "y"),),
        numel(row_sizes),
        ", ",
        f"{template}  of the row {{terms}}",
        tuple(extras),
    )


def difference(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of diff: each cell less the one before it."""
    if call.value("n", 1) != 1 or {"prepend", "append"} & set(call.tensors):
        raise Unknown(
            "differences of differences, or with cells put at the ends, are not told apart"
        )
    dim = wrap(int(call.value("dim", -1)), len(index))
    after = CellInput("self", put(index, dim, index[dim] + 1), "b")
    return single(after, CellInput("self", index, "a"), term="{b} - {a}")


def gated(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of a cell of glu: the first half of the row times the sigmoid of the second."""
    dim = wrap(int(call.value("dim", -1)), len(index))
    half = call.sizes("self")[dim] // 2
    gate = CellInput("self", put(index, dim, index[dim] + half), "b")
    return single(CellInput("self", index, "a"), gate, term="{a} * sigmoid({b})")


def _named(*ops: str) -> dict[str, Rule]:
    return dict.fromkeys(ops, reduction())


RULES: dict[str, Rule] = {
    "sum": reduction(" + ", "{terms}"),
    "nansum": reduction(" + ", "{terms}"),
    "mean": reduction(" + ", "({terms}) / {n}"),
    "nanmean": reduction(),
    "prod": reduction(" * ", "{terms}"),
    "all": reduction(" and ", "{terms}"),
    "any": reduction(" or ", "{terms}"),
    "trace": lambda call, _: CellFormula(
        "{self}", lambda i: (CellInput("self", (i, i)),), min(call.sizes("self"))
    ),
    "norm": reduction(),
    "logsumexp": reduction(" + ", "log({terms})", "exp({self})"),
    **_named("amax", "amin", "max", "min", "argmax", "argmin", "var", "std", "median", "nanmedian"),
    **_named("count_nonzero", "aminmax", "var_mean", "std_mean", "linalg_vector_norm", "mode"),
    **_named("frobenius_norm", "nuclear_norm", "linalg_norm", "linalg_matrix_norm"),
    **_named("kthvalue"),
    "cumsum": scan(" + "),
    "cumprod": scan(" * "),
    "logcumsumexp": scan(" + ", "log of the exponentials of {terms}"),
    "cummax": scan(", ", "max({terms})"),
    "cummin": scan(", ", "min({terms})"),
    "softmax": row("exp({x}) / the sum of exp over {terms}"),
    "_softmax": row("exp({x}) / the sum of exp over {terms}"),
    "log_softmax": row("{x} - log of the sum of exp over {terms}"),
    "_log_softmax": row("{x} - log of the sum of exp over {terms}"),
    "softmin": row("exp(-{x}) / the sum of exp(-y) over {terms}"),
    "sort": row(picked=True),
    "argsort": row(picked=True),
    "msort": lambda call, index: row(picked=True)(replace(call, values={"dim": 0}), index),
    "diff": difference,
    "glu": gated,
    "topk": row(picked=True),
    "layer_norm": normalized,
    "native_layer_norm": normalized,
    "rms_norm": normalized,
}
