"""Constant propagation leaves PyTorch's graphs, which are listed here.

Each row is the type of `x`, the body of a function, and the nodes besides constants, without their
namespaces, that PyTorch 2.13 leaves after `_jit_pass_constant_propagation`, which also removes what
is not used any more.
"""

import linecache
from typing import Optional

import pytest

import engine
from engine import jit

FOLDED = [
    ('int', 'return 2 * 3 + x', 'add'),
    ('int', 'return (x + 2) + 3', 'add, add'),
    ('int', 'return 2 + 3 + x', 'add'),
    ('int', 'return 4 // 3 * x', 'mul'),
    ('int', 'return 7 % 4 + x', 'add'),
    ('int', 'return 2 ** 3 + x', 'add'),
    ('int', 'return -3 + x', 'add'),
    ('int', 'return abs(-3) + x', 'add'),
    ('int', 'return min(2, 3) * x', 'mul'),
    ('int', 'return max(1, 5) + x', 'add'),
    ('int', 'return int(2.5) + x', 'add'),
    ('float', 'return int(2.5) + x', 'add'),
    ('int', 'return round(2.6) + x', 'add'),
    ('float', 'return round(2.6) + x', 'add'),
    ('int', 'return (1 if 2 > 1 else 5) + x', 'add'),
    ('int', 'return len([1, 2, 3]) + x', 'add'),
    ('int', 'return [1, 2, 3][1] + x', 'add'),
    ('int', 'return (1, 2, 3)[1] + x', 'add'),
    ('int', "return len('abc') + x", 'add'),
    ('int', "return int('12') + x", 'add'),
    ('int', "return ord('a') + x", 'add'),
    ('int', 'return (3 & 1) + x', 'add'),
    ('int', 'return (3 | 4) + x', 'add'),
    ('int', 'return (3 ^ 1) + x', 'add'),
    ('int', 'return (1 << 4) + x', 'add'),
    ('int', 'return (64 >> 2) + x', 'add'),
    ('int', 'return sum([1, 2, 3]) + x', 'add'),
    ('int', 'return max([1, 5, 2]) + x', 'add'),
    ('int', 'return sorted([3, 1])[0] + x', 'add'),
    ('int', 'return [i * 2 for i in [1, 2]][0] + x', 'ListConstruct, Loop{__getitem__, mul, append}, __getitem__, add'),
    ('int', 'return len(list(range(4))) + x', 'ListConstruct, Loop{append}, len, add'),
    ('int', 'return x * 1', 'mul'),
    ('int', 'return x + 0', 'add'),
    ('int', 'return 0 + x', 'add'),
    ('int', 'return x - 0', 'sub'),
    ('int', 'return x // 1', 'floordiv'),
    ('int', 'return 1 * x', 'mul'),
    ('int', 'return x * 0', 'mul'),
    ('int', 'return x ** 1', 'pow'),
    ('int', 'return -(-x)', 'neg, neg'),
    ('int', 'return x if True else 3', ''),
    ('int', 'return 3 if False else x', ''),
    ('int', 'return x if not False else 3', ''),
    ('int', 'return x if (1 < 2 and True) else 3', ''),
    ('int', 'return x if (1 > 2 or False) else 3', ''),
    ('int', 'return (2 * 3) * (4 + 5) + x', 'add'),
    ('int', 'return divmod(7, 2)[0] + x', 'add'),
    ('int', 'return [1, 2][0:1][0] + x', 'add'),
    ('int', "return ('a' + 'b').count('a') + x", 'add'),
    ('float', "return ('a' + 'b').count('a') + x", 'add'),
    ('int', "return 'abc'.find('c') + x", 'add'),
    ('float', "return 'abc'.find('c') + x", 'add'),
    ('int', 'return (x, 2 * 3)[1]', ''),
    ('int', 'return (x + 1, 2 * 3)[0]', 'add'),
    ('int', 'return [2 * 3, x][0]', 'ListConstruct, __getitem__'),
    ('int', "return {'a': 2}['a'] + x", 'add'),
    ('int', 'return len({1: 2}) + x', 'add'),
    ('int', 'return int(True) + x', 'add'),
    ('int', 'return int(1 == 1) + x', 'add'),
    ('int', 'return bool(3) and x > 2', 'gt'),
    ('int', 'return float(3) + x', 'add'),
    ('float', 'return float(3) + x', 'add'),
    ('int', 'return 0.5 * 2 + x', 'add'),
    ('float', 'return 0.5 * 2 + x', 'add'),
    ('int', 'return 1e3 + 2.0 + x', 'add'),
    ('float', 'return 1e3 + 2.0 + x', 'add'),
    ('int', 'return 2.0 ** 0.5 * x', 'mul'),
    ('float', 'return 2.0 ** 0.5 * x', 'mul'),
    ('int', 'return 7.0 // 2 + x', 'add'),
    ('float', 'return 7.0 // 2 + x', 'add'),
    ('int', "return x + float('inf')", 'add'),
    ('float', "return x + float('inf')", 'add'),
    ('int', 'return x + 1 / 3', 'add'),
    ('int', 'return not (1 == 2) and x > 1', 'gt'),
    ('int', "return 'a' == 'a' and x > 1", 'gt'),
    ('int', 'return [1, 2] == [1, 2] and x > 1', 'gt'),
    ('int', 'return None is None and x > 1', 'gt'),
    ('int', 'return str(3 + 4) + str(x)', 'str, add'),
    ('int', "return 'abc'.upper() + str(x)", 'str, add'),
    ('int', "return 'abc'[1] + str(x)", 'str, add'),
    ('int', "return 'a,b'.split(',')[0] + str(x)", 'str, add'),
    ('int', 'return isinstance(3, int) and x > 1', 'gt'),
    ('int', 'y = 3\ny = y + 4\nreturn y * x', 'mul'),
    ('int', 'l = [1, 2]\nl.append(3)\nreturn len(l) + x', 'ListConstruct, append, len, add'),
    ('int', 'l = [1, 2]\na, b = l\nreturn a + b + x', 'add'),
    ('int', 'a, b = (1, 2)\nreturn a * b + x', 'add'),
    ('int', 't = (1, (2, 3))\na, (b, c) = t\nreturn a + b + c + x', 'add'),
    ('int', 'y = 0\nfor i in range(3):\n    y += i\nreturn y + x', 'Loop{add}, add'),
    ('int', 'y = 0\nfor i in range(0):\n    y += x\nreturn y', ''),
    ('int', 'y = 1\nwhile y < 10:\n    y *= 2\nreturn y + x', 'Loop{mul, lt}, add'),
    ('int', 'y: Optional[int] = None\nif y is None:\n    return x\nreturn y + x', ''),
    ('int', 'y: Optional[int] = 3\nif y is not None:\n    return x + y\nreturn x', 'add'),
    ('int', 'if 1 + 1 == 2:\n    return x\nreturn 5', ''),
    ('int', 'if x > 2:\n    y = 2 * 3\nelse:\n    y = 6\nreturn y + x', 'add'),
    ('int', "d: Dict[str, int] = {}\nd['a'] = 2\nreturn d['a'] + x", 'DictConstruct, _set_item, __getitem__, add'),
    ('int', "s = 'a'\ns += 'b'\nreturn len(s) + x", 'add'),
    ('int', 'assert 1 + 1 == 2\nreturn x', ''),
    ('int', 'l = [[1, 2], [3]]\nreturn l[0][1] + x', 'add'),
    ('int', 'l: List[int] = []\nreturn len(l) + x', 'add'),
    ('int', 'l = [x, 2 * 3]\nreturn l[1]', 'ListConstruct, __getitem__'),
    ('int', 't = (x, 2 * 3)\nreturn t[1] * t[0]', 'mul'),
    ('int', 'return x + 2 * 3 + 4', 'add, add'),
    ('int', 'return 2 * 3 + 4 + x', 'add'),
    ('int', 'return (x + 2) * (2 + 3)', 'add, mul'),
    ('int', 'return x * (2 * (3 * (4 + 5)))', 'mul'),
    ('int', 'if True and x > 2:\n    return 1 + 2\nreturn 3 * 4', 'gt, If{}{}'),
    ('int', 'y = 2\nfor i in range(x):\n    y = y + 2 * 3\nreturn y', 'Loop{add}'),
    ('int', 'for i in range(2):\n    if i == 1:\n        x += 3 * 4\nreturn x', 'Loop{eq, If{add}{}}'),
    ('int', 'y = 5\nif x > 1:\n    pass\nreturn y * 2 + x', 'add'),
    ('int', 'def_ = 3\nz = def_ if def_ > 2 else x\nreturn z', ''),
    ('int', 'y = [2, 3]\ny[0] = 5\nreturn y[0] + x', 'ListConstruct, _set_item, __getitem__, add'),
    ('int', 'y = -2\nreturn x + y ** 2', 'add'),
    ('int', "raise_ = 1\nif raise_ > 2:\n    raise ValueError('no')\nreturn x", ''),
    ('int', 'l = [1, 2, 3]\nt = 0\nfor v in l:\n    t += v\nreturn t + x', 'Loop{__getitem__, add}, add'),
    ('int', 'l = [1, 2]\nm = l + [3]\nreturn len(m) + x', 'add'),
    ('Tensor', 'return torch.ones(2) + x', 'add'),
    ('Tensor', 'return torch.zeros(2, 3).sum() + x', 'add'),
    ('Tensor', 'return torch.tensor([1, 2]) + x', 'add'),
    ('Tensor', 'return torch.tensor(3.0) * 2 + x', 'add'),
    ('Tensor', 'return torch.arange(3) + x', 'add'),
    ('Tensor', 'return torch.full([2], 1.5) * x', 'mul'),
    ('Tensor', 'return torch.ones(2 + 1) * x', 'mul'),
    ('Tensor', 'return torch.eye(2) @ x', 'matmul'),
    ('Tensor', 'return x + 2 * 3', 'add'),
    ('Tensor', 'return x * 2.0 * 3', 'mul, mul'),
    ('Tensor', 'return x + (2 + 3)', 'add'),
    ('Tensor', 'return x.view([2 * 3])', 'view'),
    ('Tensor', 'return x.view(3 * 2)', 'view'),
    ('Tensor', 'return x.sum(1 - 1)', 'sum'),
    ('Tensor', 'return x.view([x.size(0) * 1])', 'size, mul, ListConstruct, view'),
    ('Tensor', 'return x * torch.ones(1).item()', 'mul'),
    ('Tensor', 'return torch.rand(2) + x', 'rand, add'),
    ('Tensor', 'return torch.ones(2).add_(1) + x', 'ones, add_, add'),
    ('Tensor', 'return x.reshape([1 + 1, -1])', 'reshape'),
    ('Tensor', 'return x.to(torch.float64) + 1', 'to, add'),
    ('Tensor', 'return x.mean([0]) * (1 / 3)', 'mean, mul'),
    ('Tensor', 'return torch.cat([x, torch.ones(6)])', 'ListConstruct, cat'),
    ('Tensor', 'return x[0:1 + 1]', 'slice'),
    ('Tensor', 'return x[1 + 1:]', 'slice'),
    ('Tensor', 'return x + torch.ones([]).float()', 'add'),
    ('Tensor', 'return torch.linspace(0, 1, 5).sum() * x', 'mul'),
    ('Tensor', 'return x.clamp(0 - 1, 2 * 3)', 'clamp'),
    ('Tensor', 'return torch.zeros_like(x) + 2 * 3', 'zeros_like, add'),
    ('Tensor', 'return torch.empty(2).fill_(3) + x', 'empty, fill_, add'),
    ('Tensor', 'return (torch.ones(2) * 2).sum() + x.sum()', 'sum, add'),
    ('Tensor', 'return torch.ones(2).shape[0] + x', 'add'),
    ('Tensor', 'return torch.ones(2).numel() * x', 'mul'),
    ('Tensor', 'return len(torch.ones(2)) * x', 'mul'),
    ('Tensor', 'return torch.ones(2).dtype == x.dtype', 'dtype, eq'),
    ('Tensor', 'return x.dim() + 2 * 3', 'dim, add'),
]  # fmt: skip

