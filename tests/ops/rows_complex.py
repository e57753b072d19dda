"""Complex numbers: what is theirs alone, and the other families' operators on complex dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_linalg import ANY, BATCHES, MATRICES, pairs
from table import ALL, COMPLEX, FLOATS, NUMBERS, Bad, Row, Sample, array

Samples = Callable[[str], Iterator[Sample]]
SHAPES = ((), (5,), (3, 4), (2, 0), (2, 3, 4), (70, 9))
FILLED = ((), (5,), (3, 4), (2, 3, 4))  # an empty NumPy array gives PyTorch other strides
CHOSEN = ("float32", "float64")


def one_tensor(*shapes: tuple[int, ...], nonzero: bool = False, high: float = 4) -> Samples:
    def samples(dtype: str) -> Iterator[Sample]:
        for shape in shapes or SHAPES:
            x = array(dtype, *shape, seed=3, low=-high, high=high, nonzero=nonzero)
            yield Sample((x,), {}, str(shape))

    return samples


def two(nonzero: bool = False, high: float = 4) -> Samples:
    def samples(dtype: str) -> Iterator[Sample]:
        shapes = (((5,), (5,)), ((3, 4), (4,)), ((2, 3, 1), (3, 4)), ((), (2, 2)), ((0,), (1,)))
        for a, b in shapes:
            x = array(dtype, *a, seed=4, low=-high, high=high, nonzero=nonzero)
            y = array(dtype, *b, seed=5, low=-high, high=high, nonzero=nonzero)
            yield Sample((x, y), {}, f"{a} {b}")
        yield Sample((array(dtype, 4, seed=6, nonzero=nonzero), 1.5 - 0.5j), {}, "a number")

    return samples


def parts(dtype: str) -> Iterator[Sample]:
    for a, b in (((4,), (4,)), ((2, 1), (3,)), ((), (2, 2)), ((0,), (0,))):
        yield Sample((array(dtype, *a, seed=1), array(dtype, *b, seed=2)), {}, f"{a} {b}")


def pairs_of_reals(dtype: str) -> Iterator[Sample]:
    for shape in ((2,), (3, 2), (0, 2), (2, 3, 2)):
        yield Sample((array(dtype, *shape, seed=3),), {}, str(shape))


def reduced(dtype: str) -> Iterator[Sample]:
    for shape, kwargs in (
        ((5,), {}),
        ((3, 4), {"dim": 0}),
        ((3, 4), {"dim": 1, "keepdim": True}),
        ((2, 3, 4), {"dim": 1}),
        ((300, 70), {"dim": 0}),
        ((9000,), {}),
    ):
        yield Sample((array(dtype, *shape, seed=3, low=-1, high=1),), kwargs, f"{shape} {kwargs}")


def few(dtype: str) -> Iterator[Sample]:
    """Little enough that a product stays a number."""
    for shape, kwargs in (((5,), {}), ((3, 4), {"dim": 0}), ((9, 3), {"dim": 0})):
        x = array(dtype, *shape, seed=3, low=-2, high=2, nonzero=True)
        yield Sample((x,), kwargs, f"{shape} {kwargs}")


def folded(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=None, keepdim=False: f(x, axis=dim, keepdims=keepdim)


def where_samples(dtype: str) -> Iterator[Sample]:
    condition = array("bool", 3, 4, seed=7)
    yield Sample((condition, array(dtype, 3, 4, seed=1), array(dtype, 4, seed=2)))


def masked(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4, seed=1), array("bool", 4, seed=2), 2 - 3j))


def to_pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1)


def from_pairs(x: np.ndarray) -> np.ndarray:
    return x[..., 0] + 1j * x[..., 1]


def adjoint_of(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -2, -1))


def with_parts(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    return np.asarray(real + 1j * imag)


UNARY: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("exp", np.exp),
    ("exp2", lambda z: np.exp(z * np.log(2))),
    ("expm1", np.expm1),
    ("log1p", np.log1p),
    ("sqrt", np.sqrt),
    ("sin", np.sin),
    ("cos", np.cos),
    ("tan", np.tan),
    ("asin", np.arcsin),
    ("acos", np.arccos),
    ("atan", np.arctan),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("tanh", np.tanh),
    ("asinh", np.arcsinh),
    ("acosh", np.arccosh),
    ("atanh", np.arctanh),
    ("sigmoid", lambda z: 1 / (1 + np.exp(-z))),
    ("neg", np.negative),
    ("square", np.square),
)
NO_ZERO: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("log", np.log),
    ("log2", lambda z: np.log(z) / np.log(2)),
    ("log10", lambda z: np.log(z) / np.log(10)),
    ("rsqrt", lambda z: 1 / np.sqrt(z)),
    ("reciprocal", lambda z: 1 / z),
    ("sgn", lambda z: z / np.abs(z)),
)
TESTS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("isnan", np.isnan),
    ("isinf", np.isinf),
    ("isfinite", np.isfinite),
    ("isreal", np.isreal),
    ("logical_not", np.logical_not),
)
PAIRS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
)


def refused(name: str, *args: Any, error: type[Exception] = NotImplementedError) -> Bad:
    return Bad(
        lambda m: getattr(m, name)(m.tensor([1 + 2j]), *args),
        error,
        "omplex",
    )


ROWS = [
    *(Row(name, f, one_tensor(), COMPLEX, inplace=True, out=name != "square") for name, f in UNARY),
    *(Row(n, f, one_tensor(nonzero=True), COMPLEX, inplace=True, out=True) for n, f in NO_ZERO),
    *(Row(name, f, one_tensor(), COMPLEX, result="bool") for name, f in TESTS),
    *(Row(name, f, two(), COMPLEX, inplace=True, out=True) for name, f in PAIRS),
    Row("div", np.divide, two(nonzero=True), COMPLEX, inplace=True, out=True),
    Row("pow", np.power, two(nonzero=True, high=2), COMPLEX),
    Row("eq", np.equal, two(), COMPLEX, result="bool", out=True, bad=(refused("lt", 1),)),
    Row("ne", np.not_equal, two(), COMPLEX, result="bool", out=True, bad=(refused("ge", 1),)),
    Row("abs", np.abs, one_tensor(), COMPLEX, result="real", out=True),
    Row("angle", np.angle, one_tensor(), ("float32", "float64", *COMPLEX), result="real", out=True),
    Row("sgn", np.sign, one_tensor(), NUMBERS, inplace=True, out=True, bad=(refused("sign"),)),
    Row("isreal", lambda x: np.ones(np.shape(x), bool), one_tensor(), ALL, result="bool"),
    Row("where", np.where, where_samples, COMPLEX),
    Row(
        "masked_fill",
        lambda x, mask, value: np.where(mask, value, x),
        masked,
        COMPLEX,
        bad=(
            Bad(
                lambda m: m.ones(2).masked_fill(m.ones(2) > 0, 1j),
                RuntimeError,
                "without overflow",
            ),
        ),
    ),
    Row("sum", folded(np.sum), reduced, COMPLEX, bad=(refused("amax", 0),)),
    Row("mean", folded(np.mean), reduced, COMPLEX, bad=(refused("max", 0, error=RuntimeError),)),
    Row("prod", folded(np.prod), few, COMPLEX, bad=(refused("argmax", error=RuntimeError),)),
    Row("all", folded(np.all), reduced, COMPLEX, result="bool"),
    Row("any", folded(np.any), reduced, COMPLEX, result="bool"),
    Row("mm", np.matmul, pairs(*MATRICES), COMPLEX, out=True),
    Row("bmm", np.matmul, pairs(*BATCHES), COMPLEX, out=True),
    Row("matmul", np.matmul, pairs(*ANY), COMPLEX, out=True),
    Row("dot", np.dot, pairs(((4,), (4,)), ((1000,), (1000,)), ((0,), (0,))), COMPLEX, out=True),
    Row(
        "vdot",
        np.vdot,
        pairs(((4,), (4,)), ((1000,), (1000,)), ((0,), (0,))),
        (*FLOATS, *COMPLEX),
        out=True,
        bad=(
            Bad(lambda m: m.vdot(m.ones(2), m.ones(3)), RuntimeError, "inconsistent tensor size"),
        ),
    ),
    Row(
        "real",
        np.real,
        one_tensor(*FILLED),
        COMPLEX,
        result="real",
        view=True,
    ),
    Row(
        "imag",
        np.imag,
        one_tensor(*FILLED),
        COMPLEX,
        result="real",
        view=True,
        bad=(Bad(lambda m: m.imag(m.ones(2)), RuntimeError, "non-complex dtypes"),),
    ),
    Row(
        "view_as_real",
        to_pairs,
        one_tensor(*FILLED),
        COMPLEX,
        result="real",
        view=True,
        bad=(Bad(lambda m: m.view_as_real(m.ones(2)), RuntimeError, "only supported for complex"),),
    ),
    Row("conj", np.conj, one_tensor(), COMPLEX, torch=False),
    Row("conj_physical", np.conj, one_tensor(), (*CHOSEN, *COMPLEX), inplace=True, out=True),
    Row("resolve_conj", lambda z: z, one_tensor(), (*CHOSEN, *COMPLEX)),
    Row("resolve_neg", lambda z: z, one_tensor(), (*CHOSEN, *COMPLEX)),
    Row(
        "adjoint",
        adjoint_of,
        one_tensor((3, 4), (2, 3, 4), (0, 2)),
        (*CHOSEN, *COMPLEX),
        torch=False,
        bad=(Bad(lambda m: m.ones(2).adjoint(), RuntimeError, "batches of matrices"),),
    ),
]


class Pairs(Row):
    """Rows whose result is complex where their arguments are real."""

    def result_dtype(self, dtype: str) -> str:
        return {"float32": "complex64", "float64": "complex128"}[dtype]


DTYPES_DIFFER = "Expected object of scalar type Float but got scalar type Double"
ROWS += [
    Pairs(
        "complex",
        with_parts,
        parts,
        CHOSEN,
        out=True,
        bad=(
            Bad(lambda m: m.complex(m.ones(2), m.ones(2).double()), RuntimeError, DTYPES_DIFFER),
            Bad(lambda m: m.complex(m.ones(2).long(), m.ones(2).long()), RuntimeError, "Long"),
            Bad(
                lambda m: m.complex(m.ones(2), m.ones(2), out=m.ones(2)),
                RuntimeError,
                "scalar type ComplexFloat but got scalar type Float for argument 'out'",
            ),
        ),
    ),
    Pairs(
        "polar",
        lambda size, angle: with_parts(size * np.cos(angle), size * np.sin(angle)),
        parts,
        CHOSEN,
        out=True,
        bad=(Bad(lambda m: m.polar(m.ones(2), m.ones(2).double()), RuntimeError, DTYPES_DIFFER),),
    ),
    Pairs(
        "view_as_complex",
        from_pairs,
        pairs_of_reals,
        CHOSEN,
        view=True,
        bad=(
            Bad(lambda m: m.view_as_complex(m.ones(3)), RuntimeError, "last dimension of size 2"),
            Bad(
                lambda m: m.view_as_complex(m.ones(5)[1:].view(2, 2)),
                RuntimeError,
                "storage_offset divisible by 2",
            ),
            Bad(
                lambda m: m.view_as_complex(m.ones(3, 3)[:, :2]),
                RuntimeError,
                "stride divisible by 2",
            ),
            Bad(
                lambda m: m.view_as_complex(m.ones(2, 4)[:, ::2]),
                RuntimeError,
                "last dimension with stride 1",
            ),
        ),
    ),
]
