// Folds operators whose result the tensor's type determines: sizes, dtypes, devices.
#include "jit/builtins/builtin.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

// The known properties of the node's first input, if no node changes its shape.
const TensorProperties* known_properties(const Peephole& p, const Node* node) {
  if (!as_builtin(node->op()) || p.alias().is_reshaped(node->input(0))) return nullptr;
  return facts_of(node->input(0));
}

bool answer(Peephole& p, Node* node, IValue value, const char* rule,
            Peephole::Location location = Peephole::Location::current()) {
  return p.constant(node, std::move(value), rule, {},
                    "%" + node->input(0)->name() + " is " + node->input(0)->type()->text(),
                    location);
}

bool rank(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  return facts && facts->sizes &&
         answer(p, node, static_cast<int64_t>(facts->sizes->size()), "x.dim() -> what is known");
}

// Folds the sizes or strides of all dimensions, or of one.
bool extent(Peephole& p, Node* node, const std::optional<Dims>& dims, const char* rule,
            Peephole::Location location) {
  if (!dims) return false;
  if (node->inputs().size() == 1) {
    std::vector<IValue> items;
    for (const int64_t n : *dims) {
      if (n < 0) return false;
      items.emplace_back(n);
    }
    return answer(p, node, make_container<List>(std::move(items)), rule, location);
  }
  const std::optional<int64_t> dim = constant_int(node->input(1));
  const int64_t rank = static_cast<int64_t>(dims->size());
  if (!dim || *dim < -rank || *dim >= rank) return false;
  const int64_t n = (*dims)[static_cast<size_t>(*dim < 0 ? *dim + rank : *dim)];
  return n >= 0 && answer(p, node, n, rule, location);
}

bool size(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  return facts &&
         extent(p, node, facts->sizes, "x.size() -> what is known", Peephole::Location::current());
}

bool stride(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  return facts && extent(p, node, facts->strides, "x.stride() -> what is known",
                         Peephole::Location::current());
}

bool numel(Peephole& p, Node* node) {
  if (!known_properties(p, node)) return false;
  const auto sizes = known_sizes(node->input(0));
  if (!sizes) return false;
  int64_t n = 1;
  for (const int64_t size : *sizes)
    if (__builtin_mul_overflow(n, size, &n)) return false;  // impossible: the type's text claims it
  return answer(p, node, n, "x.numel() -> what is known");
}

bool length(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  return facts && facts->sizes && !facts->sizes->empty() && (*facts->sizes)[0] >= 0 &&
         answer(p, node, (*facts->sizes)[0], "len(x) -> what is known");
}

bool contiguous(Peephole& p, Node* node) {
  return known_properties(p, node) && is_row_major(node->input(0)) &&
         answer(p, node, true, "x.is_contiguous() -> True");
}

// Folds properties that the dtype alone determines.
bool of_dtype(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  if (!facts || facts->dtype == DType::kUndefined) return false;
  const DType d = facts->dtype;
  if (node->is("prim::dtype")) return answer(p, node, pytorch_code(d), "x.dtype -> what is known");
  if (node->is("aten::is_floating_point"))
    return answer(p, node, is_floating(d), "x.is_floating_point() -> what is known");
  if (node->is("aten::is_complex"))
    return answer(p, node, is_complex(d), "x.is_complex() -> what is known");
  return answer(p, node, itemsize(d), "x.element_size() -> what is known");
}

bool device(Peephole& p, Node* node) {
  const TensorProperties* facts = known_properties(p, node);
  if (!facts || facts->device == Device::kUndefined) return false;
  if (node->is("prim::device")) return answer(p, node, facts->device, "x.device -> what is known");
  return answer(p, node, facts->device == Device::kMeta, "x.is_meta -> what is known");
}

}  // namespace

const PeepholeRules& fact_rules() {
  static const auto* rules = new PeepholeRules{
      {{"aten::dim", "aten::ndimension"}, rank},
      {{"aten::size"}, size},
      {{"aten::stride"}, stride},
      {{"aten::numel", "aten::nelement"}, numel},
      {{"aten::len"}, length},
      {{"aten::is_contiguous"}, contiguous},
      {{"prim::dtype", "aten::is_floating_point", "aten::is_complex", "aten::element_size",
        "prim::itemsize"},
       of_dtype},
      {{"prim::device", "prim::is_meta"}, device},
  };
  return *rules;
}

}  // namespace uh::jit
