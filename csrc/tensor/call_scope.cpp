#include "tensor/call_scope.h"

namespace uh {
namespace {
thread_local int64_t t_call = 0;
thread_local int64_t t_last = 0;
}  // namespace

int64_t current_call() { return t_call; }
int64_t last_call() { return t_last; }
CallScope::CallScope(int64_t call) : previous_(t_call) { t_call = call; }
CallScope::~CallScope() {
  t_last = t_call;
  t_call = previous_;
}

}  // namespace uh
