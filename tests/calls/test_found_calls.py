"""Calls that the search has found to differ from PyTorch, or to end badly, with what PyTorch does."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

F = engine.nn.functional


def leaf(*values: float) -> Any:
    return engine.tensor([*values], requires_grad=True)


# ---- memory


def test_a_tensor_in_place_of_a_list_of_tensors_is_refused() -> None:
    # Its rows would be freed as soon as they were listed: the heap was corrupted.
    code = """if True:
        import engine
        x = engine.tensor([1.0, 2.0, 3.0])
        for _ in range(200):
            for call in (
                lambda: engine.index_put(x, engine.tensor([0, 1]), x[:2]),
                lambda: engine.cat(engine.ones(50, 3)),
                lambda: engine.stack(row * 2 for row in engine.ones(50, 3)),
            ):
                try:
                    call()
                except TypeError as error:
                    assert "must be sequence of Tensor" in str(error)
                else:
                    raise AssertionError
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_repeats_of_more_than_there_is_memory_are_refused() -> None:
    with pytest.raises(RuntimeError, match="memory"):
        engine.repeat_interleave(engine.ones(1), engine.tensor([2**63 - 2]), 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: engine.hsplit(x[:, :0], 2**62),
        lambda x: engine.vsplit(x[:0], 2**40),
        lambda x: engine.dsplit(x[:, :, :0], 2**32),
        lambda x: engine.tensor_split(x, 2**62),
        lambda x: engine.chunk(x[:0], 2**40),
        lambda x: x[0, 0].expand(2**40).unbind(),
        lambda x: x[0, 0].expand(2**40).split(1),
        lambda x: x[0, 0].expand(2**40).tensor_split(2**40),
        lambda x: engine.empty(2**50, device="meta").unbind(),
    ],
)
def test_more_pieces_than_can_be_made_in_seconds_are_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match="pieces of a dimension of size"):
        call(engine.ones(1, 1, 1))


# ---- values


def test_logsumexp_of_very_negative_numbers_is_not_nan() -> None:
    x = engine.tensor([-800.0, -900.0, -1e30])
    assert engine.logsumexp(x, 0).item() == -800.0
    assert engine.logsumexp(x.reshape(3, 1), 0).tolist() == [-800.0]
    assert engine.logsumexp(engine.tensor([-(2**31)]), 0).item() == -(2.0**31)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: engine.hinge_embedding_loss(x, x), (2,)),
        (lambda x: engine.margin_ranking_loss(x, x, x), (2,)),
        (lambda x: engine.kl_div(x, x), (2,)),
        (lambda x: engine.binary_cross_entropy_with_logits(x, x), (2,)),
        (lambda x: engine.cosine_embedding_loss(x.repeat(2, 1), x.repeat(2, 1), x), (2,)),
        (
            lambda x: engine.triplet_margin_loss(x.repeat(3, 1), -x.repeat(3, 1), x.repeat(3, 1)),
            (3,),
        ),
        (lambda x: F.hinge_embedding_loss(x, x), ()),
        (lambda x: F.kl_div(x, x, reduction="batchmean"), ()),
    ],
)
def test_losses_in_the_top_namespace_are_not_reduced_unless_told(
    call: Callable[[Any], Any], shape: tuple[int, ...]
) -> None:
    assert tuple(call(engine.tensor([1.0, -1.0])).shape) == shape


def test_their_reduction_is_a_number() -> None:
    x, y = engine.tensor([0.5, 0.25]), engine.tensor([1.0, -1.0])
    assert engine.hinge_embedding_loss(x, y, 1.0, 2).item() == 1.25
    assert engine.hinge_embedding_loss(x, y, 1.0, 1).item() == 0.625
    with pytest.raises(TypeError):
        engine.hinge_embedding_loss(x, y, 1.0, "sum")


def test_hinge_embedding_loss_of_integers_stays_one() -> None:
    loss = F.hinge_embedding_loss(
        engine.tensor([-4, -1]), engine.tensor([1, -1]), 0.5, reduction="sum"
    )
    assert loss.dtype is engine.int64
    assert loss.item() == -3


def test_median_and_kthvalue_take_pytorchs_index_among_equals() -> None:
    ties = engine.tensor([[3, 1, 1, 3, 1], [2, 2, 2, 2, 2], [0, 5, 5, 0, 5]])
    assert ties.median(1).indices.tolist() == MEDIAN
    assert ties.float().nanmedian(1).indices.tolist() == MEDIAN
    assert [ties.kthvalue(k, 1).indices.tolist() for k in (1, 2, 3, 4, 5)] == KTH
    assert ties.median(1).values.tolist() == [1, 2, 5]
    nan = float("nan")
    few = engine.tensor([0.0, nan, 1.0, nan, 2.0, nan])
    assert [few.kthvalue(k).indices.item() for k in (4, 5, 6)] == [3, 1, 5]
    assert few.median(0).indices.item() == 1


MEDIAN = [4, 2, 1]
KTH = [[2, 3, 3], [4, 2, 0], [1, 0, 2], [3, 1, 1], [0, 4, 4]]


def test_unravel_index_gives_int64() -> None:
    actual = engine.unravel_index(engine.tensor([5], dtype=engine.uint8), (2, 300))
    assert [element.dtype for element in actual] == [engine.int64, engine.int64]
    assert [item.tolist() for item in actual] == [[0], [5]]


def test_polynomials_of_a_degree_that_is_no_int64_are_zero() -> None:
    x = engine.tensor([0.5, 2.0, -1.0])
    for name in (
        "chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_w",
        "hermite_polynomial_h",
    ):
        for degree in (float("nan"), float("inf"), 1e300, -1.0):
            assert getattr(engine.special, name)(x, degree).tolist() == [0, 0, 0]
        assert getattr(engine.special, name)(x, 0).tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", "tuvw")
@pytest.mark.parametrize("prefix", ["", "shifted_"])
def test_chebyshev_polynomials_at_infinity(prefix: str, kind: str) -> None:
    x = engine.tensor([math.inf, -math.inf])
    polynomial = getattr(engine.special, f"{prefix}chebyshev_polynomial_{kind}")
    assert polynomial(x, 1).tolist() == [math.inf, -math.inf]
    assert polynomial(x, 2).tolist() == [math.inf, math.inf]
    for degree in (3, 7, 40):  # differences of infinities, as in PyTorch's recurrence
        assert polynomial(x, degree).isnan().all()


def test_pixel_unshuffle_of_nothing_keeps_the_shape() -> None:
    assert tuple(F.pixel_unshuffle(engine.ones(0, 3, 4, 8), 2).shape) == (0, 3, 4, 8)


def test_gaussian_nll_loss_of_integers_keeps_the_variance() -> None:
    loss = F.gaussian_nll_loss(engine.tensor([1, 2]), engine.tensor([1, 2]), 0.5)
    assert loss.item() == pytest.approx(-0.34657359)


@pytest.mark.parametrize("name", ["arange", "linspace", "logspace"])
def test_ranges_leave_an_out_of_as_many_elements_its_shape(name: str) -> None:
    out = engine.zeros(4, 1)
    arguments = (0, 4) if name == "arange" else (0, 3, 4)
    assert getattr(engine, name)(*arguments, out=out) is out
    assert tuple(out.shape) == (4, 1)


