"""The imports allowed in engine, tui and lessons. Those inside functions count, those for types do not."""

from __future__ import annotations

import ast
import sys
from functools import cache

import pytest

from tests.architecture.sources import Use, imports, module_of, name_of, report, text_of, under

# engine: _native < { dtypes, tensor, creation, ... } < autograd < nn < { jit, optim }; jit.script and
# jit.trace take modules and give modules; a library's operators are traced; sparse_conv's layers
# are modules over one
ENGINE = {
    "_native": 0,
    "formats": 0,
    "autograd": 2,
    "utils": 2,
    "nn": 3,
    "distributions": 4,
    "multiprocessing": 4,
    "jit": 4,
    "optim": 4,
    "compiler": 5,
    "_dynamo": 6,
    "futures": 5,
    "library": 5,
    "sparse": 1,
    "sparse_conv": 5,
    "onnx": 6,
}
PLAIN = 1  # every other module of engine
SIBLINGS = {frozenset(("jit", "optim"))}

TUI = {"render": 0, "widgets": 1, "views": 2, "screens": 3, "app": 4, "cli": 4, "__main__": 4}


def uses(package: str) -> list[Use]:
    return [use for path in under(package, ".py") for use in imports(path)]


def top(module: str) -> str:
    return module.split(".")[0]


def part(module: str) -> str:
    """engine.nn.functional -> nn; engine -> ''"""
    return module.split(".")[1] if "." in module else ""


def owner(use: Use) -> str:
    """Return the module that the using file is."""
    return use.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def offences(uses: list[Use], rule: str) -> str:
    return report([f"{use}: {rule}" for use in uses])


@pytest.mark.parametrize("stranger", ["tui", "lessons", "textual", "rich"])
def test_engine_never_imports(stranger: str) -> None:
    """rich is allowed inside the hooks that only rich and Jupyter call: __rich__, _repr_html_."""
    actual = [use for use in uses("engine") if top(use.target) == stranger]
    assert not actual, offences(actual, f"engine never imports {stranger}")


def test_engine_depends_on_little() -> None:
    known = {*sys.stdlib_module_names, "engine", "numpy", "platformdirs", "safetensors"}
    optional = {
        "engine/utils/cpp_extension/setup_commands.py": "setuptools",  # of setup.py files
        "engine/inspect/writer.py": "isal",  # where it has wheels; elsewhere zlib
        "engine/onnx/": "onnx",  # the extra [onnx]
        "engine/utils/tensorboard/__init__.py": "tensorboardX",
    }
    actual = [
        use
        for use in uses("engine")
        if top(use.target) not in known
        and not any(use.file.startswith(k) and top(use.target) == v for k, v in optional.items())
    ]
    assert not actual, offences(
        actual, "engine needs the standard library, NumPy, platformdirs and safetensors"
    )


def engine_rank(module: str) -> int:
    return ENGINE.get(part(module), PLAIN)


def test_engine_layers() -> None:
    """A module imports its own layer and lower ones."""
    actual = []
    for use in uses("engine"):
        me = owner(use)
        own, other = part(me), part(use.target)
        if top(use.target) != "engine" or "inspect" in (own, other) or me == "engine":
            continue
        if "_generated" in (own, other):
            continue  # what the build writes: raw calls, below engine.tensor's users
        if engine_rank(use.target) > engine_rank(me) or frozenset((own, other)) in SIBLINGS:
            actual.append(use)
    order = "_native < dtypes, tensor, creation... < autograd < nn < { jit, optim } < library"
    assert not actual, offences(actual, order)


def test_inspect_sits_on_native_only() -> None:
    actual = [
        use
        for use in uses("engine")
        if part(owner(use)) == "inspect"
        and top(use.target) == "engine"
        and part(use.target) not in ("inspect", "_native", "_generated", "formats")
    ]
    assert not actual, offences(
        actual, "engine.inspect knows engine._native, engine.formats and itself only"
    )


def test_nothing_of_engine_needs_inspect() -> None:
    """Except a profile, which is a recording."""
    actual = [
        use
        for use in uses("engine")
        if part(owner(use)) not in ("inspect", "profiler")
        and use.target.startswith("engine.inspect")
    ]
    assert not actual, offences(actual, "engine works without engine.inspect")


def test_tui_never_touches_native() -> None:
    actual = [use for use in uses("tui") if use.target.startswith("engine._native")]
    assert not actual, offences(actual, "tui asks engine.inspect")


def test_tui_uses_engine_through_inspect() -> None:
    """`engine` itself only for the documentation of its public names."""
    actual = [
        use
        for use in uses("tui")
        if top(use.target) == "engine" and part(use.target) not in ("", "inspect")
    ]
    assert not actual, offences(actual, "tui knows engine.inspect and lessons")


def test_lessons_use_engine_only() -> None:
    known = {
        "",
        "inspect",
        "autograd",
        "jit",
        "nn",
        "optim",
        "sparse_conv",
        "utils",
    }  # what a user's script imports
    actual = [
        use
        for use in uses("lessons")
        if top(use.target) in ("tui", "textual", "rich", "torch")
        or (top(use.target) == "engine" and part(use.target) not in known)
    ]
    assert not actual, offences(actual, "lessons know the public names of engine")


@cache
def tui_rank(module: str, way: tuple[str, ...] = ()) -> int:
    """A folder has its layer; a helper next to them has that of the highest it imports."""
    if part(module) in TUI:
        return TUI[part(module)]
    if module in way:
        return 0
    ranks = [
        tui_rank(use.target, (*way, module))
        for path in under("tui", ".py")
        if module_of(path) == module
        for use in imports(path)
        if top(use.target) == "tui"
    ]
    return max(ranks, default=0)


def test_tui_layers() -> None:
    names = {rank: name for name, rank in reversed(TUI.items())}
    broken = []
    for use in uses("tui"):
        if top(use.target) != "tui":
            continue
        own, other = tui_rank(owner(use)), tui_rank(use.target)
        if other > own:
            broken.append(f"{use}: {names[own]} does not know {names[other]}")
    assert not broken, report(broken) + "\n  render < widgets < views < screens < app"


@pytest.mark.parametrize("folder", ["tui/render", "tui/views"])
def test_pictures_are_drawn_without_textual(folder: str) -> None:
    actual = [use for use in uses(folder) if top(use.target) in ("textual", "rich")]
    assert not actual, offences(actual, "drawing is pure: `underhood show` runs without Textual")


# engine.jit: packages and modules directly below it, each importing only those before it
JIT = [
    "c_results",
    "decorators",
    "nesting",
    "types",
    "ir",
    "python_print",
    "runtime",
    "serialization",
    "settings",
    "frontend",
    "scripting",
    "script_methods",
    "tracer",
    "compilation_unit",
    "custom_passes",
]


def jit_rank(module: str) -> int:
    return JIT.index(module.split(".")[2])


def test_engine_jit_has_no_import_cycle() -> None:
    """Its packages import only lower ones, and no import hides in a function."""
    violations = [
        use
        for use in uses("engine/jit")
        if owner(use).count(".") > 1
        and use.target.startswith("engine.jit.")
        and jit_rank(use.target) > jit_rank(owner(use))
    ]
    assert not violations, offences(violations, " < ".join(JIT))


def test_engine_jit_imports_at_the_top_of_files() -> None:
    violations = [
        f"{name_of(path)}:{node.lineno}"
        for path in under("engine/jit", ".py")
        for function in ast.walk(ast.parse(text_of(path)))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not violations, report(violations)
