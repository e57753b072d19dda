"""The printed graphs and code of a traced module, without what two engines may choose.

Run with PyTorch installed, this file records what PyTorch makes of the programs:
python tests/engine/jit/traced_text.py
"""

import json
import re
import warnings
from pathlib import Path

from tests.engine.jit.canonical_text import canonical

RECORDED = Path(__file__).parent / "programs" / "pytorch_traces.json"
TENSOR = re.compile(r"value=[^\[\]{}]*\[ CPU\w+\{[\d,]*\} \]\]")


def plain_graph(graph):
    """The graph with canonical names, without places; classes without their modules."""
    text = re.sub(r"(= prim::Constant.*), scope: .*", r"\1", re.sub(r" # .*", "", str(graph)))
    text = TENSOR.sub("value=<Tensor>]", text)
    return [line for line in canonical(plain_classes(text)).splitlines() if line]


def plain_classes(text):
    return re.sub(r"__torch__\.(?:\w+\.)*(\w+)", r"\1", text)


def plain_code(code):
    """Number generated names from the top: PyTorch leaves some out."""
    names = {}
    return re.sub(
        r"\b_\d+\b",
        lambda match: names.setdefault(match[0], f"_{len(names)}"),
        plain_classes(code),
    ).splitlines()


def printed(module):
    """Return each method's graph and code, of a traced module and all below it, and its printed form."""
    result = {"printed": str(module).splitlines()}
    for path, item in module.named_modules(remove_duplicate=False):
        for name in _methods(item):
            method = getattr(item, name) if name != "forward" else item
            result[f"{path}.{name}"] = {
                "graph": plain_graph(method.graph),
                "code": plain_code(method.code),
            }
    return result


def _methods(module):
    native = getattr(module, "_c", None)  # PyTorch's
    known = native._method_names() if native is not None else module._methods
    return sorted(name for name in known if name.startswith("forward"))


def traced(lib, program):
    lib.manual_seed(0)
    module, args = program(lib)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lib.jit.trace(module, args, check_trace=False)


def _record():
    import torch

    from tests.engine.jit.programs.traced_modules import NETWORKS
    from tests.engine.jit.programs.traced_wiring import WIRINGS

    recorded = {program.__name__: printed(traced(torch, program)) for program in NETWORKS + WIRINGS}
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    print(len(recorded), "programs")


if __name__ == "__main__":
    _record()
