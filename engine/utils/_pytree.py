"""Trees of containers: their leaves as a list, and the same containers with other leaves.

Lists, tuples, named tuples, dicts, OrderedDicts, defaultdicts and deques are containers; `register_pytree_node`
adds classes. Everything else is a leaf, None too.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "Context",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

Context = Any
PyTree = Any
IsLeaf = Callable[[Any], bool] | None


@dataclass(frozen=True)
class SequenceKey:
    """A step of a path: the position in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the element at the position."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A step of a path: the key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value of the key."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: the field of a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the field's value."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """The functions that flatten and unflatten values of a registered class."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None,
) -> None:
    """Register a class of containers: `flatten_fn(value) -> (children, context)`, and its inverse.

    Raises: ValueError for a class that is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _dict_keys(value: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), item) for key, item in value.items()], list(value)


def _sequence_keys(value: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), item) for i, item in enumerate(value)], None


class _NamedTuple:
    """The entry of SUPPORTED_NODES that all classes of named tuples share."""


def _install(cls: type, flatten: Any, unflatten: Any, keys: Any) -> None:
    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=keys)


_install(list, lambda x: (x, None), lambda children, _: list(children), _sequence_keys)
_install(tuple, lambda x: (list(x), None), lambda children, _: tuple(children), _sequence_keys)
_install(
    dict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: dict(zip(keys, children, strict=True)),
    _dict_keys,
)
_install(
    OrderedDict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: OrderedDict(zip(keys, children, strict=True)),
    _dict_keys,
)
_install(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    lambda x: (_dict_keys(x)[0], [x.default_factory, list(x)]),
)
_install(
    deque,
    lambda x: (list(x), x.maxlen),
    lambda children, maxlen: deque(children, maxlen=maxlen),
    lambda x: (_sequence_keys(x)[0], x.maxlen),
)
_install(
    _NamedTuple,
    lambda x: (list(x), type(x)),
    lambda children, kind: kind(*children),
    lambda x: ([(GetAttrKey(name), getattr(x, name)) for name in x._fields], type(x)),
)


def is_namedtuple(obj: object) -> bool:
    """Return True if the object, or the class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Return True for a class of named tuples."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _node(tree: Any) -> NodeDef | None:
    """Return the NodeDef for `tree`, None for a leaf."""
    cls = type(tree)
    node = SUPPORTED_NODES.get(cls)
    if node is None and is_namedtuple_class(cls):
        return SUPPORTED_NODES[_NamedTuple]
    return node


@dataclass(frozen=True)
class TreeSpec:
    """The containers of a tree without its leaves."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]
    num_nodes: int = field(init=False)
    num_leaves: int = field(init=False)
    num_children: int = field(init=False)

    def __post_init__(self) -> None:
        children = self.children_specs
        counts = {
            "num_nodes": 1 + sum(spec.num_nodes for spec in children),
            "num_leaves": sum(spec.num_leaves for spec in children) if self.type is not None else 1,
            "num_children": len(children),
        }
        for name, count in counts.items():
            object.__setattr__(self, name, count)

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        children = ",\n".join(
            " " * (indent + 2) * (i > 0) + spec.__repr__(indent + 2)
            for i, spec in enumerate(self.children_specs)
        )
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __hash__(self) -> int:
        return hash((self.type, self.num_nodes, self.num_leaves))

    def is_leaf(self) -> bool:
        """Return True for the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one child."""
        return self.children_specs[index]

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` at the leaves of this structure.

        Raises: ValueError if `tree` has other containers.
        """
        if self.is_leaf():
            return [tree]
        node = _node(tree)
        if node is None or node.type is not self.type:
            kind = None if node is None else node.type
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = node.flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if issubclass(self.type, dict):
            keys, own = (
                (self.context[1], context[1])
                if self.type is defaultdict
                else (self.context, context)
            )
            if set(keys) != set(own):
                raise ValueError(f"Node keys mismatch; expected {keys!r}, but got {own!r}.")
            children = [tree[key] for key in keys]
        elif context != self.context:
            raise ValueError(f"Node context mismatch; expected {self.context!r}, got {context!r}.")
        pairs = zip(self.children_specs, children, strict=True)
        return [leaf for spec, child in pairs for leaf in spec.flatten_up_to(child)]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return a tree of this structure with the given leaves.

        Raises: ValueError for another number of leaves.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        children = [spec._build(leaves) for spec in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure.

    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([4, 5, 6], spec)
    {'a': 4, 'b': (5, [6])}
    """
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return a tree of the structure `treespec` with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Iterate over the leaves of a tree."""
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return True if the tree is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _node(tree) is None


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return a tree with `func(leaf, *leaves of the other trees)` at each leaf.

    >>> tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(other) for other in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` as tree_map does, and return `tree` itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for values in zip(leaves, *(spec.flatten_up_to(other) for other in rests), strict=True):
        func(*values)
    return tree


def _is_selected(selection: Any) -> Callable[[Any], bool]:
    """Return a predicate of leaves: of a type, of one of a tuple of types, or as a function says."""
    if isinstance(selection, (type, tuple)) or hasattr(selection, "__args__"):
        return lambda leaf: isinstance(leaf, selection)
    if callable(selection):
        return lambda leaf: bool(selection(leaf))
    raise TypeError(f"expected a type, a tuple of types or a function, got {selection!r}")


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """Return a tree with `func(leaf)` at the leaves of the given types, and the others as they are."""
    is_selected = _is_selected(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if is_selected(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """Call `func` on the leaves of the given types, and return `tree` itself."""
    is_selected = _is_selected(type_or_types_or_pred)
    return tree_map_(lambda leaf: func(leaf) if is_selected(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return True if `pred` is true of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Return True if `pred` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Return True if `pred` is true of all leaves of the given types."""
    leaves = tree_iter(tree, is_leaf)
    return all(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None
) -> bool:
    """Return True if `pred` is true of a leaf of the given types."""
    leaves = tree_iter(tree, is_leaf)
    return any(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return pairs of a path and the leaf there."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return pairs of a path and the leaf there, and the structure of the tree."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def _paths(
    path: tuple[Any, ...], tree: Any, is_leaf: IsLeaf
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None
) -> Any:
    """Return a tree with `func(path, leaf, *leaves of the other trees)` at each leaf."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    columns = [paths, leaves, *(spec.flatten_up_to(other) for other in rests)]
    return spec.unflatten(map(func, *columns))


def keystr(kp: tuple[Any, ...]) -> str:
    """Return a path as Python writes it.

    >>> keystr(tree_leaves_with_path({"a": [1]})[0][0])
    "['a'][0]"
    """
    return "".join(map(str, kp))