def test_a_number_has_transposes() -> None:
    x = engine.tensor(2.0)
    assert x.mT is x
    assert x.mH is x
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        engine.ones(2).mT  # noqa: B018


def test_complex_logaddexp_of_equal_real_parts_keeps_the_first_angle() -> None:
    x, y = engine.tensor([0.5 + 4j]), engine.tensor([0.5 - 2j])
    assert engine.logaddexp(x, y).imag.item() == pytest.approx(4.1415927)
    assert engine.logaddexp(y, x).imag.item() == pytest.approx(-2.1415927)


# ---- gradients


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_what_a_comparison_in_place_leaves_depends_on_no_input(name: str) -> None:
    x, y = leaf(1.0, 2.0), leaf(2.0, 2.0)
    written = getattr(x * 3, f"{name}_")(y)
    assert written.requires_grad
    for gradient in engine.autograd.grad(written.sum(), (x, y)):
        assert gradient.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        getattr(x, f"{name}_")(1)


def test_a_copy_into_integers_has_no_history() -> None:
    x = engine.zeros(2, dtype=engine.int64)
    assert not x.copy_(leaf(1.0, 2.0)).requires_grad


def test_a_tensor_made_of_a_tensor_is_a_leaf() -> None:
    x = leaf(1.0)
    assert not x.new_tensor(x).requires_grad
    assert not engine.tensor(x * 2).requires_grad


def test_the_gradient_of_a_probability_of_zero_by_its_target_is_infinite() -> None:
    target = leaf(0.5)
    F.binary_cross_entropy(engine.tensor([0.0]), target).backward()
    assert target.grad.tolist() == [float("inf")]


def test_a_detached_copy_says_that_its_gradient_is_missing() -> None:
    copied = engine.detach_copy(leaf(1.0))
    with pytest.raises(RuntimeError, match="derivative for aten::detach_copy is not implemented"):
        copied.sum().backward()


# ---- arguments


def test_special_methods_take_what_their_operators_do() -> None:
    x, y = engine.tensor([5.0, 6.0]), engine.tensor([2.0, 4.0])
    assert x.__add__(y, alpha=2).tolist() == [9, 14]
    assert x.__radd__(y, alpha=2).tolist() == [9, 14]
    assert x.__sub__(y, alpha=2).tolist() == [1, -2]
    assert x.__truediv__(y, rounding_mode="floor").tolist() == [2, 1]
    assert x.clone().__isub__(y, alpha=2).tolist() == [1, -2]
    assert x.clone().__itruediv__(y, rounding_mode="trunc").tolist() == [2, 1]
    assert x.__add__(y, out=x) is NotImplemented
    assert x.__eq__() is NotImplemented
    assert (x + y).tolist() == [7, 10]
    assert (x != None) is True  # noqa: E711


def test_older_orders_of_arguments_are_understood() -> None:
    x, y = engine.tensor([1.0, 2.0]), engine.tensor([3.0, 5.0])
    m = engine.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert engine.add(x, 2, y).tolist() == x.add(2, y).tolist() == [7, 12]
    assert x.add(2, 3).tolist() == [7, 8]
    assert engine.sub(x, 2, y).tolist() == x.clone().sub_(2, y).tolist() == [-5, -8]
    assert engine.rsub(x, 3, 2).tolist() == [1, -1]
    assert engine.addcmul(x, 2, x, y).tolist() == x.clone().addcmul_(2, x, y).tolist() == [7, 22]
    assert engine.addcdiv(x, 2, x, x).tolist() == [3, 4]
    both = [[23, 34], [51, 74]]
    assert engine.addmm(2, m, 3, m, m).tolist() == m.clone().addmm_(2, 3, m, m).tolist() == both
    assert engine.addmm(2, m, m, m).tolist() == [[9, 14], [21, 30]]
    assert engine.addmv(2, x, 3, m, x).tolist() == [17, 37]
    assert engine.addr(2, m, 3, x, x).tolist() == [[5, 10], [12, 20]]
    out = engine.empty(2)
    assert engine.add(x, 2, y, out=out) is out
    assert engine.baddbmm(2, m[None], 3, m[None], m[None]).tolist() == [both]
    for wrong in (
        lambda: engine.add(x, y, 2),
        lambda: engine.rsub(x, y, 2),
        lambda: x.add(1, 2, 3),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_gradient_takes_numbers_of_numpy_and_of_tensors() -> None:
    numpy = pytest.importorskip("numpy")
    x = engine.tensor([[1.0, 2.0], [3.0, 5.0]])
    for dim in (1, numpy.int64(1), engine.tensor(1), [numpy.int64(1)], (engine.tensor(-1),)):
        assert [slope.tolist() for slope in engine.gradient(x, dim=dim)] == [[[1, 1], [2, 2]]]
    for spacing in (2, 2.0, numpy.float32(2), numpy.int64(2), engine.tensor(2.0)):
        assert engine.gradient(x, spacing=spacing, dim=0)[0].tolist() == [[1, 1.5], [1, 1.5]]
    both = engine.gradient(x, spacing=[numpy.bool_(True), numpy.float32(2)])
    assert [slope.tolist() for slope in both] == [[[2, 3], [2, 3]], [[0.5, 0.5], [1, 1]]]
    assert engine.gradient(x, edge_order=numpy.int64(1))[0].tolist() == [[2, 3], [2, 3]]


def test_a_number_is_copied_and_a_storage_let_go() -> None:
    x = engine.tensor([1.0, 2.0])
    assert x.copy_(7).tolist() == [7, 7]
    assert tuple(x.set_().shape) == (0,)
    assert x.dtype is engine.float32


def test_elu_in_place_takes_all_its_arguments() -> None:
    x = engine.tensor([-1.0, 2.0])
    assert F.elu_(x, 2.0, 0.5, 0.25) is x
    assert x.tolist() == pytest.approx([-0.2211992, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.is_contiguous(-1),
        lambda x: x.is_contiguous(memory_format=-1),
        lambda x: x.float(x),
        lambda x: x.cpu(memory_format=1),
        lambda x: x.normal_(generator=1),
        lambda x: engine.randn(2, generator="x"),
        lambda x: engine.multinomial(x, 1, generator=()),
        lambda x: engine.histogramdd(x, 2, weight=0.5),
        lambda x: engine.histogramdd(x, 0.5),
        lambda x: engine.numel(3),
        lambda x: engine.is_complex(3),
        lambda x: engine.real(3),
        lambda x: x.is_set_to(3),
        lambda x: x.is_same_size(None),
        lambda x: x.type_as([1]),
        lambda x: x.size("a"),
        lambda x: engine.tensordot([1], x),
        lambda x: engine.gradient(3),
        lambda x: engine.gradient(x, dim=True),
        lambda x: engine.gradient(x, dim=1.0),
        lambda x: engine.gradient(x, dim=[True]),
        lambda x: engine.gradient(x, dim=range(2)),
        lambda x: engine.gradient(x, edge_order=True),
        lambda x: engine.gradient(x, edge_order=1.0),
        lambda x: engine.gradient(x, spacing="a"),
        lambda x: engine.gradient(x, spacing=range(2)),
        lambda x: engine.gradient(x, spacing=x[0]),
        lambda x: engine.gradient(x, spacing=["a", "b"]),
        lambda x: engine.gradient(x, spacing=[1, x[0]]),
        lambda x: engine.broadcast_shapes(object),
        lambda x: engine.linalg.svd(x, out=x),
        lambda x: engine.kthvalue(x, 1, out=(x, 1)),
        lambda x: engine.sort(x, out=(x,)),
        lambda x: x.transpose(engine.tensor([1, 2]), 0),
        lambda x: x.sum(keepdim=engine.tensor([1, 2])),
    ],
)
def test_wrong_arguments_are_type_errors(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError) as caught:
        call(engine.ones(2, 2))
    assert "_h'" not in str(caught.value)
    assert "subscriptable" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: engine.linalg.qr(x.half()), NotImplementedError),
        (lambda x: engine.linalg.inv(x.half()), RuntimeError),
        (lambda x: engine.linalg.eigh(x.long()), NotImplementedError),
        (lambda x: engine.linalg.qr(x.long()), RuntimeError),
        (lambda x: x.cfloat().rad2deg(), RuntimeError),
        (lambda x: engine.fmax(x.cfloat(), x.cfloat()), RuntimeError),
        (lambda x: engine.kl_div(x.long(), x.long()), RuntimeError),
        (lambda x: F.lp_pool2d(x[None], 2, (1, 1, 1)), ValueError),
        # Of two faults the error is about the shapes, as in PyTorch.
        (lambda x: engine.bitwise_and(x, engine.ones(3, 3)), RuntimeError),
    ],
)
def test_errors_have_pytorchs_class(call: Callable[[Any], Any], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        call(engine.ones(2, 2))
    assert type(caught.value) is error


def test_the_name_that_is_printed_is_a_str() -> None:
    with pytest.raises(TypeError, match="name must be a str, got Tensor"):
        engine.imported_as(engine.ones(2))
    assert repr(engine.float32) == "engine.float32"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, n: x.mul(n), OverflowError),
        (lambda x, n: x < n, OverflowError),
        (lambda x, n: x.fill_(n), OverflowError),
        (lambda x, n: x.addcmul(x, x, value=n), OverflowError),
        (lambda x, n: engine.full((2,), n), OverflowError),
        (lambda x, n: x.select(0, n), ValueError),
        (lambda x, n: engine.eye(n), ValueError),
        (lambda x, n: engine.tensor(n, dtype=engine.uint8), ValueError),
        (lambda x, n: engine.tensor([n], dtype=engine.int8), ValueError),
        (lambda x, n: engine.zeros(n), TypeError),
        (lambda x, n: x.view(n), TypeError),
        (lambda x, n: x.repeat(n, 2), TypeError),
    ],
)
def test_an_integer_beyond_64_bits_has_pytorchs_class(call, error) -> None:
    for number in (2**70, -(2**70)):
        with pytest.raises(error, match=str(number)):
            call(engine.ones(2), number)


