"""DataParallel, DistributedDataParallel, DistributedSampler and torch.distributed with one process."""

import pytest

import engine
from engine import distributed
from engine.nn.parallel import DataParallel, DistributedDataParallel
from engine.utils.data import DistributedSampler


@pytest.mark.parametrize("wrapper", [DataParallel, DistributedDataParallel])
def test_wrappers_forward_to_the_module(wrapper):
    module = engine.nn.Linear(2, 3)
    wrapped = wrapper(module)
    x = engine.randn(4, 2)
    assert engine.equal(wrapped(x), module(x))
    wrapped(x).sum().backward()
    assert module.weight.grad is not None
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]


def test_no_sync_sums_gradients():
    wrapped = DistributedDataParallel(engine.nn.Linear(1, 1, bias=False))
    with wrapped.no_sync():
        wrapped(engine.ones(1, 1)).sum().backward()
        assert not wrapped.require_backward_grad_sync
    wrapped(engine.ones(1, 1)).sum().backward()
    assert wrapped.module.weight.grad.item() == 2


def test_a_module_without_parameters_is_rejected():
    with pytest.raises(RuntimeError, match="doesn't have any parameter"):
        DistributedDataParallel(engine.nn.ReLU())


def test_a_group_of_one_process():
    assert not distributed.is_initialized()
    with pytest.raises(ValueError, match="not been initialized"):
        distributed.get_rank()
    distributed.init_process_group("gloo", rank=0, world_size=1)
    try:
        assert (distributed.get_rank(), distributed.get_world_size()) == (0, 1)
        x, gathered = engine.ones(2), [engine.zeros(2)]
        distributed.all_reduce(x)
        distributed.all_gather(gathered, x)
        assert gathered[0].tolist() == x.tolist() == [1, 1]
        with pytest.raises(ValueError, match="twice"):
            distributed.init_process_group("gloo")
    finally:
        distributed.destroy_process_group()


def test_more_processes_are_rejected(monkeypatch):
    with pytest.raises(RuntimeError, match="Hint"):
        distributed.init_process_group("gloo", rank=0, world_size=2)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match="4 processes"):
        distributed.init_process_group("gloo")


@pytest.mark.parametrize("count", [1, 4, 5, 7])
@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shares_of_a_data_set(count, replicas, drop_last):
    data = range(count)
    samplers = [
        DistributedSampler(data, replicas, rank, shuffle=False, drop_last=drop_last)
        for rank in range(replicas)
    ]
    shares = [list(sampler) for sampler in samplers]
    assert len({len(share) for share in shares}) == 1
    assert all(len(sampler) == len(share) for sampler, share in zip(samplers, shares, strict=True))
    union = {index for share in shares for index in share}
    assert union == set(data) or drop_last
    torch = pytest.importorskip("torch")
    for rank, share in enumerate(shares):
        expected = torch.utils.data.DistributedSampler(
            data, replicas, rank, shuffle=False, drop_last=drop_last
        )
        assert list(expected) == share


def test_epochs_are_shuffled_differently():
    sampler = DistributedSampler(range(20), num_replicas=2, rank=0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
