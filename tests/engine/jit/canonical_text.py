"""The text of a graph without what two compilers may choose: numbers, pooled constants, places.

Constants appear where they are used; names count from the top. Run with PyTorch installed, this
file records the graphs and the source that PyTorch makes of the programs, those that come out the same:
python tests/engine/jit/canonical_text.py
"""

import re

CONSTANT = re.compile(r"\s*(%[\w.]+) : [^=]*= prim::Constant(\[(?:value|name)=(.*)\])?\(\)$")
NOTHING = re.compile(r"\s*(%[\w.]+) : [^=]* = prim::Uninitialized\(\)$")
NODE = re.compile(r"(\s*)((?:%[\w.]+ : .*?)?) = (.*)$")
# Where classes stand: the programs of PyTorch lie elsewhere.
MODULE = re.compile(r"\b(?:of_torch_\w+|tests\.engine\.jit\.programs\.\w+)\.")
# Constants are folded on both sides before graphs are compared.
PASSES = ("constant_propagation", "fold_constant_branches", "dce")


class _Names:
    def __init__(self):
        self.known, self.counts = {}, {}

    def define(self, text):
        for name in re.findall(r"(%[\w.]+) :", text):
            stem = re.sub(r"(\.\d+)$", "", name[1:])
            stem = "v" if stem.isdigit() else stem
            self.counts[stem] = self.counts.get(stem, 0) + 1
            self.known[name] = f"%{stem}.{self.counts[stem]}"

    def apply(self, text):
        return re.sub(r"%[\w.]+", lambda match: self.known.get(match[0], match[0]), text)


def canonical(text):
    """The canonical text of a graph's text."""
    names, out = _Names(), []
    for full in MODULE.sub("", text).splitlines():
        line = re.sub(r" #.*", "", full)
        if result := CONSTANT.match(line):
            names.known[result[1]] = result[3] or "None"
        elif result := NOTHING.match(line):
            names.known[result[1]] = "nothing"
        elif (result := NODE.match(line)) and "->" not in line:
            right = names.apply(result[3])
            listed = re.fullmatch(r"prim::ListConstruct\(([^%]+)\)", right)
            if listed:  # of constants: a constant too
                names.known[result[2].split(" ")[0]] = f"[{listed[1]}]"
                continue
            names.define(result[2])
            out.append(f"{result[1]}{names.apply(result[2])} = {right}")
        else:
            if re.match(r"\s*(block\d|graph\(|%)", line):
                names.define(line)
            out.append(names.apply(line))
    return "\n".join(out)


def of_ours(fn):
    """The canonical text of what this engine compiles a function to."""
    from engine._native import ffi, lib
    from engine.jit.frontend import compile_function

    compiled = compile_function(fn)  # which the graph goes with
    graph = lib.uh_graph_copy(compiled.graph)
    for name in PASSES:
        assert lib.uh_pass_run(graph, name.encode()) >= 0, ffi.string(lib.uh_last_error())
    text = ffi.string(lib.uh_graph_text(graph, 0)).decode()
    lib.uh_graph_release(graph)
    return canonical(text)


def without_module(code):
    """Source without the names of the modules that its functions and classes are in."""
    return re.sub(r"__torch__\.([\w.]+\.)?(\w+)", r"__torch__.\2", code)


def _record():
    import importlib
    import json
    import sys
    import tempfile
    from pathlib import Path

    import torch

    import engine

    current = Path(__file__).parent
    sys.path[:0] = [str(current), folder := tempfile.mkdtemp()]
    recorded, codes = {}, {}
    for module in ("control_flow", "containers", "numbers_and_types", "documented", "classes"):
        source = (current / "programs" / f"{module}.py").read_text()
        source = source.replace("import engine\n", "import torch as engine\n")
        source = re.sub("from engine import Tensor(, jit)?", r"from torch import Tensor\1", source)
        (Path(folder) / f"of_torch_{module}.py").write_text(source)
        other = importlib.import_module(f"of_torch_{module}")
        for fn, _ in importlib.import_module(f"tests.engine.jit.programs.{module}").CASES:
            try:
                scripted = torch.jit.script(getattr(other, fn.__name__))
            except Exception as error:
                print(f"PyTorch refuses {fn.__name__}: {str(error).strip().splitlines()[0]}")
                continue
            if (code := without_module(scripted.code)) == without_module(
                engine.jit.script(fn).code
            ):
                codes[f"{module}.{fn.__name__}"] = code.splitlines()
            text = canonical(str(scripted.graph))
            if text == of_ours(fn):
                recorded[f"{module}.{fn.__name__}"] = text.splitlines()
            else:
                print(f"not the same: {module}.{fn.__name__}")
    for name, item in (("graphs", recorded), ("code", codes)):
        location = current / "programs" / f"pytorch_{name}.json"
        location.write_text(json.dumps(item, indent=1) + "\n")
        print(len(item), name)


if __name__ == "__main__":
    _record()