def test_a_number_of_numpy_is_a_number() -> None:
    x = engine.tensor([-4, 1])
    assert engine.clamp_min_(x, np.int64(0)).tolist() == [0, 1]
    assert engine.mul(x, np.float32(0.5)).tolist() == [0.0, 0.5]
    assert np.int64(1) in x


def test_arguments_that_pytorch_takes_by_name_or_as_int32() -> None:
    x = engine.tensor([3, 1, 2])
    assert x.view(size=(3, 1)).shape == (3, 1)
    assert [part.tolist() for part in x.split(split_size=2)] == [[3, 1], [2]]
    assert [part.tolist() for part in engine.split(x, split_size_or_sections=[1, 2])] == [
        [3],
        [1, 2],
    ]
    with pytest.raises(TypeError, match="missing 1 required argument"):
        x.split()
    assert x.take_along_dim(engine.tensor([2, 0], dtype=engine.int32)).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="should be Long"):
        x.take_along_dim(engine.tensor([-1], dtype=engine.int32), 0)


def test_calls_that_pytorch_rejects() -> None:
    x = engine.ones(2)
    for function in (engine.block_diag, engine.cartesian_prod):
        function(x, x)
        with pytest.raises(TypeError, match="expected tensors, got list"):
            function([x, x])
    with pytest.raises(ValueError, match="negative size -1"):
        engine.broadcast_shapes((-1, 2), (2,))
    with pytest.raises(IndexError, match="padding must have 1 sizes"):
        engine.nn.functional.max_unpool1d(x.view(1, 2), engine.tensor([[0, 1]]), 2, 2, (0, 0))
    with pytest.raises(ValueError, match="both running_mean and running_var"):
        engine.nn.functional.batch_norm(engine.ones(2, 3), engine.zeros(3), None)


EMPTY_MATRICES: list[tuple[str, Callable[[Any], Any]]] = [
    ("linalg.eigh", lambda a: engine.linalg.eigh(a)),
    ("linalg.cholesky", lambda a: engine.linalg.cholesky(a)),
    ("linalg.ldl_factor", lambda a: engine.linalg.ldl_factor(a)),
    ("linalg.svd", lambda a: engine.linalg.svd(a)),
    ("linalg.svdvals", lambda a: engine.linalg.svdvals(a)),
    ("linalg.lu_factor", lambda a: engine.linalg.lu_factor(a)),
    ("linalg.lu", lambda a: engine.linalg.lu(a)),
    ("linalg.solve", lambda a: engine.linalg.solve(a, a)),
    ("linalg.cond", lambda a: engine.linalg.cond(a)),
    ("lu_solve", lambda a: a.lu_solve(a, engine.ones(a.shape[:-1], dtype=engine.int32))),
]


