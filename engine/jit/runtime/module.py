"""ScriptModule: a module whose methods are compiled; parameters and buffers are the module's own."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from engine._native import lib
from engine.jit.c_results import c_integer
from engine.jit.decorators import Attribute
from engine.jit.ir.graph import Graph
from engine.jit.python_print.printer import python_of, python_with_constants
from engine.jit.runtime import archive
from engine.jit.runtime.function import NativeFunction, misfit
from engine.jit.runtime.native_classes import NativeClass, ObjectBox, is_module_class
from engine.jit.types.type_introspection import Schema
from engine.nn import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

_OWN = frozenset(("_script_object", "_script_class", "_signatures"))
_CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict"))


class ScriptMeta(type):
    """The metaclass of ScriptModule: after `__init__` it compiles objects of derived classes, with the
    function that `script_methods` registers here."""

    compile_object: ClassVar[Callable[[type, list[Any], Any], Any]]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        module = super().__call__(*args, **kwargs)
        derived = [base for base in cls.__mro__ if isinstance(base, ScriptMeta)][:-1]
        return ScriptMeta.compile_object(cls, derived, module) if derived else module


class ConstMap:
    """The tensors that `code_with_constants` names c0, c1..."""

    def __init__(self, constants: dict[str, Tensor]) -> None:
        self.const_mapping = constants

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self.const_mapping[name]
        except KeyError:
            raise AttributeError(f"there is no constant {name}") from None


class ScriptMethod:
    """A compiled method of one module."""

    def __init__(self, name: str, function: NativeFunction, owner: ScriptModule) -> None:
        self.__name__ = name
        self._function = function
        self._owner = owner
        self.__signature__ = owner._signatures[name]

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if not kwargs and len(args) == len(self.__signature__.parameters):
            return [self._owner, *args]
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError:
            name, of = self.__name__, self.__signature__
            raise misfit(name, self.schema, of, args, kwargs, more=1) from None
        bound.apply_defaults()
        return [self._owner, *bound.arguments.values()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function.call(self._bound(args, kwargs))

    @property
    def name(self) -> str:
        """The method's name."""
        return self.__name__

    @property
    def owner(self) -> ScriptModule:
        """Returns the module that has the method."""
        return self._owner

    @property
    def schema(self) -> Schema:
        """Parameters and result with their types."""
        return self._function.schema

    @property
    def graph(self) -> Graph:
        """Returns the graph as it was compiled or traced."""
        return self._function.graph.of(self._owner)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with its calls inlined."""
        graph = self.graph.copy()
        c_integer(lib.uh_pass_run(graph._handle, b"inline"))
        return graph

    @property
    def code(self) -> str:
        """Returns the graph, printed as Python source."""
        return python_of(self._function, self.__name__)

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """Returns `code`, and the tensors that it calls CONSTANTS.c0 and so on."""
        code, constants = python_with_constants(self._function, self.__name__)
        return code, ConstMap(constants)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Returns the graph that runs for such inputs: optimised, and after the first run specialised."""
        return self._function.graph_for(self._bound(args, kwargs)).of(self._owner)

    def instructions(self, *args: Any, **kwargs: Any) -> str:
        """Returns the interpreter's instructions for such inputs, one per line."""
        return self._function.instructions(self._bound(args, kwargs))


