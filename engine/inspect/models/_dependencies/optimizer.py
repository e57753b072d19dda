"""Fused optimizer steps, and other operators on lists of tensors: an item depends on the items of its number."""

from __future__ import annotations

from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    Rule,
    Unknown,
    single,
    unravel,
)

_Pattern = str


def _gradient(call: OpCall) -> _Pattern:
    """Return the gradient before weight decay: one name, or an expression in parentheses."""
    pattern = "{grads}"
    if "grad_scale" in call.tensors:
        pattern = "({grads} / {grad_scale})"
    return f"(-{pattern})" if call.value("maximize") else pattern


def _decayed(call: OpCall) -> _Pattern:
    """Return the gradient with weight decay, likewise."""
    grad = _gradient(call)
    return f"({grad} + {{weight_decay}} * {{self}})" if call.value("weight_decay") else grad


def _squared(pattern: _Pattern) -> _Pattern:
    """Return a pattern with squares as products: a negative number needs the parentheses that a name doesn't have."""
    return f"{pattern} ** 2" if pattern.startswith("(") else f"{pattern} * {pattern}"


def _sgd(call: OpCall) -> dict[str, _Pattern]:
    step = grad = _decayed(call)
    if not call.value("momentum"):
        return {"self": f"{{self}} - {{lr}} * {step}"}
    if not call.value("is_first_step"):
        fresh = f"(1 - {{dampening}}) * {grad}" if call.value("dampening") else grad
        step = f"{{momentum}} * {{momentum_buffer_list}} + {fresh}"
    moved = f"{grad} + {{momentum}} * ({step})" if call.value("nesterov") else step
    factor = f"({moved})" if " " in moved else moved
    return {"self": f"{{self}} - {{lr}} * {factor}", "momentum_buffer_list": step}


def _adam(call: OpCall, is_decoupled: bool) -> dict[str, _Pattern]:
    grad = _gradient(call) if is_decoupled else _decayed(call)
    mean = f"{{exp_avgs}} + (1 - {{beta1}}) * ({grad} - {{exp_avgs}})"
    square = f"{{beta2}} * {{exp_avg_sqs}} + (1 - {{beta2}}) * {_squared(grad)}"
    patterns = {"exp_avgs": mean, "exp_avg_sqs": square}
    if call.value("amsgrad"):
        patterns["max_exp_avg_sqs"] = square = f"max({{max_exp_avg_sqs}}, {square})"
    before = "{self}"
    if is_decoupled and call.value("weight_decay"):
        before = "(1 - {lr} * {weight_decay}) * {self}"
    size = "{lr} / (1 - {beta1} ** {state_steps})"
    root = f"sqrt(({square}) / (1 - {{beta2}} ** {{state_steps}}))"
    return patterns | {"self": f"{before} - {size} * ({mean}) / ({root} + {{eps}})"}


def _adagrad(call: OpCall) -> dict[str, _Pattern]:
    grad = _decayed(call)
    total = f"{{state_sums}} + {_squared(grad)}"
    size = "{lr} / (1 + ({state_steps} - 1) * {lr_decay})" if call.value("lr_decay") else "{lr}"
    return {
        "state_sums": total,
        "self": f"{{self}} - {size} * {grad} / (sqrt({total}) + {{eps}})",
    }


_STEPS = {
    "_fused_sgd": _sgd,
    "_fused_adam": lambda call: _adam(call, is_decoupled=False),
    "_fused_adamw": lambda call: _adam(call, is_decoupled=True),
    "_fused_adagrad": _adagrad,
}
_NUMBERS = ("state_steps", "grad_scale")  # tensors of one element


def _step(call: OpCall, index: Index) -> CellFormula:
    """Return the formula of one cell of a parameter or of its state."""
    name, number = _item(call)
    pattern = _STEPS[call.op](call).get(name)
    if pattern is None:  # the gradient, which a step with a scale divides in place
        pattern = "{grads} / {grad_scale}"
    feeds = []
    for name in ("self", *_lists(call), "grad_scale"):
        argument = name if name in call.tensors else f"{name}[{number}]"
        if f"{{{name}}}" in pattern and argument in call.tensors:
            at = (0,) * len(call.sizes(argument)) if name in _NUMBERS else index
            feeds.append(CellInput(argument, at, name))
    return single(*feeds, term=pattern)


def _lists(call: OpCall) -> list[str]:
    """Return the names of the arguments that are lists, without `self`."""
    names = dict.fromkeys(
        argument.partition("[")[0] for argument in call.tensors if "[" in argument
    )
    return [name for name in names if name != "self"]


def _item(call: OpCall) -> tuple[str, int]:
    """Return the list and the number of the tensor that the formula is for."""
    name, _, number = call.argument.rstrip("]").partition("[")
    if not number.isdecimal():
        raise Unknown(f"the trace does not say which item {call.op} wrote")
    return name, int(number)


def _with_item(pattern: _Pattern) -> Rule:
    """Return the same item before the call, and arguments that all items share."""

    def rule(call: OpCall, index: Index) -> CellFormula:
        feeds = [CellInput(call.argument, index, "self")]
        if "other" in call.tensors:
            feeds.append(CellInput("other", (0,) * len(call.sizes("other"))))
        return single(*feeds, term=pattern)

    return rule


def _norm(call: OpCall, index: Index) -> CellFormula:
    """Return every cell of the item of the result's number."""
    item = f"self[{call.result}]"
    sizes = call.sizes(item)
    count = 1
    for size in sizes:
        count *= size
    order = call.value("ord", 2)
    return CellFormula(
        "{self}",
        lambda number: (CellInput(item, unravel(number, sizes), "self"),),
        count,
        ", ",
        "norm({terms})" if order == 2 else f"norm({{terms}}; ord={order:g})",
    )


RULES: dict[str, Rule] = {
    **dict.fromkeys(_STEPS, _step),
    "_foreach_add": _with_item("{self} + {scalar}"),
    "_foreach_mul": _with_item("{self} * {other}"),
    "_foreach_norm": _norm,
}
