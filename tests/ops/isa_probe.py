"""Runs every row of the table and writes the results: one process per instruction set.

UNDERHOOD_ISA=v2 python isa_probe.py OUT.npz
"""

from __future__ import annotations

import sys

import numpy as np
from table import rows
from tools import parts, run, values

import engine


def main(path: str) -> None:
    matches: dict[str, np.ndarray] = {}
    for number, row in enumerate(rows()):
        for dtype in row.dtypes:
            for sample in row.samples(dtype):
                for i, item in enumerate(parts(run(row, sample))):
                    matches[f"{number}|{row.name}|{dtype}|{sample.name}|{i}"] = values(item)
    engine.manual_seed(7)
    for dtype in (engine.float16, engine.bfloat16, engine.float32, engine.float64):
        matches[f"rand|{dtype}"] = values(engine.rand(1003, dtype=dtype))
        matches[f"randn|{dtype}"] = values(engine.randn(1003, dtype=dtype))
    matches["randint"] = values(engine.randint(-5, 1000, (1003,)))
    matches["randperm"] = values(engine.randperm(1003))
    np.savez(
        path, **{str(i): v for i, v in enumerate(matches.values())}, names=np.array(list(matches))
    )


if __name__ == "__main__":
    main(sys.argv[1])
