#include "tensor/call_scope.h"

namespace uh {
namespace {
thread_local constinit int64_t t_call __attribute__((tls_model("initial-exec"))) = 0;
thread_local constinit int64_t t_last __attribute__((tls_model("initial-exec"))) = 0;
}  // namespace

int64_t current_call() { return t_call; }
int64_t last_call() { return t_last; }
CallScope::CallScope(int64_t call) : previous_(t_call) { t_call = call; }
CallScope::~CallScope() {
  t_last = t_call;
  t_call = previous_;
}

}  // namespace uh
