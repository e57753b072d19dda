// Futures: what prim::fork gives, and aten::wait takes.
//
// What: a call that was begun. It runs where it is begun, on the same thread, as PyTorch allows: a
// program sees no difference but in time, and recordings, callbacks of the host and the modes of
// the thread are those of the caller. An error that it ends with is thrown by wait().
// Invariant: an Object whose type is a Future[T], with its one slot the result; who it was that
// failed is stored where other Objects have their methods. If violated: wait() returns a value that
// is not a T.
#pragma once

#include <functional>

#include "dispatch/ivalue.h"

namespace uh::jit {

// Runs it; `type` is the Type Future[T] of the result.
IValue start_future(Ref<RefCounted> type, const std::function<IValue()>& call);
// The result. Throws what the call threw, and a TypeError for a value that is not a future.
const IValue& waited(const IValue& future);

}  // namespace uh::jit
