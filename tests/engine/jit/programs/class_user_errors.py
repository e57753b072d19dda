"""Common mistakes with classes, Enums, Unions and Any, in the form of user_errors.py."""

# ruff: noqa  (as programs are written)
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, List, Optional, Tuple, Union

import engine
from engine import nn


class Color(Enum):
    RED = 1


@dataclass
class Point:
    x: int
    y: int = field(default_factory=int)


class Base:
    def __init__(self, x: int):
        self.x = x


class Derived(Base):
    def twice(self) -> int:
        return self.x * 2


class Counter:
    count = 0

    def __init__(self, n: int):
        self.n = n

    def bump(self) -> int:
        return self.n + 1


class Mixed(Enum):
    A = 1
    B = "b"


def enum_by_value(n: int):
    return Color(n)


def enum_of_two_types(c: Mixed):
    return c.value


def enum_without_member(c: Color):
    return c == Color.GREEN


def derived(n: int):
    return Derived(n).twice()


def class_attribute(n: int):
    return Counter(n).count


def no_attribute(n: int):
    return Counter(n).m


def new_attribute(n: int):
    c = Counter(n)
    c.extra = 1
    return c.n


def wrong_attribute(n: int):
    c = Counter(n)
    c.n = "a"
    return c.n


def adds_objects(n: int):
    return Counter(n) + Counter(n)


def loops_over_object(n: int):
    return [x for x in Counter(n)]


def truth_of_object(n: int):
    if Counter(n):
        return 1
    return 2


def deletes_attribute(n: int):
    c = Counter(n)
    del c.n
    return c


def module_parameter(m: nn.Linear, x):
    return m(x)


def list_of_any(x: Any):
    return isinstance(x, list)


def dataclass_parameter(p: Point):
    return p.x


def makes_dataclass(n: int):
    return Point(n, n)


def union_parameter(x: Union[int, str]):
    return x + 1


def attribute_of_union(x: Union[List[int], str]):
    return x.upper()


def any_(x: Any):
    return x + 1


def enum_by_name(n: int):
    return Color["RED"]


def adds_to_enum(c: Color):
    return c + 1


def attribute_of_enum(c: Color):
    return c.colour


def enum_as_key(c: Color):
    return {c: 1}


def enums_as_keys(n: int):
    return {c: n for c in Color}


def dict_of_enums(d: Dict[Color, int]):
    return len(d)


def dict_of_tuples(d: Dict[Tuple[int, int], int]):
    return len(d)


class Made:
    def __init__(self, n: int):
        self.n = n

    @classmethod
    def of(cls, n: int):
        return cls(n)


def class_method(n: int):
    return Made.of(n)


def class_method_of_object(n: int):
    return Made(n).of(n)


def number_first(n: int):
    return 1 + Counter(n)


def no_init_arguments(n: int):
    return Counter()


def too_many_arguments(n: int):
    return Counter(n, n)


def wrong_argument(n: int):
    return Counter("a")


def wrong_union(x: Union[int, str]) -> int:
    return x


class Holder:
    def __init__(self, made: Optional[Made]):
        self.made = made


def attribute_asked(h: Holder) -> int:
    if h.made is not None:
        return h.made.n
    return 0


MISTAKES = [
    (attribute_asked, "'Optional[", "made = h.made; if made is not None"),
    (enum_by_name, "a member by its name, isn't supported", "Color.RED"),
    (adds_to_enum, "Enum<", ".value"),
    (attribute_of_enum, "object has no attribute or method 'colour'", ".name and .value"),
    (enum_as_key, "keys of a Dict are", ".name or .value"),
    (enums_as_keys, "keys of a Dict are", ".name or .value"),
    (dict_of_enums, "keys of a Dict are", ".name or .value"),
    (dict_of_tuples, "not Tuple[int, int]", "convert it to a string"),
    (class_method, "class methods aren't supported", "static method"),
    (class_method_of_object, "class methods aren't supported", "static method"),
    (number_first, "Counter", "write the object first"),
    (no_init_arguments, "Counter(int n):\nArgument n not provided", ""),
    (too_many_arguments, "Expected at most 1 argument(s) but found 2", ""),
    (wrong_argument, "Expected a value of type 'int' for argument 'n'", ""),
    (wrong_union, "having type int but is actually of type Union[int, str]", ""),
    (enum_by_value, "Color(...), a member by its value, isn't supported", "Color.RED"),
    (enum_of_two_types, "Enum 'Mixed' has values of the types int, str", "all strings"),
    (enum_without_member, "Color object has no attribute GREEN", ""),
    (derived, "classes that inherit (here from Base) are not compiled", "in one class"),
    (class_attribute, "is defined as a class attribute", "self.count"),
    (no_attribute, "Did you forget to initialize an attribute in __init__()?", "n"),
    (new_attribute, "Tried to set nonexistent attribute: extra", "Counter.__init__"),
    (wrong_attribute, "Expected int but got str", "annotate it where __init__ sets it"),
    (adds_objects, "has no attribute or method '__add__'", "define __add__ in the class Counter"),
    (loops_over_object, "is not iterable", "range(len(x))"),
    (truth_of_object, "has no attribute or method '__bool__'", "define __bool__"),
    (deletes_attribute, "del of attributes aren't supported", "assign another value"),
    (module_parameter, "a Module cannot be an argument", "attribute of the Module"),
    (list_of_any, "without what it holds", "jit.isinstance(x, List[int])"),
    (dataclass_parameter, "field 'y' has a default_factory", "write __init__"),
    (makes_dataclass, "field 'y' has a default_factory", "write __init__"),
    (union_parameter, "Union[int, str]", "isinstance"),
    (attribute_of_union, "'Union[List[int], str]' object has no attribute", "isinstance"),
    (any_, "'Any'", "isinstance"),
]
