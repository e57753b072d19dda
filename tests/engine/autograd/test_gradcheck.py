"""gradcheck and gradgradcheck: what they accept, and what their errors show."""

import pytest

import engine
from engine.autograd import Function, gradcheck, gradgradcheck
from engine.autograd.gradcheck import GradcheckError


def values(*sizes, dtype="float64"):
    engine.manual_seed(sum(sizes) + 1)
    return engine.randn(sizes, dtype=getattr(engine, dtype)).requires_grad_()


class Wrong(Function):
    """Doubles, and says that it triples."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


class WrongTwice(Function):
    """The gradient of the cube is right, the gradient of that is not."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * (x * x.detach())


FUNCTIONS = {
    "product": lambda x, w: (x @ w).tanh(),
    "several": lambda x, w: (x.sum(0), (x @ w).exp(), x.detach()),
    "parts": lambda x, w: (x * w[0, 0]).unbind(1),
    "view": lambda x, w: x.t()[1:].reshape(-1) * w.sum(),
    "in_place": lambda x, w: (x * 1).mul_(w[0]).sin_(),
    "scalar": lambda x, w: x.norm() * w.prod(),
    "unused": lambda x, w: x.sin(),
}


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients(name, fast):
    inputs = (values(3, 2), values(2, 2))
    assert gradcheck(FUNCTIONS[name], inputs, fast_mode=fast)
    assert gradgradcheck(FUNCTIONS[name], inputs, fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * z,
        lambda z: z.abs(),
        lambda z: z.conj() * z.exp(),
        lambda z: engine.view_as_real(z * z).sin(),
        lambda z: z.real * z.imag,
        lambda z: z.real.sin() * (1 + 2j),
    ],
)
def test_complex_inputs(function, fast):
    z = values(3, dtype="complex128")
    assert gradcheck(function, z, fast_mode=fast)
    assert gradgradcheck(function, z, fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
def test_wrong_gradients(fast):
    with pytest.raises(GradcheckError) as caught:
        gradcheck(Wrong.apply, values(2), fast_mode=fast)
    text = str(caught.value)
    assert "Jacobian mismatch for output 0 with respect to input 0" in text
    assert "numerical:tensor([[2.0000, 0.0000]" in text
    assert "analytical:tensor([[3., 0.]" in text
    assert not gradcheck(Wrong.apply, values(2), fast_mode=fast, raise_exception=False)


def test_the_output_and_the_input_are_named():
    def function(x, w, v):
        return x * v, Wrong.apply(w)

    with pytest.raises(GradcheckError, match="output 1 with respect to input 1"):
        gradcheck(function, (values(2), values(2), values(2)))


def test_the_part_of_a_complex_output_is_named():
    class Conjugated(Function):
        @staticmethod
        def forward(ctx, z):
            return z * 1j

        @staticmethod
        def backward(ctx, g):
            return g * 1j

    with pytest.raises(GradcheckError, match="real part of complex outputs"):
        gradcheck(Conjugated.apply, values(2, dtype="complex128"))


def test_wrong_second_gradients():
    x = values(2)
    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError, match="mismatch"):
        gradgradcheck(WrongTwice.apply, x)
    assert not gradgradcheck(WrongTwice.apply, x, raise_exception=False)


def test_grad_outputs_may_be_given():
    x = values(2)
    assert gradgradcheck(lambda x: x**3, x, values(2))
    assert gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


def test_nothing_to_check():
    with pytest.raises(ValueError, match="requires_grad=True"):
        gradcheck(lambda x: x, engine.ones(2))
    assert gradcheck(lambda x: x * 2, engine.empty(0, dtype=engine.float64, requires_grad=True))


def test_a_gradient_that_is_missing():
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, values(2))
    assert gradcheck(lambda x: x.detach() * 0, values(2))


def test_single_precision_is_warned_of():
    with pytest.warns(UserWarning, match="input 0.*double precision"):
        gradcheck(lambda x: x * 2, values(2, dtype="float32"), eps=1e-2, atol=1e-2)


def test_inputs_over_one_element():
    x = values(1).detach().expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x * 2, x)


def test_backward_that_is_not_repeatable():
    calls = []

    class Drifting(Wrong):
        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * 2 * (1 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Drifting.apply, values(2))
    assert gradcheck(Drifting.apply, values(2), nondet_tol=1e-3, check_undefined_grad=False)


def test_backward_that_ignores_its_gradient():
    class Constant(Wrong):
        @staticmethod
        def backward(ctx, g):
            return g * 2 + (g == 0)

    with pytest.raises(GradcheckError, match=r"mismatch|not multiplied"):
        gradcheck(Constant.apply, values(2))


def test_gradients_that_do_not_arrive():
    class Careless(Wrong):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(GradcheckError, match="undefined"):
        gradcheck(Careless.apply, values(2))
    assert gradcheck(Careless.apply, values(2), check_undefined_grad=False)


def test_batched_gradients():
    assert gradcheck(FUNCTIONS["product"], (values(3, 2), values(2, 2)), check_batched_grad=True)


def test_what_the_engine_does_not_do():
    with pytest.raises(NotImplementedError, match="forward"):
        gradcheck(lambda x: x, values(2), check_forward_ad=True)
    with pytest.raises(NotImplementedError, match="forward"):
        gradgradcheck(lambda x: x, values(2), check_fwd_over_rev=True)
    with pytest.raises(ValueError, match="nothing to check"):
        gradcheck(lambda x: x, values(2), check_backward_ad=False)


def test_inputs_are_left_as_they_were():
    x = values(3)
    before = x.tolist()
    gradcheck(lambda x: x * x, x)
    assert x.tolist() == before
    assert x.grad is None


def test_the_name_is_the_function_however_it_is_imported():
    import engine.autograd.gradcheck

    assert engine.autograd.gradcheck(lambda x: x * 2, values(2))