# Folded further than by PyTorch, which keeps strings with placeholders.
FURTHER = [
    ("int", "return '{}-{}'.format(1, 2) + str(x)", "str, add"),
    ("int", "return '%d' % 3 + str(x)", "str, add"),
]


def kinds(block):
    actual = []
    for node in block.nodes():
        if node.kind() != "prim::Constant":
            inner = "".join("{" + kinds(item) + "}" for item in node.blocks())
            actual.append(node.kind().partition("::")[2] + inner)
    return ", ".join(actual)


def defined(kind, body, number):
    annotation = "" if kind == "Tensor" else f": {kind}"
    text = f"def f(x{annotation}):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    name = f"<folded {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"torch": engine, "List": list, "Optional": Optional, "Dict": dict}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("number", range(len(FOLDED) + len(FURTHER)))
def test_one_run_folds_what_is_known(number):
    kind, body, expected = (FOLDED + FURTHER)[number]
    scripted = jit.script(defined(kind, body, number))
    graph = scripted.graph.copy()
    jit.run_pass(graph, "constant_propagation")
    jit.run_pass(graph, "dce")
    assert kinds(graph.block()) == expected, body
    if kind == "Tensor":
        return
    fn = defined(kind, body, f"{number} again")
    x = {"int": 3, "float": 2.5}[kind]
    for _ in range(3):
        result, plain = scripted(x), fn(x)
        if isinstance(plain, engine.Tensor):
            assert engine.equal(result, plain)
        else:
            assert result == plain  # 2 ** 3 is a float in scripts, as in PyTorch


def test_a_dictionary_that_is_written_is_not_known():
    @jit.script
    def f(x: int):
        d = {"a": 1}
        if x > 2:
            d["a"] = 5
        return d["a"]

    for _ in range(3):
        assert [f(1), f(3)] == [1, 5]


def test_a_list_in_a_list_is_not_shared_between_runs():
    @jit.script
    def f(x: int):
        inner = [[1, 2], [3]]
        row = inner[0]
        row.append(x)
        return len(inner[0])

    @jit.script
    def rows(x: int) -> list[int]:
        return [[1, 2], [3]][0]

    for _ in range(3):
        assert f(1) == 3
    first = rows(1)
    first.append(7)
    assert rows(1) == [1, 2]


def test_a_long_row_of_branches_is_known_in_one_run():
    lines = ["y = 1"]
    for i in range(1, 30):
        lines += [f"if y == {i}:", f"    y = {i} + 1", "else:", "    y = x"]
    graph = jit.script(defined("int", "\n".join([*lines, "return y + x"]), "row")).graph.copy()
    jit.run_pass(graph, "constant_propagation")
    jit.run_pass(graph, "dce")
    assert kinds(graph.block()) == "add"
