"""Functions of functions: gradients, products with Jacobians, batches, and modules with other parameters.

They are composed of `autograd.grad` and loops: `vmap` calls the function once for each element of the batch.
"""

from engine.absent_names import getattr_of
from engine.func.functional_call import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from engine.func.gradients import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from engine.func.vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
__getattr__ = getattr_of("func")
