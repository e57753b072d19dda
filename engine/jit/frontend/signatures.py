"""Signatures: annotations of parameters and results, and resolution of the names in them."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import typing
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.jit.frontend import operators
from engine.jit.frontend.errors import CompileError, fail, not_supported
from engine.jit.frontend.parsing import parse
from engine.jit.frontend.source import Source
from engine.jit.frontend.sugared_values import MISSING
from engine.jit.types.annotations import from_object
from engine.jit.types.jit_type import TENSOR, Type
from engine.tensor import Tensor


@dataclass(frozen=True)
class Parameter:
    """One parameter of a compiled function."""

    name: str
    of: Type
    default: Any = MISSING
    has_default: bool = False
    keyword_only: bool = False
    open: bool = False  # in the engine's functions: accepts the type of each call
    variadic: bool = False  # `*args` in the engine's functions: a tuple of the arguments

    @property
    def type(self) -> str:
        """Its type, as graphs write it."""
        return self.of.text

    def __str__(self) -> str:
        default = f"={self.default!r}" if self.has_default else ""
        return f"{self.of} {self.name}{default}"


def with_types(parameters: Iterable[Parameter], types: Iterable[Type]) -> tuple[Parameter, ...]:
    """Return the parameters of one variant of a function, which accepts only these types."""
    return tuple(
        replace(parameter, of=type, open=False, variadic=False)
        for parameter, type in zip(parameters, types, strict=True)
    )


class Surroundings(Mapping[str, Any]):
    """The namespaces of a function: variables of enclosing functions, globals, builtins."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        fn = inspect.unwrap(fn)
        code = fn.__code__
        self._closure = dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
        self._globals: dict[str, Any] = fn.__globals__

    def __getitem__(self, name: str) -> Any:
        if name in self._closure:
            try:
                return self._closure[name].cell_contents
            except ValueError:
                raise KeyError(name) from None  # not assigned yet
        if name in self._globals:
            return self._globals[name]
        return vars(builtins)[name]

    def __iter__(self) -> typing.Iterator[str]:
        return iter({**vars(builtins), **self._globals, **self._closure})

    def __len__(self) -> int:
        return sum(1 for _ in self)


_WORDS = {
    **{
        name: getattr(typing, name)
        for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any")
    },
    "Tensor": Tensor,
}


class _Names(dict[str, Any]):
    """The names that annotations are evaluated with."""

    def __init__(self, surroundings: Mapping[str, Any]) -> None:
        super().__init__()
        self.surroundings = surroundings

    def __missing__(self, name: str) -> Any:
        if name in self.surroundings:
            return self.surroundings[name]
        if name in _WORDS:
            return _WORDS[name]
        raise NameError(name, name=name)


class _Unquoted(ast.NodeTransformer):
    """Annotations without quotes: Optional["Node"] is Optional[Node]."""

    def visit_Constant(self, tree: ast.Constant) -> ast.expr:
        if not isinstance(tree.value, str):
            return tree
        return parse(tree.value, mode="eval").body


def annotation_type(source: Source, surroundings: Mapping[str, Any], tree: ast.expr) -> Type:
    """Returns the type that an annotation names. Raises: CompileError."""
    try:
        inner = _Unquoted().visit(copy.deepcopy(tree))
    except SyntaxError:
        fail(source, tree, f"Unknown type name {ast.unparse(tree)}")
    # Under a separate file name: otherwise a recorder would take it for a line of the user's program.
    code = compile(ast.Expression(ast.fix_missing_locations(inner)), "<annotation>", "eval")
    try:
        return from_object(eval(code, {"__builtins__": {}}, _Names(surroundings)))
    except NameError as error:
        fail(source, tree, f"Unknown type name '{error.name}'")
    except (TypeError, AttributeError) as error:
        message, _, instead = str(error).partition(" Hint: ")
        fail(source, tree, message.rstrip("."), f"Hint: {instead}" if instead else "")


# ---- signatures


