"""Public PyTorch programs, unmodified, under PyTorch and by `underhood record --as torch`: first losses and CPU time.

    python tests/programs/public.py [NAME...] [--folder DIR] [--table FILE]

The packages of public_requirements.txt, pinned with their hashes, are installed to a folder of the cache at the first
run. All sides have equal weights and random numbers (public_programs.py) and one thread. What `underhood record` runs
must have PyTorch's losses. The engine's CPU time is that of the program alone and, in another column, recorded: the
sides take turns, and a ratio is that of the least CPU time of a step.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "public_programs.py"
REQUIREMENTS = HERE / "public_requirements.txt"
TOLERANCE = 1e-4


def install(folder: Path) -> None:
    """Install the packages, without what they depend on: the file lists that too."""
    if (folder / "complete").exists():
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run(
        [*pip, "--require-hashes", "--target", str(folder), "-r", str(REQUIREMENTS)], check=True
    )
    (folder / "complete").touch()


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which the packages and PyTorch are found after what is installed."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None
    assert torch.origin is not None
    paths = [str(HERE.parent.parent), str(folder), str(Path(torch.origin).parents[1])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        **os.environ,
        **threads,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONWARNINGS": "ignore",
    }


class Side:
    """A process that runs a program; the first line that it prints has the losses."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        self.losses: list[float] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                return json.loads(line)
            except ValueError:  # a line that the program itself printed
                continue
        raise RuntimeError(self.close())

    def seconds(self, steps: int) -> float:
        """Return the CPU time of `steps` steps."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> str:
        """Let the program end; return the last lines of its stderr if it failed."""
        lines = self.process.communicate()[1].strip().splitlines()
        return " | ".join(lines[-3:]) if self.process.returncode else ""


def compare(name: str, env: dict[str, str], rounds: int = 3) -> dict[str, Any]:
    """Return losses of all sides, whether they are equal, and the ratios of CPU times."""
    with tempfile.TemporaryDirectory() as folder:
        program = [str(PROGRAMS), name, f"{folder}/weights.npz"]
        record = ["-m", "tui", "record", "-o", f"{folder}/program.uht", "--as", "torch"]
        commands = {
            "PyTorch": program,
            "recorded": [*record, *program],
            "engine": [*program, "--as-torch"],
        }
        sides: dict[str, Side] = {}
        problem = ""
        try:
            for side, command in commands.items():
                sides[side] = Side([sys.executable, *command], env)
            expected = sides["PyTorch"].losses
            is_equal = all(
                math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
                for side in ("recorded", "engine")
                for a, b in zip(expected, sides[side].losses, strict=True)
            )
            steps = max(1, min(50, int(0.1 / max(sides["PyTorch"].seconds(2) / 2, 1e-4))))
            times: dict[str, float] = dict.fromkeys(sides, math.inf)
            for _ in range(rounds):
                for side, process in sides.items():
                    times[side] = min(times[side], process.seconds(steps) / steps)
        except RuntimeError as error:
            problem = f"{side}: {error}"
        for side, process in sides.items():
            if failure := process.close():
                problem = problem or f"{side}: {failure}"
        if problem:
            return {"name": name, "error": problem}
        return {
            "name": name, "equal": is_equal, "torch": expected, "engine": sides["recorded"].losses,
            "ratio": times["engine"] / times["PyTorch"], "recorded": times["recorded"] / times["PyTorch"],
            "step": times["PyTorch"],
        }  # fmt: skip


def line(result: dict[str, Any]) -> str:
    """Return the row of a result."""
    if "error" in result:
        return f"| {result['name']} | {result['error'][:160].replace('|', '/')} | | | |"
    equal = "yes" if result["equal"] else f"no: {result['torch']} / {result['engine']}"
    ratios = f"{result['ratio']:.2f} | {result['recorded']:.2f}"
    return f"| {result['name']} | {equal} | {1000 * result['step']:.1f} | {ratios} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    parser.add_argument("--folder", type=Path, default=cache / "underhood" / "public-programs")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    install(options.folder)
    env = environment(options.folder)
    names = options.names
    if not names:
        command = [sys.executable, "-c", "import public_programs as p; print(*p.PROGRAMS)"]
        names = subprocess.check_output(command, text=True, cwd=HERE, env=env).split()
    lines = [
        "| program | first losses equal | PyTorch, ms a step | CPU time ratio | while recorded |",
        "|---|---|---:|---:|---:|",
    ]
    results = []
    for name in names:
        results.append(compare(name, env))
        lines.append(line(results[-1]))
        print(lines[-1], flush=True)
    measured = [result for result in results if "ratio" in result]
    equal = sum(result["equal"] for result in measured)
    mean = (
        statistics.geometric_mean(result["ratio"] for result in measured) if measured else math.nan
    )
    worst = max((result["ratio"] for result in measured), default=math.nan)
    lines += [
        "",
        f"{equal} of {len(results)} have PyTorch's first losses; geometric mean of the ratios {mean:.2f}, "
        f"the largest {worst:.2f}.",
    ]
    print(lines[-1])
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
