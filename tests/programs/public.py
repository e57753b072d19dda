"""Public PyTorch programs, unmodified, under PyTorch and under the engine: first losses and CPU time.

    python tests/programs/public.py [NAME...] [--folder DIR] [--table FILE]

The packages of public_requirements.txt, pinned with their hashes, are installed to a folder of the cache at the first
run. Both sides have equal weights and random numbers (public_programs.py) and one thread; they take turns, and the
ratio is that of the least CPU time of a step.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
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
    """The process of one side, whose first line is its losses."""

    def __init__(self, name: str, weights: str, env: dict[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAMS), name, weights, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        self.losses: list[float] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                return json.loads(line)
            except ValueError:  # a line that the program itself printed
                continue
        assert self.process.stderr is not None
        lines = self.process.stderr.read().strip().splitlines()
        raise RuntimeError(" | ".join(lines[-3:]))

    def seconds(self, steps: int) -> float:
        """Return the CPU time of `steps` steps."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def compare(name: str, env: dict[str, str], rounds: int = 3) -> dict[str, Any]:
    """Return losses of both sides, whether they are equal, and the ratio of CPU times."""
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "weights.npz")
        sides: list[Side] = []
        try:
            for options in ((), ("--as-torch",)):
                sides.append(Side(name, weights, env, *options))
            theirs, ours = sides
            close = all(
                math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
                for a, b in zip(theirs.losses, ours.losses, strict=True)
            )
            steps = max(1, min(50, int(0.1 / max(theirs.seconds(2) / 2, 1e-4))))
            times = [(theirs.seconds(steps), ours.seconds(steps)) for _ in range(rounds)]
            ratio = min(t[1] for t in times) / min(t[0] for t in times)
            step = min(t[0] for t in times) / steps
            return {
                "name": name, "equal": close, "torch": theirs.losses, "engine": ours.losses,
                "ratio": ratio, "step": step,
            }  # fmt: skip
        except RuntimeError as error:
            side = ("PyTorch", "engine")[min(len(sides), 1)]
            return {"name": name, "error": f"{side}: {error}"}
        finally:
            for side_ in sides:
                side_.close()


def line(result: dict[str, Any]) -> str:
    """Return the row of a result."""
    if "error" in result:
        return f"| {result['name']} | {result['error'][:160].replace('|', '/')} | | |"
    equal = "yes" if result["equal"] else f"no: {result['torch']} / {result['engine']}"
    return f"| {result['name']} | {equal} | {1000 * result['step']:.1f} | {result['ratio']:.2f} |"


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
        "| program | first losses equal | PyTorch, ms a step | CPU time ratio |",
        "|---|---|---:|---:|",
    ]
    results = []
    for name in names:
        results.append(compare(name, env))
        lines.append(line(results[-1]))
        print(lines[-1], flush=True)
    measured = [result for result in results if "ratio" in result]
    equal = sum(result["equal"] for result in measured)
    mean = (
        math.exp(sum(math.log(r["ratio"]) for r in measured) / len(measured))
        if measured
        else math.nan
    )
    lines += [
        "",
        f"{equal} of {len(results)} have PyTorch's first losses; geometric mean of the ratios {mean:.2f}.",
    ]
    print(lines[-1])
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
