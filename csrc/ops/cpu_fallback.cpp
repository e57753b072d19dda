#include "ops/cpu_fallback.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"

namespace uh {
namespace {

std::atomic<int64_t> g_calls{0};
std::atomic<void (*)(const char*)> g_announce{nullptr};

// Call counts by operator. Never destroyed, as operators may run at process exit.
struct Counts {
  std::mutex lock;
  std::vector<std::pair<std::string, int64_t>> by_name;
  std::unordered_map<std::string, size_t> positions;
};
Counts& counts() {
  static auto* instance = new Counts;
  return *instance;
}

// The arguments of one call, copied to the CPU, and their device.
class HostArguments {
 public:
  explicit HostArguments(const OperatorInfo& op, Key key) : op_(op), key_(key) {}

  IValue to_host(const IValue& value) {
    if (const Tensor* t = value.get_if<Tensor>()) return IValue(to_host(*t));
    if (const auto* list = value.get_if<std::vector<Tensor>>()) {
      std::vector<Tensor> copies;
      for (const Tensor& t : *list) copies.push_back(t ? to_host(t) : t);
      return IValue(std::move(copies));
    }
    if (const Device* device = value.get_if<Device>(); device && key_of(device->type) == key_) {
      device_ = with_index(*device);
      return IValue(Device::kCPU);
    }
    return value;
  }

  // Copies the `written` arguments back to the device after the call.
  void write_back(const Tensor& host) {
    for (const Pair& pair : pairs_) {
      if (!pair.host.is_same(host)) continue;
      if (!(pair.device.sizes() == host.sizes())) ops::resize_(pair.device, host.sizes());
      if (pair.device.strides() == host.strides())
        copy_from_host(pair.device, host);
      else
        ops::copy_(pair.device, host, false);
      record_write(pair.device);
    }
  }

  IValue to_device(const IValue& value) const {
    if (const Tensor* t = value.get_if<Tensor>()) return IValue(to_device(*t));
    if (const auto* list = value.get_if<std::vector<Tensor>>()) {
      std::vector<Tensor> copies;
      for (const Tensor& t : *list) copies.push_back(to_device(t));
      return IValue(std::move(copies));
    }
    return value;
  }

 private:
  struct Pair {
    Tensor device, host;
  };

  Tensor to_host(const Tensor& t) {
    if (is_host(t.device())) {
      check(t.ndim() == 0, op_.full_name(),
            ": expected all tensors to be on the same device, but found at least two devices, ",
            name(t.device()), " and ", name(key_));
      return t;
    }
    check(key_of(t.device().type) == key_ && (!device_ || *device_ == t.device()), op_.full_name(),
          ": expected all tensors to be on the same device, but found at least two devices, ",
          name(t.device()), " and ", device_ ? name(*device_) : std::string(name(key_)));
    device_ = t.device();
    for (const Pair& pair : pairs_) {
      if (pair.device.is_same(t)) return pair.host;
    }
    Tensor host = copy_to_host(t);
    host.impl()->set_wrapped_number(t.impl()->wrapped_number());
    pairs_.push_back({t, host});
    return host;
  }

  Tensor to_device(const Tensor& host) const {
    if (!host || !device_) return host;
    for (const Pair& pair : pairs_) {
      if (pair.host.is_same(host)) return pair.device;
    }
    return ops::_to_copy(host, host.dtype(), *device_, MemoryFormat::kPreserve);
  }

  const OperatorInfo& op_;
  Key key_;
  std::optional<Device> device_;
  std::vector<Pair> pairs_;
};

}  // namespace

void cpu_fallback(OperatorInfo& op, Key key, Stack& stack) {
  const FunctionSchema& schema = op.schema();
  check_kind(!schema.is_view(), ErrorKind::kNotImplemented, op.full_name(), ": ", name(key),
             " has no kernel for it, and a view cannot be computed on the CPU");
  const size_t base = stack.size() - schema.arguments.size();
  HostArguments arguments(op, key);
  Stack host;
  for (size_t i = base; i < stack.size(); ++i) host.push_back(arguments.to_host(stack[i]));
  count_cpu_fallback(op.qualified_name());  // not of calls that are refused
  const Stack arguments_on_host(host);
  {
    const BelowAutograd below;
    op.call_boxed(host);
  }
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (!schema.arguments[i].is_write()) continue;
    if (const Tensor* t = arguments_on_host[i].get_if<Tensor>()) {
      arguments.write_back(*t);
    } else if (const auto* list = arguments_on_host[i].get_if<std::vector<Tensor>>()) {
      for (const Tensor& each : *list) arguments.write_back(each);
    }
  }
  stack.resize(base);
  for (const IValue& result : host) stack.push_back(arguments.to_device(result));
}

void count_cpu_fallback(const std::string& name) {
  g_calls.fetch_add(1, std::memory_order_relaxed);
  Counts& all = counts();
  {
    const std::lock_guard guard(all.lock);
    const auto [position, first] = all.positions.try_emplace(name, all.by_name.size());
    if (first) all.by_name.emplace_back(name, 0);
    ++all.by_name[position->second].second;
    if (!first) return;
  }
  if (const auto announce = g_announce.load()) announce(name.c_str());
}

std::vector<std::pair<std::string, int64_t>> cpu_fallback_counts() {
  const std::lock_guard guard(counts().lock);
  return counts().by_name;
}

void reset_cpu_fallback_counts() {
  const std::lock_guard guard(counts().lock);
  counts().by_name.clear();
  counts().positions.clear();
}

void on_first_cpu_fallback(void (*announce)(const char* name)) { g_announce.store(announce); }

int64_t cpu_fallback_calls() { return g_calls.load(std::memory_order_relaxed); }

}  // namespace uh
