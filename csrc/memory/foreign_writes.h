// Detects writes to Storages that other libraries can see (NumPy arrays).
//
// While recording, each such Storage is copied. check_foreign() compares, and records a WRITE with
// call 0 for bytes that changed without an operator of ours. Invariant: each of our writes calls
// refresh() for its Storage. If violated: our write is recorded as a foreign one.
#pragma once

#include "memory/storage.h"

namespace uh::foreign_writes {

void watch(Storage* storage);    // starts watching: its bytes became visible outside
void forget(Storage* storage);   // called when the Storage dies
void refresh(Storage* storage);  // called after our own writes
void check_all();

}  // namespace uh::foreign_writes
