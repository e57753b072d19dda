"""Functions to trace with a library: this engine, or PyTorch.

Each is traced with `example(lib)`, a (2, 3) tensor, and then called with tensors of other sizes.
"""

import math

PROGRAMS = []


def program(fn):
    PROGRAMS.append(fn)
    return fn


def example(lib, rows=2):
    return lib.arange(3.0 * rows).reshape(rows, 3) - 1


# ---- sizes


@program
def view_of_shape(lib, x):
    return x.view(x.shape[0], -1)


@program
def reshape_of_size(lib, x):
    return x.reshape(x.size(0) * 3, -1)


@program
def all_sizes(lib, x):
    return (x + 1).t().reshape(x.size())


@program
def unpacked(lib, x):
    b, c = x.shape
    return x.view(b * c)


@program
def mean_by_hand(lib, x):
    return x.sum(0) / x.shape[0]


@program
def by_numel(lib, x):
    return x.sum(1) / x.numel()


@program
def shape_slices(lib, x):
    tail = (1, 3)
    return x.view(x.shape[:1] + tail), x.view(*x.shape, 1)


@program
def product_of_sizes(lib, x):
    return x.view(math.prod(x.shape))


@program
def expanded(lib, x):
    return x.expand(2, x.size(0), x.size(1))


@program
def repeated(lib, x):
    return x.repeat(x.shape[0], 1)


@program
def last_size(lib, x):
    return x.view(-1, x.size(-1))


@program
def arithmetic_of_sizes(lib, x):
    return x / (x.shape[0] - 1) * x.shape[1] ** 0.5 + (2 - x.shape[0]) + x.shape[0] // 2


@program
def slices_by_size(lib, x):
    return x[: x.shape[0] - 1], x[x.shape[0] // 2], x.narrow(0, 0, x.shape[0] - 1)


@program
def size_as_result(lib, x):
    return x, x.shape[0]


@program
def normalized_over_size(lib, x):
    return lib.nn.functional.layer_norm(x, x.shape[1:])


@program
def padded_by_size(lib, x):
    return lib.nn.functional.pad(x, (0, x.shape[0]))


@program
def positions(lib, x):
    return x[lib.nn.functional.pad(x, (0, 0))[:, 0].argsort(), 0] + x.shape[0]


@program
def split_by_size(lib, x):
    return x.split([1, x.shape[0] - 1])


# ---- views and indices


@program
def rows_and_columns(lib, x):
    return x[0], x[:, 1], x[..., -1], x[1:, None], x[:-1, -1:], x[::2, 1:3]


@program
def masks(lib, x):
    return x[x > 0], x.masked_fill(x > 0, 0.0), lib.where(x > 0, x, -x)


@program
def index_lists(lib, x):
    return x[:, [0, 1]], x[None, [0, 1]]


@program
def shapes_of_views(lib, x):
    return x.flatten(1), x.unsqueeze(0), x.transpose(0, 1), x.permute(1, 0), x.t()


# ---- in place


@program
def in_place(lib, x):
    y = x * 2
    y.add_(1)
    y.mul_(x)
    return y


@program
def augmented(lib, x):
    x = x.clone()
    x += 1
    x *= 2
    return x


@program
def assigned(lib, x):
    x = x.clone()
    x[0] = 1
    x[:, 1] = x[:, 0]
    x[:, 1:] = 2
    return x


@program
def out_of(lib, x):
    y = x * 2
    lib.add(x, x, out=y)
    return y * x


# ---- operators


@program
def joined(lib, x):
    return lib.cat([x, x * 2], 1), lib.stack((x, x))


@program
def products(lib, x):
    return x @ x.t(), lib.einsum("ij,kj->ik", x, x)


@program
def numbers(lib, x):
    return 2**x + 1 / x + (3 - x) - x % 2 + x.pow(2)


@program
def reductions(lib, x):
    return x.max(1), x.mean(-1, keepdim=True), x.sum((0, 1))


@program
def activations(lib, x):
    return x.relu(), x.sigmoid(), x.clamp(0, 1), lib.nn.functional.softmax(x, -1)


@program
def dropped(lib, x):
    return lib.nn.functional.dropout(x, 0.5, True) * 0


@program
def dtypes(lib, x):
    return x.to(lib.float64), x.float(), x.int(), x.type_as(x)


@program
def nested_results(lib, x):
    return x + 1, (x * 2, (x, x))


@program
def nobody_uses(lib, x):
    y = x * 5
    y.clone().add_(1)
    lib.rand(2)
    return x + 1


@program
def chunks(lib, x):
    return x.chunk(3, 1)[0] + x.unbind(1)[1].unsqueeze(1)
