"""Modules that hand values on in unusual ways, for traces: see traced_modules.py."""

from __future__ import annotations

from tests.engine.jit.programs.traced_modules import module, x_of


def called_twice(lib):
    def init(self):
        self.linear = lib.nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        z = self.linear(y.relu())
        return self.linear(z + y)

    return module(lib, "Twice", init, forward=forward), (x_of(lib, 2, 3),)


def called_with_other_shapes(lib):
    def init(self):
        self.act = lib.nn.Softmax(-1)

    def forward(self, x):
        return self.act(x), self.act(x.t())

    return module(lib, "Shapes", init, forward=forward), (x_of(lib, 2, 3),)


def shared(lib):
    def init(self):
        self.a = lib.nn.Linear(3, 3)
        self.b = self.a
        self.tail = lib.nn.Sequential(self.a, lib.nn.ReLU())

    def forward(self, x):
        return self.tail(self.b(self.a(x)))

    return module(lib, "Shared", init, forward=forward), (x_of(lib, 2, 3),)


def tuple_results(lib):
    def pair(self, x):
        return self.linear(x), x * 2

    def init_pair(self):
        self.linear = lib.nn.Linear(3, 3)

    def init(self):
        self.pair = module(lib, "Pair", init_pair, forward=pair)

    def forward(self, x):
        a, b = self.pair(x)
        return a + b, b

    return module(lib, "Tuples", init, forward=forward), (x_of(lib, 2, 3),)


def nested_results(lib):
    def nest(self, x):
        return x + 1, (x * 2, [x - 1, x.t()])

    def init(self):
        self.nest = module(lib, "Nest", forward=nest)

    def forward(self, x):
        a, (b, (c, d)) = self.nest(x)
        return a + b + c, d

    return module(lib, "Nested", init, forward=forward), (x_of(lib, 2, 3),)


def tuple_arguments(lib):
    def add(self, pair, more):
        a, b = pair
        return a + b * more[0] - more[1]

    def init(self):
        self.add = module(lib, "Add", forward=add)

    def forward(self, x, y):
        return self.add((x, y), [y, x]) * 2

    return module(lib, "Args", init, forward=forward), (x_of(lib, 2, 3), x_of(lib, 2, 3))


def keyword_arguments(lib):
    def mix(self, x, scale=None, shift=None):
        return x * scale + shift

    def init(self):
        self.mix = module(lib, "Mix", forward=mix)

    def forward(self, x, y):
        return self.mix(x, shift=y, scale=x + y)

    return module(lib, "Keys", init, forward=forward), (x_of(lib, 2, 3), x_of(lib, 2, 3))


def captured(lib):
    """A submodule reads a tensor of its parent that it was not given."""
    held = {}

    def reads(self, x):
        return x * held["y"]

    def init(self):
        self.reads = module(lib, "Reads", forward=reads)

    def forward(self, x):
        held["y"] = x + 1
        return self.reads(x.relu())

    return module(lib, "Captured", init, forward=forward), (x_of(lib, 2, 3),)


def read_outside(lib):
    """A value made in a submodule is read by attribute, not returned."""

    def keeps(self, x):
        self.kept = x * 3
        return self.kept + 1

    def init(self):
        self.keeps = module(lib, "Keeps", forward=keeps)

    def forward(self, x):
        y = self.keeps(x)
        return y * self.keeps.kept

    return module(lib, "Outside", init, forward=forward), (x_of(lib, 2, 3),)


def passed_between(lib):
    """A result of one submodule's submodule is read by another, elsewhere in the tree."""
    held = {}

    def writes(self, x):
        held["y"] = x * 3
        return x + 1

    def reads(self, x):
        return x - held["y"]

    def outer(self, x):
        return self.inner(x).relu()

    def init_left(self):
        self.inner = module(lib, "Writes", forward=writes)

    def init_right(self):
        self.inner = module(lib, "Reads", forward=reads)

    def init(self):
        self.left = module(lib, "Left", init_left, forward=outer)
        self.right = module(lib, "Right", init_right, forward=outer)

    def forward(self, x):
        return self.right(self.left(x))

    return module(lib, "Between", init, forward=forward), (x_of(lib, 2, 3),)