@pytest.mark.parametrize("sizes", [(0, 2, 2), (1, 0, 0)])
@pytest.mark.parametrize(("name", "call"), EMPTY_MATRICES, ids=[name for name, _ in EMPTY_MATRICES])
def test_lapack_is_not_asked_for_an_empty_tensor(
    name: str, call: Callable[[Any], Any], sizes: tuple[int, ...]
) -> None:
    result = call(engine.ones(sizes, dtype=engine.float16))
    first = result if isinstance(result, engine.Tensor) else result[0]
    assert first.dtype == engine.float16
    with pytest.raises((RuntimeError, NotImplementedError), match="Low precision dtypes"):
        call(engine.ones(2, 2, dtype=engine.float16))
    if name in ("linalg.eigh", "linalg.lu_factor", "linalg.lu"):
        call(engine.ones(sizes, dtype=engine.int32))


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "l1": lambda x, y: F.l1_loss(x, y),
    "mse": lambda x, y: F.mse_loss(x, y),
    "smooth l1": lambda x, y: F.smooth_l1_loss(x, y),
    "huber": lambda x, y: F.huber_loss(x, y),
    "cross entropy of logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y),
    "divergence": lambda x, y: F.kl_div(x, y, reduction="batchmean"),
    "multilabel soft margin": lambda x, y: F.multilabel_soft_margin_loss(x, y),
    "nll": lambda x, y: F.nll_loss(x, engine.zeros(0, dtype=engine.int64)),
    "cross entropy": lambda x, y: F.cross_entropy(x, engine.zeros(0, dtype=engine.int64)),
    "hinge": lambda x, y: F.hinge_embedding_loss(x, y),
    "poisson": lambda x, y: F.poisson_nll_loss(x, y),
    "ranking": lambda x, y: F.margin_ranking_loss(x, y, y),
    "triplet": lambda x, y: F.triplet_margin_loss(x, y, y),
    "cosine": lambda x, y: F.cosine_embedding_loss(x, y, engine.ones(0)),
}
TAKEN = ("poisson", "ranking", "triplet", "cosine")
CAST = ("l1", "divergence", "hinge")


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_an_empty_batch(name: str) -> None:
    for dtype in (engine.float16, engine.bfloat16):
        x = engine.zeros(0, 3, dtype=dtype)
        loss = LOSSES[name](x, x)
        assert loss.dtype is dtype
        assert loss.isnan()
    x = engine.zeros(0, 3, dtype=engine.int64)
    if name in TAKEN:
        assert LOSSES[name](x, x).isnan()
        return
    error = RuntimeError if name in CAST else NotImplementedError
    with pytest.raises(error) as raised:
        LOSSES[name](x, x)
    assert raised.type is error


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16, engine.int32, engine.bool])
def test_margin_losses_of_an_empty_batch_take_every_dtype(dtype: Any) -> None:
    x = engine.zeros(0, 3, dtype=dtype)
    losses = {
        F.multi_margin_loss: engine.zeros(0, dtype=engine.int64),
        F.multilabel_margin_loss: engine.zeros(0, 3, dtype=engine.int64),
    }
    for loss, target in losses.items():
        for reduction in ("none", "sum", "mean"):
            result = loss(x, target, reduction=reduction)
            assert result.dtype is dtype
            assert result.shape == ((0,) if reduction == "none" else ())


def test_soft_margin_loss_computes_in_the_dtype_and_the_sizes_of_its_input() -> None:
    half = engine.tensor([1.0, 2.0], dtype=engine.float16)
    assert F.soft_margin_loss(half, engine.tensor([1.0, -1.0])).dtype is engine.float16
    with pytest.raises(RuntimeError, match="soft_margin_loss: result type Float can't be cast"):
        F.soft_margin_loss(engine.tensor([1, 2]), engine.tensor([1.0, -1.0]))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        F.soft_margin_loss(engine.ones(1), engine.ones(0))


def test_dropout_of_everything_or_nothing_takes_integers() -> None:
    x = engine.ones(2, 3, dtype=engine.int64)
    for drop in (F.dropout, F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout):
        assert drop(x, 1.0, True).tolist() == [[0, 0, 0], [0, 0, 0]]
        assert drop(x, 0.5, False).tolist() == x.tolist()


def test_frequencies_may_require_grad() -> None:
    for function in (engine.fft.fftfreq, engine.fft.rfftfreq):
        options = {"layout": engine.strided, "device": "cpu", "pin_memory": False}
        assert function(4, 0.5, requires_grad=True, **options).requires_grad


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64, engine.bool])
def test_lgamma_is_zero_at_one_and_two(dtype: Any) -> None:
    x = engine.tensor([1, 2] * 9 if dtype is not engine.bool else [1] * 18, dtype=dtype)
    assert engine.lgamma(x).tolist() == [0.0] * 18


def test_steps_below_one_of_narrow_integers() -> None:
    for dtype in (engine.uint8, engine.int32):
        assert engine.arange(0, 2.5, 0.5, dtype=dtype).tolist() == [0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="step must be nonzero"):
        engine.arange(0, 2.5, 0.5, dtype=engine.int64)


def test_determinants_and_factors_of_dtypes_without_lapack() -> None:
    assert engine.linalg.det(engine.ones(2, 0, 0, dtype=engine.float16)).tolist() == [1, 1]
    pivots = engine.tensor([2, 2], dtype=engine.int32)
    for dtype in (engine.int64, engine.float16, engine.complex64):
        parts = engine.lu_unpack(engine.tensor([[2, 3], [4, 5]], dtype=dtype), pivots)
        assert [part.dtype for part in parts] == 3 * [dtype]
        assert [part.tolist() for part in parts] == [
            [[0, 1], [1, 0]],
            [[1, 0], [4, 1]],
            [[2, 3], [0, 5]],
        ]


def test_distances_within_fewer_than_two_rows_have_any_floating_dtype() -> None:
    assert F.pdist(engine.ones(1, 3, dtype=engine.float16)).shape == (0,)
    assert F.pdist(engine.ones(2, 0, dtype=engine.bfloat16)).tolist() == [0]
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        F.pdist(engine.ones(2, 3, dtype=engine.float16))
    with pytest.raises(RuntimeError, match="only supports floating-point"):
        F.pdist(engine.ones(1, 3, dtype=engine.int32))


DROPOUTS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_that_drops_nothing_writes_nothing(name: str) -> None:
    x = engine.ones(2, 3, requires_grad=True)
    in_place = getattr(engine, f"{name}_")
    assert in_place(x, 0.5, False) is x
    assert in_place(x, 0.0, True) is x
    with pytest.raises(RuntimeError, match="leaf Variable"):
        in_place(x, 0.5, True)
    with pytest.raises(TypeError, match="must be Tensor, got int"):
        in_place(3, 0.5, True)


