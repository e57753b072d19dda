// Thread-local dispatch state: included and excluded keys, grad mode, inference mode.
//
// Invariant: Autograd is excluded whenever grad mode is off, so that a call under no_grad() costs
// as little as one without autograd. Scopes restore the previous state. If violated: unrequested
// graphs are recorded, or a kernel's inner calls are differentiated a second time.
#pragma once

#include "tensor/key_set.h"

namespace uh {

struct ThreadState {
  KeySet excluded;
  KeySet included;  // keys added to every call: Tracer, AutocastCPU
  bool grad_enabled = true;
  bool inference = false;  // new tensors track neither versions nor gradients
};

// Constant initialisation and initial-exec TLS: read by one instruction in every operator call.
extern thread_local constinit ThreadState t_state __attribute__((tls_model("initial-exec")));

inline bool grad_enabled() { return t_state.grad_enabled; }
void set_grad_enabled(bool enabled);

class GradMode {
 public:
  explicit GradMode(bool enabled) : saved_(t_state) { set_grad_enabled(enabled); }
  ~GradMode() { t_state = saved_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  ThreadState saved_;
};

// Excludes a key within a scope: a kernel puts it around calls that must dispatch below it.
template <Key key>
class Without {
 public:
  Without() : saved_(t_state.excluded) { t_state.excluded = t_state.excluded | key; }
  ~Without() { t_state.excluded = saved_; }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  KeySet saved_;
};
using BelowAutograd = Without<Key::kAutograd>;

}  // namespace uh
