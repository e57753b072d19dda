#include "tensor/call_scope.h"

namespace uh {
namespace {
thread_local int64_t t_call = 0;
}

int64_t current_call() { return t_call; }
CallScope::CallScope(int64_t call) : previous_(t_call) { t_call = call; }
CallScope::~CallScope() { t_call = previous_; }

}  // namespace uh
