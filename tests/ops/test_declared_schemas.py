"""Schemas and tags of operators as Python gets them from the library."""

from __future__ import annotations

import math

import pytest

import engine
from engine import ops
from engine.function_schema import REQUIRED, SchemaType, operator_schema, parse_schema


def test_a_schema_is_typed_data() -> None:
    schema = ops.schema("conv2d")
    by_name = {argument.name: argument for argument in schema.arguments}
    assert by_name["bias"].type == SchemaType("Optional", (SchemaType("Tensor"),))
    assert by_name["stride"].type == SchemaType("List", (SchemaType("int"),), 2)
    assert by_name["stride"].default == [1, 1]
    assert by_name["groups"].default == 1
    assert by_name["input"].default is REQUIRED
    assert [part.type.kind for part in schema.returns] == ["Tensor"]


def test_only_declarations_say_which_operand_takes_a_number() -> None:
    alpha, other = ops.schema("add.Tensor").arguments[2], ops.schema("add.Tensor").arguments[1]
    assert other.takes_number
    assert other.type_text == "Tensor"
    assert alpha.keyword_only
    assert not alpha.takes_number


def test_writes_and_views_are_annotated() -> None:
    assert ops.schema("add_.Tensor").written == 0
    assert ops.schema("add.out").written == 3
    view = ops.schema("transpose.int")
    assert view.arguments[0].alias_set == view.returns[0].alias_set == "a"
    assert view.written is None


@pytest.mark.parametrize("name", sorted(ops.schemas()))
def test_the_text_parses_to_the_table(name: str) -> None:
    schema = ops.schema(name)
    parsed = parse_schema(schema.text)
    assert (parsed.full_name, parsed.returns) == (schema.full_name, schema.returns)
    for ours, theirs in zip(schema.arguments, parsed.arguments, strict=True):
        keys_compared = ("name", "type", "default", "keyword_only", "alias_set", "is_write")
        assert [getattr(ours, key) for key in keys_compared] == [
            getattr(theirs, key) for key in keys_compared
        ]
        assert type(ours.default) is type(theirs.default)


def test_defaults_of_a_text_are_values_of_their_types() -> None:
    schema = parse_schema(
        'f(float a=1, float[] b=[1, 2.5], int[2] c=3, str d="a\\n\'", bool e=True, float f=inf, '
        "(int, str) g=(1, 'x'), Dict(str, int)? h=None) -> (Tensor(a!) r, Future(int))"
    )
    defaults = [part.default for part in schema.arguments]
    assert defaults == [1.0, [1.0, 2.5], [3, 3], "a\n'", True, math.inf, (1, "x"), None]
    assert type(defaults[0]) is float
    assert [part.type_text for part in schema.arguments][-2:] == ["(int, str)", "Dict(str, int)?"]
    assert schema.returns[0].is_write
    assert schema.returns[1].type_text == "Future(int)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(Tensor x", "expected ',' or ')' at column 11"),
        ("f(Dict(str) x) -> ()", "the types of keys and values"),
        ("f() -> Float(2", "a closing bracket"),
        ("f(int x=) -> ()", "a default value"),
    ],
)
def test_a_malformed_text_is_rejected_with_its_column(text: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        parse_schema(text)
    assert message in str(caught.value)


def test_tags_are_keys_compared_by_pytorchs_names() -> None:
    assert ops.aten.add.Tensor.tags >= {"pointwise", "commutative"}
    assert "commutative" not in ops.aten.add_.Tensor.tags
    assert ops.aten.add_.Tensor.tags >= {"pointwise", "inplace"}
    assert "out" in ops.aten.add.out.tags
    assert "nondeterministic_seeded" in ops.aten.rand.default.tags
    assert "inplace_view" in ops.aten.resize_.default.tags
    assert "maybe_aliasing_or_mutating" in ops.aten.conj_physical.default.tags
    assert "maybe_aliasing_or_mutating" not in ops.aten.conj_physical.out.tags


def test_builtins_of_the_compiler_have_schemas_and_tags() -> None:
    schema, tags = operator_schema("aten::to.dtype")
    assert schema.arguments[0].alias_set
    assert tags == {"maybe_aliasing_or_mutating"}


SHARED = ("nondeterministic_seeded", "inplace_view", "view_copy", "reduction")
# Operators that are several of PyTorch's, some of which have the tag, and PyTorch's omissions.
ELSEWHERE = {
    # PyTorch tags no backward operator.
    "_scaled_dot_product_flash_attention_for_cpu_backward": "nondeterministic_seeded",
}


def test_tags_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    differ = []
    for name in ops.schemas():
        base, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, base, None)
        theirs = getattr(packet, overload or "default", None) if packet else None
        if theirs is None or "out" in overload:
            continue
        tags = {str(tag).removeprefix("Tag.") for tag in theirs.tags}
        for tag in SHARED:
            ours = tag in operator_schema(name)[1]
            if ours != (tag in tags) and ELSEWHERE.get(name) != tag:
                differ.append(f"{name}: {tag} {'here' if ours else 'there'} only")
    assert not differ, "\n".join(differ)


def test_arguments_that_do_not_fit_are_named_by_the_schema() -> None:
    x = engine.ones(2)
    with pytest.raises(TypeError, match=r"argument 'dim' .*int"):
        engine.softmax(x, "a")
    with pytest.raises(TypeError, match="missing argument 'other'"):
        ops.aten.add.Tensor(x)
    with pytest.raises(TypeError, match=r"argument 'size' must be sequence of int"):
        ops.aten.zeros.default(["a"])


def test_a_name_that_is_an_operator_and_a_builtin_of_the_compiler_is_the_operator() -> None:
    """The builtin `aten::hypot(Scalar, Scalar)` exists only in graphs; `to.dtype` is a builtin alone."""
    assert str(operator_schema("hypot")[0]).startswith("hypot(Tensor self, Tensor other)")
    assert "dtype" in str(operator_schema("to.dtype")[0])
    with pytest.raises(TypeError, match=r"argument .other. .* must be Tensor, got bool"):
        engine.hypot(engine.ones(2), True)
