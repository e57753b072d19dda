"""`underhood doctor`: checks of the installation, with advice for each problem."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from tui import paths
from tui.output import json_text, write
from tui.settings import load_settings

GLYPHS = "│╭╮╰╯┼▸▌▐█░▁▄▇━┣✎◌∞×·…"
ENGINE = """
import json, time
begin = time.perf_counter()
import engine
took = time.perf_counter() - begin
assert engine.ones(2, 3).sum().item() == 6.0
from engine.backends import blas, cpu
print(json.dumps([took, engine.get_num_threads(), cpu.get_cpu_capability(), blas.core_name()]))
"""


@dataclass(frozen=True)
class Finding:
    """The result of one check: `state` is ok, note or bad."""

    name: str
    state: str
    description: str


def examine() -> list[Finding]:
    """Run all checks; a check that raises does not affect the others."""
    return [finding for look in LOOKS for finding in attempted(look)]


def attempted(look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of a check, or one with its exception."""
    try:
        return list(look())
    except Exception as error:  # no check may end the doctor
        return [Finding(look.__name__.strip("_"), "bad", f"{type(error).__name__}: {error}")]


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Finding(
        "python", "ok" if good else "bad", version + ("" if good else ": 3.11 or newer is needed")
    )
    for name in ("underhood", "numpy", "textual", "rich", "cffi", "scipy-openblas32"):
        try:
            yield Finding(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, "bad", "not installed; pip install -e . installs everything")


def _engine() -> Iterator[Finding]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", ENGINE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        yield Finding("engine", "bad", f"does not work: {last}")
        return
    took, threads, kernels, blas = json.loads(done.stdout)
    yield Finding("engine", "ok", f"works; imported in {1e3 * took:.0f} ms; {threads} threads")
    yield Finding("kernels", "ok", f"loops for {kernels}; OpenBLAS for {blas}")
    forced = os.environ.get("UNDERHOOD_ISA")
    if forced:
        yield Finding("UNDERHOOD_ISA", "note", f"forces {forced}")


def _compiler() -> Iterator[Finding]:
    names = [os.environ.get("CXX", ""), "c++", "g++", "clang++"]
    compiler = next((path for name in names if name and (path := shutil.which(name))), None)
    if compiler is None:
        description = (
            "none found; needed only to build from source: install g++ 12 or clang 15, or newer"
        )
        yield Finding("compiler", "note", description)
        return
    done = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, timeout=20, check=False
    )
    yield Finding("compiler", "ok", (done.stdout.splitlines() or [compiler])[0])


def _terminal() -> Iterator[Finding]:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield Finding(
            "terminal", "note", "not a terminal; the explorer needs one, `underhood show` does not"
        )
    else:
        columns, rows = shutil.get_terminal_size()
        state = "ok" if columns >= 80 and rows >= 24 else "note"
        yield Finding(
            "terminal",
            state,
            f"{columns}x{rows}, TERM={os.environ.get('TERM', '')}; 80x24 or more is good",
        )
    depth = "24 bit" if os.environ.get("COLORTERM", "") in ("truecolor", "24bit") else "256 or 16"
    plain = "NO_COLOR" in os.environ
    yield Finding(
        "colours", "ok", "none (NO_COLOR)" if plain else f"{depth} (by COLORTERM and TERM)"
    )
    encoding = sys.stdout.encoding or "unknown"
    try:
        GLYPHS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        yield Finding(
            "signs", "note", f"{encoding} cannot show them; use --ascii, or set LANG=C.UTF-8"
        )
    else:
        yield Finding("signs", "ok", f"{GLYPHS}| each one cell wide? if not, use --ascii")


def _folders() -> Iterator[Finding]:
    folder = paths.trace_folder()
    try:
        paths.make_private(folder)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        yield Finding(
            "traces", "bad", f"{folder} cannot be written: {error.strerror}; set UNDERHOOD_HOME"
        )
    else:
        recordings = paths.traces_newest_first(10_000)
        size = sum(path.stat().st_size for path in recordings if path.exists())
        yield Finding(
            "traces", "ok", f"{folder}: {len(recordings)} recordings, {size / 1e6:.1f} MB"
        )
    settings = load_settings()
    path: Path = paths.settings_file()
    yield Finding("settings", "ok", f"{path}{'' if path.exists() else ' (none yet)'}")
    for warning in settings.warnings:
        yield Finding("settings", "note", warning)


LOOKS = (_python, _engine, _compiler, _terminal, _folders)


def print_findings(findings: list[Finding], as_json: bool = False) -> int:
    """Print the findings; 1 if anything is bad."""
    if as_json:
        write(json_text([asdict(finding) for finding in findings]))
    else:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            write(f"{finding.state:<5} {finding.name:<{width}}  {finding.description}")
    return 1 if any(finding.state == "bad" for finding in findings) else 0