def test_dropout_of_integers() -> None:
    x = engine.tensor([[1, 2]])
    assert engine.dropout(x, 1.0, True).tolist() == [[0, 0]]
    assert engine.dropout(x > 0, 1.0, True).tolist() == [[False, False]]
    assert engine.dropout_(x.clone(), 1.0, True).tolist() == [[0, 0]]
    assert [t.tolist() for t in engine.native_dropout(x, 2.0, False)] == [[[1, 2]], [[True, True]]]
    for call in (engine.dropout, engine.dropout_, engine.feature_dropout):
        with pytest.raises(RuntimeError, match="can't be cast"):
            call(x, 0.5, True)


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_range() -> None:
    assert engine.range(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert engine.range(3, 0, -1, dtype=engine.int64).tolist() == [3, 2, 1, 0]
    out = engine.ones(1, dtype=engine.int32)
    assert engine.range(0, 2, out=out) is out
    assert out.tolist() == [0, 1, 2]
    for arguments in ((3, 0), (0, 3, 0), (0, float("inf")), (float("nan"), 3)):
        with pytest.raises(RuntimeError, match="range: "):
            engine.range(*arguments)
    for wrong in ((1,), (), ("a", 2), ([1], 2)):
        with pytest.raises(TypeError):
            engine.range(*wrong)


def test_the_loss_of_logits_is_computed_in_the_memory_of_the_target() -> None:
    loss = F.binary_cross_entropy_with_logits
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        loss(engine.ones(2), engine.ones(2, dtype=engine.int64))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        engine.binary_cross_entropy_with_logits(engine.ones(3), engine.tensor(1.0))
    assert loss(engine.ones(2), engine.ones(2, dtype=engine.float64)).dtype == engine.float64


def test_layouts_of_results() -> None:
    x = engine.ones(2, 4).t()
    assert x.mvlgamma(1).stride() == (2, 1)
    assert reversed(x).stride() == (1, 4)
    assert engine.norm_except_dim(engine.tensor([3.0, -4.0])).tolist() == [3, 4]
    assert engine.norm_except_dim(engine.ones(2, 3, 4), 2, 1).shape == (1, 3, 1)
    with pytest.raises(IndexError):
        engine.norm_except_dim(engine.tensor(1.0))
    with pytest.raises(TypeError, match="'v' must be Tensor, not int"):
        engine.norm_except_dim(3)


def test_classes_of_errors_that_pytorch_gives_them() -> None:
    with pytest.raises(RuntimeError, match="`shifts` required"):
        engine.fft.fftshift(engine.tensor(1.0))
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        engine.frombuffer(2, dtype=engine.int8)
    for bounds in ((float("nan"),), (0.5, 0.1), (0.1, float("inf"))):
        with pytest.raises(RuntimeError, match="rrelu: lower"):
            F.rrelu(engine.ones(2), *bounds)
    with pytest.raises(TypeError, match="must be real number, not NoneType"):
        engine.rrelu(engine.ones(2), None)
    with pytest.raises(RuntimeError, match="Invalid value of device '2'"):
        engine.get_device_module(2)
    with pytest.raises(RuntimeError, match="step must be positive"):
        engine.slice_copy(engine.ones(2), step=0)
    with pytest.raises(RuntimeError, match="dropout probability"):
        F.dropout(engine.ones(2), float("nan"))
    with pytest.raises(TypeError, match="'input' must be Tensor, got int"):
        F.adaptive_max_pool1d(3, 2)
    with pytest.raises(RuntimeError):
        F.adaptive_max_pool1d(engine.ones(4), [2])
    assert engine.ones(0).apply_(3).shape == (0,)
    for order in ("nuc", 2):
        with pytest.raises(RuntimeError, match="matrix_norm: Low precision dtypes"):
            engine.linalg.matrix_norm(engine.ones(2, 2, dtype=engine.float16), order)
    z = engine.ones(2, dtype=engine.complex64)
    for call in (z.clamp, z.clamp_min, z.clamp_max):
        with pytest.raises(NotImplementedError, match="complex"):
            call(engine.ones(2))


def test_powers_of_two_scale_in_the_dtype_of_the_number() -> None:
    for dtype in (engine.float16, engine.bfloat16, engine.float32, engine.float64):
        x = engine.tensor([1.5, -1.0], dtype=dtype)
        y = engine.ldexp(x, engine.tensor([3, -2], dtype=engine.int8))
        assert (y.dtype, y.tolist()) == (dtype, [12, -0.25])
    tiny = engine.tensor([2.0**-100])
    assert engine.ldexp(tiny, engine.tensor([200])).tolist() == [
        2.0**100
    ]  # 2 ** 200 is not a float32
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        engine.ldexp(tiny, engine.tensor([True]))


def test_gradients_of_16_bit_sums_of_exponentials() -> None:
    for dtype in (engine.float16, engine.bfloat16):
        x = engine.zeros(4, dtype=dtype, requires_grad=True)
        x.logcumsumexp(0).sum().backward()
        expected = [1 + 1 / 2 + 1 / 3 + 1 / 4, 1 / 2 + 1 / 3 + 1 / 4, 1 / 3 + 1 / 4, 1 / 4]
        assert x.grad.tolist() == pytest.approx(expected, rel=2e-2)


def test_a_loss_must_not_depend_on_the_phase_of_singular_vectors() -> None:
    x = engine.view_as_complex(engine.arange(32.0).sin().reshape(4, 4, 2)).requires_grad_()
    u, s, vh = engine.linalg.svd(x)
    ((u.abs() ** 2).sum() + s.sum() + (u @ vh).real.sum()).backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="specified up to multiplication by e"):
        (u.real.sum() + vh.imag.sum()).backward()


def test_vandermonde_matrices_of_16_bit_numbers() -> None:
    with pytest.raises(RuntimeError, match="supports floating point"):
        engine.linalg.vander(engine.ones(3, dtype=engine.float16))


def test_a_number_is_converted_where_it_is_written() -> None:
    bytes_ = engine.ones(3, dtype=engine.uint8)
    index = engine.tensor([1])
    for value in (-0.25, 300.7):
        assert bytes_.scatter(0, index[:0], value).tolist() == [1, 1, 1]
        assert bytes_.to("meta").scatter(0, index.to("meta"), value).shape == (3,)
        with pytest.raises(RuntimeError, match="cannot be converted to type uint8_t"):
            bytes_.scatter(0, index, value)


@pytest.mark.parametrize(
    ("k", "largest", "in_order", "indices"),
    [
        (1, True, True, [5]),
        (1, False, True, [4]),
        (3, True, True, [5, 9, 1]),
        (5, False, True, [4, 8, 0, 3, 7]),
        (10, True, True, [5, 9, 1, 6, 2, 7, 3, 0, 8, 4]),
        (10, False, True, [4, 0, 8, 3, 7, 2, 6, 5, 9, 1]),
        (10, False, False, [5, 9, 2, 3, 4, 0, 6, 7, 8, 1]),
    ],
)
def test_topk_selects_among_equals_as_pytorch(
    k: int, largest: bool, in_order: bool, indices: list[int]
) -> None:
    for dtype in (engine.int64, engine.float32, engine.uint8):
        x = engine.tensor([0, 3, 2, 1, 0, 3, 2, 1, 0, 3], dtype=dtype)
        top = x.topk(k, largest=largest, sorted=in_order)
        assert top.indices.tolist() == indices
        assert top.values.tolist() == x[top.indices].tolist()


def test_topk_of_few_among_many() -> None:
    x = engine.tensor([7 * i % 4 for i in range(200)])
    assert x.topk(2).indices.tolist() == [5, 1]
    assert x.topk(3, largest=False).indices.tolist() == [8, 0, 4]
    y = (engine.arange(1000) * 37 % 1000).float()
    assert y.topk(3).indices.tolist() == [27, 54, 81]


def test_the_gradient_of_mish_at_large_values() -> None:
    for dtype in (engine.float32, engine.float64):
        x = engine.tensor([1e3, 1e10, 1e38, -1e38, 88.0], dtype=dtype, requires_grad=True)
        (gradient,) = engine.autograd.grad(F.mish(x).sum(), x)
        assert gradient.tolist() == [1, 1, 1, 0, 1]


def test_directions_of_infinite_complex_numbers() -> None:
    infinite = [complex(float("inf"), 4), complex(3, float("-inf")), complex(-0.0, float("inf"))]
    for dtype in (engine.complex64, engine.complex128):
        result = engine.tensor(infinite, dtype=dtype).sgn()
        assert engine.view_as_real(result).isnan().all()
        assert repr(engine.tensor(complex(-0.0, 4), dtype=dtype).sgn().item()) == "1j"


def test_strides_of_results_of_complex_numbers() -> None:
    transposed = engine.ones(2, 3, dtype=engine.complex64).t()
    assert transposed.angle().stride() == (2, 1)
    assert transposed.abs().stride() == (1, 3)
    assert transposed.real.angle().stride() == (1, 3)
    empty = engine.ones(2, 0, dtype=engine.complex64).diagonal()
    assert (empty.stride(), empty.abs().stride(), empty.conj_physical().stride()) == ((2,),) * 3
    assert empty.roll(1).stride() == (2,)
    assert empty.exp().stride() == (1,)


