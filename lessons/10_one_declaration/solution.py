"""The in-place form is made of the same expression: copy_ writes its value into self."""

import engine


def arguments(schema):
    """`mix(Tensor self, Tensor other) -> Tensor` has the arguments `self, other`."""
    inside = schema.partition("(")[2].partition(")")[0]
    return ", ".join(part.split()[-1] for part in inside.split(", "))


def generate(schema, expr):
    name = schema.partition("(")[0]
    source = f"def {name}({arguments(schema)}):\n    return {expr}\n"
    source += f"def {name}_({arguments(schema)}):\n    return self.copy_({expr})\n"
    space = {"engine": engine}
    exec(source, space)
    generated = {key: space[key] for key in (name, f"{name}_")}
    for function in generated.values():
        function.__doc__ = schema
    return generated


generated = generate("cube(Tensor self) -> Tensor", "self**3")
print("made:", *generated)
print(generated["cube"](engine.tensor([2.0, 3.0])))
print(generated["cube_"](engine.tensor([2.0, 3.0])))
