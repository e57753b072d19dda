"""Writes every generated file: `python csrc/codegen --source csrc --out BUILD --native engine/_native`.

One module of this folder per output. A file is written only if its text changed, so that an
edit of one yaml entry does not rebuild everything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import autograd
import c_functions
import capi
import cpp_header
import cpp_ops
import declarations
import events
import expression_cpp
import expression_opencl
import folds
import formula
import fused
import lists
import model
import overloads
import pointwise
import python_ops
import saved
import schema_tables
import stubs


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="the csrc folder")
    parser.add_argument("--out", type=Path, required=True, help="folder of the generated files")
    parser.add_argument(
        "--native", type=Path, required=True, help="engine/_native: headers with cdef blocks"
    )
    args = parser.parse_args()
    try:
        generate(args)
    except model.DeclarationError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    return 0


def generate(args: argparse.Namespace) -> None:
    ops = model.load(args.source / "ops")
    modules = python_ops.modules(ops)
    out = args.out / "generated"
    families = model.families(ops)
    opencl = args.source / "backend" / "opencl"
    by_name = {op.cpp_name: op.family for op in ops}
    sources = {
        out / "ops.h": cpp_ops.all_ops_h(list(families)),
        out / "register.cpp": cpp_ops.register_all_cpp(list(families)),
        out / "autograd" / "register.cpp": autograd.register_cpp(list(families)),
        out / "underhood_ops.h": capi.ops_h(ops),
        out / "c_functions.c": c_functions.table_c(ops),
        out / "underhood_ops.inc": cpp_header.ops_hpp(ops),
        out / "underhood_methods.inc": cpp_header.methods_inc(ops),
        out / "helpers.h": expression_cpp.helpers_h(pointwise.all_helpers()),
        out / "fused_table.cpp": fused.table_cpp(ops),
        out / "folds.h": folds.folds_h(ops),
        out / "fold_table.cpp": folds.table_cpp(ops),
        out / "pointwise" / "folds.cpp": folds.loops_cpp(ops),
        out / "opencl" / "sources.h": expression_opencl.sources_h(opencl),
        out / "opencl_sources.cpp": expression_opencl.sources_cpp(opencl),
        out / "opencl_folds.cpp": folds.opencl_cpp(ops),
        out / "opencl_pointwise.cpp": expression_opencl.pointwise_cpp(ops),
        out / "saved_table.cpp": saved.table_cpp(ops),
        out / "overload_table.cpp": overloads.table_cpp(ops),
        out / "schema_types.h": schema_tables.types_h(ops),
        out / "tags.h": schema_tables.tags_h(),
    }
    for number, signatures in enumerate(cpp_ops.signatures(ops)):
        sources[out / f"signatures_{number}.cpp"] = cpp_ops.signatures_cpp(signatures)
    for family, members in families.items():
        sources[out / "ops" / f"{family}.h"] = cpp_ops.ops_h(members)
        sources[out / "kernels" / f"{family}.h"] = cpp_ops.kernels_h(members)
        sources[out / "pointwise" / f"{family}.h"] = pointwise.family_h(members)
        sources[out / "structured" / f"{family}.h"] = cpp_ops.structured_h(members, family)
        sources[out / f"register_{family}.cpp"] = cpp_ops.register_cpp(members, family)
        sources[out / "autograd" / f"{family}.cpp"] = autograd.family_cpp(
            members, by_name, (args.source / "autograd" / "formulas" / f"{family}.h").exists()
        )
        sources[out / f"capi_{family}.cpp"] = capi.ops_cpp(members, family)
        for number, chunk in enumerate(pointwise.chunks(members)):
            sources[out / "pointwise" / f"{family}_{number}.cpp"] = pointwise.chunk_cpp(chunk)
    passes = sorted(p.stem for p in (args.source / "jit" / "passes").glob("*.cpp"))
    sources[out / "pass_list.inc"] = "".join(f"UH_PASS({name})\n" for name in passes)
    for path, text in sources.items():
        write(path, text)
    for stale in {p for p in out.rglob("*") if p.is_file()} - set(sources):
        stale.unlink()  # CMake collects every file of the folder
    parts = sorted((args.source / "capi").glob("underhood_*.h"))
    headers = [
        args.source / "base" / "error_kinds.h",
        args.source / "capi" / "underhood.h",
        *parts,
        *sorted(args.native.glob("*.h")),
    ]
    blocks = [capi.cdef_block(h.read_text()) for h in headers]
    blocks += [h.read_text() for h in sorted(args.native.glob("*.cdef"))]  # only cffi reads these
    write(args.out / "ffi.cdef.h", "\n".join(blocks))
    native = [h.name for h in args.native.glob("*.h") if "cdef begin" in h.read_text()]
    includes = [*(f"capi/{h.name}" for h in parts), *sorted(native)]
    write(args.out / "ffi.csrc.c", "".join(f'#include "{name}"\n' for name in includes))
    write(
        args.out / "python" / "__init__.py",
        '"""Python files that csrc/codegen writes at build time."""\n',
    )
    modules |= stubs.stubs(ops, args.native.parent)
    python = {args.out / "python" / n: text for n, text in modules.items()}
    for path, text in python.items():
        write(path, text)
    for stale in set((args.out / "python" / "families").glob("*.py")) - set(python):
        stale.unlink()
    write(
        args.out / "python" / "declarations.py",
        declarations.declarations_py(args.source / "ops", ops),
    )
    write(args.out / "python" / "tags.py", declarations.tags_py(ops))
    event_list = args.source / "events" / "event_list.inc"
    write(args.out / "python" / "event_kinds.py", events.render(events.parse(event_list)))
    write(args.out / "python" / "codes.py", lists.codes_py(args.source))
    write(args.out / "python" / "formulas.py", formula.formulas_py(ops))


if __name__ == "__main__":
    raise SystemExit(main())
