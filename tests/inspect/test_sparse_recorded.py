"""A sparse tensor in a recording: its parts are named, it holds them, and no view fails on it."""

from __future__ import annotations

from importlib import import_module

import pytest

from engine.inspect.events import KEYS, KEYS_BY_PRIORITY
from engine.inspect.history import History
from engine.inspect.models import to_json
from tests.inspect.selections import select
from tests.inspect.test_recorder import recorded_history

PROGRAM = """
import engine as torch
edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
adjacency = torch.sparse_coo_tensor(edges, torch.ones(4) / 2, (3, 3))
rows = adjacency.coalesce().to_sparse_csr()
x = torch.ones(3, 2)
weight = torch.ones(2, 2, requires_grad=True)
hidden = torch.sparse.mm(adjacency, x @ weight)
(rows @ hidden).sum().backward()
table = torch.nn.Embedding(5, 2, sparse=True)
table(edges[0]).sum().backward()
grad = table.weight.grad
adjacency.mul_(2)
end = 1
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return recorded_history(tmp_path_factory.mktemp("sparse"), PROGRAM)[0]


def named(history: History, name: str) -> int:
    moment = int(history.tables.numbers("LINE")[-1])
    return next(n.tensor for n in history.names_at(moment) if n.name == name)


def test_the_parts_are_named_and_held(history: History) -> None:
    moment = int(history.tables.numbers("LINE")[-1])
    expected = {
        "adjacency": ["indices", "values"],
        "rows": ["crow_indices", "col_indices", "values"],
        "grad": ["indices", "values"],
    }
    for name, roles in expected.items():
        tensor = history.tensor(named(history, name), moment)
        assert tensor is not None
        assert tensor.is_sparse
        assert history.storage(tensor.storage, moment).nbytes == 0
        parts = history.parts_of(tensor.id, moment)
        assert [role for role, _ in parts] == roles
        for _, part in parts:
            owners = history.owners(part, moment).impl
            assert owners.count == sum(holder.count for holder in owners.holders)
            assert any(holder.kind == "SPARSE" for holder in owners.holders)
            assert history.tensor(part, moment).numel > 0


def test_views_of_bytes_name_the_parts(history: History) -> None:
    moment = int(history.tables.numbers("LINE")[-1])
    tensor = named(history, "rows")
    for name in ("storage", "strides", "values"):
        model = import_module(f"engine.inspect.models.{name}").project(
            history, moment, select(tensor=tensor)
        )
        assert "is sparse (CSR) of sizes (3, 3)" in model.why
        assert "crow_indices" in model.why
        assert "(4,), 32 bytes" in model.why


@pytest.mark.parametrize(
    "name",
    ["allocator", "dispatch", "memory", "microscope", "object", "storage", "strides", "values"],
)
def test_no_view_fails_at_any_line(name: str, history: History) -> None:
    project = import_module(f"engine.inspect.models.{name}").project
    for moment in history.tables.numbers("LINE").tolist():
        for tensor in history.tensors_at(moment):
            if tensor.is_sparse or tensor.id % 4 == 0:
                to_json(project(history, moment, select(tensor=tensor.id)))


def test_keys_keep_their_numbers_in_traces() -> None:
    assert KEYS[:8] == (
        *("CPU", "PrivateUse1", "PrivateUse2", "Meta", "ADInplaceOrView", "Autograd", "Tracer"),
        "AutocastCPU",
    )
    assert sorted(KEYS) == sorted(KEYS_BY_PRIORITY)
    order = KEYS_BY_PRIORITY.index
    assert order("CPU") < order("SparseCPU") < order("ADInplaceOrView") < order("AutocastCPU")
