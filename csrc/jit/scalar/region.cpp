#include "jit/scalar/region.h"

#include <algorithm>
#include <unordered_set>

#include "jit/builtins/builtin.h"
#include "jit/scalar/lower.h"

namespace uh::jit {
namespace {

bool all_scalar(const std::vector<Value*>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Value* v) { return scalar_type(*v->type()).has_value(); });
}
bool scalar_or_constant(const std::vector<Value*>& values) {
  return std::all_of(values.begin(), values.end(), [](const Value* v) {
    return scalar_type(*v->type()) || v->node()->is("prim::Constant");
  });
}

// Liveness takes memory quadratic in the slots: larger (unrolled) programs stay boxed.
constexpr size_t kMaxNodes = 2000;
size_t count_nodes(const Block& block) {
  size_t n = 0;
  for (const Node* node = block.first(); node != block.return_node(); node = node->next()) {
    ++n;
    for (const Block* inner : node->blocks()) n += count_nodes(*inner);
  }
  return n;
}

bool is_scalar(const Block& block);

bool is_scalar(const Node& node) {
  if (node.is("prim::Constant")) return true;
  if (node.is("prim::If") || node.is("prim::Loop")) {
    return all_scalar(node.inputs()) && all_scalar(node.outputs()) &&
           std::all_of(node.blocks().begin(), node.blocks().end(),
                       [](const Block* b) { return is_scalar(*b); });
  }
  if (node.is("prim::Uninitialized") || node.is("prim::unchecked_cast"))
    return all_scalar(node.inputs()) && all_scalar(node.outputs());
  const auto fits = [](const Value* v) {
    return scalar_type(*v->type()) || v->node()->is("prim::Constant") || is_cold(*v->node());
  };
  if (node.is("prim::RaiseException") || is_cold(node))
    return std::all_of(node.inputs().begin(), node.inputs().end(), fits);
  const Builtin* builtin = as_builtin(node.op());
  return builtin && builtin->is_pure() && node.outputs().size() == 1 &&
         all_scalar(node.outputs()) && scalar_or_constant(node.inputs());
}

bool is_scalar(const Block& block) {
  if (!all_scalar(block.params()) || !all_scalar(block.returns())) return false;
  for (const Node* node = block.first(); node != block.return_node(); node = node->next())
    if (!is_scalar(*node)) return false;
  return true;
}

// Collects Values from outside of the block, in the order of their first use.
void find_captured(const Block& block, std::unordered_set<const Value*>& known,
                   std::vector<const Value*>& captured) {
  const auto meet = [&](const Value* value) {
    if (value->node()->is("prim::Constant") || !known.insert(value).second) return;
    captured.push_back(value);
  };
  for (const Value* param : block.params()) known.insert(param);
  for (const Node* node = block.first(); node != block.return_node(); node = node->next()) {
    for (const Value* value : node->inputs()) meet(value);
    for (const Value* value : node->outputs()) known.insert(value);
    for (const Block* inner : node->blocks()) find_captured(*inner, known, captured);
  }
  for (const Value* value : block.returns()) meet(value);
}

Ref<ScalarProgram> finished(Ref<ScalarProgram> program) {
  merge_moves(*program);
  make_native(*program);
  return program;
}

}  // namespace

std::optional<ScalarRegion> scalar_region(const Node& loop) {
  if (!is_scalar(loop) || count_nodes(*loop.block(0)) > kMaxNodes) return std::nullopt;
  ScalarRegion region;
  region.node = &loop;
  std::unordered_set<const Value*> known;
  for (const Value* value : loop.inputs()) {
    if (value->node()->is("prim::Constant") || !known.insert(value).second) continue;
    region.inputs.push_back(value);
  }
  find_captured(*loop.block(0), known, region.inputs);
  ScalarLowering lowering;
  for (const Value* value : region.inputs) lowering.input(value);
  lowering.loop(loop);
  lowering.finish({loop.outputs().begin(), loop.outputs().end()});
  region.program = finished(lowering.take());
  return region;
}

std::optional<ScalarRegion> scalar_region(const Graph& graph) {
  const Block& block = *graph.block();
  if (block.returns().empty() || !is_scalar(block) || count_nodes(block) > kMaxNodes)
    return std::nullopt;
  ScalarRegion region;
  region.inputs.assign(block.params().begin(), block.params().end());
  ScalarLowering lowering;
  for (const Value* value : region.inputs) lowering.input(value);
  lowering.body(block);
  lowering.finish({block.returns().begin(), block.returns().end()});
  region.program = finished(lowering.take());
  return region;
}

}  // namespace uh::jit
