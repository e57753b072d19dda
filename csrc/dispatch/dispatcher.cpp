#include "dispatch/dispatcher.h"

#include <mutex>
#include <unordered_map>

namespace uh {

BarrierCalls g_barrier;
TracerCall g_tracer = nullptr;
namespace {

std::mutex g_lock;
std::unordered_map<std::string, OperatorInfo*>& table() {
  static auto* instance = new std::unordered_map<std::string, OperatorInfo*>;
  return *instance;
}

KeySet keys_of_stack(const Stack& stack) {
  KeySet keys;
  for (const IValue& v : stack) {
    if (const Tensor* t = v.get_if<Tensor>()) keys = keys | keys_of(*t);
    if (const auto* list = v.get_if<std::vector<Tensor>>()) keys = keys | keys_of(*list);
  }
  return keys.empty() ? KeySet(Key::kCPU) : keys;
}

}  // namespace

const Schema& OperatorInfo::schema() const {
  static std::mutex lock;
  std::lock_guard guard(lock);
  if (!parsed_) parsed_ = new Schema(parse_schema(schema_));
  return *parsed_;
}

void OperatorInfo::forget_schema() {
  delete parsed_;
  parsed_ = nullptr;
}

void OperatorInfo::enter_kernel(Key key, void* kernel, const char* name) {
  table_[static_cast<size_t>(key)] = kernel;
  names_[static_cast<size_t>(key)] = name;
  kernels_ = kernels_ | key;
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

BoxedOperator::BoxedOperator(std::string schema)
    : OperatorInfo(""), text_(std::make_unique<std::string>(std::move(schema))) {
  set_schema_text(text_->c_str());
  this->schema();  // a malformed schema is refused here, not at the first call
}

BoxedOperator::~BoxedOperator() { forget_schema(); }

void BoxedOperator::set_boxed_kernel(Key key, BoxedKernel kernel, std::string name) {
  const auto k = static_cast<size_t>(key);
  boxed_[k] = std::move(kernel);
  boxed_names_[k] = std::move(name);
  enter_kernel(key, nullptr, boxed_names_[k].c_str());
}

void BoxedOperator::call_boxed(Stack& stack) {
  const size_t n = schema().arguments.size();
  check_kind(stack.size() == n, ErrorKind::kType, full_name(), ": expected ", n, " arguments, got ",
             stack.size());
  if ((t_state.included - t_state.excluded).has(Key::kTracer)) {
    const Without<Key::kTracer> below;
    const Stack arguments = stack;
    call_boxed(stack);
    g_tracer(*this, arguments, stack);
    return;
  }
  const KeySet keys = keys_of_stack(stack);
  const Key key = choose(keys);
  if (!events::on()) [[likely]] {
    boxed_[static_cast<size_t>(key)](keys, stack);
    return;
  }
  CallRecord record(*this);
  for (const IValue& v : stack) {
    std::visit(
        [&](const auto& x) {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            record.argument(Tensor());
          else if constexpr (std::is_same_v<T, Ref<Container>>)
            record.argument(v.type_name());
          else
            record.argument(x);
        },
        v.variant());
  }
  record.enter();
  record_hop(*this, key, keys);
  try {
    boxed_[static_cast<size_t>(key)](keys, stack);
  } catch (const Error& error) {
    record.failed(error);
    throw;
  }
  for (const IValue& v : stack) {
    if (const Tensor* t = v.get_if<Tensor>()) record.result(*t);
  }
  record.leave();
}

BoxedOperator& Library::define(std::string schema) {
  auto op = std::make_unique<BoxedOperator>(std::move(schema));
  Dispatcher::instance().enter(*op, namespace_);
  op->set_name_space((new std::string(namespace_))->c_str());
  return *op.release();  // registered operators live as long as the process
}

void Library::implement(std::string_view name, Key key, BoxedKernel kernel,
                        std::string kernel_name) {
  const std::string full = namespace_ + "::" + std::string(name);
  auto* op = dynamic_cast<BoxedOperator*>(Dispatcher::instance().find(full));
  check(op != nullptr, "library: no operator ", full, " to implement; define its schema first");
  op->set_boxed_kernel(key, std::move(kernel), std::move(kernel_name));
}

}  // namespace uh
