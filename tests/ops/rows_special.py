"""Special functions: values at a few points, correct to 15 digits, and references of one line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from rows_pointwise import as_float, each
from table import INTS, Array, Bad, Row, Sample, array, numpy_dtype

WIDE = ("float32", "float64")

# name, points (exact in every floating dtype), values
TABLED: list[tuple[str, list[float], list[float]]] = [
    ("special.airy_ai", [-1.0, 0.0, 1.0, 2.0],
        [0.535560883292352, 0.355028053887817, 0.135292416312881, 0.0349241304232743]),
    ("lgamma", [0.5, 1.0, 2.5, 8.0], [0.5723649429247, 0.0, 0.284682870472919, 8.52516136106541]),
    ("digamma", [0.5, 1.0, 2.5, 8.0], [-1.96351002602142, -0.577215664901533, 0.703156640645243, 2.01564147795561]),
    ("erfinv", [-0.75, 0.0, 0.25, 0.5, 0.75],
        [-0.813419847597619, 0.0, 0.225312055012178, 0.47693627620447, 0.813419847597619]),
    ("i0", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [4.88079258586502, 1.06348337074132, 1.0, 1.06348337074132, 2.27958530233607, 18948.9253492963]),
    ("special.i0e", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [0.243000354161825, 0.64503527044915, 1.0, 0.64503527044915, 0.308508322553671, 0.11642622121344]),
    ("special.i1", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-3.95337021740261, -0.257894305390896, 0.0, 0.257894305390896, 1.59063685463733, 18141.3487816388]),
    ("special.i1e", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-0.196826713297301, -0.156420803184872, 0.0, 0.156420803184872, 0.215269289248938, 0.111464299290181]),
    ("special.modified_bessel_i0", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [4.88079258586502, 1.06348337074132, 1.0, 1.06348337074132, 2.27958530233607, 18948.9253492963]),
    ("special.modified_bessel_i1", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-3.95337021740261, -0.257894305390896, 0.0, 0.257894305390896, 1.59063685463733, 18141.3487816388]),
    ("special.modified_bessel_k0", [0.5, 1.0, 2.5, 8.0],
        [0.924419071227666, 0.421024438240708, 0.0623475532003662, 0.000146470705222815]),
    ("special.modified_bessel_k1", [0.5, 1.0, 2.5, 8.0],
        [1.6564411200033, 0.601907230197235, 0.0738908163477471, 0.000155369211805001]),
    ("special.scaled_modified_bessel_k0", [0.5, 1.0, 2.5, 8.0],
        [1.52410938577391, 1.14446307980689, 0.7595486903281, 0.436623018601586]),
    ("special.scaled_modified_bessel_k1", [0.5, 1.0, 2.5, 8.0],
        [2.73100970821179, 1.63615348626326, 0.900174423907878, 0.463149092870496]),
    ("special.bessel_j0", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-0.260051954901934, 0.938469807240813, 1.0, 0.938469807240813, 0.223890779141236, 0.0476893107968335]),
    ("special.bessel_j1", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-0.339058958525936, -0.242268457674874, 0.0, 0.242268457674874, 0.576724807756873, -0.223447104490628]),
    ("special.bessel_y0", [0.5, 1.0, 2.5, 8.0],
        [-0.444518733506707, 0.088256964215677, 0.498070359615232, 0.223521489387566]),
    ("special.bessel_y1", [0.5, 1.0, 2.5, 8.0],
        [-1.47147239267024, -0.781212821300289, 0.145918137966786, -0.158060461731248]),
    ("special.spherical_bessel_j0", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [0.0470400026866224, 0.958851077208406, 1.0, 0.958851077208406, 0.454648713412841, -0.0447144098333696]),
    ("special.entr", [0.0, 0.5, 1.0, 2.5, 8.0], [0.0, 0.346573590279973, -0.0, -2.29072682968539, -16.6355323334387]),
    ("special.erfcx", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [16205.9888539996, 1.95236048918256, 1.0, 0.615690344192926, 0.255395676310506, 0.0468542210148938]),
    ("special.ndtr", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [0.0013498980316301, 0.308537538725987, 0.5, 0.691462461274013, 0.977249868051821, 1.0]),
    ("special.ndtri", [0.25, 0.5, 0.75], [-0.674489750196082, 0.0, 0.674489750196082]),
    ("special.log_ndtr", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [-6.60772622151035, -1.17591176159362, -0.693147180559945,
         -0.368946415288656, -0.0230129093289635, -1.77648211207765e-33]),
    ("special.psi", [0.5, 1.0, 2.5, 8.0], [-1.96351002602142, -0.577215664901533, 0.703156640645243, 2.01564147795561]),
    ("special.gammaln", [0.5, 1.0, 2.5, 8.0], [0.5723649429247, 0.0, 0.284682870472919, 8.52516136106541]),
    ("special.expit", [-3.0, -0.5, 0.0, 0.5, 2.0, 12.0],
        [0.0474258731775668, 0.377540668798145, 0.5, 0.622459331201855, 0.880797077977882, 0.999993855825398]),
]  # fmt: skip


def at(points: list[float]) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        yield Sample((Array(np.array(points, numpy_dtype(dtype)), dtype),), {}, "points")

    return samples


def tabled(values: list[float], x: np.ndarray) -> np.ndarray:
    assert x.shape == (len(values),)
    return np.array(values)


def pairs(low: float = 1, high: float = 4) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for a, b in (((3, 4), (3, 4)), ((3, 1), (1, 4)), ((0, 3), (1, 3)), ((300,), (300,))):
            x = array(dtype, *a, seed=1, low=low, high=high)
            yield Sample((x, array(dtype, *b, seed=2, low=low, high=high)), {}, f"{a}{b}")

    return samples


def degrees(dtype: str) -> Iterator[Sample]:
    """Points in [-1, 1] against degrees 0 to 5."""
    n = Array(np.arange(6).astype(numpy_dtype(dtype)), dtype)
    yield Sample((array(dtype, 7, 1, low=-1, high=1), n), {}, "degrees")


def series(kind: Any, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """NumPy's polynomial of each degree."""
    results = [kind.basis(int(k))(x[:, 0]) for k in n]
    return np.stack(results, axis=1)


