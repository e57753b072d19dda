// The header of PyTorch extensions: C++ names (torch/torch.h), and a pybind11 caster of Tensors
// (underhood_python.hpp).
#pragma once

#include "capi/torch/torch.h"
#include "capi/underhood_python.hpp"

namespace py = pybind11;
namespace torch {
namespace python {}
namespace py = pybind11;
}  // namespace torch
