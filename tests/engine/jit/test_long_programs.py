"""Programs that are long, deep, or written in other letters: they compile and run, or say why not."""

import ast
import gc
import itertools
import linecache
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import engine
from engine import jit, nn
from engine.jit.frontend.source import source_of

_numbers = itertools.count()


def defined(text):
    """Run a program's text and return its names; its source can be read as from a file."""
    name = f"<long {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"engine": engine, "jit": jit}
    exec(compile(text, name, "exec"), space)
    return space


def early_returns(n):
    lines = "".join(f"    if x == {i}:\n        return {i} + 7\n" for i in range(n))
    return f"def f(x: int) -> int:\n{lines}    return -1\n"


def elifs(n):
    lines = "".join(f"    elif x == {i}:\n        y = {i} + 7\n" for i in range(n))
    return f"def f(x: int) -> int:\n    if x < 0:\n        y = 5\n{lines}    else:\n        y = -1\n    return y\n"


def breaks(n):
    lines = "".join(f"        if i * x == {i + 2}:\n            break\n" for i in range(n))
    return (
        f"def f(x: int) -> int:\n    i = 0\n    while i < 9:\n        i += 1\n{lines}    return i\n"
    )


def ternaries(n):
    return (
        "def f(x: int) -> int:\n    return "
        + "".join(f"{i} if x == {i + 3} else " for i in range(n))
        + "-1\n"
    )


def calls(n):
    lines = "".join(
        f"def f{i}(x: int) -> int:\n    return f{i - 1}(x) + {i}\n" for i in range(1, n)
    )
    return f"def f0(x: int) -> int:\n    return x\n{lines}def f(x: int) -> int:\n    return f{n - 1}(x)\n"


def calls_of_all(n):
    lines = "".join(f"def f{i}(x: int) -> int:\n    return x + {i}\n" for i in range(n))
    sums = "".join(f"    x = f{i}(x)\n" for i in range(n))
    return f"{lines}def f(x: int) -> int:\n{sums}    return x\n"


def sums(n):
    return f"def f(x: int) -> int:\n    return {' + '.join(['x'] * n)}\n"


def nots(n):
    return f"def f(x: int) -> bool:\n    return {'not ' * n}(x == 3)\n"


LONG = [
    (early_returns, 300), (elifs, 300), (breaks, 200), (ternaries, 300), (calls, 150),
    (calls_of_all, 150), (sums, 900), (nots, 900),
]  # fmt: skip


@pytest.mark.parametrize(("write", "n"), LONG, ids=[write.__name__ for write, _ in LONG])
def test_a_long_program_runs_prints_itself_and_is_saved(write, n, tmp_path):
    fn = defined(write(n))["f"]
    limit = sys.getrecursionlimit()
    scripted = jit.script(fn)
    for x in (3, 250, -1):
        assert scripted(x) == fn(x)
    assert scripted.code.count("\n") > 1
    assert len(list(scripted.inlined_graph.all_nodes())) >= min(n, 150)
    scripted.save(tmp_path / "f")
    loaded = jit.load(tmp_path / "f")
    assert loaded(3) == fn(3)
    assert len(jit.export_opnames(loaded)) < 10
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("write", [early_returns, ternaries])
def test_more_blocks_than_a_file_can_have_are_a_compile_error(write):
    fn = defined(write(520))["f"]
    with pytest.raises(RuntimeError, match="blocks are nested more than 500 deep") as caught:
        jit.script(fn)
    assert not isinstance(caught.value, RecursionError)
    assert "<--- HERE" in str(caught.value)


def test_a_program_that_needs_more_frames_says_so():
    limit = sys.getrecursionlimit()
    fn = defined(calls(2500))["f"]
    with pytest.raises(RuntimeError, match="f is nested too deeply") as caught:
        jit.script(fn)
    assert not isinstance(caught.value, RecursionError)
    assert sys.getrecursionlimit() == limit


