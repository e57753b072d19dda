// Calls and registration of operators at run time, shared by the files of the C ABI.
#pragma once

#include "capi/underhood.h"
#include "dispatch/operator.h"

namespace uh {

// Returns the number of results written to ret_results, which has room for 8; `write` is
// write_value, or a variant that returns unrecorded references.
int call_boxed(OperatorInfo& op, const uh_value* args, int64_t n, uh_value* ret_results,
               uh_value (*write)(IValue));

// Runs the registration blocks of shared objects loaded before the engine was initialised.
void run_library_blocks();

}  // namespace uh
