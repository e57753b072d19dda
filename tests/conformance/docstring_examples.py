"""The examples in PyTorch's docstrings, run by the engine: the same statements must print the same text.

    python tests/conformance/docstring_examples.py [--only distributions] [--all] [-v]

PyTorch is installed and read at run time: nothing of it is in this repository. Each docstring's statements run in a
separate process, once in PyTorch and once with `import torch` finding the engine, with the same random numbers
(equal_draws.py). A statement
that fails in PyTorch (a fragment of a program, a GPU) says nothing and is left out.
Differences that are intended are in docstring_differences.py, each with its reason.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODULES = [
    "torch.distributions",
    "torch.distributions.transforms",
    "torch.distributions.kl",
    "torch.amp",
    "torch.func",
    "torch.profiler",
    "torch.utils.tensorboard",
    "torch.utils.data",
    "torch.nn.utils",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.rnn",
    "torch.nn.utils.stateless",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.autograd.forward_ad",
    "torch.autograd.graph",
    "torch.jit",
    "torch.multiprocessing",
    "torch.compiler",
    "torch.sparse",
    "torch.serialization",
    "torch",
    "torch.Tensor",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.signal.windows",
    "torch.nn.parameter",
    "torch.nn.parallel",
    "torch.utils.checkpoint",
    "torch.random",
    "torch.testing",
]
SECONDS = 20  # for one docstring


def docstrings(only: str = "") -> dict[str, str]:
    """Return the docstrings with examples of PyTorch's public names."""
    result: dict[str, str] = {}
    seen: set[str] = set()

    def add(name: str, text: Any) -> None:
        if isinstance(text, str) and ">>>" in text and text not in seen and re.search(only, name):
            seen.add(text)
            result[name] = text

    for module_name in MODULES:
        if module_name == "torch.Tensor":
            import torch

            home: Any = torch.Tensor
        else:
            try:
                home = importlib.import_module(module_name)
            except ImportError:
                continue
        names = getattr(home, "__all__", None) or [n for n in dir(home) if not n.startswith("_")]
        for name in sorted(set(names)):
            value = getattr(home, name, None)
            if value is None or isinstance(value, types.ModuleType):
                continue
            if "torch" not in (getattr(value, "__module__", None) or "torch"):
                continue
            add(f"{module_name}.{name}", inspect.getdoc(value))
            for part in vars(value) if isinstance(value, type) else ():
                if not part.startswith("_"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of deprecated names
                        member = getattr(value, part, None)
                    add(f"{module_name}.{name}.{part}", inspect.getdoc(member))
    return result


def statements(text: str) -> list[str]:
    """Return the statements of a docstring's examples."""
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:  # prompts that are not followed by a blank
        lines = [line.strip() for line in text.splitlines()]
        return [line[3:].lstrip() + "\n" for line in lines if line.startswith(">>>")]


def run_statements(name: str, sources: list[str], seed: int) -> list[dict[str, str]]:
    """Run statements one after another; return what each prints, or its error.

    They see the names of the module that the docstring is in.
    """
    import equal_draws
    import torch

    torch.manual_seed(seed)
    equal_draws.install(torch, seed)
    names: dict[str, Any] = {}
    homes = [home for home in MODULES if name.startswith(f"{home}.") and home != "torch.Tensor"]
    home = importlib.import_module(max(homes, key=len, default="torch"))
    for public in getattr(home, "__all__", ()):
        with contextlib.suppress(AttributeError):
            names[public] = getattr(home, public)
    names |= {"torch": torch, "__name__": "__main__"}
    for name, module in (
        ("nn", "torch.nn"),
        ("F", "torch.nn.functional"),
        ("optim", "torch.optim"),
    ):
        names[name] = importlib.import_module(module)
    import math

    names["math"] = math
    outcomes = []
    for source in sources:
        output = io.StringIO()
        error = ""
        sys.displayhook = lambda value: None if value is None else print(repr(value))
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(source, "<docstring>", "single"), names)
            except BaseException as problem:
                error = f"{type(problem).__name__}: {problem}"
        outcomes.append({"output": output.getvalue(), "error": error})
    return outcomes


