"""The build of an extension in its folder: once for the same inputs, and atomic.

The folder holds one shared object per set of inputs and a manifest, which names the newest with the digests of all
its inputs: command, compiler, sources and headers. A build runs under the folder's lock in a temporary
subfolder; the manifest is replaced last, so that an interrupted build leaves the former one valid.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from engine.utils.cpp_extension.compiler import (
    compile_flags,
    compiler_command,
    compiler_version,
    link_flags,
)

_MANIFEST = "build.json"


def default_folder(name: str) -> Path:
    """Return the build folder of an extension in the user's cache, or in $TORCH_EXTENSIONS_DIR."""
    root = os.environ.get("TORCH_EXTENSIONS_DIR")
    folder = Path(root) if root else Path(platformdirs.user_cache_dir("underhood")) / "extensions"
    return folder / f"py{sys.version_info[0]}{sys.version_info[1]}_cpu" / name


@dataclass(frozen=True)
class Build:
    """The inputs of an extension's build."""

    name: str
    sources: tuple[Path, ...]
    folder: Path
    cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    include_folders: tuple[str, ...] = ()
    verbose: bool = False
    source_text: str | None = None  # of the only source, which is written under the lock

    def library(self) -> Path:
        """Return the shared object, built if it is missing or older than one of its inputs.

        Raises: RuntimeError with all of the compiler's output, or if the folder cannot be written.
        """
        self._check_sources()
        command = compiler_command()
        inputs = self._inputs(command)
        with self._lock():
            if self.source_text is not None:
                _write_if_other(self.sources[0], self.source_text)
            current = self._current(inputs)
            if current is None:
                current = self._build(command, inputs)
            elif self.verbose:
                print(f"{self.name}: up to date, {current}", file=sys.stderr)
            return current

    def _check_sources(self) -> None:
        if not self.sources:
            raise RuntimeError(f"cpp_extension: the extension {self.name!r} has no sources")
        if self.source_text is not None:
            return
        for source in self.sources:
            if source.suffix in (".cu", ".cuh"):
                raise RuntimeError(
                    f"cpp_extension: {source} is CUDA; the engine runs on the CPU and compiles C++ only"
                )
            if not source.is_file():
                raise FileNotFoundError(f"cpp_extension: there is no source {source}")

    def _inputs(self, command: list[str]) -> dict[str, Any]:
        return {
            "compiler": [*command, compiler_version(tuple(command))],
            "compile": compile_flags(self.name, self.include_folders, self.cflags),
            "link": link_flags(self.ldflags),
            "sources": [str(source) for source in self.sources],
        }

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RuntimeError(
                f"cpp_extension: cannot write to the build folder {self.folder}: {error.strerror}; pass "
                "build_directory= or set TORCH_EXTENSIONS_DIR"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _current(self, inputs: dict[str, Any]) -> Path | None:
        """Return the library of the last build if it had the same inputs."""
        try:
            manifest = json.loads((self.folder / _MANIFEST).read_text())
            library = self.folder / manifest["library"]
            same = manifest["inputs"] == inputs and library.is_file()
            if same and all(_digest(Path(f)) == digest for f, digest in manifest["files"].items()):
                return library
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no build, or a manifest that is damaged: build
        return None

    def _build(self, command: list[str], inputs: dict[str, Any]) -> Path:
        for left in self.folder.glob("building-*"):  # left by an interrupted build
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=self.folder) as temporary:
            return self._build_in(Path(temporary), command, inputs)

    def _build_in(self, temporary: Path, command: list[str], inputs: dict[str, Any]) -> Path:
        objects = [temporary / f"{i}_{source.stem}.o" for i, source in enumerate(self.sources)]
        product = temporary / f"{self.name}.so"
        compile_commands = [
            [*command, *inputs["compile"], *_files_of(source.resolve(), target)]
            for source, target in zip(self.sources, objects, strict=True)
        ]
        link = [*command, *map(str, objects), *inputs["link"], "-o", str(product)]
        run = _run_ninja if shutil.which("ninja") else _run_directly
        run(self, temporary, compile_commands, objects, link, product)
        files = sorted({f for target in objects for f in _dependencies(Path(f"{target}.d"))})
        digests = {str(f): _digest(f) for f in files}
        text = json.dumps([inputs, digests], sort_keys=True)
        library = self.folder / f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        os.replace(product, library)
        manifest = temporary / _MANIFEST
        manifest.write_text(
            json.dumps({"library": library.name, "inputs": inputs, "files": digests}, indent=1)
        )
        os.replace(manifest, self.folder / _MANIFEST)
        for older in self.folder.glob(f"{self.name}-*.so"):
            if older != library:
                older.unlink(missing_ok=True)
        return library

    def report(self, text: str) -> None:
        """Show progress on a terminal, or if the build is verbose."""
        if self.verbose or sys.stderr.isatty():
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def fail(self, output: str) -> RuntimeError:
        """Return the exception for a command that failed."""
        return RuntimeError(f"Error building extension '{self.name}':\n{output.rstrip()}")