def test_mish_of_very_negative_numbers_is_not_zero() -> None:
    # exp(-89) is a denormal number of 32 bits, but not zero.
    for dtype, tolerance in ((engine.float32, 1e-3), (engine.float64, 1e-12)):
        result = F.mish(engine.full((17,), -89.0, dtype=dtype))
        assert result.tolist() == pytest.approx([-89 * math.exp(-89)] * 17, rel=tolerance)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.new(...), TypeError),
        (lambda x: x.new(engine.float32), TypeError),
        (lambda x: x.new(2, device=x), TypeError),
        (lambda x: x.resize_as_sparse_(x), NotImplementedError),
    ],
)
def test_classes_of_errors_of_old_names(call: Callable[[Any], Any], error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        call(engine.ones(2, 2))
    assert raised.type is error


def test_trials_without_end_are_not_drawn() -> None:
    drawn = engine.binomial(
        engine.tensor([math.inf, math.nan, 1e30, 3.0]), engine.tensor([0.5, 0.5, 0.0, 1.0])
    )
    assert drawn[:2].isnan().all()
    assert drawn[2:].tolist() == [0.0, 3.0]
    for count, prob in (
        (engine.tensor([1j]), engine.ones(1)),
        (engine.ones(1), engine.tensor([1])),
    ):
        with pytest.raises(ValueError, match="floating-point"):
            engine.binomial(count, prob)


# ---- 16-bit floats


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
@pytest.mark.parametrize("number", [0.1, 100000, 1 / 3])
def test_16_bit_floats_are_multiplied_with_the_number_itself(
    dtype: engine.dtype, number: float
) -> None:
    x = engine.tensor([1.0, 3.0, 7.0, 1e-3, -4e-5] * 20, dtype=dtype)
    product, quotient = (x.float() * number).to(dtype), (x.float() / number).to(dtype)
    exact = engine.tensor(number, dtype=engine.float64)
    for a in (x * number, number * x, x * exact, x.clone().mul_(number), (x[::2] * number)):
        assert engine.equal(a, product[: len(a)] if len(a) == len(x) else product[::2])
    for a in (x / number, x / exact, x.clone().div_(number)):
        assert engine.equal(a, quotient)
    for mode in ("floor", "trunc"):
        rounded = engine.div(x.float(), number, rounding_mode=mode).to(dtype)
        assert engine.equal(engine.div(x, number, rounding_mode=mode), rounded)
    fused = engine.jit.script(scaled)
    for _ in range(4):  # the group is fused after two calls
        assert engine.equal(fused(x, number), scaled(x, number))


def scaled(x: engine.Tensor, number: float) -> engine.Tensor:
    return (x * 0.3) / number + x * number


def test_16_bit_floats_are_added_to_a_rounded_multiple() -> None:
    x = engine.tensor([9.5367431640625e-07], dtype=engine.float16)
    assert engine.add(x, x, alpha=-2.7182818).item() == -28 * 2**-24  # 16 * (1 - 2.71875)
    edge = engine.tensor([0.10009765625, 0.1005859375], dtype=engine.bfloat16)
    assert F.hardshrink(edge, 0.1).tolist() == [0.0, edge[1].item()]
    with pytest.raises(RuntimeError, match="without overflow"):
        F.hardshrink(engine.ones(1).half(), 1e5)
    tiny = engine.full((1,), 1e-3).half()
    assert engine.addcmul(tiny, tiny, engine.ones(1).half(), value=1e5).item() == 100.0625


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_exponentials_of_16_bit_matrices_are_rounded_once(dtype: engine.dtype) -> None:
    for rows in ([[0.5, -1.25], [2.0, 1.0]], [[0.0, 3.0], [0.0, 0.0]]):
        x = engine.tensor(rows, dtype=dtype)
        assert engine.equal(engine.matrix_exp(x), engine.matrix_exp(x.double()).to(dtype))


@pytest.mark.parametrize("value", [engine.nan, engine.inf])
def test_a_nan_spreads_over_the_exponential_of_a_matrix(value: float) -> None:
    x = engine.eye(4)
    x[1, 2] = value
    assert engine.matrix_exp(x).isnan().all()


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_16_bit_volumes_are_sampled_as_float32_and_rounded_once(dtype: engine.dtype) -> None:
    volume = (engine.arange(120) * 7 % 11).to(dtype).view(1, 2, 3, 4, 5)
    grid = (engine.arange(81) * 5 % 17 / 8 - 1).to(dtype).view(1, 3, 3, 3, 3)
    for padding in ("zeros", "border", "reflection"):
        options: dict[str, Any] = {"padding_mode": padding, "align_corners": True}
        exact = F.grid_sample(volume.float(), grid.float(), **options)
        assert engine.equal(F.grid_sample(volume, grid, **options), exact.to(dtype))


def test_16_bit_floats_are_scattered_into_float32() -> None:
    sums = engine.zeros(2, dtype=engine.bfloat16)
    indices, ones = engine.zeros(300, dtype=engine.int64), engine.full((300,), 3.5).bfloat16()
    assert sums.scatter_add(0, indices, ones).tolist() == [1048.0, 0.0]
    assert sums.scatter_reduce(0, indices, ones, "sum").tolist() == [1048.0, 0.0]
    view = engine.zeros(2, 2, dtype=engine.bfloat16).t()[1]
    view.scatter_add_(0, indices, ones)
    assert view.tolist() == [1048.0, 0.0]


# ---- NaN, infinities and edges


def test_images_sampled_at_nan_are_nan() -> None:
    nan, inf = math.nan, math.inf

    def sampled(at: list[float], **options: Any) -> float:
        image = engine.ones(1, 1, *[2] * len(at))
        grid = engine.tensor(at).reshape(1, *[1] * len(at), len(at))
        return F.grid_sample(image, grid, align_corners=False, **options).item()

    assert math.isnan(sampled([nan, 0.0]))
    assert math.isnan(sampled([inf, 0.0]))
    assert math.isnan(sampled([nan, nan], mode="bicubic"))
    assert sampled([nan, nan], mode="nearest") == 0
    assert sampled([nan, 0.0], padding_mode="border") == 1
    assert sampled([nan, 0.0, 0.0]) == 0
    assert sampled([1e9, 0.0]) == 0


def test_nan_stays_in_cumulative_sums_of_complex_exponentials() -> None:
    x = engine.tensor([complex(math.nan, 1), 3.75 - 1.625j, complex(math.inf, 0)])
    assert engine.view_as_real(x.logcumsumexp(0)).isnan().all()
    y = engine.tensor([1, complex(0, math.nan)]).logcumsumexp(0)
    assert y[0] == 1
    assert engine.view_as_real(y)[1].isnan().all()


def test_a_norm_of_one_element_is_its_absolute_value() -> None:
    order = 2.0**31
    assert engine.linalg.vector_norm(engine.tensor([-3.875]), order).item() == 3.875
    assert engine.linalg.vector_norm(engine.tensor([[-3.0], [2.0]]), order, 1).tolist() == [3, 2]
    assert engine.dist(engine.tensor([3j]), engine.tensor([4.0 + 0j]), order).item() == 5
    assert engine.linalg.vector_norm(engine.tensor([-3.0]), 0).item() == 1


# ---- gradients


def test_the_gradient_of_cholesky_by_a_complex_matrix() -> None:
    rows = [[11.5 - 0.875j, -3.75 + 3.5j], [-3.5 + 0.75j, 9.625 + 2.875j]]
    expected = [[0.1492 - 0.1384j, 0.4625 + 0.1288j], [0.4402 - 0.2331j, 0.5142 - 0.1714j]]
    weight = engine.arange(4.0).reshape(2, 2) + 1j
    for call in (engine.linalg.cholesky, lambda x: engine.linalg.cholesky_ex(x).L):
        x = engine.tensor(rows, dtype=engine.complex128, requires_grad=True)
        (gradient,) = engine.autograd.grad((call(x) * weight).real.sum(), x)
        assert engine.allclose(gradient, engine.tensor(expected).to(gradient.dtype), atol=1e-4)


def test_gradients_at_single_numbers() -> None:
    x = engine.tensor([3.0, -0.0], requires_grad=True)
    (gradient,) = engine.autograd.grad(engine.mvlgamma(x, 1).sum(), x)
    assert gradient[1] == -math.inf
    y = leaf(1.875, 2.75, 3.0)
    next_ = engine.nextafter(y, engine.tensor([1.875, 3.0, 3.0]))
    assert engine.autograd.grad(next_.sum(), y)[0].tolist() == [0, 1, 0]


def test_the_gradient_of_a_direction() -> None:
    x = engine.tensor([0, 3 + 4j, -2j], dtype=engine.complex128, requires_grad=True)
    (gradient,) = engine.autograd.grad(
        (x.sgn() * engine.tensor([1 + 1j, 2 - 1j, 1j])).real.sum(), x
    )
    assert gradient.tolist() == pytest.approx([0, 0.16 - 0.12j, 0])


@pytest.mark.parametrize("dtype", [engine.float64, engine.complex128])
def test_the_gradient_by_the_exponent_of_a_power_in_place(dtype: engine.dtype) -> None:
    exponent = engine.full((2,), 2.0, dtype=dtype, requires_grad=True)
    x = engine.tensor([1.0, 2.0], dtype=dtype)
    assert x.float_power_(exponent)._version == 1
    (gradient,) = engine.autograd.grad(x.real.sum(), exponent)
    assert gradient.real.tolist() == pytest.approx([0.0, 4 * math.log(2)])


def test_a_loss_that_depends_on_the_phase_of_eigenvectors_has_no_gradient() -> None:
    x = engine.tensor([[0.0, 1.0], [-2.0, 0.5]], dtype=engine.float64, requires_grad=True)
    assert engine.autograd.gradcheck(lambda x: engine.linalg.eig(x)[0], x)
    assert engine.autograd.gradcheck(lambda x: engine.linalg.eig(x)[1].abs(), x)
    _, vectors = engine.linalg.eig(x)
    with pytest.raises(RuntimeError, match="ill-defined"):
        engine.autograd.grad((vectors.real[0] * engine.tensor([1.0, 3.0])).sum(), x)


# ---- memory, strides and errors


def test_strides_of_random_and_scaled_copies() -> None:
    x = engine.full((2, 3), 0.5).t()
    for result in (x.bernoulli(), x.bernoulli(0.25), engine.poisson(x), x.renorm(2, 0, 1)):
        assert result.stride() == (2, 1)


def test_dropped_channels_of_an_unbatched_input_are_a_new_tensor() -> None:
    x = engine.ones(2, 3)
    for p, training in ((0.0, True), (0.5, False)):
        assert F.dropout1d(x, p, training) is not x
        assert F.dropout1d(x, p, training, inplace=True) is x
        assert F.dropout2d(x, p, training) is x


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: engine.logsumexp(x, None), TypeError),
        (lambda x: engine.movedim(x, None, (1,)), TypeError),
        (lambda x: F.max_pool1d(x, 1, dilation=None), TypeError),
        (lambda x: x.flip((True,)), TypeError),
        (lambda x: engine.binomial(True, x), TypeError),
        (lambda x: engine.bernoulli(1, 0.5), TypeError),
        (lambda x: engine.multinomial(1, 2), TypeError),
        (lambda x: engine.conv_tbc(x, 3, x), TypeError),
        (lambda x: engine.to_dlpack((1,)), TypeError),
        (lambda x: engine.range(0, 1, out=1), TypeError),
        (lambda x: engine.empty(2, layout=1.5), TypeError),
        (lambda x: x.module_load((1,)), TypeError),
        (lambda x: engine.fake_quantize_per_tensor_affine(x, 1.0, [2], 0, 3), TypeError),
        (lambda x: engine.fake_quantize_per_channel_affine(x, x, 1, 0, 0, 3), TypeError),
        (lambda x: engine.norm_except_dim(x, [2]), TypeError),
        (lambda x: engine.norm_except_dim(engine.tensor(1.0)), IndexError),
        (lambda x: engine.tensordot(x, x, (1,)), ValueError),
        (lambda x: engine.tensor({}, dtype=engine.float64), TypeError),
        (lambda x: engine.linalg.vander(engine.ones(2, 1)), RuntimeError),
        (lambda x: engine.smm(x, x), RuntimeError),
        (lambda x: engine.vmap(engine.sin, chunk_size=0), ValueError),
        (lambda x: engine.addbmm(x, x, x), IndexError),
        (lambda x: engine.cholesky(x.int()), NotImplementedError),
        (lambda x: engine.take_along_dim(x, engine.zeros(2, 2).int(), 0), RuntimeError),
        (lambda x: engine.mean(x + 1j, out=engine.zeros(())), RuntimeError),
        (lambda x: x.half() ** 100000, RuntimeError),
        (lambda x: engine.sym_max(x, 1), AssertionError),
        (lambda x: engine.sym_ite(1, 2, 3), AssertionError),
    ],
)
def test_classes_of_errors_of_wrong_arguments(
    call: Callable[[Any], Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        call(engine.ones(2, 2))
    assert raised.type is error


@pytest.mark.parametrize("name", ["__mul__", "__rmul__", "__add__", "__sub__", "__truediv__"])
def test_a_special_method_of_a_number_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: argument 'self' must be Tensor, got int"):
        getattr(engine.Tensor, name)(2, engine.ones(2))


# ---- tensors as numbers


@pytest.mark.parametrize(
    "call",
    [
        lambda x, s: engine.add(x, x, alpha=s),
        lambda x, s: x.add_(x, alpha=s),
        lambda x, s: engine.full((2,), s),
        lambda x, s: engine.full_like(x, s),
        lambda x, s: x.new_full((2,), s),
        lambda x, s: engine.arange(s),
        lambda x, s: engine.clamp(x, s, 5),
        lambda x, s: engine._foreach_sub([x], s),
        lambda x, s: F.leaky_relu(x, s),
        lambda x, s: F.huber_loss(x, x, delta=s),
        lambda x, s: F.layer_norm(x, (2,), eps=s),
        lambda x, s: F.pad(x, (1, 1), value=s),
        lambda x, s: engine.cdist(x.view(1, 2), x.view(1, 2), p=s),
        lambda x, s: engine.nan_to_num(x, s),
        lambda x, s: x.uniform_(s, 4.0),
        lambda x, s: engine.normal(0.0, s, (2,)),
    ],
)
def test_a_tensor_that_requires_grad_is_not_a_number(call: Callable[[Any, Any], Any]) -> None:
    x, s = engine.tensor([1.0, 2.0]), engine.tensor(2.0)
    call(x, s)
    with pytest.raises(TypeError):  # its gradient would be lost
        call(x, s.requires_grad_())


def test_the_message_says_why_a_tensor_is_not_a_number() -> None:
    with pytest.raises(
        TypeError, match=r"'alpha'.* requires grad, whose gradient would be lost: pass x\.item\(\)"
    ):
        engine.add(leaf(1.0), 1, alpha=leaf(1.0)[0])


def test_limits_of_linspace_and_logspace_may_require_grad() -> None:
    limit = leaf(2.0)[0]
    for spaced in (engine.linspace(limit, 4, 2), engine.logspace(limit, 4, 2, 2.0)):
        assert not spaced.requires_grad


def test_a_number_is_a_tensor_without_dimensions() -> None:
    for call in (
        lambda: engine.full((2,), engine.ones(1)),
        lambda: leaf(1.0).new_zeros(2).random_(leaf(1.0)[0]),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match=r"scale_factor must be .* got a Tensor"):
        F.interpolate(engine.ones(1, 1, 2), scale_factor=engine.tensor(2.0))
    draws = engine.normal(engine.tensor(0.0), engine.tensor(1.0), size=(2, 3))
    assert draws.shape == (2, 3)


# ---- slopes at the ends


@pytest.mark.parametrize("edge_order", [1, 2])
def test_coordinates_get_gradients_from_the_ends(edge_order: int) -> None:
    coordinates = engine.tensor([1.0, 2.0, 4.0, 7.0], dtype=engine.float64, requires_grad=True)
    values = engine.tensor([1.0, 2.0, 4.0, 9.0], dtype=engine.float64, requires_grad=True)

    def slopes(y: Any, x: Any) -> Any:
        return engine.gradient(y, spacing=[x], edge_order=edge_order)[0]

    assert engine.autograd.gradcheck(slopes, (values, coordinates))
    gradient = engine.autograd.grad(slopes(values, coordinates)[0], coordinates)[0]
    assert gradient[0] != 0


def test_slopes_at_the_ends_are_computed_in_the_dtype_of_the_coordinates() -> None:
    y = engine.tensor([0.0, 6.0, 7.0], dtype=engine.bfloat16)
    x = engine.tensor([8.0, 6.0, 1.0], dtype=engine.bfloat16)
    first = engine.gradient(y, spacing=[x], edge_order=2)[0][0]
    a, b = x.diff()
    weights = (-(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
    assert first == sum(weight * value for weight, value in zip(weights, y, strict=True))
    assert first != sum(float(w) * v for w, v in zip(weights, y.tolist(), strict=True))


# ---- a tensor as the argument of a constructor


@pytest.mark.parametrize(
    "construct",
    [engine.Tensor, engine.FloatTensor, lambda x: x.new(x)],
    ids=["Tensor", "FloatTensor", "new"],
)
def test_a_tensor_made_of_a_tensor_is_a_view_with_its_gradient(
    construct: Callable[[Any], Any],
) -> None:
    x = leaf(1.0, 2.0)
    y = construct(x)
    assert y._base is x
    assert engine.autograd.grad(y.sum(), x)[0].tolist() == [1, 1]


def test_a_tensor_keeps_its_dtype_and_a_subclass_its_type() -> None:
    class Labelled(engine.Tensor):
        pass

    assert engine.Tensor(engine.ones(2).int()).dtype is engine.int32
    for argument in ([1.0, 2.0], engine.ones(2), 2):
        assert type(Labelled(argument)) is Labelled


def test_a_cast_to_a_format_that_the_strides_suggest_returns_the_tensor() -> None:
    x = engine.ones(3, 1).expand(3, 4)
    assert x.float(memory_format=engine.contiguous_format) is x
    assert x.to(memory_format=engine.contiguous_format) is x
    image = engine.ones(2, 3, 4, 5)
    assert image.cpu(memory_format=engine.channels_last) is not image
    last = image.to(memory_format=engine.channels_last)
    assert last.float(memory_format=engine.channels_last) is last
    assert last.float(memory_format=engine.contiguous_format) is not last


# ---- formats of joined images


def test_stack_of_images_has_the_strides_of_cat() -> None:
    x = engine.ones(2, 2, 3, 1).to(memory_format=engine.channels_last)
    assert engine.stack([x, x]).stride() == (12, 6, 1, 2, 2)
    assert engine.stack([x, x], 1).stride() == (12, 2, 1, 4, 4)
    assert engine.stack([x, x], 4).stride() == (12, 6, 2, 2, 1)
    values = engine.arange(12.0).view(2, 2, 3, 1).to(memory_format=engine.channels_last)
    assert engine.stack([values, values], 1)[:, 1].tolist() == values.tolist()


def test_strides_of_a_single_image_may_not_suggest_channels_last() -> None:
    x = engine.ones(6).as_strided((1, 2, 3, 1), (2, 1, 2, 2))
    assert engine.cat([x, x]).stride() == (6, 3, 1, 1)


# ---- formulas


def test_a_weight_without_dimensions_may_have_another_dtype() -> None:
    x, y = engine.tensor([1.0, 2.0]), engine.tensor([3.0, 4.0])
    weight = engine.tensor(0.5, dtype=engine.float64, requires_grad=True)
    mixed = engine.lerp(x, y, weight)
    assert mixed.dtype is engine.float32
    assert mixed.tolist() == [2, 3]
    assert engine.autograd.grad(mixed.sum(), weight)[0].dtype is engine.float64
    assert engine.lerp(x, y, engine.tensor(1, dtype=engine.uint8)).tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="expected dtype Float"):
        engine.lerp(x, y, engine.tensor([0.5], dtype=engine.float64))


def test_a_negative_eps_of_logit_limits_nothing() -> None:
    x = leaf(-2.0, 0.5, 2.0)
    slope = engine.autograd.grad(engine.logit(x, -1.0).sum(), x)[0]
    assert slope[0].isnan()
    assert slope[1] == 4
    assert slope[2].isnan()


def test_a_distance_whose_inverse_is_infinite_in_16_bits_has_a_gradient() -> None:
    x = engine.tensor([[-2.0], [1.25]], dtype=engine.float16, requires_grad=True)
    assert engine.autograd.grad(F.pairwise_distance(x, x.detach()).sum(), x)[0].tolist() == [
        [1],
        [1],
    ]


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_loss_of_logits_has_the_dtype_of_its_target(reduction: str) -> None:
    x = engine.tensor([1.0, -2.0], dtype=engine.float64, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, engine.tensor([1.0, 0.0]), reduction=reduction)
    assert loss.dtype is engine.float32
    assert engine.autograd.grad(loss.sum(), x)[0].dtype is engine.float64


def test_pairs_that_an_int64_does_not_count() -> None:
    with pytest.raises(RuntimeError, match="pdist: storage size calculation overflowed"):
        engine.nn.functional.pdist(engine.empty(1 << 40, 0, device="meta"))
