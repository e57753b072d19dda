// Libraries and the operators that they define at run time from schema strings.
//
// A Library is one registration block of a namespace (PyTorch's
// torch.library.Library, a TORCH_LIBRARY block). It defines operators, and implements
// its own or another library's operators for dispatch keys. A BoxedOperator is an
// operator whose kernels take a Stack. Invariant: a Library's registrations last
// exactly as long as the Library. The BoxedOperator itself is never freed, because
// graphs and Signatures refer to it by address; calling it after its Library was
// destroyed is an error. A kernel that is removed while it runs lives until it
// returns. If violated: a graph calls through a dangling pointer. Read next:
// operator.h, capi/underhood_library.h.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatcher.h"

namespace uh {

// Pops the arguments off the stack and pushes the results.
using BoxedKernel = std::function<void(KeySet, Stack&)>;

// The target of a registration: a dispatch key, or one of PyTorch's alias keys. A composite kernel
// serves every backend without its own kernel. An implicit one calls differentiable operators,
// which provide its gradient; an explicit one has none.
struct KernelTarget {
  enum class Kind : int8_t { kKey, kCompositeImplicit, kCompositeExplicit };
  Kind kind = Kind::kKey;
  Key key = Key::kCPU;

  KernelTarget(Key k) : key(k) {}
  explicit KernelTarget(Kind k) : kind(k) {}
  // Parses "CPU", "Meta", "Autograd", "CompositeImplicitAutograd"; throws for any other name.
  static KernelTarget parse(std::string_view name);
};

class Library;

class BoxedOperator final : public OperatorInfo {
 public:
  // Throws for an invalid schema, and for types that boxed kernels do not accept.
  BoxedOperator(std::string_view name_space, std::string_view schema);

  void call_boxed(Stack& stack) override;
  // Called by an Autograd kernel: continues with the keys below it.
  void redispatch(KeySet keys, Stack& stack);
  // The same for a kernel outside of the engine; checks the arguments.
  void call_below_autograd(Stack& stack);
  // Throws if the types of a kernel's signature, "(Tensor a, int b) -> Tensor", differ from the
  // schema's.
  void check_signature(std::string_view signature, std::string_view kernel_name) const;
  // String id of three lines: the schema with its namespace, the location of its definition, and
  // the shared object that defined it.
  int64_t recorded_origin() const { return recorded_origin_.number(origin_); }

 private:
  friend class Library;
  struct Kernel {
    BoxedKernel run;
    const Library* owner;
  };
  using KernelRef = std::shared_ptr<const Kernel>;

  BoxedOperator(std::string_view name_space, std::shared_ptr<const FunctionSchema> schema);
  void set_kernel(KernelTarget target, KernelRef kernel, std::string_view name);
  void remove_kernels_of(const Library& owner);
  void retire();
  KernelRef kernel_for(KeySet keys, Key* ret_key);
  void run(KeySet keys, Stack& stack);
  void run_below_barrier(KeySet keys, Stack& stack);
  void check_arguments(Stack& stack) const;
  void check_results(Stack& stack) const;
  std::vector<Tensor> written(const Stack& stack) const;
  [[noreturn]] void no_boxed_kernel(KeySet keys) const;

  const std::shared_ptr<const FunctionSchema> parsed_;  // storage of schema()
  std::string origin_;
  std::string fake_kernel_hint_;  // where to find it, for an error
  events::InternedText recorded_origin_;
  std::mutex lock_;  // guards the kernels
  std::array<KernelRef, kKeyCount> own_;
  KernelRef composite_;
  bool retired_ = false;
};

class Library {
 public:
  // A namespace has one kDefine at a time, and any number of kFragment.
  enum class Kind : int8_t { kDefine, kFragment, kImplement };

  // `location`: where it was registered, "FILE:12"; `object`: the shared object, if any.
  explicit Library(std::string name_space, Kind kind = Kind::kFragment, std::string location = "",
                   std::string object = "");
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& name_space() const { return namespace_; }
  // Defines "twice(Tensor x) -> Tensor", also with the namespace. Throws if the name is in use.
  BoxedOperator& define(std::string_view schema);
  // Sets the Python module that registers the fake kernels of operators defined from now on; the
  // error for a missing kernel names it and ends with `context`.
  void set_python_module(std::string_view module, std::string_view context);
  // `name`: "twice" or "twice.overload", also with the namespace, which must be the library's.
  void implement(std::string_view name, KernelTarget target, BoxedKernel kernel,
                 std::string_view kernel_name);
  BoxedOperator& find(std::string_view name) const;

 private:
  std::string_view without_namespace(std::string_view name) const;

  const std::string namespace_;
  const Kind kind_;
  const std::string location_, object_;
  std::string fake_kernel_hint_ = "; register a fake kernel (dispatch key Meta)";
  std::vector<BoxedOperator*> defined_, implemented_;
};

// String id of an operator's schema, followed by its origin if a library defined it.
int64_t recorded_schema(const OperatorInfo& op);

// True if a live library may define operators in the namespace.
bool is_library_namespace(std::string_view name_space);

}  // namespace uh
