#include "autograd/saved_tensor.h"

#include <mutex>

#include "autograd/autograd_meta.h"
#include "base/imported_name.h"
#include "events/recorder.h"

namespace uh::autograd {
namespace {

std::atomic<PackFn> g_pack{nullptr};
thread_local bool t_packing = false;

int64_t holder() { return static_cast<int64_t>(events::Holder::kSaved); }

// Finds the slot of a Node that holds a tensor, and the attribute's name.
class Finder final : public SavedVisitor {
 public:
  Finder(const Node& owner, const SavedTensor& expected) : target_(expected) {
    const_cast<Node&>(owner).each_saved(*this);
  }
  void tensor(std::string_view name, SavedTensor& saved) override {
    if (&saved == &target_) {
      slot_ = next_;
      name_ = name;
    }
    ++next_;
  }
  void tensors(std::string_view name, std::vector<SavedTensor>& saved) override {
    for (SavedTensor& element : saved) tensor(name, element);
  }
  void value(std::string_view, const IValue&) override {}

  int64_t index() const { return slot_; }
  const std::string& name() const { return name_; }

 private:
  const SavedTensor& target_;
  int64_t next_ = 0, slot_ = 0;
  std::string name_;
};

}  // namespace

void set_pack(PackFn pack, bool active) {
  g_pack = pack;
  t_packing = active;
}

void SavedTensor::save(const Node& owner, const Tensor& input, const Tensor& written) {
  if (!input) return;
  check(!input.impl()->is_inference() || t_state.inference,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make a "
        "clone to get a normal tensor and use it in autograd, or use `",
        imported_name(), ".no_grad()` instead of `", imported_name(), ".inference_mode()`.");
  if (t_packing) [[unlikely]] {
    Edge history = history_of(input);
    node_ = std::move(history.node);
    output_ = history.input;
    requires_grad_ = requires_grad(input);
  }
  if (!written || &written.impl()->counter() != &input.impl()->counter())
    return keep(owner, input, input);
  rewritten_ = input.is_same(written) && !input.impl()->base() ? Rewritten::kItself
               : input.impl()->base()                          ? Rewritten::kView
                                                               : Rewritten::kBase;
  keep(owner, alias(input, input.impl()->layout()), input);
}

void SavedTensor::save_output(const Node& owner, const Tensor& result) {
  if (!result) return;
  is_output_ = true;
  const AutogradMeta* m = maybe_meta(result.impl());
  output_ = m ? m->history().input : 0;
  // Saves an alias without a Node: the base of a view written in place would lead back here.
  keep(owner, alias(result, result.impl()->layout()), result);
}

void SavedTensor::keep(const Node& owner, const Tensor& tensor, const Tensor& input) {
  was_defined_ = true;
  version_ = tensor.impl()->version();
  if (t_packing) [[unlikely]] {
    packed_ = g_pack.load()(input);
    check(input.impl()->version() == version_,
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
          "pack hook can not be modified by in-place operations as this can lead to unexpected "
          "side-effects. Please open an issue if you need to perform in-place operations on the "
          "input to a pack hook.");
    record_hook(HookKind::kPack, owner.id(), input, Tensor());
    if (packed_) return;
  }
  tensor_ = tensor;
  if (events::on()) [[unlikely]] {
    const Finder slot(owner, *this);
    events::emit(events::Kind::kSAVE, owner.id(), slot.index(), tensor.id(), version_,
                 events::intern(slot.name()));
    events::emit(events::Kind::kTENSOR_RETAIN, tensor.id(), holder(), owner.id(),
                 tensor.impl()->use_count());
  }
}

void SavedTensor::replace(const Node& owner, Ref<Packed> packed) {
  Tensor released;
  const std::lock_guard guard(owner.lock());
  std::swap(packed_, packed);
  std::swap(tensor_, released);
}

bool SavedTensor::defined(const Node& owner) const {
  const std::lock_guard guard(owner.lock());
  return static_cast<bool>(tensor_) || packed_;
}

Tensor SavedTensor::tensor(const Node& owner) const {
  const std::lock_guard guard(owner.lock());
  return tensor_;
}

Ref<Packed> SavedTensor::packed(const Node& owner) const {
  const std::lock_guard guard(owner.lock());
  return packed_;
}

void fail_released(const Node& owner) {
  fail(ErrorKind::kRuntime,
       "Trying to backward through the graph a second time (or directly access saved tensors "
       "after they have already been freed). Saved intermediate values of the graph are freed "
       "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
       "backward through the graph a second time or if you need to access saved tensors after "
       "calling backward. Node: ",
       owner.name());
}

void SavedVisitor::operand(std::string_view name, SavedOperand& saved) {
  if (saved.tensor.was_defined())
    tensor(name, saved.tensor);
  else
    value(name, saved.state == SavedOperand::State::kTensor ? IValue() : IValue(saved.number));
}

Tensor SavedTensor::unpack(Node& owner, bool with_node) const {
  if (!was_defined_) return Tensor();
  owner.lock().lock();
  const Tensor result = tensor_;
  const Ref<Packed> packed = packed_;
  const Ref<Node> node = node_;
  owner.lock().unlock();
  if (!result && !packed) fail_released(owner);
  if (packed) {
    Tensor result = packed->unpack();
    record_hook(HookKind::kUnpack, owner.id(), Tensor(), result);
    if (!requires_grad_ && !is_output_) return result;
    Tensor full = alias(result, result.impl()->layout());
    AutogradMeta& m = meta(full);
    m.set_history(!is_output_             ? node
                  : owner.use_count() > 0 ? Ref<Node>::share(&owner)
                                          : nullptr,
                  output_);
    m.requires_grad = requires_grad_ && !m.has_grad_fn();
    full.impl()->add_key(Key::kAutograd);
    return full;
  }
  const int64_t current = result.impl()->version();
  if (current != version_) [[unlikely]]
    stale(owner, result, current);
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kUNPACK, owner.id(), Finder(owner, *this).index(), result.id(),
                 current, version_);
  if (!is_output_) return result;
  Tensor full = alias(result, result.impl()->layout());
  if ((grad_enabled() || with_node) && owner.use_count() > 0) {
    AutogradMeta& m = meta(full);
    m.set_history(Ref<Node>::share(&owner), output_);
    full.impl()->add_key(Key::kAutograd);
  }
  return full;
}

