"""Networks whose traces are compared with PyTorch's, each made with the library that it is given."""

from __future__ import annotations

from collections import OrderedDict


def x_of(lib, *sizes):
    n = 1
    for size in sizes:
        n *= size
    return (lib.arange(n, dtype=lib.float32) / n - 0.4).reshape(sizes)


def module(lib, name, init=None, **methods):
    """An instance of a new class: PyTorch's classes need one of each library."""

    def __init__(self):
        lib.nn.Module.__init__(self)
        if init:
            init(self)

    return type(name, (lib.nn.Module,), {"__init__": __init__, **methods, "__module__": "models"})()


def mlp(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (x_of(lib, 2, 3),)


def named_parts(lib):
    nn = lib.nn
    parts = OrderedDict(first=nn.Linear(3, 3), act=nn.Tanh(), last=nn.Linear(3, 1))
    return nn.Sequential(parts), (x_of(lib, 2, 3),)


def nested_sequential(lib):
    nn = lib.nn
    inner = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 3)))
    return nn.Sequential(inner, nn.Tanh(), inner[0]), (x_of(lib, 2, 3),)


def cell(lib):
    gate = module(lib, "Gate", forward=lambda self, x: x if x.sum() > 0 else -x)

    def init(self):
        self.dg = gate
        self.linear = lib.nn.Linear(4, 4)

    def forward(self, x, h):
        new = lib.tanh(self.dg(self.linear(x)) + h)
        return new, new

    return module(lib, "Cell", init, forward=forward), (x_of(lib, 3, 4), x_of(lib, 3, 4))


def tied_weights(lib):
    def init(self):
        self.embed = lib.nn.Embedding(5, 4)
        self.out = lib.nn.Linear(4, 5, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        return self.out(self.embed(tokens))

    return module(lib, "Tied", init, forward=forward), (lib.tensor([[1, 4, 0]]),)


def module_list(lib):
    def init(self):
        self.layers = lib.nn.ModuleList([lib.nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x

    return module(lib, "Stack", init, forward=forward), (x_of(lib, 2, 3),)


def module_dict(lib):
    def init(self):
        self.parts = lib.nn.ModuleDict({"first": lib.nn.Linear(3, 3), "act": lib.nn.Sigmoid()})

    def forward(self, x):
        return self.parts["act"](self.parts["first"](x))

    return module(lib, "Parts", init, forward=forward), (x_of(lib, 2, 3),)


def residual(lib):
    nn = lib.nn

    def block():
        def init(self):
            self.conv1 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(2)
            self.conv2 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(2)

        def forward(self, x):
            out = lib.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += x
            return lib.relu(out)

        return module(lib, "Block", init, forward=forward)

    def init(self):
        self.stem = nn.Conv2d(1, 2, 3, padding=1)
        self.blocks = nn.Sequential(block(), block())
        self.head = nn.Linear(2, 3)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(x.mean((2, 3)))

    return module(lib, "ResNet", init, forward=forward).eval(), (x_of(lib, 1, 1, 4, 4),)


def lenet(lib):
    nn = lib.nn

    def init(self):
        self.conv1 = nn.Conv2d(1, 3, 3)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(3, 4, 3)
        self.fc1 = nn.Linear(16, 8)
        self.fc2 = nn.Linear(8, 4)

    def forward(self, x):
        x = self.pool(nn.functional.relu(self.conv1(x)))
        x = self.pool(nn.functional.relu(self.conv2(x)))
        x = x.view(x.size(0), -1)
        x = nn.functional.relu(self.fc1(x))
        return nn.functional.log_softmax(self.fc2(x), dim=1)

    return module(lib, "LeNet", init, forward=forward), (x_of(lib, 2, 1, 14, 14),)


def identity(lib):
    nn = lib.nn
    return nn.Sequential(nn.Identity(), nn.Linear(3, 2), nn.Dropout(0.5).eval()), (x_of(lib, 2, 3),)


def under_no_grad(lib):
    def init(self):
        self.frozen = lib.nn.Linear(3, 3)
        self.head = lib.nn.Linear(3, 2)

    def forward(self, x):
        with lib.no_grad():
            y = self.frozen(x)
        return self.head(y)

    return module(lib, "Frozen", init, forward=forward), (x_of(lib, 2, 3),)


def with_hooks(lib):
    made = lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.ReLU())
    made[0].register_forward_hook(lambda module, args, result: result * 2)
    made[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return made, (x_of(lib, 2, 3),)


def lstm_cell(lib):
    def init(self):
        self.cell = lib.nn.LSTMCell(3, 4)
        self.out = lib.nn.Linear(4, 2)

    def forward(self, xs):
        h, c = lib.zeros(2, 4), lib.zeros(2, 4)
        for i in range(2):
            h, c = self.cell(xs[i], (h, c))
        return self.out(h)

    return module(lib, "Unrolled", init, forward=forward), (x_of(lib, 2, 2, 3),)


def lstm(lib):
    def init(self):
        self.lstm = lib.nn.LSTM(3, 4, batch_first=True)
        self.out = lib.nn.Linear(4, 2)

    def forward(self, xs):
        y, (h, c) = self.lstm(xs)
        return self.out(y[:, -1]) + self.out(h[0] * c[0])

    return module(lib, "Tagger", init, forward=forward), (x_of(lib, 2, 2, 3),)


def attention(lib):
    nn = lib.nn

    def init(self):
        self.norm = nn.LayerNorm(4)
        self.q, self.k, self.v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.out = nn.Linear(4, 4)

    def forward(self, x):
        b, t, d = x.shape
        y = self.norm(x)
        q, k, v = (f(y).view(b, t, 2, d // 2).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = lib.softmax(q @ k.transpose(-2, -1) / 2.0, -1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(b, t, d))

    return module(lib, "Attention", init, forward=forward), (x_of(lib, 2, 3, 4),)


def transformer_block(lib):
    nn = lib.nn

    def init(self):
        self.attention = attention(lib)[0]
        self.norm = nn.LayerNorm(4)
        self.feed = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.Dropout(0.0))

    def forward(self, x):
        x = self.attention(x)
        return x + self.feed(self.norm(x))

    return module(lib, "Block", init, forward=forward).eval(), (x_of(lib, 2, 3, 4),)


NETWORKS = [
    mlp,
    named_parts,
    nested_sequential,
    cell,
    tied_weights,
    module_list,
    module_dict,
    residual,
    lenet,
    identity,
    under_no_grad,
    with_hooks,
    lstm_cell,
    lstm,
    attention,
    transformer_block,
]
