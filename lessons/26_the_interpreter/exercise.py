"""An interpreter: a program counter, registers, and a stack."""

import operator
import tempfile

import engine
from engine.inspect import History, Selection, TraceReader, record
from engine.inspect.models import project

OPERATORS = {
    "aten::add.int": operator.add,
    "aten::sub.int": operator.sub,
    "aten::mul.int": operator.mul,
    "aten::floordiv.int": operator.floordiv,
    "aten::remainder.int": operator.mod,
    "aten::eq.int": operator.eq,
    "aten::ne.int": operator.ne,
    "aten::gt.int": operator.gt,
}


@engine.jit.script
def straight(a: int, b: int):
    return a - b * 2


@engine.jit.script
def distance(a: int, b: int):
    if a > b:
        d = a - b
    else:
        d = b - a
    return d * d


@engine.jit.script
def squares(n: int):
    total = 0
    for i in range(n):
        total = total + i * i
    return total


@engine.jit.script
def collatz(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def run(listing, *inputs):
    """Runs a listing; gives (pc, stack, registers) after each of its steps."""
    program = [line.split() for line in listing.splitlines()]
    stack, registers, pc, steps = list(inputs), {}, 0, []
    while True:
        current, (_, name, *operands) = pc, program[pc]
        pc += 1
        match name:
            case "OP":
                right, left = stack.pop(), stack.pop()
                stack.append(OPERATORS[operands[0]](left, right))
            case "CONST":  # CONST 2 = 7 (%3)
                stack.append(int(operands[2]))
            case "LOAD":
                stack.append(registers[int(operands[0])])
            # TODO: MOVE, STORE, STOREN, DROPR, JUMP, JUMP_IF_FALSE, LOOP.
            case "RETURN":
                pass
            case _:
                raise NotImplementedError(" ".join(program[current]))
        steps.append((current, list(stack), dict(registers)))
        if name == "RETURN":
            return steps


def recorded(function, *inputs):
    """The same of the engine's own machine, as it was recorded."""
    with tempfile.TemporaryDirectory() as folder:
        with record(f"{folder}/run.uht"):
            function(*inputs)
        history = History(TraceReader.open(f"{folder}/run.uht"))
    steps = []
    for moment in history.jit.tables.steps.since:
        model = project("interpreter", history, int(moment), Selection())
        registers = {entry.number: number(entry.text) for entry in model.registers}
        steps.append((model.pc, [number(entry.text) for entry in model.stack], registers))
    return steps


def number(text):
    return text == "True" if text in ("True", "False") else int(text)


for function, inputs in ((straight, (7, 2)), (distance, (3, 7)), (squares, (3,)), (collatz, (3,))):
    actual = run(function.instructions(*inputs), *inputs)
    same = actual == recorded(function, *inputs)
    print(function.name, inputs, "is", function(*inputs), "and here", actual[-1][1], same)