def parents_parameter(lib):
    """A submodule reads a parameter of its parent."""

    def init(self):
        self.scale = lib.nn.Parameter(lib.ones(3))
        parent = [self]
        self.reads = module(lib, "Reads", forward=lambda self, x: x * parent[0].scale)

    def forward(self, x):
        return self.reads(x) + self.scale

    return module(lib, "Parents", init, forward=forward), (x_of(lib, 2, 3),)


def in_place_below(lib):
    def init(self):
        self.add = module(lib, "AddOne", forward=lambda self, x: x.add_(1))

    def forward(self, x):
        y = x * 2
        self.add(y)
        return y * 3

    return module(lib, "InPlace", init, forward=forward), (x_of(lib, 2, 3),)


def buffers(lib):
    def count(self, x):
        self.calls.add_(1)
        return x * self.calls

    def init_count(self):
        self.register_buffer("calls", lib.zeros(3))

    def init(self):
        self.count = module(lib, "Count", init_count, forward=count)

    def forward(self, x):
        return self.count(x) + self.count(x)

    return module(lib, "Buffers", init, forward=forward), (x_of(lib, 2, 3),)


def unused_input(lib):
    def init(self):
        self.first = module(lib, "First", forward=lambda self, x, y: x + 1)

    def forward(self, x, y):
        return self.first(x, y.relu())

    return module(lib, "Unused", init, forward=forward), (x_of(lib, 2, 3), x_of(lib, 2, 3))


def unused_result(lib):
    def init(self):
        self.linear = lib.nn.Linear(3, 3)
        self.idle = lib.nn.Linear(3, 3)

    def forward(self, x):
        self.idle(x)
        return self.linear(x)

    return module(lib, "Idle", init, forward=forward), (x_of(lib, 2, 3),)


def of_sizes(lib):
    def flat(self, x):
        return x.view(x.shape[0], -1) + self.bias

    def init_flat(self):
        self.bias = lib.nn.Parameter(lib.zeros(6))

    def init(self):
        self.flat = module(lib, "Flat", init_flat, forward=flat)

    def forward(self, x):
        y = self.flat(x)
        return y.view(x.size(0), 3, y.shape[1] // 3)

    return module(lib, "Sizes", init, forward=forward), (x_of(lib, 2, 2, 3),)


def size_as_argument(lib):
    def init(self):
        self.tiled = module(lib, "Tiled", forward=lambda self, x, n: x.expand(n, 3))

    def forward(self, x):
        return self.tiled(x[0], x.shape[0])

    return module(lib, "GivesSize", init, forward=forward), (x_of(lib, 2, 3),)


def method_of_submodule(lib):
    """Python calls another method of a submodule: its nodes are the caller's."""

    def twice(self, x):
        return self.linear(x) * 2

    def init_part(self):
        self.linear = lib.nn.Linear(3, 3)

    def init(self):
        self.part = module(lib, "Part", init_part, forward=lambda self, x: x, twice=twice)

    def forward(self, x):
        return self.part.twice(x) + self.part.linear.bias

    return module(lib, "Method", init, forward=forward), (x_of(lib, 2, 3),)


def functional_weights(lib):
    def init(self):
        self.a = lib.nn.Linear(3, 4)
        self.b = lib.nn.Linear(4, 3)

    def forward(self, x):
        return lib.nn.functional.linear(x, self.a.weight) @ self.b.weight.t() * self.a.bias[0]

    return module(lib, "Functional", init, forward=forward), (x_of(lib, 2, 3),)


def constant_tensors(lib):
    mask = lib.tensor([1.0, 0.0, 1.0])
    made = module(lib, "Masks", forward=lambda self, x: x * mask + self.part(x))
    made.part = module(lib, "Part", forward=lambda self, x: x - mask)
    return made, (x_of(lib, 2, 3),)


def returns_input(lib):
    made = module(lib, "Same", forward=lambda self, x: (self.part(x), x))
    made.part = module(lib, "Part", forward=lambda self, x: (x, x + 1)[0])
    return made, (x_of(lib, 2, 3),)


WIRINGS = [
    called_twice,
    called_with_other_shapes,
    shared,
    tuple_results,
    nested_results,
    tuple_arguments,
    keyword_arguments,
    captured,
    read_outside,
    passed_between,
    parents_parameter,
    in_place_below,
    buffers,
    unused_input,
    unused_result,
    of_sizes,
    size_as_argument,
    method_of_submodule,
    functional_weights,
    constant_tensors,
    returns_input,
]