def signature(
    fn: Callable[..., Any], source: Source, surroundings: Surroundings, skip_self: bool = False
) -> tuple[tuple[Parameter, ...], Type | None]:
    """Returns the parameters and the declared result, from annotations or a `# type: (...) -> ...`
    comment."""
    tree = source.function
    args = tree.args
    in_engine = operators.in_engine(fn)
    for starred in (args.vararg, args.kwarg):
        if starred is not None and not (in_engine and starred is args.vararg):
            not_supported(
                source,
                starred,
                "Compiled functions can't take variable number of arguments or use keyword-only "
                "arguments with defaults",
                "name every parameter, or take a List",
            )
    variadic = [] if args.vararg is None else [args.vararg]
    named = [*args.posonlyargs, *args.args, *variadic, *args.kwonlyargs]
    if skip_self:
        named = named[1:]
    notes, returns = _comment_signature(source, surroundings, tree, len(named))
    defaults = {k: v.default for k, v in inspect.signature(fn).parameters.items()}
    parameters = []
    for i, arg in enumerate(named):
        open_type = False
        if notes is not None:
            type = notes[i]
        elif arg.annotation is None:
            type = TENSOR
        else:
            try:
                type = _annotated(fn, arg.arg, source, surroundings, arg.annotation)
            except CompileError:
                if not in_engine:
                    raise
                type, open_type = TENSOR, True
        if arg in variadic or (in_engine and type.kind in ("Any", "Scalar")):
            type, open_type = TENSOR, True
        default = defaults.get(arg.arg, inspect.Parameter.empty)
        has = default is not inspect.Parameter.empty
        if has and not in_engine:
            _check_default(source, arg, type, default)
        only = arg in args.kwonlyargs
        parameters.append(
            Parameter(
                arg.arg, type, default if has else MISSING, has, only, open_type, arg in variadic
            )
        )
    if returns is None and tree.returns is not None:
        try:
            returns = _annotated(fn, "return", source, surroundings, tree.returns)
        except CompileError:
            if not in_engine:
                raise
        if returns is not None and in_engine and returns.kind == "Any":
            returns = None
    return tuple(parameters), returns


_DEFAULTS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool, int),
    "str": (str,),
}


def _check_default(source: Source, tree: ast.arg, type: Type, default: Any) -> None:
    if isinstance(default, (list, dict, set)):
        fail(
            source,
            tree,
            "Mutable default parameters are not supported because Python binds them to the function "
            f"and they persist across function calls; '{tree.arg}' has one",
            "Hint: use None as the default, and create the value in the function",
        )
    fitting = _DEFAULTS.get(type.text)
    if fitting is not None and not isinstance(default, (*fitting, Tensor)):
        fail(source, tree, f'Expected a default value of type {type} on parameter "{tree.arg}"')


def _annotated(
    fn: Callable[..., Any],
    name: str,
    source: Source,
    surroundings: Mapping[str, Any],
    tree: ast.expr,
) -> Type:
    """Returns the type of a parameter. A class that the surroundings lack is looked up in
    `fn.__annotations__`."""
    known = getattr(fn, "__annotations__", {}).get(name)
    if isinstance(known, type) and isinstance(tree, ast.Name) and tree.id not in surroundings:
        around: Any = surroundings
        surroundings = ChainMap({tree.id: known}, around)
    return annotation_type(source, surroundings, tree)


def _comment_signature(
    source: Source, surroundings: Surroundings, tree: ast.FunctionDef, count: int
) -> tuple[list[Type] | None, Type | None]:
    for line in range(tree.lineno, tree.body[0].lineno + 1):
        comment = source.comment_of(line)
        if not comment.startswith("type:") or "->" not in comment:
            continue
        try:
            parsed = parse(comment[5:].strip(), mode="func_type")
        except SyntaxError:
            fail(source, tree.body[0], f"cannot read the type comment {comment!r}")
        parts = [annotation_type(source, surroundings, _placed(x, tree)) for x in parsed.argtypes]
        if len(parts) != count:
            fail(
                source,
                tree.args,
                f"the type comment names {len(parts)} types for {count} parameters",
            )
        return parts, annotation_type(source, surroundings, _placed(parsed.returns, tree))
    return None, None


def _placed(tree: ast.expr, at: ast.FunctionDef) -> ast.expr:
    """Returns a tree parsed from a comment, with the function's position for messages."""
    for node in ast.walk(tree):
        ast.copy_location(node, at.body[0])
    return tree
