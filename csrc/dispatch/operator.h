// Op: one operator, its kernel table, and the call that chooses a kernel.
//
// Op<R(A...)> has the C++ signature, so a call from C++ or the C ABI is one indirect call.
// OperatorInfo is the untyped part: schema, tags, table, boxed entry; the registry lists it.
// Invariant: table_[k] is called only with the signature R(KeySet, A...) it was registered with.
// If violated: undefined behaviour; hence kernels are registered through the typed set_kernel
// only.
//
// Note [Operators are compiled once]: some 1300 operators have some 370 signatures. The members of
// Op are defined in operator_calls.h, which only the generated signatures_<n>.cpp include: they are
// compiled once per signature, and each of the thousands of callers is a plain call. Read next:
// operator_calls.h, dispatcher.h (the registry and libraries), record_call.h (the recording of a
// call).
#pragma once

#include <array>
#include <string_view>

#include "dispatch/function_schema.h"
#include "dispatch/ivalue.h"
#include "dispatch/record_call.h"
#include "tensor/thread_state.h"

namespace uh {

class OperatorInfo;

// The keys that an argument contributes to dispatch.
inline KeySet keys_of(const Tensor& t) { return t ? t.keys() : KeySet(); }
inline KeySet keys_of(const Operand& o) { return keys_of(o.tensor); }
inline KeySet keys_of(const std::vector<Tensor>& list) {
  KeySet keys;
  for (const Tensor& t : list) keys = keys | keys_of(t);
  return keys;
}
inline KeySet keys_of(Device device) {
  return device == Device::kUndefined ? KeySet() : KeySet(key_of(device.type));
}
template <class T>
inline KeySet keys_of(const T&) {
  return KeySet();
}

// Note [Operators without a gradient]: an operator is differentiable through a kernel for Autograd,
// or because it calls differentiable operators (composite). Any other is a barrier: its kernel runs
// below Autograd, so that no partial graph is recorded inside, and autograd gives its results no
// history, or a Node that reports the missing gradient.
enum class Differentiation : int8_t { kKernel, kComposite, kNone, kMissing };

// Autograd's code around a barrier. `enter` returns true if a gradient is required, and throws if
// one is for an out= form; `leave` then gives the results a Node that reports the missing formula.
using TensorList = std::vector<const Tensor*>;
struct BarrierCalls {
  bool (*enter)(const OperatorInfo& op, const TensorList& arguments) = nullptr;
  void (*leave)(const OperatorInfo& op, const TensorList& arguments,
                const TensorList& results) = nullptr;
};
extern BarrierCalls g_barrier;

// Note [Tracing]: while a thread traces, its calls have the key Tracer, and the outermost of nested
// calls is reported to the JIT after it has run, with its arguments and results.
using TracerCall = void (*)(const OperatorInfo& op, const Stack& arguments, const Stack& results);
extern TracerCall g_tracer;

// Note [Fallback]: a backend has kernels for some operators only. For the others it registers a
// fallback (PyTorch's boxed fallback) as their kernel for the backend's key: one boxed function
// that runs any operator, such as cpu_fallback of ops/cpu_fallback.h. The table then has an entry
// for every operator, at no cost to other calls.
using BoxedFallback = void (*)(OperatorInfo& op, Key key, Stack& stack);

// Note [Autocast]: while a thread autocasts, its calls have the key AutocastCPU. It ranks above
// Tracer, so that traces contain the casts. The autocast_* tags give an operator a fallback kernel
// there, which casts the arguments and calls the operator again.

// The tensors among arguments or results, for a barrier. Not inline, as every signature has one.
class TensorsAmong {
 public:
  TensorsAmong();
  ~TensorsAmong();
  void add(const Tensor& t);
  void add(const Operand& o);
  void add(const std::vector<Tensor>& list);
  template <class... T>
  void add(const std::tuple<T...>& values) {
    std::apply([this](const auto&... each) { (add(each), ...); }, values);
  }
  template <class T>
  void add(const T&) {}
  const TensorList& tensors() const { return tensors_; }
  TensorList first() const;  // the one that an operator without results has written

 private:
  TensorList tensors_;
};

// A property of an operator that its schema lacks: generated/tags.h, from dispatch/tags.yaml.
enum class Tag : uint8_t;
// Bit n is the Tag with value n.
using TagSet = uint64_t;

class OperatorInfo {
 public:
  // `schema` outlives the operator.
  explicit OperatorInfo(const FunctionSchema& schema, TagSet tags = 0)
      : schema_(&schema), tags_(tags) {}
  OperatorInfo(const OperatorInfo&) = delete;
  OperatorInfo& operator=(const OperatorInfo&) = delete;

