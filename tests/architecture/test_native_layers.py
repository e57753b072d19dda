"""csrc: base < events < memory < tensor < dispatch < ops < { backend | autograd } < jit < introspect < capi."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, Use, includes, name_of, report, under

LAYERS = (
    ("base",),
    ("events",),
    ("memory",),
    ("tensor",),
    ("dispatch",),
    ("ops",),
    ("backend", "autograd"),
    ("jit",),
    ("introspect",),
    ("capi",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Within jit, the folders that headers may include: a graph knows nothing of the code that builds,
# rewrites, prints or runs it.
JIT = {
    "ir": (),
    "assembler": (),
    "builtins": (),
    "schema_matching": ("ir",),
    "text": ("ir",),
    "trace": ("ir",),
    "peephole": ("ir",),
    "passes": ("ir",),
    "run": ("ir",),
    "scalar": ("ir", "assembler"),
    "fused": ("assembler",),
    "group": ("ir", "fused"),
    "serialization": ("function.h",),
}
# What the generator writes, by the folder whose part it is. ops/ only declares calls through the dispatcher, kernels/
# the functions that a family's files define, pointwise/ the CPU's loops (helpers: what they call).
GENERATED = {
    "generated/ops.h": "dispatch",
    "generated/schema_types.h": "dispatch",
    "generated/tags.h": "dispatch",
    "generated/ops": "dispatch",
    "generated/kernels": "ops",
    "generated/pointwise": "backend",
    "generated/structured": "ops",
    "generated/opencl": "backend",
    "generated/folds.h": "backend",
    "generated/helpers.h": "backend",
    "generated/pass_list.inc": "jit",
    "generated/underhood_ops.h": "capi",
}
SOURCES = under("csrc", ".h", ".cpp", ".c", ".inc", ".cu")


def generated_layer(target: str) -> str:
    """Return the folder whose part a generated header is; "" for a header that is not generated."""
    return GENERATED.get(target) or GENERATED.get(target.rpartition("/")[0], "")


def layer_of(target: str) -> str:
    """Return the folder of csrc that an included name belongs to; "" for something outside of it."""
    return (generated_layer(target) or target).split("/")[0]


def uses_of(folder: str) -> list[Use]:
    inside = [path for path in SOURCES if path.is_relative_to(ROOT / "csrc" / folder)]
    return [use for path in inside for use in includes(path)]


@pytest.mark.parametrize("folder", list(RANK))
def test_a_layer_includes_only_lower_layers(folder: str) -> None:
    broken = []
    for use in uses_of(folder):
        other = layer_of(use.target)
        if other in RANK and other != folder and RANK[other] >= RANK[folder]:
            broken.append(f"{use}: {folder} does not know {other}")
    assert not broken, report(broken)


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in (ROOT / "csrc" / "jit").iterdir() if path.is_dir())
)
def test_a_header_of_jit_knows_what_it_stands_on(folder: str) -> None:
    assert folder in JIT, f"csrc/jit/{folder}: say here what its headers may include"
    broken = [
        f"{use}: headers of {folder}/ include {' and '.join(JIT[folder]) or 'nothing else of jit/'}"
        for use in uses_of(f"jit/{folder}")
        if use.file.endswith(".h") and use.target.startswith("jit/")
        if use.target.split("/")[1] not in (folder, *JIT[folder])
    ]
    assert not broken, report(broken)


def test_every_folder_of_csrc_has_its_place() -> None:
    known = {*RANK, "codegen", "examples", "extensions"}
    folders = {path.relative_to(ROOT / "csrc").parts[0] for path in under("csrc", "")}
    unknown = {f for f in folders if (ROOT / "csrc" / f).is_dir()} - known
    assert not unknown, f"csrc/{', csrc/'.join(unknown)}: no layer; give it one here and in DESIGN"


def test_includes_in_quotes_are_paths_from_csrc() -> None:
    """`#include "memory/storage.h"`: the layer is read from the line itself."""
    broken = []
    for path in SOURCES:
        if path.is_relative_to(ROOT / "csrc" / "examples"):
            continue
        if path.is_relative_to(ROOT / "csrc" / "extensions"):
            continue
        for use in includes(path):
            if not generated_layer(use.target) and not (ROOT / "csrc" / use.target).is_file():
                broken.append(
                    f"{use}: no such file below csrc, and not one that csrc/codegen writes"
                )
    assert not broken, report(broken)


def test_an_extension_uses_its_own_and_the_installed_headers_only() -> None:
    """csrc/extensions are written as anybody outside would write them."""
    broken = []
    for path in under("csrc/extensions", ".h", ".cpp"):
        broken += [
            f"{use}: not a header of this extension"
            for use in includes(path)
            if not (path.parent / use.target).is_file()
        ]
        broken += [
            f"{use}: not an installed header"
            for use in includes(path, "<")
            if "/" in use.target
            and not (
                use.target.startswith("underhood/")
                and (ROOT / "csrc" / "capi" / Path(use.target).name).is_file()
            )
        ]
    assert not broken, report(broken)


def test_headers_do_not_include_each_other_in_a_circle() -> None:
    graph = {
        path.relative_to(ROOT / "csrc").as_posix(): [use.target for use in includes(path)]
        for path in SOURCES
    }
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, f"circle: {' -> '.join([*way[way.index(name) :], name])}"
        if name in done or name not in graph:
            return
        for target in graph[name]:
            visit(target, (*way, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def test_the_core_does_not_know_python() -> None:
    broken = [
        f"{use}: csrc stays free of Python; the C ABI carries what Python needs"
        for path in SOURCES
        for quote in '<"'
        for use in includes(path, quote)
        if Path(use.target).name in ("Python.h", "structmember.h", "frameobject.h")
    ]
    assert not broken, report(broken)


def test_c_inside_engine_uses_the_c_abi_alone() -> None:
    """engine/_native/*.c sees capi, and lists that are data: event kinds, their codes, devices."""
    allowed = {
        "capi/underhood.h",
        "capi/underhood_autograd.h",
        "capi/underhood_library.h",
        "generated/underhood_ops.h",
        "events/event_list.inc",
        "events/codes.inc",
        "base/devices.inc",
    }
    broken = []
    for path in under("engine", ".c", ".h"):
        for use in includes(path):
            if use.target not in allowed and not (path.parent / use.target).is_file():
                broken.append(
                    f"{use}: engine/_native may only include {', '.join(sorted(allowed))}"
                )
    assert not broken, report(broken)


def test_headers_open_with_what_they_are() -> None:
    broken = [
        f"{name_of(path)}:1: a header opens with a comment that says what it is"
        for path in under("csrc", ".h")
        if not path.read_text().startswith(("//", "/*"))
    ]
    assert not broken, report(broken)


def test_headers_are_included_once() -> None:
    broken = [
        f"{name_of(path)}: neither #pragma once nor an include guard"
        for path in under("csrc", ".h")
        if "#pragma once" not in (text := path.read_text()) and "#ifndef UNDERHOOD" not in text
    ]
    assert not broken, report(broken)
