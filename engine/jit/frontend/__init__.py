"""The compiler of `jit.script`: Python source -> tokens and AST -> typed graph in SSA form.

    compiled = compile_function(fn)   # CompiledFunction: graph, parameters, source, calls
    compiled = compile_module(module) # CompiledModule: class, attributes, methods, submodules

The caller (engine/jit) turns each `CompiledFunction` into a Function of the core, also those in `calls`,
which are compiled once per process and reused, and each `CompiledModule` into a class.

`CompiledFunction`
    name        unique in the process; `prim::Constant[name="..."]` before a `prim::CallFunction` has it
    graph       the number of a `uh_graph`; this object owns one reference
    parameters  `Parameter(name, type, default, has_default, keyword_only)` each, `self` included;
                `type` is written as in PyTorch ("Tensor", "int[]", "Dict(str, int)")
    returns     the text of the result's type
    defaults    default values of the last parameters
    source      `Source`: file, first_line, text, tree, `tokens_json()`, `tree_json()`
    calls       name -> CompiledFunction, the callees of its `prim::CallFunction` nodes
    ignored     name -> Python callable, the callees of its `prim::PythonOp` nodes (`@jit.ignore`)
    fn          the Python function

`CompiledModule`
    class_name  "__torch__.Cell"; another structure of the same class is "__torch__.Cell_1", ...
    attributes  `Attribute(name, type, kind, value)`; kind: parameter, buffer, module, attribute
    constants   name -> value: compiled into the graphs
    methods     name -> CompiledFunction: forward, methods with `@jit.export`, and those that they call
    submodules  name -> CompiledModule
    module      the Python module

Modules with equal attribute types, constants, submodule classes and methods share one class, whose
methods are compiled once. A method calls a method by `prim::CallMethod[name="..."](%object,
...)`, reads an attribute with `prim::GetAttr[name="..."](%self)`, sets it with `prim::SetAttr`.

Functions and methods of the engine itself are compiled for the argument types of each call
(`specialise`). `rules` maps called objects to their rules; `hints` suggests what to write instead.

Unsupported Python raises `NotSupportedError`, an invalid program `CompileError`; both are RuntimeErrors
with the file, the line, carets under the expression, and often a hint.

The language is PyTorch's, extended by `reversed`, formats in f-strings, conditions and several
generators in comprehensions, keyword-only parameters, `super()` in modules, `inference_mode`, `|` in
annotations, lists of objects sorted by their `__lt__`. The tests' `programs/` has a function for each
feature, `programs/user_errors.py` and `class_user_errors.py` the messages.

    classes     compiled where a program names them, or by `@jit.script` (required if a Module has an
                object of the class as an attribute): attributes that `__init__` sets, methods, `__add__`
                to `__contains__`, properties, static methods, `with` (an error does not call `__exit__`),
                dataclasses. No inheritance, no class attributes, no `default_factory`. Objects are copied
                between Python and compiled code, attribute by attribute.
    Enums       of ints, floats or strings: members, `.name`, `.value`, `==`, `is`, `for member in Color`
    Union, Any  narrowed by `isinstance` and `jit.isinstance`, also of `List[int]`; `x is None`
    interfaces  `@jit.interface` declares a submodule's methods. Calls are bound to the actual class: a
                Module is compiled for its submodules, and graphs name their classes.

Reading order: `source`, `sugared_values`, `builder`, `environment`, `dispatch`, `expressions`, `rules`,
`exit_transforms`, `iterables`, `loops`, `with_statements`, `calls`, `signatures`, `functions`, `classes`,
`modules`, `materialise`.
"""

from __future__ import annotations

from engine.jit.frontend import (  # noqa: F401  (each registers what it compiles)
    attributes,
    builtins,
    calls,
    compiled_modules,
    expressions,
    forks,
    indexing,
    loops,
    statements,
    with_statements,
)
from engine.jit.frontend.classes import compile_class as compile_class
from engine.jit.frontend.errors import CompileError as CompileError
from engine.jit.frontend.errors import NotSupportedError as NotSupportedError
from engine.jit.frontend.functions import CompiledFunction as CompiledFunction
from engine.jit.frontend.functions import compile_function as compile_function
from engine.jit.frontend.modules import CompiledModule as CompiledModule
from engine.jit.frontend.modules import ModuleClass as ModuleClass
from engine.jit.frontend.modules import class_of as class_of
from engine.jit.frontend.modules import compile_module as compile_module
from engine.jit.frontend.signatures import Parameter as Parameter
