// The fallback of backends whose memory is not the host's: an operator runs on the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

// Copies the arguments to the CPU, runs the operator there, copies the results and what it has
// written back. Throws for a view, which a copy cannot be. Registered by a backend with
// Dispatcher::register_fallback (PyTorch's at::native::cpu_fallback).
void cpu_fallback(OperatorInfo& op, Key key, Stack& stack);

// The number of calls that have been run in this way.
int64_t cpu_fallback_calls();
// The same by operator: "aten::cumsum", in the order of their first calls.
std::vector<std::pair<std::string, int64_t>> cpu_fallback_counts();
void reset_cpu_fallback_counts();
// For a kernel that computes one call on the CPU by itself: counts it, and announces its first.
void count_cpu_fallback(const std::string& name);
// Called at the first call of each operator, outside of all locks: a host warns there.
void on_first_cpu_fallback(void (*announce)(const char* name));

}  // namespace uh
