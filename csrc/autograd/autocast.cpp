#include "autograd/autocast.h"

#include <unordered_map>

#include "autograd/autograd_meta.h"
#include "base/per_thread.h"
#include "dispatch/dispatcher.h"
#include "generated/ops/copy.h"
#include "generated/tags.h"
#include "memory/device_registry.h"

namespace uh::autograd {
namespace {

constexpr TagSet bit(Tag tag) { return TagSet{1} << static_cast<int>(tag); }

struct AutocastState {
  DType dtype = DType::kBFloat16;
  bool is_cached = true;
  struct Cast {
    Tensor leaf, result;
  };
  std::unordered_map<const TensorImpl*, Cast> cache;
};
AutocastState& autocast() { return per_thread<AutocastState>(); }

bool is_eligible(const Tensor& t) {
  return t && is_host(t.device()) && is_floating(t.dtype()) && t.dtype() != DType::kFloat64;
}

Tensor cast(const Tensor& t, DType dtype) {
  if (!is_eligible(t) || t.dtype() == dtype) return t;
  const auto convert = [&] {
    return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kPreserve);
  };
  const bool is_weight = autocast().is_cached && dtype == autocast().dtype &&
                         t.dtype() == DType::kFloat32 && grad_enabled() && requires_grad(t) &&
                         !grad_fn(t) && !t.impl()->base();
  if (!is_weight) return convert();
  auto [entry, is_new] = autocast().cache.try_emplace(t.impl());
  if (is_new) entry->second = {t, convert()};
  return entry->second.result;
}

IValue cast(const IValue& value, DType dtype) {
  if (const Tensor* t = value.get_if<Tensor>()) return IValue(cast(*t, dtype));
  if (const auto* list = value.get_if<std::vector<Tensor>>()) {
    std::vector<Tensor> results;
    for (const Tensor& t : *list) results.push_back(cast(t, dtype));
    return IValue(std::move(results));
  }
  return value;
}

// float32 if an argument has it, else the lower precision of the arguments.
DType widest(const IValue* first, const IValue* last) {
  DType result = autocast().dtype;
  const auto add = [&](const Tensor& t) {
    if (is_eligible(t) && t.dtype() == DType::kFloat32) result = DType::kFloat32;
  };
  for (; first != last; ++first) {
    if (const Tensor* t = first->get_if<Tensor>()) add(*t);
    if (const auto* list = first->get_if<std::vector<Tensor>>()) {
      for (const Tensor& t : *list) add(t);
    }
  }
  return result;
}

void autocast(OperatorInfo& op, Key, Stack& stack) {
  const Without<Key::kAutocastCPU> below;
  IValue* const first = &stack[stack.size() - op.schema().arguments.size()];
  IValue* const last = stack.data() + stack.size();
  DType dtype = autocast().dtype;
  if (op.has_tag(Tag::kAutocastFloat32)) dtype = DType::kFloat32;
  if (op.has_tag(Tag::kAutocastPromote)) dtype = widest(first, last);
  for (IValue* argument = first; argument != last; ++argument) *argument = cast(*argument, dtype);
  op.call_boxed(stack);
}

}  // namespace

bool autocast_enabled() { return t_state.included.has(Key::kAutocastCPU); }

void set_autocast_enabled(bool enabled) {
  // Registered at first use: most programs never autocast.
  [[maybe_unused]] static const bool registered = [] {
    constexpr TagSet kTags =
        bit(Tag::kAutocastLowerPrecision) | bit(Tag::kAutocastFloat32) | bit(Tag::kAutocastPromote);
    Dispatcher::instance().register_fallback(Key::kAutocastCPU, kTags, autocast, "autocast");
    return true;
  }();
  t_state.included =
      enabled ? t_state.included | Key::kAutocastCPU : t_state.included - Key::kAutocastCPU;
}

DType autocast_dtype() { return autocast().dtype; }

void set_autocast_dtype(DType dtype) {
  check(dtype == DType::kBFloat16 || dtype == DType::kFloat16 || dtype == DType::kFloat32,
        "autocast: expected bfloat16 or float16, got ", name(dtype));
  autocast().dtype = dtype;
}

bool autocast_cache_enabled() { return autocast().is_cached; }
void set_autocast_cache_enabled(bool enabled) { autocast().is_cached = enabled; }
void clear_autocast_cache() { autocast().cache.clear(); }

}  // namespace uh::autograd