class ScriptModule(Module, metaclass=ScriptMeta):
    """The result of `jit.script(module)`, `jit.trace(module, inputs)` and `jit.load(file)`.

    Attributes are read from and written to the compiled object; `forward` and exported methods run
    compiled. Everything else (parameters, state_dict, to, train) works as in Module. In a derived
    class, methods with `jit.script_method` are compiled.
    """

    def __init__(
        self,
        box: ObjectBox | None = None,
        signatures: dict[str, inspect.Signature] | None = None,
        children: dict[str, ScriptModule] | None = None,
        loaded: dict[int, tuple[Tensor, Parameter]] | None = None,
    ) -> None:
        super().__init__()
        if box is None:  # in a derived class, which is compiled after its `__init__`
            return
        described = NativeClass.of(box).describe()
        self.__dict__.update(
            _script_object=box, _script_class=described["name"], _signatures=signatures or {}
        )
        loaded = {} if loaded is None else loaded  # by tensor, for tied parameters
        for attribute in described["attributes"]:
            self._take(attribute, children or {}, loaded)
        self.__dict__["_methods"] = {}
        native = NativeClass.of(box)
        for name in described["methods"]:
            function = native.method(name)
            if function is not None:
                self._signatures.setdefault(name, function.signature(skip=1))
                self.__dict__["_methods"][name] = ScriptMethod(name, function, self)

    def _take(
        self,
        attribute: dict[str, Any],
        children: dict[str, ScriptModule],
        loaded: dict[int, tuple[Tensor, Parameter]],
    ) -> None:
        name = attribute["name"]
        if not (name == "training" or attribute["kind"] or is_module_class(attribute["type"])):
            return  # read on demand, because reading an object copies everything in it
        value = self._script_object.get(name)
        if name == "training":
            self.__dict__["training"] = value
        elif attribute["kind"] == 1:
            if isinstance(value, Tensor) and not isinstance(value, Parameter):  # from a file
                if value._h not in loaded:
                    parameter = Parameter(value, requires_grad=value.requires_grad)
                    loaded[value._h] = value, parameter
                value = loaded[value._h][1]
                self._script_object.set(name, value)
            self._parameters[name] = value
        elif attribute["kind"] == 2:
            self._buffers[name] = value
        elif isinstance(value, ObjectBox):
            self._modules[name] = children.get(name) or ScriptModule(value, loaded=loaded)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in own.get("_methods", ()):
            return own["_methods"][name]
        try:
            return super().__getattr__(name)
        except AttributeError:
            box = own.get("_script_object")
            if box is None or name.startswith("__"):
                raise
        try:
            return box.get(name)
        except RuntimeError as error:
            raise AttributeError(str(error)) from None

    def __setattr__(self, name: str, value: Any) -> None:
        slots = self.__dict__.get("_script_object")
        if slots is None and isinstance(value, Attribute):
            # A value, and its type for the compiler.
            self.__dict__.setdefault("_declared", {})[name] = value.type
            value = value.value
        if slots is None or name in _OWN:
            super().__setattr__(name, value)
            return
        known = {a["name"]: a for a in NativeClass.of(slots).describe()["attributes"]}
        if name not in known:
            super().__setattr__(name, value)
            return
        if not isinstance(value, Module):
            slots.set(name, value)
        if known[name]["kind"] or isinstance(value, Module) or name == "training":
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        box = self.__dict__.get("_script_object")
        described = NativeClass.of(box).describe() if box is not None else {"attributes": ()}
        if name in {attribute["name"] for attribute in described["attributes"]}:
            raise RuntimeError("cannot delete methods or parameters of a script module")
        super().__delattr__(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule before compilation. Raises: RuntimeError after it: compiled code would not
        have the submodule."""
        if "_script_object" in self.__dict__:
            raise RuntimeError(
                f"{self.original_name}: a compiled module gets no submodule '{name}' any more; add it "
                "to the module before jit.script"
            )
        super().add_module(name, module)

    # Copies

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptModule:
        """Returns a module of the same class with copied tensors."""
        if id(self) in memo:
            clone: ScriptModule = memo[id(self)]
            return clone
        return self._copied(lambda value: copy.deepcopy(value, memo), memo)

    def __copy__(self) -> ScriptModule:
        """Returns a module of the same class with the same tensors."""
        return self._copied(lambda value: value, {})

    def copy(self) -> ScriptModule:
        """Returns a module of the same class with the same tensors."""
        return copy.copy(self)

    def _copied(self, copied: Callable[[Any], Any], memo: dict[int, Any]) -> ScriptModule:
        native = NativeClass.of(self._script_object)
        names = [attribute["name"] for attribute in native.describe()["attributes"]]
        values = {name: copied(getattr(self, name)) for name in names}
        children = {
            name: value for name, value in values.items() if isinstance(value, ScriptModule)
        }
        clone = ScriptModule(native.instance(values), dict(self._signatures), children)
        clone.__class__ = type(self)
        memo[id(self)] = clone
        return clone

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            f"{self.original_name}: a compiled module is not pickled; write it with jit.save"
        )

    # Iteration over containers works as before compilation

    def _items(self) -> dict[str, Any]:
        if self.original_name not in _CONTAINERS:
            raise TypeError(f"{self.original_name} is not iterable")
        return self._modules

    def __len__(self) -> int:
        return len(self._items())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        items = self._items()
        return iter(items if self.original_name == "ModuleDict" else items.values())

    def __contains__(self, key: str) -> bool:
        return key in self._items()

    def __getitem__(self, key: Any) -> Any:
        items = self._items()
        return items[key] if self.original_name == "ModuleDict" else list(items.values())[key]

    def train(self, mode: bool = True) -> ScriptModule:
        """Sets `training` of the module and its submodules, in the compiled objects too."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, ScriptModule):
                module.training = mode
        return self

    # Methods

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)

    @property
    def forward(self) -> ScriptMethod:
        """Runs the compiled forward. Raises: its operators' errors."""
        return self._method("forward")

    def _method(self, name: str) -> ScriptMethod:
        method: ScriptMethod | None = self.__dict__["_methods"].get(name)
        if method is None:
            raise AttributeError(f"{self.original_name} has no compiled method '{name}'")
        return method

    @property
    def original_name(self) -> str:
        """Returns the name of the compiled Python class."""
        return str(self._script_class).rpartition(".")[2]

    @property
    def graph(self) -> Graph:
        """Returns the graph of forward, with calls of submodules."""
        return self._method("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of forward with its calls inlined."""
        return self._method("forward").inlined_graph

    @property
    def code(self) -> str:
        """Returns the graph of forward, printed as Python source."""
        return self._method("forward").code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """Returns `code`, and the tensors that it calls CONSTANTS.c0 and so on."""
        return self._method("forward").code_with_constants

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Returns the graph that runs for such inputs: optimised, and after the first run specialised."""
        return self._method("forward").graph_for(*args, **kwargs)

    def instructions(self, *args: Any, **kwargs: Any) -> str:
        """Returns the interpreter's instructions for such inputs, one per line."""
        return self._method("forward").instructions(*args, **kwargs)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Writes it to one file: see `jit.save`."""
        archive.write(self._script_object, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """Returns the bytes that `save` writes."""
        return archive.to_bytes(self._script_object, _extra_files)

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """Returns the text after the module's name when it is printed."""
        return f"original_name={self.original_name}"
