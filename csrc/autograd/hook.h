// Hook: a user function that is called with gradients during a backward pass.
#pragma once

#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ref.h"
#include "tensor/tensor.h"

namespace uh::autograd {

class Hook : public RefCounted {
 public:
  explicit Hook(int64_t id) : id_(id) {}
  int64_t id() const { return id_; }

  // May replace gradients: those that a Node receives, or its results. For results, `produced_from`
  // are the gradients that the Node received.
  virtual void call(Tensor* gradients, size_t n, const Tensor* produced_from, size_t n_from) = 0;

  // Called when the hook's tensor is destroyed.
  virtual void forget() {}
  // The host's callable; null for hooks of the core.
  virtual void* object() const { return nullptr; }

 private:
  int64_t id_;
};

using HookList = std::vector<Ref<Hook>>;

using OutputHookList = std::vector<std::pair<uint32_t, Ref<Hook>>>;  // with the index of the output

inline Ref<Hook>& hook_in(Ref<Hook>& entry) { return entry; }
inline Ref<Hook>& hook_in(std::pair<uint32_t, Ref<Hook>>& entry) { return entry.second; }
inline const Ref<Hook>& hook_in(const Ref<Hook>& entry) { return entry; }
inline const Ref<Hook>& hook_in(const std::pair<uint32_t, Ref<Hook>>& entry) {
  return entry.second;
}

// Removes hook `id` from a list and returns it. The caller must release it after the list's lock:
// the release may call the host.
template <class List>
Ref<Hook> extract_hook(List& list, int64_t id) {
  for (auto it = list.begin(); it != list.end(); ++it) {
    if (hook_in(*it)->id() != id) continue;
    Ref<Hook> hook = std::move(hook_in(*it));
    list.erase(it);
    return hook;
  }
  return nullptr;
}

// The values of `kind` in event HOOK.
enum class HookKind : int64_t {
  kNone,
#define UH_HOOK(enumerator, subject, label) enumerator,
#include "events/codes.inc"
};

void record_hook(HookKind kind, int64_t owner, const Tensor& before, const Tensor& after);

}  // namespace uh::autograd
