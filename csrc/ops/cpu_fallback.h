// The CPU fallback of backends whose memory the host cannot address.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

// Copies the arguments to the CPU, runs the operator there, and copies the results and the written
// arguments back. Throws for a view operator, since a copy cannot be a view. A backend registers it
// with Dispatcher::register_fallback (PyTorch's at::native::cpu_fallback).
void cpu_fallback(OperatorInfo& op, Key key, Stack& stack);

// Returns the number of calls that fell back.
int64_t cpu_fallback_calls();
// Returns these counts by operator ("aten::cumsum"), in the order of the first calls.
std::vector<std::pair<std::string, int64_t>> cpu_fallback_counts();
void reset_cpu_fallback_counts();
// Counts a call that a kernel computes on the CPU itself, and announces the operator's first one.
void count_cpu_fallback(const std::string& name);
// Sets a function to call at each operator's first fallback, outside of all locks; it may warn.
void on_first_cpu_fallback(void (*announce)(const char* name));

}  // namespace uh
