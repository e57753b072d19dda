// What a thread has switched on and off: keys that no call of it uses, grad mode, inference mode.
//
// Invariant: Autograd is excluded whenever grad mode is off, so that a call under no_grad() costs
// what it costs without autograd. Scopes restore what they found. If violated: graphs are recorded
// that nobody asked for, or a kernel's own calls are differentiated a second time.
#pragma once

#include "tensor/key_set.h"

namespace uh {

struct ThreadState {
  KeySet excluded;
  bool grad_enabled = true;
  bool inference = false;  // new tensors track neither versions nor gradients
};

// Constant initialisation and a fixed place: one instruction to reach, at every operator call.
extern thread_local constinit ThreadState t_state __attribute__((tls_model("initial-exec")));

inline bool grad_enabled() { return t_state.grad_enabled; }
void set_grad_enabled(bool enabled);

class GradMode {
 public:
  explicit GradMode(bool enabled) : found_(t_state) { set_grad_enabled(enabled); }
  ~GradMode() { t_state = found_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  ThreadState found_;
};

// Inside: calls run below the Autograd key. What an Autograd kernel puts around its redispatch.
class BelowAutograd {
 public:
  BelowAutograd() : found_(t_state.excluded) {
    t_state.excluded = t_state.excluded | Key::kAutograd;
  }
  ~BelowAutograd() { t_state.excluded = found_; }
  BelowAutograd(const BelowAutograd&) = delete;
  BelowAutograd& operator=(const BelowAutograd&) = delete;

 private:
  KeySet found_;
};

}  // namespace uh
