"""PyTorch's published samples of modules (`module_db`) and optimizers (`optim_db`) against the engine.

    python tests/conformance/module_samples.py [name...]       names or globs: nn.Conv*, Adam; all by default
    ... --json OUT                                      reports for coverage_table.py

A sample of a module passes when its text, the names and shapes of its state, its results, the
gradients of parameters and inputs and its buffers after the call are PyTorch's, in training and in
evaluation; one of an optimizer when ten steps leave the same parameters and the same state. Errors:
the published bad options or inputs raise the same class. Exit status: 0 if everything passed.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import math
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import bridge  # noqa: E402
import torch  # noqa: E402
from reports import recorded  # noqa: E402

import engine  # noqa: E402

DTYPES = (torch.float32, torch.float64)
FAR = {torch.float32: (2e-5, 2e-5), torch.float64: (1e-9, 1e-9)}
STEPS = 10
MUON_FAR = 0.02  # its products are in bfloat16 and summed in another order
LBFGS_FAR = 2e-4  # in float32: it divides by products of nearly equal gradients


@dataclass
class Report:
    """The number of passed samples of a module or optimizer, and the first difference of each other one."""

    name: str
    samples: int = 0
    passed: int = 0
    errors: int = 0
    errors_passed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)  # reason: samples
    differences: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return self.passed == self.samples and self.errors_passed == self.errors


def check_module(info: Any) -> Report:
    """Check all samples of one entry of `module_db`."""
    report = Report(info.name)
    for dtype, training in itertools.product(DTYPES, (False, True)):
        torch.manual_seed(0)
        samples = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=True, training=training
        )
        for number, sample in enumerate(samples):
            _count(
                report, number, dtype, lambda s=sample, t=training, d=dtype: _module(info, s, t, d)
            )
    if info.module_error_inputs_func is not None:
        for sample in info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=False
        ):
            _count_error(report, lambda s=sample: _bad_module(info, s))
    return report


def _count(report: Report, number: int, dtype: Any, check: Callable[[], str | None]) -> None:
    try:
        difference = check()
    except bridge.Unsupported as error:
        _skip(report, error)
        return
    except bridge.Missing as error:
        difference = f"missing: {error}"
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        difference = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
    report.samples += 1
    report.passed += difference is None
    if difference:
        report.differences.append(f"{report.name} sample {number} {dtype}: {difference[:300]}")


def _skip(report: Report, error: bridge.Unsupported) -> None:
    report.skipped[str(error)] = report.skipped.get(str(error), 0) + 1


def _count_error(report: Report, check: Callable[[], str | None]) -> None:
    try:
        difference = check()
    except bridge.Unsupported as error:
        _skip(report, error)
        return
    report.errors += 1
    report.errors_passed += difference is None
    if difference:
        report.differences.append(f"{report.name} error: {difference[:300]}")


def _build(info: Any, call: Any) -> tuple[Any, Any]:
    """PyTorch's module and the engine's, with the same parameters and buffers."""
    torch.manual_seed(1)
    other = info.module_cls(*call.args, **call.kwargs)
    terms = bridge.Arguments()
    ours = bridge.find(info.name)(*terms.copy(call.args), **terms.copy(call.kwargs))
    return other, ours


def _load(theirs: Any, ours: Any) -> None:
    state = theirs.state_dict()
    tensors = bridge.Arguments()
    ours.load_state_dict({key: tensors.copy(value) for key, value in state.items()})


def _module(info: Any, sample: Any, training: bool, dtype: Any) -> str | None:
    other, ours = _build(info, sample.constructor_input)
    other.to(dtype).train(training)
    ours.to(bridge.engine_dtype(dtype)).train(training)
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    inputs = bridge.Arguments()
    own_args, own_kwargs = inputs.copy(args), inputs.copy(kwargs)
    for source, copied in inputs.pairs:
        if source.requires_grad:
            copied.requires_grad_()
    if "Lazy" in info.name:  # it learns its shapes from the first input
        other(*args, **kwargs)
        ours(*own_args, **own_kwargs)
    if repr(other) != repr(ours).replace("engine.", "torch."):
        return f"repr: {ours!r} instead of {other!r}"
    if list(other.state_dict()) != list(ours.state_dict()):
        return f"state: {list(ours.state_dict())} instead of {list(other.state_dict())}"
    _load(other, ours)
    torch.manual_seed(2)
    expected = other(*args, **kwargs)
    engine.manual_seed(2)
    actual = ours(*own_args, **own_kwargs)
    result = _differ("result", expected, actual, dtype)
    if result:
        return result
    weighed = [_weighed(t) for t in _tensors(expected) if t.requires_grad]
    own_weighed = [_weighed(t) for t in _tensors(actual) if t.requires_grad]
    if len(weighed) != len(own_weighed):
        return f"{len(own_weighed)} results require gradients instead of {len(weighed)}"
    if weighed:
        sum(weighed[1:], weighed[0]).backward()
        sum(own_weighed[1:], own_weighed[0]).backward()
    gradients = [
        (name, p, dict(ours.named_parameters())[name]) for name, p in other.named_parameters()
    ]
    gradients += [
        (f"input {n}", a, b)
        for n, (a, b) in enumerate(inputs.pairs)
        if a.requires_grad and a.is_leaf
    ]
    for name, p, own in gradients:
        result = _differ(f"gradient of {name}", p.grad, own.grad, dtype)
        if result:
            return result
    return _differ("state after", other.state_dict(), ours.state_dict(), dtype)


def _weighed(tensor: Any) -> Any:
    """Return a sum whose gradient differs from element to element."""
    library = torch if isinstance(tensor, torch.Tensor) else engine
    kind = library.float64 if tensor.dtype in (torch.float64, engine.float64) else library.float32
    weights = library.linspace(0.5, 1.5, tensor.numel(), dtype=kind).reshape(tuple(tensor.shape))
    return (tensor * weights).sum()


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (torch.Tensor, engine.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _differ(path: str, expected: Any, actual: Any, dtype: Any, far: float = 0) -> str | None:
    """Return the first difference between two structures of tensors and numbers, in words."""
    if isinstance(expected, float) or isinstance(actual, float):  # or a tensor of one number
        rtol, atol = (far, far) if far else FAR[dtype]
        near = math.isclose(float(expected), float(actual), rel_tol=rtol, abs_tol=atol)
        return None if near else f"{path}: {actual} instead of {expected}"
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, engine.Tensor):
            return f"{path}: {type(actual).__name__} instead of a tensor"
        own = bridge.to_torch(actual.detach())
        rtol, atol = (far, far) if far else FAR[dtype]
        try:
            torch.testing.assert_close(
                own, expected.detach(), rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )
        except AssertionError as error:
            return f"{path}: {' '.join(str(error).split())}"
        return None
    if isinstance(expected, dict):
        if set(expected) != set(actual):
            return f"{path}: keys {list(actual)} instead of {list(expected)}"
        pairs = [(f"{path} {key}", value, actual[key]) for key, value in expected.items()]
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(actual):
            return f"{path}: {len(actual)} items instead of {len(expected)}"
        pairs = [(path, a, b) for a, b in zip(expected, actual, strict=True)]
    else:
        same = expected == actual or (expected is None and actual is None)
        return None if same else f"{path}: {actual!r} instead of {expected!r}"
    return next((d for n, a, b in pairs if (d := _differ(n, a, b, dtype, far))), None)


def _raised(act: Callable[[], Any]) -> type[BaseException] | None:
    try:
        act()
    except Exception as error:
        return type(error)
    return None


def _compare_errors(theirs: Callable[[], Any], ours: Callable[[], Any]) -> str | None:
    expected, actual = _raised(theirs), _raised(ours)
    if expected is None or (actual is not None and issubclass(actual, expected)):
        return None
    name = actual.__name__ if actual else "no error"
    return f"{name} instead of {expected.__name__}"


def _bad_module(info: Any, sample: Any) -> str | None:
    call, forward = (
        sample.module_error_input.constructor_input,
        sample.module_error_input.forward_input,
    )
    terms = bridge.Arguments()
    args, kwargs = terms.copy(call.args), terms.copy(call.kwargs)
    own = terms.copy(forward.args) if forward is not None else None

    def theirs() -> None:
        result = info.module_cls(*call.args, **call.kwargs)
        if forward is not None:
            result(*forward.args, **forward.kwargs)

    def ours() -> None:
        output = bridge.find(info.name)(*args, **kwargs)
        if own is not None:
            output(*own, **terms.copy(forward.kwargs))

    return _compare_errors(theirs, ours)


# ---- optimizers


def check_optimizer(info: Any) -> Report:
    """Check all samples of one entry of `optim_db`."""
    name = info.optim_cls.__name__
    report = Report(f"optim.{name}")
    for dtype in DTYPES:
        for number, sample in enumerate(info.optim_inputs_func("cpu")):
            _count(report, number, dtype, lambda s=sample, d=dtype: _optimizer(info, name, s, d))
    if info.optim_error_inputs_func is not None:
        for sample in info.optim_error_inputs_func("cpu", torch.float32):
            _count_error(report, lambda s=sample: _bad_optimizer(info, name, s))
    return report


def _optimizer(info: Any, name: str, sample: Any, dtype: Any) -> str | None:
    shapes = ((3, 4), (4, 3)) if name == "Muon" else ((3, 4), (4,), (2, 1, 5))
    terms = bridge.Arguments()
    kwargs = terms.copy(sample.kwargs)
    generator = torch.Generator().manual_seed(3)
    starts = [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes
    ]
    params = [start.clone().requires_grad_() for start in starts]
    own = [bridge.Arguments().copy(start).requires_grad_() for start in starts]
    other = info.optim_cls(params, **sample.kwargs)
    ours = bridge.find(f"optim.{name}")(own, **kwargs)
    far = (
        MUON_FAR
        if name == "Muon"
        else LBFGS_FAR
        if name == "LBFGS" and dtype is torch.float32
        else 0
    )
    for step in range(STEPS):
        if step == 0 or name != "LBFGS":  # which needs one function for all its steps
            targets = [
                torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
                for shape in shapes
            ]
        _step(other, params, targets, info.only_supports_sparse_grads)
        own_targets = [bridge.Arguments().copy(t) for t in targets]
        _step(ours, own, own_targets, info.only_supports_sparse_grads)
        result = _differ(f"step {step}", [p.detach() for p in params], own, dtype, far)
        if result:
            return result
    expected, actual = other.state_dict(), ours.state_dict()
    return _differ("state", expected["state"], actual["state"], dtype, far)


def _step(optimizer: Any, params: list[Any], targets: list[Any], sparse: bool) -> None:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = sum(((p - t) ** 2).sum() for p, t in zip(params, targets, strict=True))
        loss.backward()
        if sparse:
            for p in params:
                p.grad = p.grad.to_sparse(1)
        return loss

    optimizer.step(closure)


def _bad_optimizer(info: Any, name: str, sample: Any) -> str | None:
    bad = sample.optimizer_error_input
    terms = bridge.Arguments()
    try:
        params, kwargs = terms.copy(bad.params), terms.copy(bad.kwargs)
    except TypeError:  # not a list of tensors
        params, kwargs = bad.params, bad.kwargs
    return _compare_errors(
        lambda: info.optim_cls(bad.params, **bad.kwargs),
        lambda: bridge.find(f"optim.{name}")(params, **kwargs),
    )


# ---- the run


def reports(names: list[str]) -> Iterator[Report]:
    """Yield a report for each module and optimizer whose name matches."""
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    def is_selected(name: str) -> bool:
        return not names or any(fnmatch.fnmatch(name, pattern) for pattern in names)

    for info in module_db:
        if is_selected(info.name):
            yield check_module(info)
    for info in optim_db:
        if is_selected(info.optim_cls.__name__):
            yield check_optimizer(info)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", metavar="OUT", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if options.json:
        options.json.unlink(missing_ok=True)
    results = []
    for item in recorded(map(asdict, reports(options.names)), options.json):
        report = Report(**{key: value for key, value in item.items() if key != "commit"})
        results.append(report)
        if not report.is_clean:
            print(
                f"{report.name}: {report.passed}/{report.samples}, errors "
                f"{report.errors_passed}/{report.errors}"
            )
            for difference in report.differences[:3]:
                print(f"    {difference}")
    full = sum(report.is_clean for report in results)
    passed, samples = sum(r.passed for r in results), sum(r.samples for r in results)
    print(f"{full} of {len(results)} is_clean, {passed} of {samples} samples")
    return 0 if full == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