def child(path: str, role: str) -> None:
    """Run the docstrings of a file, each in a fork of this process, and write the outcomes next to it."""
    sources_by_name = json.loads(Path(path).read_text())
    if role == "engine":
        from engine.inspect.alias import install

        install("torch")
    import torch

    torch.set_num_threads(1)
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    # PyTorch runs them from two seeds: what then differs is random
    for suffix, seed in (("torch", 0), ("again", 1)) if role == "torch" else ((role, 0),):
        outcomes = {name: run_forked(name, text, seed) for name, text in sources_by_name.items()}
        Path(f"{path}.{suffix}").write_text(json.dumps(outcomes))


def run_forked(name: str, text: str, seed: int) -> Any:
    """Run the examples of a docstring in a fork; return None if it ended early or took too long."""
    import signal

    result, temporary = Path("outcome.json"), Path("outcome.tmp")
    result.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        signal.alarm(SECONDS)
        folder = Path.cwd()
        content = json.dumps(run_statements(name, statements(text), seed))
        os.chdir(folder)  # an example may have left it
        temporary.write_text(content)
        temporary.rename(result)
        os._exit(0)
    os.waitpid(pid, 0)
    return json.loads(result.read_text()) if result.exists() else None


_ADDRESS = re.compile(r"0x[0-9a-f]+")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?|-?\d+e[-+]\d+")
_DRAWN = re.compile(r"[-+]?\b\d+(?:\.\d*)?(?:e[-+]\d+)?j?|-?\b(?:inf|nan)\b|True|False")


def same(expected: str, actual: str, is_random: bool) -> bool:
    """Return True for equal text, apart from addresses, blanks and the last digits of numbers; of random numbers,
    where equal_draws.py does not replace their function, apart from the numbers."""
    first, second = (_ADDRESS.sub("@", text) for text in (expected, actual))
    if first == second:
        return True
    number = _DRAWN if is_random else _DECIMAL
    if "".join(number.sub("#", first).split()) != "".join(number.sub("#", second).split()):
        return False
    pairs = zip(number.findall(first), number.findall(second), strict=True)
    return is_random or all(
        abs(float(a) - float(b)) <= 2e-4 * (1 + abs(float(a))) for a, b in pairs
    )


def differences(sources_by_name: dict[str, str]) -> tuple[dict[str, list[str]], int]:
    """Run the examples by both; return the differences by name, and how many statements were compared."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/docstrings.json"
        Path(path).write_text(json.dumps(sources_by_name))
        for role in ("torch", "engine"):
            command = [sys.executable, "-W", "ignore", __file__, "--child", path, "--role", role]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr[-2000:]
        expected = json.loads(Path(f"{path}.torch").read_text())
        again = json.loads(Path(f"{path}.again").read_text())
        actual = json.loads(Path(f"{path}.engine").read_text())
    differing: dict[str, list[str]] = {}
    compared = in_form_only = 0
    for name, text in sources_by_name.items():
        sources = statements(text)
        if expected[name] is None or again[name] is None:
            continue
        if actual[name] is None:
            differing[name] = ["the engine's process ended, or took too long"]
            continue
        runs = zip(sources, expected[name], again[name], actual[name], strict=True)
        for source, theirs, other, ours in runs:
            if theirs["error"]:
                continue
            compared += 1
            is_random = theirs["output"] != other["output"]
            is_same = same(theirs["output"], ours["output"], False)
            in_form_only += is_random and not is_same
            if ours["error"] or not (is_same or same(theirs["output"], ours["output"], is_random)):
                printed = ours["error"] or ours["output"]
                differing.setdefault(name, []).append(
                    f"{source.strip()}\n      PyTorch {theirs['output'].strip()!r}\n      engine  {printed.strip()!r}"
                )
                break  # what follows from it differs too
    print(f"{in_form_only} statements print random numbers that were compared in form only")
    return differing, compared


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names that match this")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    parser.add_argument("--all", action="store_true", help="print expected differences too")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.role)
        return 0
    from docstring_differences import REASONS

    sources_by_name = docstrings(options.only)
    differing, compared = differences(sources_by_name)
    unexpected = {name: lines for name, lines in differing.items() if name not in REASONS}
    for name, lines in (differing if options.all else unexpected).items():
        print(f"{name}\n    {lines[0][:600]}")
    print(
        f"{len(sources_by_name)} docstrings, {compared} statements compared: {len(differing)} docstrings differ, "
    )
    print(f"{len(differing) - len(unexpected)} of them for a reason in docstring_differences.py")
    return bool(unexpected)


if __name__ == "__main__":
    sys.exit(main())
