// A call while the thread traces: Note [Tracing] of operator.h.
#pragma once

#include "dispatch/operator.h"

namespace uh {

// Calls the operator below Tracer, then reports the call. `stack`: arguments, then results.
void call_traced(OperatorInfo& op, Stack& stack);

}  // namespace uh