def test_a_frozen_module_that_would_be_too_deep_for_a_file_says_so_when_it_is_saved(tmp_path):
    """Each method can be saved; what they are together is deeper."""
    text = early_returns(300).replace("def f(", "def deep(")
    text += "class M(engine.nn.Module):\n    def forward(self, x: int) -> int:\n"
    text += "".join(f"        if x == {i}:\n            return 1\n" for i in range(300))
    text += "        return deep(x)\n"
    module = defined(text)["M"]
    linecache.checkcache()
    frozen = jit.freeze(jit.script(module().eval()))
    assert frozen(299) == 1
    assert frozen(4000) == -1
    with pytest.raises(RuntimeError, match="nests blocks more than 500 deep"):
        frozen.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_threads_compile_deep_programs_at_once():
    limit, results = sys.getrecursionlimit(), []

    def compile_one():
        fn = defined(elifs(150))["f"]
        results.append(jit.script(fn)(100))

    threads = [threading.Thread(target=compile_one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [107] * 3
    assert sys.getrecursionlimit() == limit


def test_threads_parse_while_the_collector_switches_between_them():
    """CPython's parser counts depth for all threads together (engine/jit/frontend/parsing.py)."""
    programs = [defined(elifs(40))["f"] for _ in range(3)]
    errors: list[Exception] = []

    def switch(phase: str, facts: dict[str, int]) -> None:
        sum(range(50))

    def compile_often(fn):
        try:
            for _ in range(15):
                source_of(fn)
        except Exception as error:
            errors.append(error)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.callbacks.append(switch)
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(50)
        threads = [threading.Thread(target=compile_often, args=(fn,)) for fn in programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(switch)
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
    assert not errors


# ---- names


def größe(länge: int, naïve_π: float = 1.5) -> float:
    résultat = länge * naïve_π
    été = [résultat for ŝ in range(3)]
    变量 = résultat + 1 if résultat > 2 else 0.0
    for ĵ in range(2):
        变量 += ĵ
    return 变量 + été[0]


class Schicht(nn.Module):
    ñ: int

    def __init__(self):
        super().__init__()
        self.ñ = 3
        self.gewicht_ß = nn.Parameter(engine.ones(2))
        self.teil = nn.ModuleDict({"ä": nn.Linear(2, 2), "中": nn.Linear(2, 2)})

    def forward(self, é):
        for teil in self.teil.values():
            é = teil(é)
        return self.hilfe_ü(é) * self.gewicht_ß

    def hilfe_ü(self, é):
        return é * self.ñ


def test_names_may_have_any_letters(tmp_path):
    scripted = jit.script(größe)
    assert scripted(3) == größe(3)
    assert scripted(länge=3, naïve_π=2.0) == größe(3, 2.0)
    assert str(scripted.schema) == "größe(int länge, float naïve_π=1.5) -> float"
    assert "%résultat.1 : float = aten::mul(%länge.1, %naïve_π.1)" in str(scripted.graph)
    assert "résultat = torch.mul(länge, naïve_π)" in scripted.code
    assert str(jit.Graph.parse(str(scripted.graph))) == str(scripted.graph)
    scripted.save(tmp_path / "ü")
    assert jit.load(tmp_path / "ü")(länge=3) == größe(3)


@pytest.mark.parametrize("make", [jit.script, lambda m: jit.trace(m, engine.ones(2))])
def test_modules_may_have_any_letters(make, tmp_path):
    module = Schicht().eval()
    x = engine.randn(2)
    compiled = make(module)
    assert engine.allclose(compiled(x), module(x))
    assert 'prim::GetAttr[name="gewicht_ß"]' in str(compiled.graph)
    compiled.save(tmp_path / "m")
    loaded = jit.load(tmp_path / "m")
    assert engine.allclose(loaded(x), module(x))
    assert engine.allclose(jit.freeze(loaded.eval())(x), module(x))


def test_errors_point_at_characters_not_bytes():
    def wrong(größe: int, 变: str):
        é = größe + 变  # type: ignore[operator]
        return é

    with pytest.raises(RuntimeError) as caught:
        jit.script(wrong)
    lines = str(caught.value).splitlines()
    i = next(i for i, line in enumerate(lines) if "<--- HERE" in line)
    column = lines[i].index("~")
    assert lines[i - 1][column:].startswith("größe + 变")
    with pytest.raises(RuntimeError) as caught:
        jit.Graph.parse("graph(%é : Tensor):\n  %größe : Tensor = aten::größe(%ü)\n  return (%é)")
    _, line, caret = str(caught.value).splitlines()
    assert line[caret.index("^") :].startswith("ü") or line[caret.index("^") :].startswith("%ü")


# ---- python -OO

OPTIMISED = """if True:
    import sys, linecache
    import engine
    from engine import jit, nn
    import engine.nn.functional as F
    assert False, "asserts of Python are off"
    sources = {
        "special": "def f(x): return engine.special.i0e(x) + engine.linalg.norm(x) + engine.special.expit(x)",
        "methods": "def f(x): return x.special if False else x.div(2).softmax(0).sum(dim=0, keepdim=True)",
        "functional": "def f(x): return F.gelu(x) + F.layer_norm(x, [4]) + F.dropout(x, 0.0) + F.logsigmoid(x)",
        "asserts": "def f(x):\\n    assert x.numel() == 4, 'four'\\n    return x",
    }
    x = engine.ones(4)
    for name, text in sources.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space = {"engine": engine, "F": F}
        exec(compile(text, name, "exec"), space)
        scripted = jit.script(space["f"])
        print(name, engine.allclose(scripted(x), space["f"](x)), *(n.kind() for n in scripted.graph.nodes()))
    try:
        scripted(engine.ones(3))
    except Exception as error:
        print(type(error).__name__, "four" in str(error))
    x = engine.ones(4, 4)
    print(engine.max(x, 0), engine.std(x, 0), engine.ops.aten.sum(x, dim=[0], keepdim=True))
    for wrong in (lambda: engine.add(x, [1]), lambda: engine.softmax(x),
        lambda: engine.ops.aten.add.Tensor(x), lambda: scripted(x, x), lambda: engine.zeros("a")):
        try:
            wrong()
        except (TypeError, RuntimeError) as error:
            print(type(error).__name__, error)
    print(scripted.schema.arguments, sorted(engine.ops.aten.dropout.default.tags))
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(),
        nn.Linear(144, 5), nn.Softmax(-1)).eval()
    x = engine.ones(2, 3, 8, 8)
    for compiled in (jit.script(model), jit.trace(model, x), jit.freeze(jit.script(model))):
        print(engine.allclose(compiled(x), model(x)))
        print(*sorted({n.kind() for n in compiled.inlined_graph.all_nodes()}))
"""


def test_python_without_docstrings_and_asserts_compiles_the_same():
    outputs = []
    for flags in ([], ["-OO"]):
        program = OPTIMISED if flags else OPTIMISED.replace("    assert False", "    #")
        done = subprocess.run(
            [sys.executable, *flags, "-c", program],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert "aten::special_i0e" in outputs[0]
    assert "Error True" in outputs[0]
    assert not re.search(r"(^| )False", outputs[0], re.MULTILINE)


def test_nothing_of_the_compiler_reads_a_docstring():
    folder = Path(jit.__file__).parent / "frontend"
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            reads = isinstance(node, ast.Attribute) and node.attr == "__doc__"
            assert not reads or isinstance(node.ctx, ast.Store), path
