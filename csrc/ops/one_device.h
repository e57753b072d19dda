// What the generated CPU and Meta kernels ask before a hand-written kernel runs: one device for
// all.
//
// A meta tensor has no bytes. A kernel that asks one of its tensors where it lies may then rely on
// the others; pointwise operators and composites have rules of their own.
#pragma once

#include <vector>

#include "dispatch/operator.h"

namespace uh {

// Throws when the tensors lie on several devices. A number in a 0-d CPU tensor goes with meta ones.
void refuse_several_devices(const char* op, const std::vector<Tensor>& tensors);

inline void collect(std::vector<Tensor>& all, const Tensor& t) {
  if (t) all.push_back(t);
}
inline void collect(std::vector<Tensor>& all, const Operand& o) { collect(all, o.tensor); }
inline void collect(std::vector<Tensor>& all, const std::vector<Tensor>& list) {
  for (const Tensor& t : list) collect(all, t);
}

template <class... Given>
void check_one_device(KeySet keys, const char* op, const Given&... given) {
  if (!keys.has(Key::kMeta) || !keys.has(Key::kCPU)) [[likely]]
    return;
  std::vector<Tensor> all;
  (collect(all, given), ...);
  refuse_several_devices(op, all);
}

}  // namespace uh
