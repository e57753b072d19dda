"""Writes recorded.json: PyTorch's log of every scenario. Run where torch is installed."""

from __future__ import annotations

import json

from scenario_tools import RECORDED, all_scenarios, log_of


def main() -> None:
    import torch
    import torch.utils.checkpoint

    names = all_scenarios()
    logs = {name: log_of(torch, name) for name in names}
    lines = [f"{json.dumps(name)}: {json.dumps(log)}" for name, log in logs.items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(logs)} scenarios of torch {torch.__version__} in {RECORDED.name}")


if __name__ == "__main__":
    main()
