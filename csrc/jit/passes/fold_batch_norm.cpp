// fold_batch_norm: folds an eval-mode batch_norm into the weights of the preceding
// product.
//
// batch_norm(conv(x, w, b), gamma, beta, mean, var) is conv(x, w * s, (b - mean) * s + beta) with
// s = gamma / sqrt(var + eps), a number per output channel: this saves a step and a result. The
// same holds for a linear whose input is known to be a matrix: for (N, L, C), batch_norm
// normalises over L. Tolerance: weights are rounded instead of results. Therefore only jit.freeze
// runs it, unless optimize_numerics=False. As in PyTorch, a convolution's input is assumed to be a
// batch.
#include <algorithm>

#include "generated/ops.h"
#include "generated/tags.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

// The constant vector of one number per channel, of the weight's dtype. Empty: the argument is
// None.
std::optional<Tensor> per_channel(const Value* value, const Tensor& weight, const AliasDb& info) {
  if (is_constant_none(value)) return Tensor();
  const Tensor* t = fixed_tensor(value, info);
  if (!t || t->ndim() != 1 || t->size(0) != weight.size(0) || t->dtype() != weight.dtype())
    return std::nullopt;
  return *t;
}

bool is_matrix(const Value* value) {
  const std::optional<Dims>& sizes = value->type()->facts().sizes;
  return sizes && sizes->size() == 2;
}

bool is_product(const Node* node) {
  if (!node->op() || !node->op()->has_tag(Tag::kWeightedProduct)) return false;
  const Value* transposed = node->input("transposed");
  return !transposed || constant_bool(transposed) == false;
}

// True if only the batch_norm reads the product's elements; other uses read its sizes.
bool alone_with(const Value* product, const Node* norm) {
  const std::vector<Use>& uses = product->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.node == norm ? use.index == 0
                            : use.node->is("aten::dim") || use.node->is("aten::size");
  });
}

void fold(Node* norm, const AliasDb& info) {
  Node* product = norm->input(0)->node();
  if (!is_product(product) || product->owner() != norm->owner()) return;
  if (!alone_with(product->output(), norm) || constant_bool(norm->input(5)) != false) return;
  const Tensor* weight = fixed_tensor(product->input(1), info);
  const std::optional<double> eps = constant_float(norm->input(7));
  if (!weight || weight->ndim() < 2 || !is_floating(weight->dtype()) || !eps) return;
  if (weight->ndim() == 2 && !is_matrix(product->input(0))) return;
  const auto bias = per_channel(product->input(2), *weight, info);
  const auto gamma = per_channel(norm->input(1), *weight, info);
  const auto beta = per_channel(norm->input(2), *weight, info);
  const auto mean = per_channel(norm->input(3), *weight, info);
  const auto variance = per_channel(norm->input(4), *weight, info);
  if (!bias || !gamma || !beta || !mean || !variance || !*mean || !*variance) return;

  const GradMode off(false);
  Tensor scale = ops::rsqrt(ops::add(*variance, Scalar(*eps)));
  if (*gamma) scale = ops::mul(scale, *gamma);
  Dims per_row(static_cast<size_t>(weight->ndim()), 1);
  per_row[0] = weight->size(0);
  const Tensor centred = *bias ? ops::sub(*bias, *mean) : ops::neg(*mean);
  Tensor shift = ops::mul(centred, scale);
  if (*beta) shift = ops::add(shift, *beta);

  Graph& graph = product->graph();
  Rewrite r(graph, "batch_norm(product(x, w, b)) -> product(x, w * s, (b - mean) * s + beta)",
            {norm, product});
  r.because("the statistics are constants and the module is in eval mode");
  graph.set_insert_point(product);
  const Tensor scaled = ops::mul(*weight, ops::reshape(scale, per_row));
  product->set_input(1, graph.insert_constant(IValue(scaled)));
  product->set_input(2, graph.insert_constant(IValue(shift)));
  graph.set_insert_point(graph.block());
  norm->output()->replace_uses_with(product->output());
  norm->destroy();
}

void fold_batch_norm(Graph& graph) {
  const AliasDb info(graph);
  std::vector<Node*> norms;
  graph.each_node([&](Node* node) {
    if (node->is("aten::batch_norm")) norms.push_back(node);
  });
  for (Node* norm : norms) fold(norm, info);
}

}  // namespace

extern const Pass pass_fold_batch_norm;
const Pass pass_fold_batch_norm{"fold_batch_norm",
                                "Puts a batch_norm of known statistics into the weights before it.",
                                fold_batch_norm};

}  // namespace uh::jit
