"""engine.opencl, and what the rest of the Python package does with tensors on a device."""

import copy
import io
import json
import pickle
import warnings

import pytest
from opencl_tools import TYPE, needs_opencl, run_program

import engine
from engine import opencl
from engine._native import lib

NO_DRIVER = {"UNDERHOOD_OPENCL": "/nowhere.so"}


@pytest.fixture
def sample():
    return engine.arange(6.0).reshape(2, 3).to("opencl")


@needs_opencl
def test_devices_and_their_names():
    assert opencl.device_count() >= 1
    assert opencl.get_device_name() == opencl.get_device_properties("opencl:0").name != ""
    assert opencl.current_device() == 0
    with opencl.device(0), opencl.device(None):
        assert opencl.current_device() == 0
    assert engine.device("opencl").code == engine.device("opencl:0").code
    assert engine.accelerator.current_accelerator() == engine.device("opencl")
    assert engine.accelerator.device_count() == opencl.device_count()
    opencl.synchronize()


@needs_opencl
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: opencl.set_device(99), RuntimeError, r"no device 99; the number of .* is \d"),
        (lambda: opencl.synchronize("cpu"), ValueError, "Expected a opencl device, but got: cpu"),
        (lambda: opencl.get_device_name(1.5), TypeError, "got float 1.5"),
        (lambda: opencl.memory_allocated(-1), RuntimeError, "no device -1"),
        (lambda: opencl.set_per_process_memory_fraction(2.0), ValueError, "Allowed range: 0~1"),
        (lambda: opencl.set_per_process_memory_fraction(1), TypeError, "must be `float`"),
        (lambda: engine.ones(1, device="meta").pin_memory(), RuntimeError, "cannot pin 'meta'"),
        (lambda: engine.ones(1).opencl().pin_memory(), RuntimeError, "cannot pin 'opencl:0'"),
        (lambda: engine.Generator("opencl:99"), RuntimeError, "no generator of 'opencl:99'"),
        (lambda: engine.ones(1, device="opencl:200"), RuntimeError, "0 to 127, got opencl:200"),
        (lambda: engine.device("opencl", -1), RuntimeError, "index must not be negative"),
        (lambda: engine.ones(1).record_stream(None), NotImplementedError, "on cpu has no stream"),
        (lambda: engine.device(-1), RuntimeError, "index must not be negative"),
        (lambda: engine.ones(1).opencl("cpu"), RuntimeError, "Invalid device, must be opencl"),
        (lambda: engine.ones(1).opencl().numpy(), TypeError, "convert opencl:0 device type"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@needs_opencl
def test_moves(sample):
    assert sample.is_opencl
    assert not sample.is_cuda
    assert sample.get_device() == 0
    assert sample.type() == "engine.opencl.FloatTensor"
    assert isinstance(sample, opencl.FloatTensor)
    assert not isinstance(sample, engine.FloatTensor)
    assert sample.to("opencl") is sample.opencl() is sample.opencl(0) is sample
    assert sample.numpy(force=True).tolist() == sample.tolist()
    x = engine.ones(3, requires_grad=True)
    x.to("opencl", non_blocking=True).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert not x.grad.is_opencl
    net = engine.nn.Linear(3, 2)
    weight = net.weight
    assert net.opencl().weight is weight
    assert {str(p.device) for p in net.parameters()} == {"opencl:0"}
    assert net(sample).shape == (2, 2)
    assert str(net.to("cpu").bias.device) == "cpu"


@needs_opencl
def test_pinned_memory_and_loaders():
    from engine.utils.data import DataLoader

    x = engine.arange(1000.0)
    pinned = x.pin_memory()
    assert (x.is_pinned(), pinned.is_pinned()) == (False, True)
    assert pinned.pin_memory() is not None
    assert engine.equal(pinned.to("opencl", non_blocking=True).cpu(), x)
    samples = [(i, {"x": float(i), "name": str(i)}) for i in range(4)]
    for numbers, others in DataLoader(samples, 2, pin_memory=True):
        assert numbers.is_pinned()
        assert others["x"].is_pinned()
        assert isinstance(others["name"][0], str)


@needs_opencl
@pytest.mark.parametrize("form", ["safetensors", "pt"])
def test_saved_tensors_return_to_their_device(sample, form, tmp_path):
    path = tmp_path / f"saved.{form}"
    engine.save({"a": sample, "b": sample.t(), "here": engine.ones(2)}, path)
    loaded = engine.load(path)
    assert str(loaded["a"].device) == str(loaded["b"].device) == "opencl:0"
    assert loaded["b"].tolist() == sample.t().tolist()
    loaded["a"].zero_()
    assert loaded["b"].sum().item() == 0  # they share their memory, as before
    assert str(loaded["here"].device) == "cpu"
    assert engine.load(path, map_location="cpu")["b"].tolist() == sample.t().tolist()
    assert str(engine.load(path, map_location="opencl")["here"].device) == "opencl:0"
    text = f"import engine\ntry: engine.load({str(path)!r})\nexcept RuntimeError as e: print(e)"
    assert "map_location='cpu'" in run_program(text, **NO_DRIVER).stdout


@needs_opencl
def test_copies_and_pickles(sample):
    for again in (copy.deepcopy(sample), pickle.loads(pickle.dumps(sample)), sample.clone()):
        assert str(again.device) == "opencl:0"
        assert again.tolist() == sample.tolist()
    file = io.BytesIO()
    engine.save(sample, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert engine.load(file).tolist() == sample.tolist()
    assert bytes(sample.untyped_storage()) == bytes(sample.cpu().untyped_storage())


@needs_opencl
def test_memory_counters():
    opencl.empty_cache()
    opencl.reset_peak_memory_stats()
    before = opencl.memory_allocated()
    x = engine.ones(1 << 18).opencl()
    assert opencl.memory_allocated() == before + (1 << 20)
    assert opencl.max_memory_allocated() >= before + (1 << 20)
    del x
    assert opencl.memory_reserved() >= 1 << 20
    stats = opencl.memory_stats()
    assert stats["allocated_bytes.all.current"] == before == engine.accelerator.memory_allocated()
    assert stats["inactive_split_bytes.all.current"] >= 1 << 20
    free, total = opencl.mem_get_info()
    assert 0 < free < total
    assert str(total) in opencl.memory_summary()


@needs_opencl
def test_out_of_memory_is_an_error_of_its_own():
    opencl.set_per_process_memory_fraction(0.001)
    try:
        with pytest.raises(engine.OutOfMemoryError, match=r"tensors use .* in total, of which"):
            engine.empty(1 << 28, device="opencl")
    finally:
        opencl.set_per_process_memory_fraction(1.0)
    assert opencl.OutOfMemoryError is engine.OutOfMemoryError
    assert engine.cuda.OutOfMemoryError is engine.OutOfMemoryError


@needs_opencl
def test_a_seed_gives_the_same_numbers_on_every_device():
    on_device = engine.Generator("opencl").manual_seed(3)
    on_cpu = engine.Generator().manual_seed(3)
    assert str(on_device.device) == "opencl:0"
    sample = engine.rand(5, generator=on_device, device="opencl")
    assert engine.equal(sample.cpu(), engine.rand(5, generator=on_cpu))
    opencl.manual_seed_all(7)
    state = opencl.get_rng_state()
    first = engine.rand(2, device="opencl").tolist()
    opencl.set_rng_state(state)
    assert engine.rand(2, device="opencl").tolist() == first


@needs_opencl
def test_a_generator_is_of_the_device_that_draws():
    message = "Expected a '{}' device type for generator but found '{}'"
    with pytest.raises(RuntimeError, match=message.format("opencl", "cpu")):
        engine.rand(2, generator=engine.Generator(), device="opencl")
    with pytest.raises(RuntimeError, match=message.format("cpu", "opencl")):
        engine.ones(2).normal_(generator=engine.Generator("opencl"))
    assert engine.normal(engine.ones(2).opencl(), generator=engine.Generator("opencl")).is_opencl


@needs_opencl
def test_shared_memory_leaves_tensors_on_the_device(sample):
    from multiprocessing.reduction import ForkingPickler

    assert sample.share_memory_() is sample
    assert sample.is_opencl
    assert engine.nn.Linear(2, 2).opencl().share_memory().weight.is_opencl
    assert pickle.loads(bytes(ForkingPickler.dumps(sample))).tolist() == sample.tolist()


@needs_opencl
def test_a_map_of_locations(tmp_path):
    path = tmp_path / "saved"
    engine.save({"there": engine.ones(2).opencl(), "here": engine.ones(2)}, path)

    def devices(rule):
        return [t.device.type for t in engine.load(path, map_location=rule).values()]

    assert devices({"opencl:0": "cpu"}) == ["cpu", "cpu"]
    assert devices({"cpu": "opencl"}) == ["opencl", "opencl"]
    assert devices(lambda storage, location: storage) == ["cpu", "cpu"]
    assert devices(lambda storage, location: None) == ["opencl", "cpu"]
    with pytest.raises(RuntimeError, match="'opencl:99', which is not available here"):
        devices("opencl:99")


@needs_opencl
def test_streams_and_events():
    stream, start, end = opencl.Stream(), opencl.Event(True), opencl.Event(enable_timing=True)
    with opencl.stream(stream):
        start.record()
        x = engine.ones(100, 100).opencl()
        y = x @ x
        end.record(stream)
    opencl.current_stream().wait_stream(stream)
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 60_000
    assert y.sum().item() == 1e6
    assert stream == opencl.default_stream(0) != engine.device("opencl")
    with pytest.raises(ValueError, match="enable_timing=True"):
        opencl.Event().elapsed_time(end)
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(opencl.Event(True))


@needs_opencl
def test_recording_an_event_does_not_wait():
    x = engine.ones(800, 800).opencl()
    (x @ x).sum().item()  # kernels are compiled
    event, idle = opencl.Event(enable_timing=True), opencl.Event()
    assert idle.query()
    idle.synchronize()
    waits = lib.uh_device_waits(TYPE)
    start = opencl.current_stream().record_event(opencl.Event(enable_timing=True))
    for _ in range(10):
        y = x @ x
    event.record()
    assert lib.uh_device_waits(TYPE) == waits
    assert not event.query()
    assert not opencl.current_stream().query()
    with pytest.raises(RuntimeError, match=r"opencl:0 has not reached the event yet; call its"):
        start.elapsed_time(event)
    opencl.current_stream().wait_event(event)  # one queue: there is nothing to wait for
    event.wait()
    assert lib.uh_device_waits(TYPE) == waits
    event.synchronize()
    assert event.query()
    assert lib.uh_device_waits(TYPE) == waits + 1
    assert start.elapsed_time(event) > 1
    assert opencl.current_stream().query()
    assert y[0, 0].item() == 800


@needs_opencl
def test_a_fallback_is_announced_once():
    opencl.reset_fallback_counts()
    x = engine.tensor([3.0, 1.0, 2.0]).opencl()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            engine.histc(x, 4)
    assert len(caught) == 1
    assert str(caught[0].message).startswith("aten::histc has no kernel on this device")
    assert caught[0].filename == __file__
    assert opencl.fallback_counts()["aten::histc"] == 2


@needs_opencl
def test_programs_for_cuda():
    text = """
import json, engine
from engine import cuda
before = cuda.is_available()
try: engine.ones(2).cuda()
except AssertionError as error: print(error)
engine.opencl.alias_cuda()
device = engine.device("cuda" if cuda.is_available() else "cpu")
x = engine.ones(2, 3).to(device, non_blocking=True)
net = engine.nn.Linear(3, 2).cuda()
y = net(x.cuda(0))
before_timing, after_timing = (cuda.Event(enable_timing=True) for _ in range(2))
with cuda.stream(cuda.Stream()):
    before_timing.record()
    after_timing.record()
after_timing.synchronize()
assert isinstance(x, cuda.FloatTensor) and cuda.LongTensor([1]).is_cuda
assert before_timing.elapsed_time(after_timing) >= 0 and cuda.get_device_capability() < (1, 0)
cuda.synchronize()
print(json.dumps([before, str(x.device), x.is_cuda, str(y.device), cuda.device_count(),
    cuda.current_device(), cuda.get_device_name(0) != "", cuda.memory_allocated() > 0,
    str(engine.zeros(1, device="cuda:0").device)]))
"""
    result = run_program(text)
    assert result.returncode == 0, result.stderr
    refused, listed = result.stdout.splitlines()
    assert "CUDA enabled" in refused
    count = opencl.device_count()
    assert json.loads(listed) == [
        *(False, "opencl:0", True, "opencl:0", count, 0, True, True, "opencl:0"),
    ]


@needs_opencl
def test_idioms_of_programs_for_cuda():
    text = """
import io, json, warnings, engine
engine.opencl.alias_cuda()
found = [str(engine.device(0)), str(engine.ones(2).to(0).device), str(engine.zeros(1, device=0).device),
    str(engine.nn.Linear(1, 1).to(0).weight.device)]
file = io.BytesIO()
engine.save(engine.ones(2).cuda(), file)
for rule in ({"cuda:0": "cpu"}, {"opencl:0": "cpu"}, lambda s, l: s, lambda s, l: s.cuda(0),
        lambda s, l: s.opencl().cpu()):
    file.seek(0)
    found.append(str(engine.load(file, map_location=rule).device))
x = engine.ones(2).cuda()
x.record_stream(engine.cuda.current_stream())
net = engine.nn.Linear(2, 1).cuda()
optimizer, scaler = engine.optim.SGD(net.parameters(), lr=0.1), engine.amp.GradScaler("cuda", init_scale=8.0)
with warnings.catch_warnings(record=True) as caught, engine.autocast("cuda"):
    loss = net(x).sum()
scaler.scale(loss).backward()
found += [net.bias.grad.item(), str(caught[0].message)]
before = net.bias.item()
scaler.step(optimizer)
scaler.update()
found += [round(before - net.bias.item(), 6), engine.cuda.get_device_properties(0).major]
print(json.dumps(found))
"""
    result = run_program(text)
    assert result.returncode == 0, result.stderr
    warning = "autocast: 'cuda' is opencl here, where calls do not autocast. Disabling autocast."
    devices = ["opencl:0"] * 4 + ["cpu", "cpu", "cpu", "opencl:0", "cpu"]
    assert json.loads(result.stdout) == [*devices, 8.0, warning, 0.1, 0]


@needs_opencl
def test_other_names_of_cuda():
    text = """
import engine
from engine import cuda
def say(call):
    try: print(call())
    except Exception as error: print(type(error).__name__, error)
calls = (lambda: cuda.nvtx.range_push("a"), lambda: cuda.CUDAGraph(), cuda.is_current_stream_capturing,
    lambda: cuda.get_per_process_memory_fraction())
for call in calls: say(call)
engine.opencl.alias_cuda()
for call in calls: say(call)
with cuda.nvtx.range("step {}", 3):
    print(cuda.nvtx.range_push("b"), cuda.nvtx.range_pop(), cuda.nvtx.range_end(cuda.nvtx.range_start("c")))
cuda.nvtx.mark("d")
print(cuda.nvtx.range_pop(), cuda.nvtx.range_pop())
for call in (lambda: cuda.graph(None), cuda.graph_pool_handle, lambda: cuda.make_graphed_callables(len, ())): say(call)
x = engine.ones(1000).cuda()
print(cuda.memory_cached() >= 4000, cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] >= 4000)
cuda.set_stream(cuda.Stream())
print(cuda.can_device_access_peer(0, 0), isinstance(cuda.stream(None), cuda.StreamContext))
"""
    result = run_program(text)
    assert result.returncode == 0, result.stderr
    captures = (
        "captures no graphs; call the operators themselves, or fuse them with engine.jit.script"
    )
    assert result.stdout.splitlines() == [
        "RuntimeError NVTX functions not installed. Are you sure you have a CUDA build?",
        "RuntimeError Tried to instantiate dummy base class CUDAGraph",
        "RuntimeError Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing",
        "AssertionError Torch not compiled with CUDA enabled",
        "0",
        f"RuntimeError cuda.CUDAGraph: an OpenCL queue {captures}",
        "False",
        "1.0",
        "2 2 None",
        "0 -2",
        f"RuntimeError cuda.graph: an OpenCL queue {captures}",
        f"RuntimeError cuda.graph_pool_handle: an OpenCL queue {captures}",
        f"RuntimeError cuda.make_graphed_callables: an OpenCL queue {captures}",
        "True True",
        "False True",
    ]


def test_without_a_driver():
    text = """
import engine, json, warnings
from engine import accelerator, opencl
state = [opencl.is_available(), opencl.device_count(), accelerator.is_available(),
    accelerator.current_accelerator(), accelerator.device_count()]
opencl.manual_seed_all(1)
errors = []
for call in (opencl.synchronize, opencl.get_device_name, opencl.memory_allocated, opencl.alias_cuda,
    engine.ones(2).opencl, engine.ones(2).pin_memory, accelerator.synchronize,
    lambda: engine.Generator("opencl")):
    try: call()
    except RuntimeError as error: errors.append(str(error))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    batch = next(iter(engine.utils.data.DataLoader([1, 2], 2, pin_memory=True)))
print(json.dumps([state, errors, [str(w.message) for w in caught], batch.tolist()]))
"""
    result = run_program(text, **NO_DRIVER)
    assert result.returncode == 0, result.stderr
    state, errors, warned, batch = json.loads(result.stdout)
    assert state == [False, 0, False, None, 0]
    assert len(errors) == 8
    for error in errors[:5]:
        assert "pocl-opencl-icd" in error
    assert errors[5] == errors[6] == "Cannot access accelerator device when none is available."
    assert "no generator of 'opencl'" in errors[7]
    assert len(warned) == 1
    assert "no accelerator is found" in warned[0]
    assert batch == [1, 2]