def _write_if_other(source: Path, text: str) -> None:
    content = text.encode()
    if not source.exists() or source.read_bytes() != content:
        source.write_bytes(content)


def _files_of(source: Path, target: Path) -> list[str]:
    """Return the flags that name a source, its object file and the list of files that it includes."""
    return ["-c", str(source), "-o", str(target), "-MMD", "-MF", f"{target}.d"]


def _run_ninja(
    build: Build,
    folder: Path,
    compile_commands: list[list[str]],
    objects: list[Path],
    link: list[str],
    product: Path,
) -> None:
    lines = ["rule run", "  command = $command", "  description = $label"]
    for command, source, target in zip(compile_commands, build.sources, objects, strict=True):
        lines += _ninja_edge(target, [source.resolve()], command, f"compiling {source.name}")
    lines += _ninja_edge(product, objects, link, f"linking {product.name}")
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    build.report(f"compiling {len(objects)} source(s)")
    output = []
    with subprocess.Popen(
        ["ninja", "-C", str(folder), *_jobs("-j")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if line.startswith("["):
                build.report(line.rstrip())
            elif build.verbose:
                print(line, end="", file=sys.stderr)
    if process.returncode != 0:
        raise build.fail("".join(output))


def _ninja_edge(
    target: Path, inputs: Sequence[Path], command: list[str], description: str
) -> list[str]:
    def escape(path: Path) -> str:
        return str(path).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")

    return [
        f"build {escape(target)}: run {' '.join(map(escape, inputs))}",
        f"  command = {shlex.join(command).replace('$', '$$')}",
        f"  label = {description}",
    ]


def _jobs(option: str) -> list[str]:
    jobs = os.environ.get("MAX_JOBS", "")
    return [option, jobs] if jobs.isdecimal() and int(jobs) else []


def _run_directly(
    build: Build,
    folder: Path,
    compile_commands: list[list[str]],
    objects: list[Path],
    link: list[str],
    product: Path,
) -> None:
    def run(command: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            cwd=folder,
        )
        return done.returncode, f"{shlex.join(command)}\n{done.stdout}"

    workers = int((_jobs("") or ["", str(os.cpu_count() or 1)])[1])
    failures = []
    with ThreadPoolExecutor(workers) as pool:
        for source, (status, output) in zip(
            build.sources, pool.map(run, compile_commands), strict=True
        ):
            build.report(f"compiled {source.name}")
            if status != 0:
                failures.append(output)
    if failures:
        raise build.fail("\n".join(failures))
    status, output = run(link)
    build.report(f"linked {product.name}")
    if status != 0:
        raise build.fail(output)


def _digest(file: Path) -> str | None:
    """Return the digest of a file's contents; None if there is none."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def _dependencies(makefile: Path) -> list[Path]:
    """Return the files that a compiler's dependency file lists."""
    text = makefile.read_text().replace("\\\n", " ").partition(": ")[2]
    words = text.replace("\\ ", "\0").split()
    return [Path(word.replace("\0", " ").replace("$$", "$")).resolve() for word in words]
