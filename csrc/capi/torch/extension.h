// The header of PyTorch's extension sources: C++ names (torch/torch.h), and pybind11 with Tensors
// as arguments and results (underhood_python.hpp).
#pragma once

#include "capi/torch/torch.h"
#include "capi/underhood_python.hpp"

namespace py = pybind11;
namespace torch {
namespace python {}
namespace py = pybind11;
}  // namespace torch
