"""Calls of operators that a C++ library registers, compared with the engine's own: `python benchmarks/extending.py`.

A ratio divides the time of a registered operator on four floats by that of `engine.add`. Both are measured alternately
on one thread, and the median is printed. The operator `add` calls the engine's `add`; `loop` allocates its result and
adds in its own loop; `same` returns its argument, so it measures the call alone. See also lessons/gallery/lltm.py.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
from engine.utils import cpp_extension

SOURCE = """
#include <underhood/underhood_library.hpp>
using uh::Tensor;
static Tensor loop(const Tensor& a, const Tensor& b) {
  const Tensor result = uh::empty_like(a);
  const float *x = a.data_ptr<float>(), *y = b.data_ptr<float>();
  float* to = result.data_ptr<float>();
  for (int64_t i = 0; i < a.numel(); ++i) to[i] = x[i] + y[i];
  return result;
}
UH_LIBRARY(benchmark_calls, m) {
  m.def("same(Tensor a, Tensor b) -> Tensor");
  m.def("loop(Tensor a, Tensor b) -> Tensor");
  m.def("add(Tensor a, Tensor b) -> Tensor");
}
UH_LIBRARY_IMPL(benchmark_calls, CPU, m) {
  m.impl("same", [](const Tensor& a, const Tensor&) { return a; });
  m.impl("loop", &loop);
  m.impl("add", [](const Tensor& a, const Tensor& b) { return a + b; });
}
"""
CALLS, ROUNDS = 20_000, 9


def timed(call: Callable[..., Any], x: Any, y: Any) -> float:
    """Return the nanoseconds of a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call(x, y)
    return (time.perf_counter() - start) / CALLS * 1e9


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "calls.cpp")
        source.write_text(SOURCE)
        cpp_extension.load(
            "benchmark_calls", str(source), build_directory=folder, is_python_module=False
        )
    own = engine.ops.benchmark_calls
    x, y = engine.ones(4), engine.ones(4)
    operators = {
        "ops.aten.add.Tensor": engine.ops.aten.add.Tensor,
        "same": own.same,
        "loop": own.loop,
        "add": own.add,
        "add, looked up in each call": lambda x, y: engine.ops.benchmark_calls.add(x, y),
    }
    for name, operator in operators.items():
        pairs = [(timed(engine.add, x, y), timed(operator, x, y)) for _ in range(ROUNDS)]
        ratio = statistics.median(b / a for a, b in pairs)
        print(f"{name:30} {min(b for _, b in pairs):7.0f} ns   x{ratio:.2f} of engine.add")


if __name__ == "__main__":
    main()
