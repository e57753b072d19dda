"""A scripted function gives what the Python function gives, for every program of programs/."""

import copy
import importlib
import io
from enum import Enum

import pytest

import engine
from engine import jit
from tests.engine.jit.programs import tensor_names

_FILES = ("control_flow", "containers", "numbers_and_types", "documented", "language", "classes")
_FILES += ("tensor_names",)
_CASES = [
    pytest.param(fn, args, id=f"{name}.{fn.__name__}-{i}")
    for name in _FILES
    for fn, all_args in importlib.import_module(f"tests.engine.jit.programs.{name}").CASES
    for i, args in enumerate(all_args)
]


def same(a, b):
    """Equal in value, type and structure; tensors in dtype, shape and elements."""
    if isinstance(a, engine.Tensor):
        assert isinstance(b, engine.Tensor)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert engine.equal(a, b)
        return
    if isinstance(a, (list, tuple)):
        assert isinstance(b, (list, tuple))
        assert getattr(a, "_fields", None) == getattr(b, "_fields", None)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
        return
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
        return
    assert type(a) is type(b)
    if type(a).__module__.endswith("programs.classes") and not isinstance(a, Enum):
        same(vars(a), vars(b))
        return
    assert a == b


@pytest.mark.parametrize(("fn", "args"), _CASES)
def test_scripted_equals_python(fn, args):
    first, second = copy.deepcopy(args), copy.deepcopy(args)
    same(fn(*first), jit.script(fn)(*second))
    for own, other in zip(first, second, strict=True):
        if isinstance(own, engine.Tensor):  # written in place; lists are copied, as in PyTorch
            same(own, other)


def test_a_grid_without_indexing_warns_as_in_python():
    compiled, line = jit.script(tensor_names.grid), tensor_names.LINE
    with pytest.warns(UserWarning, match="pass the indexing argument"):
        first = tensor_names.grid(line, line)
    with pytest.warns(UserWarning, match="pass the indexing argument"):
        second = compiled(line, line)
    same(first, second)


@pytest.mark.parametrize("fn", [tensor_names.where_it_is, tensor_names.transposed_matrices])
def test_names_without_operators_are_saved(fn):
    file = io.BytesIO()
    jit.save(jit.script(fn), file)
    file.seek(0)
    same(fn(tensor_names.REAL), jit.load(file)(tensor_names.REAL))


def test_gradients_go_through_real_parts():
    x = tensor_names.COMPLEX.clone().requires_grad_()
    y = x.detach().clone().requires_grad_()
    tensor_names.imaginary_part(x).sum().backward()
    jit.script(tensor_names.imaginary_part)(y).sum().backward()
    assert engine.equal(x.grad, y.grad)


@pytest.mark.parametrize("kind", ["uint8", "int16", "int64", "float16", "float32", "bool"])
def test_numbers_drawn_in_place_are_those_of_python(kind):
    def draw(x):
        first = x.random_().clone()
        return first, x.random_(2).clone(), x.random_(1, 2)

    x = engine.zeros(64, dtype=getattr(engine, kind))
    engine.manual_seed(3)
    expected = draw(x.clone())
    engine.manual_seed(3)
    same(expected, jit.script(draw)(x.clone()))


def test_functions_of_any_number_of_tensors_are_compiled_from_their_source():
    def several(x, y, z):
        return (
            engine.broadcast_tensors(x, y, z),
            engine.atleast_2d(x, y),
            engine.broadcast_shapes(x.shape, y.shape, [4, 1, 1]),
            engine.block_diag(x, y),
        )

    def of_a_list(xs: list[engine.Tensor]):
        return engine.broadcast_tensors(xs), engine.meshgrid(xs, indexing="xy")

    x, y, z = engine.ones(2, 1), engine.ones(3), engine.ones(4, 1, 1)
    tensors, matrices, shape, diagonal = jit.script(several)(x, y, z)
    assert [list(t.shape) for t in tensors] == [[4, 2, 3]] * 3
    assert [list(t.shape) for t in matrices] == [[2, 1], [1, 3]]
    assert shape == [4, 2, 3]
    assert engine.equal(diagonal, engine.block_diag(x, y))
    tensors, grid = jit.script(of_a_list)([y, engine.ones(1)])
    assert [list(t.shape) for t in tensors] == [[3], [3]]
    assert [list(t.shape) for t in grid] == [[1, 3], [1, 3]]


def test_a_conversion_by_keyword_and_questions_about_memory_are_builtins():
    def converted(x):
        return x.to(device="cpu", dtype=engine.float64), x.to(dtype=engine.float32, copy=True)

    def questions(x):
        return x.is_cpu, x.is_contiguous(), x.is_contiguous(memory_format=engine.channels_last)

    x = engine.ones(2, 3, 4, 5)
    scripted = jit.script(converted)
    double, copied = scripted(x)
    assert double.dtype == engine.float64
    assert copied.data_ptr() != x.data_ptr()
    assert "aten::to(" in str(scripted.graph)
    assert "CallFunction" not in str(scripted.graph)
    assert jit.script(questions)(x) == (True, True, False)
    channels_last = x.to(memory_format=engine.channels_last)
    assert jit.script(questions)(channels_last) == (True, False, True)
