#include "autograd/node.h"

#include <mutex>

#include "autograd/autograd_meta.h"
#include "autograd/saved_tensor.h"
#include "base/call_section.h"
#include "events/recorder.h"
#include "tensor/call_scope.h"

namespace uh::autograd {
namespace {

thread_local uint64_t t_sequence = 0;
// While a node is being freed: those whose last reference was released during this. Note [Deep graphs].
// The list is the outermost `dispose`'s, not the thread's: nodes are freed after the thread's own
// destructors, too, if a static object holds a Tensor.
thread_local std::vector<Node*>* t_doomed = nullptr;

std::atomic<bool> g_anomaly{false}, g_check_nan{true};
std::atomic<const char* (*)()> g_traceback{nullptr};

}  // namespace

Node::Node() : Node(t_sequence++) {}

Node::Node(uint64_t sequence) : sequence_(sequence) {
  if (events::on()) [[unlikely]]
    call_ = current_call();
  if (g_anomaly.load(std::memory_order_relaxed)) [[unlikely]] {
    extra_ = std::make_unique<Extra>();
    if (auto* traceback = g_traceback.load()) {
      const OutsideCalls host;
      const char* text = traceback();
      extra_->traceback = text ? text : "";
    }
    extra_->created_by = Ref<Node>::share(running_node());
  }
}

Node::~Node() {
  if (events::on() && announced_) [[unlikely]]
    events::emit(events::Kind::kNODE_FREE, id_);
}

void Node::dispose() {
  if (t_doomed) {
    t_doomed->push_back(this);
    return;
  }
  std::vector<Node*> doomed;
  t_doomed = &doomed;
  delete this;
  while (!doomed.empty()) {
    Node* next = doomed.back();
    doomed.pop_back();
    delete next;
  }
  t_doomed = nullptr;
}

// NODE_NEW is recorded at the first edge or output: name() is virtual, so not in the constructor.
void Node::announce(std::string_view name) const {
  announced_ = true;
  const int64_t none = 0;
  events::emit_blob(events::Kind::kNODE_NEW, id_, events::intern(name), call_,
                    static_cast<int64_t>(sequence_), &none, sizeof none);
}

uint32_t Node::add_input(const Tensor& output) {
  if (events::on() && !announced_) [[unlikely]]
    announce(name());
  inputs_.push_back({output.sizes(), output.dtype(), output.device()});
  return static_cast<uint32_t>(inputs_.size() - 1);
}

uint32_t Node::add_undefined_input() {
  inputs_.push_back({Dims(), DType::kUndefined, Device::kUndefined});
  return static_cast<uint32_t>(inputs_.size() - 1);
}

void Node::add_edge(Edge edge) {
  if (events::on()) [[unlikely]] {
    if (!announced_) announce(name());
    events::emit(events::Kind::kEDGE, id_, static_cast<int64_t>(edges_.size()),
                 edge.node ? edge.node->id() : 0, edge.input);
  }
  edges_.push_back(std::move(edge));
}

void Node::add_edge(const Tensor& input) {
  add_edge(requires_grad(input) ? gradient_edge(input) : Edge());
}

Node::Hooks Node::copy_hooks() const {
  const std::lock_guard guard(lock_);
  return hooks_ ? *hooks_ : Hooks();
}

void Node::remove_hook(int64_t id) {
  if (!has_hooks()) return;
  Ref<Hook> removed[4];  // released after the lock
  const std::lock_guard guard(lock_);
  removed[0] = extract_hook(hooks_->tensor, id);
  removed[1] = extract_hook(hooks_->retained, id);
  removed[2] = extract_hook(hooks_->before, id);
  removed[3] = extract_hook(hooks_->after, id);
}

Ref<Node> Node::created_by() const {
  const std::lock_guard guard(lock_);
  return extra_ ? extra_->created_by : nullptr;
}

void* Node::metadata() const {
  const std::lock_guard guard(lock_);
  return extra_ ? extra_->metadata.get() : nullptr;
}

void Node::set_metadata(std::shared_ptr<void> metadata) {
  const std::lock_guard guard(lock_);
  if (!extra_) extra_ = std::make_unique<Extra>();
  if (!extra_->metadata) extra_->metadata = std::move(metadata);
}

// The traceback is written when the Node is created, and never moves.
const std::string& Node::forward_traceback() const {
  static const std::string none;
  const std::lock_guard guard(lock_);
  return extra_ ? extra_->traceback : none;
}

namespace {

class Releaser final : public SavedVisitor {
 public:
  explicit Releaser(const Node& node) : node_(node) {}
  void tensor(std::string_view, SavedTensor& saved) override { saved.release(node_, slot_++); }
  void tensors(std::string_view, std::vector<SavedTensor>& saved) override {
    // Releases the elements but keeps the list: another thread may be iterating over it.
    for (SavedTensor& element : saved) element.release(node_, slot_++);
  }
  void value(std::string_view, const IValue&) override {}
  void operand(std::string_view name, SavedOperand& saved) override {
    saved.release_number();
    SavedVisitor::operand(name, saved);
  }

 private:
  const Node& node_;
  int64_t slot_ = 0;
};

}  // namespace

void Node::release_saved() {
  Releaser releaser(*this);
  each_saved(releaser);
}

std::string short_name(const Node& node) {
  constexpr std::string_view kBackward = "Backward";
  std::string name = node.name();
  if (name.size() <= kBackward.size() + 1 || name.back() < '0' || name.back() > '9') return name;
  const size_t suffix = name.size() - kBackward.size() - 1;
  if (name.compare(suffix, kBackward.size(), kBackward) != 0) return name;
  const bool is_first = name.back() == '0';
  name.erase(suffix, kBackward.size() + (is_first ? 1 : 0));
  return name;
}

AnomalyMode anomaly_mode() { return {g_anomaly.load(), g_check_nan.load()}; }
void set_anomaly_mode(AnomalyMode mode, const char* (*traceback)()) {
  g_check_nan = mode.check_nan;
  g_traceback = traceback;
  g_anomaly = mode.enabled;
}

void record_hook(HookKind kind, int64_t owner, const Tensor& before, const Tensor& after) {
  if (!events::on()) return;
  events::emit(events::Kind::kHOOK, static_cast<int64_t>(kind), owner, before ? before.id() : 0,
               after ? after.id() : 0);
}

}  // namespace uh::autograd
