"""ScriptModule: a module whose methods are compiled; parameters and buffers are the module's own."""

from __future__ import annotations

import inspect
from typing import Any

from engine._native import lib
from engine.jit.function import NativeFunction
from engine.jit.graph import Graph, number_of
from engine.jit.objects import NativeClass, ObjectBox
from engine.nn import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

_OWN = frozenset(("_script_object", "_script_class", "_signatures"))


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
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}; declared as {self.schema}") from None
        bound.apply_defaults()
        return [self._owner, *bound.arguments.values()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function.call(self._bound(args, kwargs))

    @property
    def schema(self) -> str:
        """Parameters and result with their types."""
        return self._function.schema

    @property
    def graph(self) -> Graph:
        """The graph as it was compiled or traced."""
        return self._function.graph.of(self._owner)

    @property
    def inlined_graph(self) -> Graph:
        """The same with what it calls in it."""
        graph = self.graph.copy()
        number_of(lib.uh_pass_run(graph._handle, b"inline_calls"))
        return graph

    @property
    def code(self) -> str:
        """The graph as Python source again."""
        from engine.jit.source_again import python_of

        return python_of(self._function, self.__name__)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs for inputs like these: optimised, and specialised once it has run."""
        return self._function.graph_for(self._bound(args, kwargs)).of(self._owner)

    def instructions(self, *args: Any, **kwargs: Any) -> str:
        """What the interpreter runs for inputs like these, a line each."""
        return self._function.instructions(self._bound(args, kwargs))


class ScriptModule(Module):
    """What `jit.script(module)`, `jit.trace(module, inputs)` and `jit.load(file)` return.

    Attributes are read from and written to the compiled object; `forward` and what was exported run
    compiled. Everything else of a Module (parameters, state_dict, to, train) is as ever.
    """

    def __init__(
        self,
        box: ObjectBox,
        signatures: dict[str, inspect.Signature] | None = None,
        children: dict[str, ScriptModule] | None = None,
    ) -> None:
        super().__init__()
        described = NativeClass.of(box).describe()
        self.__dict__.update(
            _script_object=box, _script_class=described["name"], _signatures=signatures or {}
        )
        for attribute in described["attributes"]:
            self._take(attribute, children or {})
        self.__dict__["_methods"] = {}
        native = NativeClass.of(box)
        for name in described["methods"]:
            function = native.method(name)
            if function is not None:
                self._signatures.setdefault(name, function.signature(skip=1))
                self.__dict__["_methods"][name] = ScriptMethod(name, function, self)

    def _take(self, attribute: dict[str, Any], children: dict[str, ScriptModule]) -> None:
        name, value = attribute["name"], self._script_object.get(attribute["name"])
        if name == "training":
            self.__dict__["training"] = value
        elif attribute["kind"] == 1:
            if isinstance(value, Tensor) and not isinstance(value, Parameter):  # from a file
                value = Parameter(value, requires_grad=value.requires_grad)
                self._script_object.set(name, value)
            self._parameters[name] = value
        elif attribute["kind"] == 2:
            self._buffers[name] = value
        elif isinstance(value, ObjectBox):
            self._modules[name] = children.get(name) or ScriptModule(value)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        mine = self.__dict__
        if name in mine.get("_methods", ()):
            return mine["_methods"][name]
        try:
            return super().__getattr__(name)
        except AttributeError:
            box = mine.get("_script_object")
            if box is None or name.startswith("__"):
                raise
        try:
            return box.get(name)
        except RuntimeError as error:
            raise AttributeError(str(error)) from None

    def __setattr__(self, name: str, value: Any) -> None:
        slots = self.__dict__.get("_script_object")
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

    def train(self, mode: bool = True) -> ScriptModule:
        """Sets `training` here and below, in the compiled objects too."""
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
        """The compiled forward; a call of it raises what its operators raise."""
        return self._method("forward")

    def _method(self, name: str) -> ScriptMethod:
        found: ScriptMethod | None = self.__dict__["_methods"].get(name)
        if found is None:
            raise AttributeError(f"{self.original_name} has no compiled method '{name}'")
        return found

    @property
    def original_name(self) -> str:
        """The name of the Python class that was compiled."""
        return str(self._script_class).rpartition(".")[2]

    @property
    def graph(self) -> Graph:
        """The graph of forward, with calls of submodules."""
        return self._method("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of forward with what it calls in it."""
        return self._method("forward").inlined_graph

    @property
    def code(self) -> str:
        """The graph of forward as Python source again."""
        return self._method("forward").code

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph that runs for inputs like these: optimised, and specialised once it has run."""
        return self._method("forward").graph_for(*args, **kwargs)

    def instructions(self, *args: Any, **kwargs: Any) -> str:
        """What the interpreter runs for inputs like these, a line each."""
        return self._method("forward").instructions(*args, **kwargs)

    def save(self, f: Any, _extra_files: dict[str, str] | None = None) -> None:
        """Writes it to one file: see `jit.save`."""
        from engine.jit.saving import save

        save(self, f, _extra_files)

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """What the printed module says behind its name."""
        return f"original_name={self.original_name}"
