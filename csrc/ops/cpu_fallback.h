// The fallback of backends whose memory is not the host's: an operator runs on the CPU.
#pragma once

#include <cstdint>

#include "dispatch/operator.h"

namespace uh {

// Copies the arguments to the CPU, runs the operator there, copies the results and what it has
// written back. Throws for a view, which a copy cannot be. Registered by a backend with
// Dispatcher::register_fallback (PyTorch's at::native::cpu_fallback).
void cpu_fallback(OperatorInfo& op, Key key, Stack& stack);

// The number of calls that have been run in this way.
int64_t cpu_fallback_calls();

}  // namespace uh