def chebyshev(kind: str, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Evaluate the recurrence, whose second member names the kind."""
    second = {"t": x, "u": 2 * x, "v": 2 * x - 1, "w": 2 * x + 1}[kind]
    terms = [np.ones_like(x), second]
    for _ in range(5):
        terms.append(2 * x * terms[-1] - terms[-2])
    return np.concatenate([terms[int(k)] for k in n], axis=1)


def shifted(kind: str, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return chebyshev(kind, 2 * x - 1, n)


def lower_gamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x**a e**-x / Gamma(a + 1) * (1 + x / (a + 1) + ...)."""
    term = np.ones(np.broadcast_shapes(a.shape, x.shape))
    total = term.copy()
    for n in range(1, 60):
        term = term * x / (a + n)
        total += term
    return total * x**a * np.exp(-x) / each(math.gamma)(a + 1)


def hurwitz(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the first 2000 terms, and the integral that stands for the rest."""
    k = np.arange(2000).reshape(-1, *[1] * max(np.ndim(s), np.ndim(q)))
    end = 2000 + q
    remainder = end ** (1 - s) / (s - 1) + end**-s / 2 + s * end ** (-s - 1) / 12
    return np.asarray(((k + q) ** -s).sum(0) + remainder)


def _polygamma(dtype: str) -> Iterator[Sample]:
    yield Sample((1, array(dtype, 3, 4, low=1, high=4)), {}, "1")
    yield Sample((3, array(dtype, 5, low=1, high=4)), {}, "3")


def _polygamma_reference(n: int, x: np.ndarray) -> np.ndarray:
    sign = 1 if n % 2 else -1
    return sign * math.factorial(n) * hurwitz(np.full(np.shape(x), n + 1.0), np.asarray(x, float))


def _mvlgamma(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4, low=3, high=6), 2), {}, "2")


def _mvlgamma_reference(x: np.ndarray, p: int) -> np.ndarray:
    parts = [each(math.lgamma)(np.asarray(x, float) - i / 2) for i in range(p)]
    return np.sum(parts, axis=0) + p * (p - 1) / 4 * math.log(math.pi)


def _round(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 4, 5),), {}, "integers")


def _mixed(dtype: str) -> Iterator[Sample]:
    yield from pairs(2, 6)(dtype)
    yield Sample((array(dtype, 5, low=2, high=6), 2.5), {}, "number")


NEGATIVE = Bad(lambda m: m.polygamma(-1, m.ones(2)), RuntimeError, "negative")
NO_DIMENSION = Bad(lambda m: m.ones(2).mvlgamma(0), RuntimeError, "greater than or equal to 1")
INTEGER = Bad(
    lambda m: m.special.gammainc(m.ones(1).long(), m.ones(1).long()),
    NotImplementedError,
    "not implemented",
)
WIDE_OR_INT = INTS + WIDE
POLYNOMIALS = np.polynomial

ROWS = [
    Row(name, partial(tabled, values), at(points), WIDE, "float", out=True)
    for name, points, values in TABLED
] + [
    Row("polygamma", _polygamma_reference, _polygamma, WIDE_OR_INT, "float", out=True, bad=(NEGATIVE,)),
    Row("special.polygamma", _polygamma_reference, _polygamma, WIDE, "float", out=True),
    Row("mvlgamma", _mvlgamma_reference, _mvlgamma, WIDE_OR_INT, "float", inplace=True, out=True, bad=(NO_DIMENSION,)),
    Row("special.multigammaln", _mvlgamma_reference, _mvlgamma, WIDE, "float", out=True),
    Row("igamma", lower_gamma, pairs(), WIDE, inplace=True, out=True),
    Row("igammac", lambda a, x: 1 - lower_gamma(a, x), pairs(), WIDE, inplace=True, out=True),
    Row("special.gammainc", lower_gamma, pairs(), WIDE, out=True, bad=(INTEGER,)),
    Row("special.gammaincc", lambda a, x: 1 - lower_gamma(a, x), pairs(), WIDE, out=True),
    Row("special.zeta", as_float(hurwitz), _mixed, WIDE_OR_INT, "float", out=True),
    Row("special.xlog1py", as_float(lambda x, y: x * np.log1p(y)), _mixed, WIDE_OR_INT, "float", out=True),
    Row("special.round", np.rint, _round, WIDE, out=True),
    Row("special.hermite_polynomial_h", partial(series, POLYNOMIALS.Hermite), degrees, WIDE, out=True),
    Row("special.hermite_polynomial_he", partial(series, POLYNOMIALS.HermiteE), degrees, WIDE, out=True),
    Row("special.laguerre_polynomial_l", partial(series, POLYNOMIALS.Laguerre), degrees, WIDE, out=True),
    Row("special.legendre_polynomial_p", partial(series, POLYNOMIALS.Legendre), degrees, WIDE, out=True),
] + [
    Row(f"special.{prefix}chebyshev_polynomial_{kind}", partial(form, kind), degrees, WIDE, out=True)
    for prefix, form in (("", chebyshev), ("shifted_", shifted))
    for kind in "tuvw"
]  # fmt: skip
