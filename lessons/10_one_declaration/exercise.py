"""generate(schema, expr): the functional and the in-place form of one declaration."""

import engine


def arguments(schema):
    """`mix(Tensor self, Tensor other) -> Tensor` has the arguments `self, other`."""
    inside = schema.partition("(")[2].partition(")")[0]
    return ", ".join(part.split()[-1] for part in inside.split(", "))


def generate(schema, expr):
    name = schema.partition("(")[0]
    source = f"def {name}({arguments(schema)}):\n    return {expr}\n"
    # TODO: a second function, name_, and docstrings.
    space = {"engine": engine}
    exec(source, space)
    return {name: space[name]}


generated = generate("cube(Tensor self) -> Tensor", "self**3")
print("made:", *generated)
print(generated["cube"](engine.tensor([2.0, 3.0])))
