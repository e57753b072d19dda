"""Compilation of a Python function to a graph: its signature, its body, and the cache of compiled
functions."""

from __future__ import annotations

import ast
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from engine._native import lib
from engine._native.errors import raise_last
from engine.jit.frontend import operators
from engine.jit.frontend.builder import Builder
from engine.jit.frontend.compiled_function import CompiledFunction
from engine.jit.frontend.dispatch import Keyword
from engine.jit.frontend.environment import Context, Exit, Variable
from engine.jit.frontend.errors import CompileError, not_supported, source_excerpt
from engine.jit.frontend.exit_transforms import ExitStep, Step, leaves, run
from engine.jit.frontend.grad_modes import modes_of, within
from engine.jit.frontend.materialise import native_function
from engine.jit.frontend.parsing import parse
from engine.jit.frontend.signatures import (
    Parameter,
    Surroundings,
    annotation_type,
    signature,
    with_types,
)
from engine.jit.frontend.source import Source, source_of
from engine.jit.frontend.sugared_values import MISSING, ModuleValue, SimpleValue
from engine.jit.runtime.native_classes import CLASSES
from engine.jit.types.enums import ENUMS, ScriptEnum
from engine.jit.types.jit_type import NONE, TENSOR, Type, is_subtype

if TYPE_CHECKING:
    from engine.jit.frontend.classes import ScriptClass
    from engine.jit.frontend.modules import ModuleClass


_Known = MutableMapping[Any, CompiledFunction]
_compiled: WeakKeyDictionary[Callable[..., Any], _Known] = WeakKeyDictionary()


class _Compiling(threading.local):
    """The functions that this thread is compiling."""

    def __init__(self) -> None:
        self.functions: list[Any] = []


_compiling = _Compiling()
_name_counts: dict[str, int] = {}
_names = threading.Lock()


def unique_name(name: str) -> str:
    """Returns the name, with a number appended if another function has it."""
    with _names:
        _name_counts[name] = count = _name_counts.get(name, -1) + 1
    return f"{name}_{count}" if count else name


class FunctionContext(Context):
    """A Context with the surroundings of its function."""

    surroundings: Surroundings

    def annotation(self, tree: ast.expr) -> Type:
        """Returns the type that an annotation names."""
        return annotation_type(self.source, self.surroundings, tree)

    def comment_type(self, tree: ast.stmt) -> Type | None:
        """Returns the type of a `# type:` comment after an assignment."""
        comment = self.source.comment_of(tree.end_lineno or tree.lineno)
        if not comment.startswith("type:") or comment.startswith("type: ignore"):
            return None
        try:
            parsed = parse(comment[5:].strip(), mode="eval").body
        except SyntaxError:
            raise self.fail(tree, f"cannot read the type comment {comment!r}") from None
        for node in ast.walk(parsed):
            ast.copy_location(node, tree)
        return self.annotation(parsed)

    def signature(self, fn: Callable[..., Any]) -> tuple[tuple[Parameter, ...], Type]:
        """Returns the signature of another function, which is not compiled."""
        bound = inspect.ismethod(fn)
        parameters, returns = signature(fn, source_of(fn), Surroundings(fn), skip_self=bound)
        return parameters, returns or TENSOR


# ---- compiling


def _known(fn: Callable[..., Any]) -> _Known:
    """Returns the compiled versions of a function. Those of the engine's functions are cached for good,
    those of the program's while they are in use: a CompiledFunction refers to its function, which would
    leak."""
    known = _compiled.get(fn)
    if known is None:
        _compiled[fn] = known = {} if operators.in_engine(fn) else WeakValueDictionary()
    return known


def compile_function(fn: Callable[..., Any]) -> CompiledFunction:
    """Compiles a Python function, once. Raises: CompileError, NotSupportedError."""
    known = _known(fn)
    compiled = known.get(None)
    if compiled is None:
        source, surroundings = source_of(fn), Surroundings(fn)
        parameters, returns = signature(fn, source, surroundings)
        compiled = build(fn, fn.__name__, source, surroundings, parameters, returns)
        known[None] = compiled
    return compiled


def compile_special(
    fn: Callable[..., Any], types: Sequence[Type], constants: Mapping[str, Any]
) -> CompiledFunction:
    """Compiles a function of the engine for these parameter types, some of them constants."""
    fn = inspect.unwrap(fn)
    key = (
        tuple(types),
        tuple((name, type(constant), constant) for name, constant in sorted(constants.items())),
    )
    known = _known(fn)
    compiled = known.get(key)
    if compiled is None:
        source, surroundings = source_of(fn), Surroundings(fn)
        declared, returns = signature(fn, source, surroundings)
        parameters = with_types(declared, types)
        compiled = build(fn, fn.__name__, source, surroundings, parameters, returns, constants)
        known[key] = compiled
    return compiled


def build(
    fn: Callable[..., Any],
    name: str,
    source: Source,
    surroundings: Surroundings,
    parameters: tuple[Parameter, ...],
    returns: Type | None,
    constants: Mapping[str, Any] | None = None,
    owner: ModuleClass | ScriptClass | None = None,
    full_name: str = "",
) -> CompiledFunction:
    """Builds the graph of a function, or of a method of `owner`."""
    key = (fn, owner.name if owner else None, tuple(parameter.of for parameter in parameters))
    tree = source.function
    if key in _compiling.functions:
        not_supported(
            source,
            Keyword(tree),
            f"function '{name}' is called recursively. Recursive calls are not supported",
            "write a loop with a List as its stack",
        )
    _compiling.functions.append(key)
    builder = Builder(name, source)
    try:
        c = FunctionContext(
            builder,
            source,
            lambda word: surroundings.get(word, MISSING),
            operators.in_engine(fn),
            name,
        )
        c.surroundings = surroundings
        c.returns, c.declared = returns, returns is not None
        if owner is not None and name == "__init__":
            owner.init_context = c
        _enter(c, tree, parameters, constants or {}, owner)
        _body(c, tree, fn)
        return _finish(c, fn, name, full_name or unique_name(name), parameters, owner)
    except BaseException:
        lib.uh_graph_release(builder.handle)
        raise
    finally:
        _compiling.functions.pop()


