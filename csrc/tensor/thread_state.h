// The switches of a thread: keys that no call of it uses, grad mode, inference mode.
//
// Invariant: Autograd is excluded whenever grad mode is off, so that a call under no_grad() costs
// what it costs without autograd. Scopes restore what they found. If violated: graphs are recorded
// that no caller requested, or a kernel's own calls are differentiated a second time.
#pragma once

#include "tensor/key_set.h"

namespace uh {

struct ThreadState {
  KeySet excluded;
  KeySet included;  // keys that every call has: Tracer, AutocastCPU
  bool grad_enabled = true;
  bool inference = false;  // new tensors track neither versions nor gradients
};

// Constant initialisation and a fixed place: one instruction to reach, at every operator call.
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

// Inside: calls run without this key. What a kernel puts around its redispatch, as to say below it.
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
