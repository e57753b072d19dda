"""Parser of types in the text of graphs."""

from __future__ import annotations

from functools import lru_cache

from engine.jit.types.enums import enum_named
from engine.jit.types.jit_type import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    FUNCTION,
    INT,
    NONE,
    SCALAR,
    STR,
    TENSOR,
    Type,
    dict_of,
    future_of,
    list_of,
    optional,
    tuple_of,
    union,
)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def eat(self, word: str) -> bool:
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_."
        ):
            self.at += 1
        return self.text[start : self.at]

    def until_closed(self) -> None:
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1

    def type(self) -> Type:
        type = self.base()
        while True:
            if self.eat("[]"):
                type = list_of(type)
            elif self.eat("?"):
                type = optional(type)
            else:
                return type

    def types(self) -> list[Type]:
        types = []
        while not self.eat(")"):
            types.append(self.type())
            self.eat(",")
        return types

    def enum(self) -> Type:
        name = self.word()
        self.eat(">")
        return enum_named(name).type

    def base(self) -> Type:
        if self.eat("("):
            return tuple_of(*self.types())
        word = self.word()
        if word == "Dict" and self.eat("("):
            return dict_of(*self.types())
        if word == "Future" and self.eat("["):
            element = self.type()
            self.eat("]")
            return future_of(element)
        if word == "Union" and self.eat("("):
            return union(self.types())
        if word == "Enum" and self.eat("<"):
            return self.enum()
        if word == "NamedTuple" and self.eat("("):
            names, inner = [], []
            while not self.eat(")"):
                self.eat(" ")
                names.append(self.word())
                self.eat(":")
                self.eat(" ")
                inner.append(self.type())
                self.eat(",")
            return tuple_of(*inner, fields=tuple(names))
        if word.startswith("__torch__"):
            return Type("class", (), word)
        if word in _WORDS:
            return _WORDS[word]
        if self.eat("("):  # Float(2, 3): a Tensor with known properties
            self.until_closed()
        return TENSOR


_WORDS = {
    type.kind: type
    for type in (INT, FLOAT, BOOL, STR, NONE, ANY, SCALAR, COMPLEX, DEVICE, FUNCTION, TENSOR)
} | {"number": SCALAR, "None": NONE}


def from_text(text: str) -> Type:
    """Parses a graph's type; tensor properties are left out."""
    return _Reader(text).type() if "Enum<" in text else _without_enums(text)


@lru_cache(maxsize=4096)
def _without_enums(text: str) -> Type:
    """Parses and caches a type without Enums; those are created and freed with their classes."""
    return _Reader(text).type()