std::string SavedTensor::maker(Node& owner, const Tensor& saved, uint32_t& output) const {
  if (rewritten_ == Rewritten::kBase) return "CopySlices";
  if (rewritten_ == Rewritten::kView) return "AsStrided";
  if (rewritten_ == Rewritten::kItself) return short_name(owner);
  const Edge history = is_output_ ? Edge{Ref<Node>::share(&owner), output_} : history_of(saved);
  if (!history.node) return "";
  output = history.input;
  return short_name(*history.node);
}

void SavedTensor::stale(Node& owner, const Tensor& saved, int64_t current) const {
  if (events::on()) {
    events::emit(events::Kind::kSTALE, owner.id(), Finder(owner, *this).index(), saved.id(),
                 current, version_);
  }
  std::string description = type_text(saved);
  uint32_t output = 0;
  if (const std::string by = maker(owner, saved, output); !by.empty())
    description += message(", which is output ", output, " of ", by, ",");
  const std::string hint =
      anomaly_mode().enabled
          ? "Hint: the backtrace further above shows the operation that failed to compute its "
            "gradient. The variable in question was changed in there or anywhere later. Good luck!"
          : message("Hint: enable anomaly detection to find the operation that failed to compute its "
                    "gradient, with ",
                    imported_name(), ".autograd.set_detect_anomaly(True, check_nan=False).");
  fail(ErrorKind::kRuntime,
       "one of the variables needed for gradient computation has been modified by an inplace "
       "operation: ",
       description, " is at version ", current, "; expected version ", version_, " instead. ",
       hint);
}

void SavedTensor::release(const Node& owner, int64_t slot) {
  SpinLock& lock = owner.lock();
  lock.lock();
  Tensor tensor = std::move(tensor_);
  tensor_ = Tensor();
  Ref<Packed> packed = std::move(packed_);
  packed_ = nullptr;
  Ref<Node> node = std::move(node_);
  node_ = nullptr;
  lock.unlock();
  if (tensor && events::on()) [[unlikely]] {
    events::emit(events::Kind::kTENSOR_RELEASE, tensor.id(), holder(), owner.id(),
                 tensor.impl()->use_count() - 1);
    events::emit(events::Kind::kRELEASE, owner.id(), slot, tensor.id());
  }
}

void save_all(const Node& owner, const std::vector<Tensor>& tensors,
              std::vector<SavedTensor>& saved, const Tensor& written) {
  saved.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) saved[i].save(owner, tensors[i], written);
}

std::vector<Tensor> unpack_all(Node& owner, const std::vector<SavedTensor>& saved, bool as_output) {
  std::vector<Tensor> tensors;
  for (const SavedTensor& element : saved) tensors.push_back(element.unpack(owner, as_output));
  return tensors;
}

}  // namespace uh::autograd
