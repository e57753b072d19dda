"""Functions of tensors that need Python code before or between operators, by subject.

Importing a module here adds its functions to the tables of overloads.py.
"""

from engine.functional import complex as complex
from engine.functional import composite as composite
from engine.functional import matmul as matmul
from engine.functional import norm as norm
from engine.functional import predicates as predicates
from engine.functional import unique as unique
from engine.functional import variadic as variadic