def _enter(
    c: Context,
    tree: ast.FunctionDef,
    parameters: tuple[Parameter, ...],
    constants: Mapping[str, Any],
    owner: ModuleClass | ScriptClass | None,
) -> None:
    args = tree.args
    variadic = () if args.vararg is None else (args.vararg,)
    named = {arg.arg: arg for arg in (*args.posonlyargs, *args.args, *variadic, *args.kwonlyargs)}
    c.builder.at(tree.args if tree.args.args else tree)
    if owner is not None:
        first = (*tree.args.posonlyargs, *tree.args.args)[0]
        c.builder.at(first)
        value = c.builder.input("self", owner.type)
        c.frame.names[first.arg] = _object(value, owner.type, owner)
    for parameter in parameters:
        c.builder.at(named[parameter.name])
        value = c.builder.input(parameter.name, parameter.of)
        if named[parameter.name].annotation is None:
            c.builder.argument_hints.unannotated[value.id] = parameter.name
        module_class = CLASSES.get(parameter.of.name) if parameter.of.kind == "class" else None
        c.frame.names[parameter.name] = _object(value, parameter.of, module_class)
        if parameter.name in constants:
            known = c.builder.constant(named[parameter.name], constants[parameter.name])
            c.frame.names[parameter.name] = Variable(known, parameter.of)


def _object(value: SimpleValue, type: Type, module_class: Any) -> Variable:
    """Returns the sugared value of a parameter: a module, or a value of the graph."""
    if module_class is None or module_class.plain:
        return Variable(value, type)
    return Variable(ModuleValue(value, module_class), None)


def _body(c: Context, tree: ast.FunctionDef, fn: Callable[..., Any]) -> None:
    steps: list[Step] = within(c, tree, modes_of(fn), list(tree.body))
    builder = c.builder
    way = leaves(steps)
    if way in ("falls", "might"):
        steps.append(_return_nothing(c, tree))
    ended = run(c, steps)
    if ended.way == "exits":
        returned = ended.values[0]
    else:  # it always raises
        type = c.returns or NONE
        if type == NONE:
            returned = builder.constant(tree.body[-1], None)
        else:
            returned = builder.uninitialized(tree.body[-1], type)
    c.returns = c.returns or returned.type
    c.retype_results()
    builder.returns(builder.outermost, [returned])


def _return_nothing(c: Context, tree: ast.FunctionDef) -> Step:
    def compile_return() -> Exit:
        if c.returns is not None and not is_subtype(NONE, c.returns):
            c.fail(
                tree,
                "Function was not annotated as having type None, but does not return along all paths",
                "Hint: end with a `return` or a `raise`",
            )
        c.returns = c.returns or NONE
        return Exit("exits", [c.builder.constant(tree.body[-1], None)])

    return ExitStep(compile_return)


def _finish(
    c: Context,
    fn: Callable[..., Any],
    display_name: str,
    name: str,
    parameters: tuple[Parameter, ...],
    owner: ModuleClass | ScriptClass | None,
) -> CompiledFunction:
    graph = c.builder.handle
    for callee, callee_function in c.calls.items():
        _bind(graph, callee, callee_function)
    if lib.uh_graph_verify(graph) < 0:
        raise_last()
    for name_of_pass in CLEANUP:
        if lib.uh_pass_run(graph, name_of_pass.encode()) < 0:
            raise_last()
    assert c.returns is not None
    if owner is not None:
        parameters = (Parameter("self", owner.type), *parameters)
    return CompiledFunction(
        name,
        display_name,
        graph,
        parameters,
        c.returns,
        c.source,
        fn,
        c.calls,
        c.ignored,
        classes=_classes_of(c.builder.types()),
    )


def _classes_of(types: Iterable[Type]) -> tuple[Any, ...]:
    """Returns the classes and Enums in these types; a compiled function keeps them alive."""
    classes: dict[str, Any] = {}

    def look(type: Type) -> None:
        for element in type.inner:
            look(element)
        owner = CLASSES.get(type.name) or ENUMS.get(type.name) if type.name else None
        if isinstance(owner, ScriptEnum) or (owner is not None and owner.plain):
            classes[type.name] = owner

    for type in types:
        look(type)
    return tuple(classes.values())


def _bind(graph: int, name: str, callee: CompiledFunction) -> None:
    """Binds the graph's `prim::Constant[name=...]` to the function of the core."""
    if lib.uh_graph_bind(graph, name.encode(), native_function(callee).handle) < 0:
        raise_last()


# Passes that run on every new graph, as in PyTorch.
CLEANUP = (
    "lower_simple_tuples",
    "fold_constant_branches",
    "dce",
    "canonicalise_outputs",
    "constant_pooling",
)


def called_from(c: Context, tree: ast.AST, name: str, error: CompileError) -> CompileError:
    """Adds the call that led to it to an error."""
    text = f"{error}\n'{name}' is being compiled since it was called from '{c.name}'\n"
    return type(error)(text + source_excerpt(c.source, tree))
