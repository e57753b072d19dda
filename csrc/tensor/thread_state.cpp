#include "tensor/thread_state.h"

namespace uh {

thread_local constinit ThreadState t_state __attribute__((tls_model("initial-exec")));

void set_grad_enabled(bool enabled) {
  t_state.grad_enabled = enabled;
  const KeySet others = t_state.excluded - Key::kAutograd;
  t_state.excluded = enabled ? others : others | Key::kAutograd;
}

}  // namespace uh
