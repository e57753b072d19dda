"""`with no_grad()` and its kin in compiled code: the same is recorded as in eager Python."""

import importlib.util
import os

import pytest

import engine
from engine import jit
from tests.engine.jit.programs.contexts import CASES, decorated, raises, returns_from_within
from tests.engine.jit.programs.random_modes import Writer

COUNT = int(os.environ.get("UNDERHOOD_RANDOM_MODES", "60"))
PER_FILE = 15

_RUNS = [
    pytest.param(fn, args, on, id=f"{fn.__name__}-{i}-{'on' if on else 'off'}")
    for fn, all_args in CASES
    for i, args in enumerate(all_args)
    for on in (True, False)
]


def flat(nested):
    if isinstance(nested, (tuple, list)):
        return [item for part in nested for item in flat(part)]
    return [nested]


def outcome(fn, args):
    """Run a function; return its results, which of them are recorded, the gradient, and the modes after it."""
    x = engine.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    try:
        actual = flat(fn(x, *args))
    except (ValueError, jit.Error) as error:
        actual = ["too large" in str(error)]
    tensors = [entry for entry in actual if isinstance(entry, engine.Tensor)]
    recorded = [item.requires_grad for item in tensors]
    inference = [tensor.is_inference() for tensor in tensors]
    with engine.enable_grad():
        sums = [element.sum() for element in tensors if element.requires_grad]
    if sums:
        with engine.enable_grad():
            sum(sums).backward()
    plain = [item.tolist() if isinstance(item, engine.Tensor) else item for item in actual]
    gradient = None if x.grad is None else x.grad.tolist()
    modes = engine.is_grad_enabled(), engine.is_inference_mode_enabled()
    return plain, recorded, inference, gradient, modes


@pytest.mark.parametrize(("fn", "args", "on"), _RUNS)
def test_the_same_is_recorded(fn, args, on):
    scripted = jit.script(fn)
    with engine.set_grad_enabled(on):
        expected = outcome(fn, args)
        for _ in range(4):  # general code, then what is specialised
            assert outcome(scripted, args) == expected
    assert engine.is_grad_enabled()


def test_an_error_leaves_the_modes_as_they_were():
    scripted = jit.script(raises)
    with pytest.raises(jit.Error, match="too large"):
        scripted(engine.ones(2), 5)
    assert engine.is_grad_enabled()
    with engine.no_grad():
        with pytest.raises(jit.Error, match="too large"):
            scripted(engine.ones(2), 5)
        assert not engine.is_grad_enabled()


def test_a_saved_function_keeps_its_modes(tmp_path):
    for fn in (returns_from_within, decorated):
        jit.save(jit.script(fn), str(tmp_path / "f.st"))
        loaded = jit.load(str(tmp_path / "f.st"))
        for n in (1, 5):
            assert outcome(loaded, (n,)) == outcome(fn, (n,))


def test_inside_the_fused_group_stays_on_its_side():
    @jit.script
    def f(x):
        with engine.no_grad():
            y = (x * 2 + 1).tanh() * x
        z = (x * 2 + 1).tanh() * x
        return y, z

    x = engine.randn(100, requires_grad=True)
    for _ in range(4):
        y, z = f(x)
        assert (y.requires_grad, z.requires_grad) == (False, True)
        assert engine.equal(y, z)
    assert str(f.graph_for(x)).count(" = prim::FusionGroup") == 2


def programs(seeds, folder):
    """A function for each seed, all of one file."""
    text = ["import engine", "", ""]
    for seed in seeds:
        text += [*Writer(seed, f"program_{seed}").lines_of(), "", ""]
    path = folder / f"modes_{seeds[0]}.py"
    path.write_text("\n".join(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"program_{seed}") for seed in seeds]


def recorded(fn, n, on):
    """The results, which of them are recorded, and the gradients of both inputs."""
    x = engine.tensor([[0.5, -1.0], [0.25, 0.75]], requires_grad=True)
    w = engine.tensor([[1.0, 0.5], [-0.5, 2.0]], requires_grad=True)
    actual = fn(x, w, n, on)
    flags = [item.requires_grad for item in actual]
    sums = [(element * (i + 1)).sum() for i, element in enumerate(actual) if element.requires_grad]
    if sums:
        sum(sums).backward()
    zero = engine.zeros(2, 2)
    gradients = [zero if leaf.grad is None else leaf.grad for leaf in (x, w)]
    return [entry.detach() for entry in actual] + gradients, flags


@pytest.mark.parametrize("first", range(0, COUNT, PER_FILE))
def test_random_programs(first, tmp_path):
    for fn in programs(range(first, first + PER_FILE), tmp_path):
        scripted = jit.script(fn)
        for n, on in ((0, True), (1, False), (2, True), (3, False)):
            expected, flags = recorded(fn, n, on)
            for _ in range(3):
                actual, others = recorded(scripted, n, on)
                assert others == flags, f"{fn.__name__}({n}, {on})"
                for item, other in zip(actual, expected, strict=True):
                    same = engine.allclose(item, other, atol=1e-4, rtol=1e-4, equal_nan=True)
                    assert same, f"{fn.__name__}({n}, {on}): {item} {other}"
                assert engine.is_grad_enabled()
