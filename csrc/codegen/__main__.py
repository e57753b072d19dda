"""Writes every generated file: `python csrc/codegen --source csrc --out BUILD --native engine/_native`.

One module of this folder per output. Files are rewritten only when their text changed, so that an
edit of one yaml entry does not rebuild everything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import capi
import cpp_ops
import events
import pointwise
import python_ops
from model import DeclarationError, load


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
        ops = load(args.source / "ops")
    except DeclarationError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    out = args.out / "generated"
    write(out / "ops.h", cpp_ops.ops_h(ops))
    write(out / "kernels.h", cpp_ops.kernels_h(ops))
    write(out / "register.cpp", cpp_ops.register_cpp(ops))
    write(out / "pointwise_table.h", pointwise.table_h(ops))
    for chunk in range(pointwise.CHUNKS):
        write(out / f"pointwise_{chunk}.cpp", pointwise.chunk_cpp(ops, chunk))
    write(out / "pointwise_tables.cpp", pointwise.tables_cpp(ops))
    write(out / "underhood_ops.h", capi.ops_h(ops))
    write(out / "capi_ops.cpp", capi.ops_cpp(ops))
    headers = [
        args.source / "capi" / "underhood.h",
        out / "underhood_ops.h",
        *sorted(args.native.glob("*.h")),
    ]
    write(args.out / "ffi.cdef.h", "\n".join(capi.cdef_block(h.read_text()) for h in headers))
    native = [h.name for h in headers[2:] if "cdef begin" in h.read_text()]
    includes = ["generated/underhood_ops.h", *native]
    write(args.out / "ffi.csrc.c", "".join(f'#include "{name}"\n' for name in includes))
    write(
        args.out / "python" / "__init__.py",
        '"""Python files that csrc/codegen writes at build time."""\n',
    )
    write(args.out / "python" / "ops.py", python_ops.ops_py(ops))
    event_list = args.source / "events" / "event_list.inc"
    write(
        args.out / "python" / "event_kinds.py",
        events.render(events.parse(event_list.read_text(), event_list.name)),
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
