"""A recurrent unit in Python and in C++, built ahead of time and at first use: what each costs, forward and backward.

The unit is that of PyTorch's tutorial on C++ extensions: an LSTM without a forget gate. Building takes some seconds.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engine
from engine.utils import cpp_extension

SOURCE = Path(__file__).with_name("lltm.cpp")
SETUP = """
from setuptools import setup
from {package}.utils.cpp_extension import BuildExtension, CppExtension
setup(name="lltm_ahead", ext_modules=[CppExtension("lltm_ahead", [{source!r}])],
      cmdclass={{"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)}})
"""


def unit(x, weights, bias, h, cell):
    """One step in Python: the new state and the new cell. Autograd finds the gradients."""
    parts = engine.addmm(bias, engine.cat([h, x], 1), weights.t()).chunk(3, 1)
    in_gate, out_gate = engine.sigmoid(parts[0]), engine.sigmoid(parts[1])
    new_cell = engine.addcmul(cell, engine.nn.functional.elu(parts[2]), in_gate)
    return engine.tanh(new_cell) * out_gate, new_cell


def native(operators):
    """The same step as a Function of two operators in C++."""

    class Step(engine.autograd.Function):
        @staticmethod
        def forward(ctx, x, weights, bias, h, cell):
            new_h, new_cell, *saved = operators.forward(x, weights, bias, h, cell)
            ctx.save_for_backward(new_cell, *saved, weights)
            return new_h, new_cell

        @staticmethod
        def backward(ctx, grad_h, grad_cell):
            return tuple(operators.backward(grad_h, grad_cell, *ctx.saved_tensors))

    return Step.apply


class Nothing(engine.autograd.Function):
    """A Function that computes nothing: its time is the cost of a Function in Python."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


def at_first_use(folder):
    """Compile and load in one call; another call finds the build."""
    cpp_extension.load(
        "lltm_first", str(SOURCE), build_directory=folder, is_python_module=False, verbose=False
    )
    return engine.ops.lltm_first


def ahead_of_time(folder):
    """Build as a package would, with a setup.py; then load the library that this left."""
    setup = Path(folder, "setup.py")
    setup.write_text(SETUP.format(package=engine.__name__, source=str(SOURCE)))
    command = [sys.executable, setup.name, "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    engine.ops.load_library(str(Path(folder, "lltm_ahead.so")))
    return engine.ops.lltm_ahead


def arguments(batch, features, state, dtype=engine.float32):
    """x, weights, bias, h and cell."""
    engine.manual_seed(1)
    width = state**-0.5
    shapes = [(batch, features), (3 * state, features + state), (1, 3 * state)]
    shapes += [(batch, state), (batch, state)]
    return [(engine.randn(s, dtype=dtype) * width).requires_grad_() for s in shapes]


def best(action, rounds=60):
    """The shortest time of a call, in microseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def measure(step, values):
    """The times of forward and backward."""

    def loss():
        new_h, new_cell = step(*values)
        return (new_h + new_cell).sum()

    def backward_time():
        total = loss()
        start = time.perf_counter()
        total.backward()
        return 1e6 * (time.perf_counter() - start)

    return best(lambda: step(*values)), min(backward_time() for _ in range(60))


def gradients(step, values):
    new_h, new_cell = step(*values)
    return [new_h, new_cell, *engine.autograd.grad((new_h * 2 + new_cell).sum(), values)]


def built(folder):
    """Every form that can be built here, by name."""
    forms = {"Python": unit}
    for name, build in (("C++ ahead of time", ahead_of_time), ("C++ at first use", at_first_use)):
        own = Path(folder, build.__name__)
        own.mkdir()
        start = time.perf_counter()
        try:
            operators = build(str(own))
            forms[name] = native(operators)
        except (RuntimeError, ImportError) as error:
            print(f"{name}: not built here: {str(error).splitlines()[0]}")
            continue
        print(f"{name}: built in {time.perf_counter() - start:.1f} s")
        if build is at_first_use:
            forms["and its Function in C++"] = operators.step
            start = time.perf_counter()
            build(str(own))
            print(f"{name}: loaded again in {time.perf_counter() - start:.3f} s")
    return forms


def print_parts(forms, values):
    """The time of the operator alone, and of a Function around nothing."""
    step = forms.get("and its Function in C++")
    if step is None:
        return
    plain = [t.detach() for t in values]
    with engine.no_grad():
        python, native_step = best(lambda: unit(*plain)), best(lambda: step(*plain))
    print(f"   without gradients: Python {python:.0f} us, C++ {native_step:.0f} us;", end=" ")
    print(f"a Function around nothing: {best(lambda: Nothing.apply(values[0])):.1f} us")


def main():
    with tempfile.TemporaryDirectory() as folder:
        forms = built(folder)
        exact = arguments(3, 5, 4, engine.float64)
        for name, step in forms.items():
            same = all(map(engine.allclose, gradients(step, exact), gradients(unit, exact)))
            checked = engine.autograd.gradcheck(step, tuple(exact))
            print(f"{name}: gradients as in Python {same}, gradcheck {checked}")
        for batch, features, state in ((1, 8, 8), (16, 32, 128), (64, 128, 512)):
            print(
                f"\nbatch {batch}, {features} features, state {state}:    forward           backward"
            )
            values = arguments(batch, features, state)
            base = measure(unit, values)
            for name, step in forms.items():
                times = base if step is unit else measure(step, values)
                ratios = [f"{t:7.0f} us x{t / b:.2f}" for t, b in zip(times, base, strict=True)]
                print(f"   {name:25} {'  '.join(ratios)}")
            print_parts(forms, values)


if __name__ == "__main__":
    main()
