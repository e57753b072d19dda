// Futures: results of prim::fork, arguments of aten::wait.
//
// A started call. It runs at once, on the same thread, which PyTorch allows: only
// the timing differs, and recordings, callbacks of the host and the thread's
// modes are those of the caller. wait() throws the call's error. Invariant: an
// Object of type Future[T] with the result in its one slot; a failure is stored
// where other Objects have their methods. If violated: wait() returns a value
// that is not a T.
#pragma once

#include <functional>

#include "dispatch/ivalue.h"

namespace uh::jit {

// Runs the call; `type` is the Type Future[T] of the result.
IValue start_future(Ref<RefCounted> type, const std::function<IValue()>& call);
// Returns the result. Throws the call's error, and a TypeError if the value is not a future.
const IValue& waited(const IValue& future);

}  // namespace uh::jit
