"""state_dict, load_state_dict, and changes of dtype and device."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import pytest
from module_tools import both, named, without_library


def net(L: Any) -> Any:
    return L.nn.Sequential(L.nn.Linear(2, 3), L.nn.BatchNorm1d(3))


NAMES = [
    "0.weight",
    "0.bias",
    "1.weight",
    "1.bias",
    "1.running_mean",
    "1.running_var",
    "1.num_batches_tracked",
]


@both
def test_saving(library: str) -> None:
    L = named(library)
    module = net(L)
    state = module.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == NAMES
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    assert not state["0.weight"].requires_grad
    assert state["0.weight"].data_ptr() == module[0].weight.data_ptr()
    assert module.state_dict(keep_vars=True)["0.weight"] is module[0].weight
    assert list(module.state_dict(prefix="a.")) == [f"a.{name}" for name in NAMES]
    inputs: dict[str, Any] = {}
    assert module.state_dict(destination=inputs) is inputs
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(module.state_dict(None, "b.")) == [f"b.{name}" for name in NAMES]


@both
def test_loading(library: str) -> None:
    L = named(library)
    module, other = net(L), net(L)
    weight = module[0].weight
    version = weight._version
    actual = module.load_state_dict(other.state_dict())
    assert repr(actual) == str(actual) == "<All keys matched successfully>"
    assert actual == ([], [])
    assert module[0].weight is weight
    assert weight.tolist() == other[0].weight.tolist()
    assert weight._version > version, "copied in place"
    assert weight.requires_grad
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        module.load_state_dict(3)


@both
def test_what_does_not_fit(library: str) -> None:
    L = named(library)
    module = net(L)
    state = module.state_dict()
    del state["0.bias"], state["1.running_mean"]
    state["0.extra"] = L.ones(1)
    state["2.weight"] = L.ones(1)
    actual = module.load_state_dict(state, strict=False)
    assert actual.missing_keys == ["0.bias", "1.running_mean"]
    assert actual.unexpected_keys == ["2.weight", "0.extra"]
    assert repr(actual) == (
        "_IncompatibleKeys(missing_keys=['0.bias', '1.running_mean'], "
        "unexpected_keys=['2.weight', '0.extra'])"
    )
    state["0.weight"] = L.ones(3)
    with pytest.raises(RuntimeError) as error:
        module.load_state_dict(state)
    assert without_library(str(error.value)) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias", "1.running_mean". \n'
        '\tUnexpected key(s) in state_dict: "2.weight", "0.extra". \n'
        "\tsize mismatch for 0.weight: copying a param with shape engine.Size([3]) from checkpoint, "
        "the shape in current model is engine.Size([3, 2])."
    )
    with pytest.raises(RuntimeError, match=r"size mismatch for 0\.weight"):
        module.load_state_dict(state, strict=False)
    with pytest.raises(RuntimeError, match="received <class 'list'>"):
        module.load_state_dict({"0.weight": [1.0]}, strict=False)


@both
def test_other_dtypes_and_scalars(library: str) -> None:
    L = named(library)
    module = L.nn.Module()
    module.x = L.nn.Parameter(L.tensor(0.0))
    module.load_state_dict({"x": L.tensor([3], dtype=L.int64)})
    assert module.x.item() == 3.0
    assert module.x.dtype is L.float32


@both
def test_assigning(library: str) -> None:
    L = named(library)
    module, other = net(L), net(L).double()
    module[0].bias.requires_grad_(False)
    state = other.state_dict()
    module.load_state_dict(state, assign=True)
    assert type(module[0].weight) is L.nn.Parameter
    assert module[0].weight.dtype is L.float64
    assert module[0].weight.data_ptr() == state["0.weight"].data_ptr()
    assert module[0].weight.requires_grad
    assert not module[0].bias.requires_grad
    assert module[1].running_var.data_ptr() == state["1.running_var"].data_ptr()
    parameters = other.state_dict(keep_vars=True)
    module.load_state_dict(parameters, assign=True)
    assert module[0].weight is other[0].weight


@both
def test_extra_state(library: str) -> None:
    L = named(library)

    class Counts(L.nn.Module):  # type: ignore[misc,name-defined]
        count = 0

        def get_extra_state(self) -> int:
            return self.count

        def set_extra_state(self, state: int) -> None:
            self.count = state

    module = L.nn.Sequential(Counts())
    module[0].count = 5
    state = module.state_dict()
    assert state == {"0._extra_state": 5}
    other = L.nn.Sequential(Counts())
    other.load_state_dict(state)
    assert other[0].count == 5
    assert other.load_state_dict({}, strict=False).missing_keys == ["0._extra_state"]
    actual = L.nn.Sequential(L.nn.ReLU()).load_state_dict(state, strict=False)
    assert actual.unexpected_keys == ["0._extra_state"]
    with pytest.raises(RuntimeError):
        L.nn.ReLU().get_extra_state()
    with pytest.raises(RuntimeError):
        L.nn.ReLU().set_extra_state(1)


@both
def test_state_before_num_batches_tracked(library: str) -> None:
    L = named(library)
    module = net(L)
    state = OrderedDict(module.state_dict())
    del state["1.num_batches_tracked"]
    module.load_state_dict(state)
    state._metadata = {"1": {"version": 2}}  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "1.num_batches'):
        module.load_state_dict(state)


@both
def test_hooks_of_state(library: str) -> None:
    L = named(library)
    module = net(L)
    log: list[str] = []
    module[0].register_state_dict_pre_hook(
        lambda m, prefix, keep: log.append(f"pre {prefix} {keep}")
    )

    def drop(m: Any, state: Any, prefix: str, metadata: Any) -> None:
        log.append(f"post {prefix} {metadata['version']}")
        del state[prefix + "bias"]

    def rename(m: Any, state: Any, prefix: str, *args: Any) -> None:
        _, strict, missing, unexpected, errors = args
        log.append(f"load {type(m).__name__} {prefix} {strict} {missing} {unexpected} {errors}")
        state[prefix + "bias"] = state[prefix + "weight"][:, 0]

    handle = module[0].register_state_dict_post_hook(drop)
    module[0].register_load_state_dict_pre_hook(rename)
    state = module.state_dict()
    assert "0.bias" not in state
    assert log == ["pre 0. False", "post 0. 1"]
    module.load_state_dict(state)
    assert log[2] == "load Linear 0. True [] [] []"
    assert module[0].bias.tolist() == module[0].weight[:, 0].tolist()
    handle.remove()
    assert "0.bias" in module.state_dict()

    def forgive(m: Any, keys: Any) -> None:
        keys.missing_keys.clear()

    module.register_load_state_dict_post_hook(forgive)
    module.load_state_dict({name: state[name] for name in state if not name.startswith("1.")})
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(AssertionError, match="expected to return new values"):
        module.load_state_dict(state)


@both
def test_hooks_that_return_a_state(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(1, 1)
    module._register_state_dict_hook(lambda m, state, prefix, metadata: {"all": 1})
    assert module.state_dict() == {"all": 1}
    other = L.nn.Linear(1, 1)
    other.register_state_dict_post_hook(lambda m, state, prefix, metadata: {"all": 1})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        other.state_dict()


@both
def test_hooks_go_with_a_copy(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(1, 1)
    seen: list[Any] = []
    module.register_load_state_dict_pre_hook(lambda m, *_: seen.append(m))
    result = copy.deepcopy(module)
    result.load_state_dict(module.state_dict())
    assert len(seen) == 1
    assert seen[0] is not None


# ---- dtypes and devices


@both
def test_dtypes(library: str) -> None:
    L = named(library)
    module = net(L)
    weight, mean = module[0].weight, module[1].running_mean
    for change, dtype in (
        (lambda: module.double(), L.float64),
        (lambda: module.half(), L.float16),
        (lambda: module.bfloat16(), L.bfloat16),
        (lambda: module.float(), L.float32),
        (lambda: module.to(L.float64), L.float64),
        (lambda: module.to(L.zeros(1)), L.float32),
        (lambda: module.to("cpu", L.float64), L.float64),
        (lambda: module.to(dtype=L.float32), L.float32),
        (lambda: module.type(L.float64), L.float64),
    ):
        assert change() is module
        assert module[0].weight is weight, "the Parameter stays the same object"
        assert weight.dtype is dtype
        assert weight.requires_grad
        assert module[1].running_mean.dtype is dtype
        assert module[1].running_mean is not mean or dtype is mean.dtype
    assert module[1].num_batches_tracked.dtype is L.float64, "type() casts integers too"
    assert net(L).double()[1].num_batches_tracked.dtype is L.int64
    assert module.cpu() is module
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        module.to(L.int32)
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        L.nn.Linear(1, 1).to(L.complex64)


@both
def test_dtypes_of_gradients(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(2, 1)
    module(L.ones(1, 2)).sum().backward()
    gradient = module.weight.grad
    module.double()
    assert module.weight.grad is gradient
    assert gradient.dtype is L.float64
    assert gradient.tolist() == [[1.0, 1.0]]


@both
def test_meta(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(2, 1, device="meta")
    weight = module.weight
    assert weight.is_meta
    with pytest.raises(NotImplementedError, match=r"Module.to_empty\(\) instead of"):
        module.to("cpu")
    module.to_empty(device="cpu")
    assert module.weight is not weight
    assert not module.weight.is_meta
    assert type(module.weight) is L.nn.Parameter
    with pytest.warns(UserWarning, match="copying from a non-meta parameter"):
        L.nn.Linear(2, 1, device="meta").load_state_dict(module.state_dict())
    other = L.nn.Linear(2, 1, device="meta")
    other.load_state_dict(module.state_dict(), assign=True)
    assert not other.weight.is_meta


@both
def test_memory_format(library: str) -> None:
    L = named(library)
    module = L.nn.Conv2d(2, 3, 2).to(memory_format=L.channels_last)
    assert module.weight.is_contiguous(memory_format=L.channels_last)
    assert tuple(module.weight.stride()) == (8, 1, 4, 2)


@both
def test_gradients_are_forgotten(library: str) -> None:
    L = named(library)
    module = L.nn.Linear(2, 1)
    module(L.ones(1, 2)).sum().backward()
    gradient = module.weight.grad
    module.zero_grad(set_to_none=False)
    assert module.weight.grad is gradient
    assert gradient.tolist() == [[0.0, 0.0]]
    module.zero_grad()
    assert module.weight.grad is None
    assert module.requires_grad_(False) is module
    assert not module.weight.requires_grad
    assert not module(L.ones(1, 2)).requires_grad
