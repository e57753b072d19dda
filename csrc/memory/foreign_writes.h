// Storages whose bytes the outside can see (NumPy arrays): who changed them, when we did not?
//
// What: while recording, a copy of each such Storage is kept. check_foreign() compares, and records
// a WRITE with call 0 for bytes that changed without an operator of ours. Invariant: every write of
// ours calls refresh() for its Storage, so that it is not mistaken.
#pragma once

#include "memory/storage.h"

namespace uh::foreign_writes {

void watch(Storage* storage);    // its bytes became visible outside
void forget(Storage* storage);   // the Storage dies
void refresh(Storage* storage);  // we wrote to it ourselves
void check_all();

}  // namespace uh::foreign_writes
