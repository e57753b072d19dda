// The fallback of operators without a sparse kernel, and the list of those that have one.
#include <algorithm>

#include "backend/cpu/sparse/operators.h"
#include "backend/cpu/sparse/parts.h"
#include "dispatch/dispatcher.h"
#include "generated/ops.h"
#include "generated/tags.h"

namespace uh::sparse {
namespace {

[[noreturn]] void refuse(const OperatorInfo& op, Key key) {
  fail(ErrorKind::kNotImplemented, "Could not run '", op.name_space(), "::", op.full_name(),
       "' with arguments from the '", name(key),
       "' backend: it has no kernel for sparse tensors; convert them with x.to_dense(), or compute "
       "on "
       "x.coalesce().values()");
}

// Applies an operator with f(0) = 0 to the values; the indices stay.
void on_values(OperatorInfo& op, Stack& stack) {
  const size_t first = stack.size() - op.schema().arguments.size();
  const Tensor self = *stack[first].get_if<Tensor>();
  const bool in_place = op.schema().is_mutable();
  const bool sorted = is_csr(self) || self.impl()->sparse()->is_coalesced;
  check(sorted || !in_place, op.schema().name(), " requires coalesced input");
  const Tensor positions = sorted ? self : coalesced(self);
  stack[first] = IValue(positions.impl()->sparse()->values);
  op.call_boxed(stack);
  if (!in_place) stack.back() = IValue(with_values(positions, *stack.back().get_if<Tensor>()));
}

template <auto& op, auto kernel>
void set(const char* name) {
  op.set_kernel(Key::kSparseCPU, kernel, name);
  op.set_kernel(Key::kSparseCsrCPU, kernel, name);
}

}  // namespace

void fallback(OperatorInfo& op, Key key, Stack& stack) {
  const auto is_sparse = [](const IValue& value) {
    const Tensor* tensor = value.get_if<Tensor>();
    return tensor && *tensor && tensor->is_sparse();
  };
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments.size());
  const bool is_only_one = std::count_if(first, stack.end(), is_sparse) == 1 && is_sparse(*first);
  if (op.has_tag(Tag::kZeroPreserving) && is_only_one && !op.schema().is_out())
    return on_values(op, stack);
  refuse(op, key);
}

void register_operators() {
  using namespace ops;  // NOLINT: a list of operators
  set<add_op, add>("sparse_add");
  set<add__op, add_in_place>("sparse_add_");
  set<sub_op, sub>("sparse_sub");
  set<sub__op, sub_in_place>("sparse_sub_");
  set<mul_op, sparse::mul>("sparse_mul");
  set<mul__op, mul_in_place>("sparse_mul_");
  set<div_op, sparse::div>("sparse_div");
  set<div__op, div_in_place>("sparse_div_");
  set<floor_divide_op, sparse::floor_divide>("sparse_floor_divide");
  set<pow_op, sparse::pow>("sparse_pow");
  set<neg_op, sparse::neg>("sparse_neg");
  set<neg__op, neg_in_place>("sparse_neg_");
  set<sum_op, sparse::sum>("sparse_sum");
  set<norm_Scalar_op, norm>("sparse_norm");
  set<any_op, sparse::any>("sparse_any");
  set<mm_op, sparse::mm>("sparse_mm");
  set<mv_op, sparse::mv>("sparse_mv");
  set<addmm_op, sparse::addmm>("sparse_addmm");
  set<matmul_op, sparse::matmul>("sparse_matmul");
  set<detach_op, sparse::detach>("sparse_detach");
  set<alias_op, sparse::detach>("sparse_detach");
  set<clone_op, sparse::clone>("sparse_clone");
  set<_to_copy_op, to_copy>("sparse_to_copy");
  set<copy__op, sparse::copy_>("sparse_copy_");
  set<zero__op, sparse::zero_>("sparse_zero_");
  set<zeros_like_op, sparse::zeros_like>("sparse_zeros_like");
  set<empty_like_op, sparse::zeros_like>("sparse_zeros_like");
  set<new_zeros_op, sparse::new_zeros>("sparse_new_zeros");
  set<new_empty_op, sparse::new_zeros>("sparse_new_zeros");
  set<t_op, sparse::t>("sparse_t");
  set<numpy_T_op, sparse::t>("sparse_t");
  set<transpose_op, sparse::transpose>("sparse_transpose");
  set<permute_op, sparse::permute>("sparse_permute");
  set<unsqueeze_op, sparse::unsqueeze>("sparse_unsqueeze");
  set<select_op, sparse::select>("sparse_select");
  set<unbind_op, sparse::unbind>("sparse_unbind");
  set<index_select_op, sparse::index_select>("sparse_index_select");
  set<cat_op, sparse::cat>("sparse_cat");
  set<stack_op, sparse::stack>("sparse_stack");
  for (const Key key : {Key::kSparseCPU, Key::kSparseCsrCPU})
    Dispatcher::instance().register_fallback(key, fallback, "sparse fallback");
}

}  // namespace uh::sparse
