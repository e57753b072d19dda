#include "dispatch/dispatcher.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "dispatch/call_traced.h"

namespace uh {

BarrierCalls g_barrier;
TracerCall g_tracer = nullptr;
namespace {

std::mutex g_lock;
std::unordered_map<std::string, OperatorInfo*>& table() {
  static auto* instance = new std::unordered_map<std::string, OperatorInfo*>;
  return *instance;
}

uint64_t g_generation = 0;

}  // namespace

void call_traced(OperatorInfo& op, Stack& stack) {
  const Without<Key::kTracer> below;
  const Stack arguments = stack;
  op.call_boxed(stack);
  g_tracer(op, arguments, stack);
}

TensorsAmong::TensorsAmong() = default;
TensorsAmong::~TensorsAmong() = default;
void TensorsAmong::add(const Tensor& t) {
  if (t) tensors_.push_back(&t);
}
void TensorsAmong::add(const Operand& o) { add(o.tensor); }
void TensorsAmong::add(const std::vector<Tensor>& list) {
  for (const Tensor& t : list) add(t);
}
TensorList TensorsAmong::first() const { return {tensors_[0]}; }

void OperatorInfo::run_boxed(Key key, Stack& stack) {
  if (key == Key::kTracer) return call_traced(*this, stack);
  fallbacks_[static_cast<size_t>(key)](*this, key, stack);
}

void OperatorInfo::enter_kernel(Key key, void* kernel, const char* name) {
  table_[static_cast<size_t>(key)] = kernel;
  names_[static_cast<size_t>(key)] = name;
  kernels_ = kernels_ | key;
}

void OperatorInfo::set_fallback(Key key, BoxedFallback fallback, const char* name) {
  fallbacks_[static_cast<size_t>(key)] = fallback;
  if (!kernels_.has(key)) enter_kernel(key, boxing_kernel_, name);
}

void OperatorInfo::no_kernel(KeySet keys) const {
  fail(ErrorKind::kNotImplemented, full_name(), ": no kernel for the key set {", to_string(keys),
       "}; kernels exist for {", to_string(kernels_), "}");
}

void OperatorInfo::too_few(const Stack& stack, size_t expected) const {
  fail(ErrorKind::kType, full_name(), ": expected ", expected, " arguments, got ", stack.size());
}

struct Dispatcher::Entry {
  std::string name;
  OperatorInfo* op;
};

Dispatcher::Dispatcher() = default;
Dispatcher::~Dispatcher() = default;

Dispatcher& Dispatcher::instance() {
  static auto* dispatcher = new Dispatcher;
  return *dispatcher;
}

void Dispatcher::enter(OperatorInfo& op, std::string_view name_space) {
  const std::string name = std::string(name_space) + "::" + op.full_name();
  std::lock_guard guard(g_lock);
  check(table().try_emplace(name, &op).second, "library: operator ", name,
        " is already registered");
  entries_.push_back(std::make_unique<Entry>(Entry{name, &op}));
  for (const Fallback& f : fallbacks_) op.set_fallback(f.key, f.run, f.name);
  ++g_generation;
}

void Dispatcher::remove(const OperatorInfo& op) {
  std::lock_guard guard(g_lock);
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const auto& entry) { return entry->op == &op; });
  if (it == entries_.end()) return;
  table().erase((*it)->name);
  entries_.erase(it);
  ++g_generation;
}

uint64_t Dispatcher::generation() const {
  std::lock_guard guard(g_lock);
  return g_generation;
}

void Dispatcher::register_fallback(Key key, BoxedFallback fallback, const char* name) {
  std::lock_guard guard(g_lock);
  fallbacks_.push_back({key, fallback, name});
  for (const auto& entry : entries_) entry->op->set_fallback(key, fallback, name);
}

void Dispatcher::register_fallback(Key key, TagSet tags, BoxedFallback fallback, const char* name) {
  std::lock_guard guard(g_lock);
  for (const auto& entry : entries_) {
    const auto& arguments = entry->op->schema().arguments;
    const bool writes = std::any_of(arguments.begin(), arguments.end(),
                                    [](const Argument& each) { return each.is_write(); });
    if ((entry->op->tags() & tags) != 0 && !writes) entry->op->set_fallback(key, fallback, name);
  }
}

OperatorInfo* Dispatcher::find(std::string_view name) const {
  const bool qualified = name.find("::") != std::string_view::npos;
  const std::string key = qualified ? std::string(name) : "aten::" + std::string(name);
  std::lock_guard guard(g_lock);
  const auto it = table().find(key);
  return it == table().end() ? nullptr : it->second;
}

std::vector<const OperatorInfo*> Dispatcher::all() const {
  std::lock_guard guard(g_lock);
  std::vector<const OperatorInfo*> ops;
  for (const auto& entry : entries_) ops.push_back(entry->op);
  return ops;
}

}  // namespace uh
