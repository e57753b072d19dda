// The registry of operators, and libraries: sets of operators registered from outside the core.
//
// Note [No static constructors]: operators are entered by an explicit list
// (generated/register.cpp), when the engine is first used. Order of initialisation is then a fact,
// not luck.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/operator.h"

namespace uh {

class Dispatcher {
 public:
  static Dispatcher& instance();

  // `op` must outlive the process: generated operators are globals.
  void enter(OperatorInfo& op, std::string_view name_space = "aten");
  // "aten::add.Tensor" or "add.Tensor"; null when there is none.
  OperatorInfo* find(std::string_view name) const;
  std::vector<const OperatorInfo*> all() const;

 private:
  struct Entry;
  std::vector<std::unique_ptr<Entry>> entries_;

 public:
  Dispatcher();
  ~Dispatcher();
};

// A kernel that works on boxed values: what users register without knowing a C++ signature.
using BoxedKernel = std::function<void(KeySet, Stack&)>;

// An operator whose kernels are boxed: defined at run time from its schema text.
class BoxedOperator final : public OperatorInfo {
 public:
  explicit BoxedOperator(std::string schema);
  ~BoxedOperator();
  void set_boxed_kernel(Key key, BoxedKernel kernel, std::string name);
  void call_boxed(Stack& stack) override;

 private:
  std::unique_ptr<std::string> text_;
  std::array<BoxedKernel, kKeyCount> boxed_;
  std::array<std::string, kKeyCount> boxed_names_;
};

// One namespace of operators registered by a user (torch.library.Library).
class Library {
 public:
  explicit Library(std::string name_space) : namespace_(std::move(name_space)) {}
  // Defines an operator; throws when the namespace already has one of that name.
  BoxedOperator& define(std::string schema);
  // Gives an operator of this library its kernel for one key.
  void implement(std::string_view name, Key key, BoxedKernel kernel, std::string kernel_name);

 private:
  std::string namespace_;
};

}  // namespace uh