  const FunctionSchema& schema() const { return *schema_; }
  const char* schema_text() const { return schema_->text; }
  TagSet tags() const { return tags_; }
  bool has_tag(Tag tag) const { return (tags_ >> static_cast<int>(tag) & 1) != 0; }
  // String id of the schema.
  int64_t recorded_name() const { return recorded_name_.number(schema_->text); }
  int64_t recorded_kernel(Key key) const {
    return recorded_kernels_[static_cast<size_t>(key)].number(kernel_name(key));
  }
  std::string full_name() const { return schema().full_name(); }
  std::string_view name_space() const { return name_space_; }    // "aten"
  void set_name_space(std::string_view text) { name_space_ = text; }  // outlives the operator
  // Its name in graphs: "aten::add", without the overload.
  std::string qualified_name() const {
    return std::string(name_space_).append("::").append(schema().name());
  }
  KeySet kernels() const { return kernels_; }  // keys that have a kernel; dispatch skips the others
  std::string_view kernel_name(Key key) const { return names_[static_cast<size_t>(key)]; }

  Differentiation differentiation() const { return differentiation_; }
  void set_differentiation(Differentiation mode) {
    differentiation_ = mode;
    const bool open = mode == Differentiation::kKernel || mode == Differentiation::kComposite;
    barrier_ = open ? Key::kTracer : KeySet(Key::kTracer) | Key::kAutograd;
  }

  // Sets `fallback` as the kernel for `key` unless there is one. Note [Fallback].
  void set_fallback(Key key, BoxedFallback fallback, const char* name);

  // Pops the arguments off the stack and pushes the results.
  virtual void call_boxed(Stack& stack) = 0;

 protected:
  // Non-virtual and trivial: the generated operators are globals that are never destroyed.
  ~OperatorInfo() = default;

  // The highest key of `keys` with a kernel; throws NotImplementedError if there is none.
  Key choose(KeySet keys) const {
    const KeySet usable = keys & kernels_;
    if (usable.empty()) [[unlikely]]
      no_kernel(keys);
    return usable.highest();
  }
  [[noreturn]] void no_kernel(KeySet keys) const;
  [[noreturn]] void too_few(const Stack& stack, size_t expected) const;
  void enter_kernel(Key key, void* kernel, const char* name);  // `name` outlives the operator
  // Reports the call to the tracer, if the key is Tracer, or runs the fallback of `key`.
  void run_boxed(Key key, Stack& stack);

  std::array<void*, kKeyCount> table_{};
  void* boxing_kernel_ = nullptr;  // with an operator's signature: boxes and calls a fallback
  std::array<BoxedFallback, kKeyCount> fallbacks_{};
  std::array<std::string_view, kKeyCount> names_{};
  KeySet kernels_;
  KeySet barrier_ = Key::kTracer;  // and Autograd, if such calls are barriers
  Differentiation differentiation_ = Differentiation::kKernel;

 private:
  events::InternedText recorded_name_;
  std::array<events::InternedText, kKeyCount> recorded_kernels_;
  const FunctionSchema* const schema_;
  const TagSet tags_;
  std::string_view name_space_ = "aten";
};

template <class Signature>
class Op;

template <class R, class... A>
class Op<R(A...)> final : public OperatorInfo {
 public:
  using Kernel = R (*)(KeySet, A...);

  explicit Op(const FunctionSchema& schema, TagSet tags = 0);

  void set_kernel(Key key, Kernel kernel, const char* name) {
    enter_kernel(key, reinterpret_cast<void*>(kernel), name);
  }

  // Sets the kernel for every backend: it calls other operators, or accesses no element.
  void set_backend_kernels(Kernel kernel, const char* name) {
    for (const Key key : kDeviceKeys) set_kernel(key, kernel, name);
  }
  // `kernel` calls box_and_fall_back of this operator. Note [Fallback].
  void set_boxing_kernel(Kernel kernel) { boxing_kernel_ = reinterpret_cast<void*>(kernel); }
  R box_and_fall_back(KeySet keys, A... args);

  R operator()(A... args) const;

  // Called by a kernel: continues with the keys below its own.
  R redispatch(KeySet keys, A... args) const;

  void call_boxed(Stack& stack) override;

 private:
  Kernel kernel(Key key) const {
    return reinterpret_cast<Kernel>(table_[static_cast<size_t>(key)]);
  }
  R behind_barrier(KeySet keys, A... args) const;
  R boxed(Key key, A... args) const;
  R recorded(KeySet keys, A... args) const;
  template <size_t... I>
  void call_boxed(Stack& stack, std::index_sequence<I...>);
};

// Gives the operator its boxing kernel, which has the operator as a template argument.
template <auto& op, class R, class... A>
void enable_fallback(Op<R(A...)>&) {
  op.set_boxing_kernel([](KeySet keys, A... args) -> R {
    return op.box_and_fall_back(keys, static_cast<A>(args)...);
  });
}

}  // namespace uh
