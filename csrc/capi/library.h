// Calls and registration of operators at run time: shared by the files of the C ABI.
#pragma once

#include "capi/underhood.h"
#include "dispatch/operator.h"

namespace uh {

// Returns the number of results written to ret_results, of which there is room for 8; `write` is
// write_value, or what gives references that no recording knows of.
int call_boxed(OperatorInfo& op, const uh_value* args, int64_t n, uh_value* ret_results,
               uh_value (*write)(IValue));

// Runs the registration blocks that shared objects left before the engine was initialised.
void run_library_blocks();

}  // namespace uh
