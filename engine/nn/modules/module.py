"""Module and functions for all modules, under PyTorch's module name."""

from engine.nn.hooks import RemovableHandle as RemovableHandle
from engine.nn.hooks import register_module_backward_hook as register_module_backward_hook
from engine.nn.hooks import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from engine.nn.hooks import register_module_forward_hook as register_module_forward_hook
from engine.nn.hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from engine.nn.hooks import register_module_full_backward_hook as register_module_full_backward_hook
from engine.nn.hooks import (
    register_module_full_backward_pre_hook as register_module_full_backward_pre_hook,
)
from engine.nn.hooks import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from engine.nn.hooks import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from engine.nn.module import Module as Module
from engine.nn.state_dict import _IncompatibleKeys as _IncompatibleKeys
