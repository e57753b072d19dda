#include "jit/group/straight_line_code.h"

#include <algorithm>
#include <unordered_map>

#include "jit/group/fusion_group.h"
#include "jit/run/node_error.h"

namespace uh::jit {

StraightLineCode::StraightLineCode(const Graph& graph) : n_inputs_(graph.inputs().size()) {
  std::unordered_map<const Value*, size_t> slot;
  const auto slot_of = [&](const Value* value) {
    const auto [it, fresh] = slot.try_emplace(value, slots_.size());
    if (fresh) slots_.emplace_back();
    return it->second;
  };
  for (const Value* input : graph.inputs()) slot_of(input);
  std::vector<size_t> last_use;
  for (const Node* node : graph.block()->nodes()) {
    if (node->is("prim::Constant")) {
      const Attribute* attribute = node->attribute("value");
      slots_[slot_of(node->output())] = attribute ? attribute->value : IValue();
      continue;
    }
    Step step;
    step.node = node;
    if (node->is("prim::FusionGroup")) {
      step.is = Step::StepKind::kGroup;
      step.group = fusion_group_of(*node);
    } else if (node->is("prim::ListConstruct")) {
      step.is = Step::StepKind::kList;
    } else if (node->is("prim::ListUnpack")) {
      step.is = Step::StepKind::kUnpack;
    } else {
      check_kind(node->op() && node->blocks().empty(), ErrorKind::kInternal,
                 "fusion group: ", node->kind().text(), " is not a node of straight-line code");
      step.is = Step::StepKind::kCall;
      step.op = const_cast<OperatorInfo*>(node->op());
    }
    for (const Value* input : node->inputs()) step.inputs.push_back(slot_of(input));
    for (const Value* output : node->outputs()) step.outputs.push_back(slot_of(output));
    steps_.push_back(std::move(step));
  }
  for (const Value* output : graph.outputs()) outputs_.push_back(slot_of(output));
  if (events::on()) {
    std::vector<HolderTracker::Reference> references;
    for (size_t i = 0; i < slots_.size(); ++i)
      each_tensor(slots_[i],
                  [&](const Tensor& t) { references.push_back({static_cast<int64_t>(i), &t}); });
    holders_ = std::make_unique<HolderTracker>(events::Holder::kGroup, graph.id());
    holders_->update(references);
  }

  std::vector<bool> retained(slots_.size());
  for (const auto& [value, at] : slot) retained[at] = value->node()->is("prim::Constant");
  for (const size_t at : outputs_) retained[at] = true;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto end = [&](size_t at) {
      if (retained[at]) return;
      retained[at] = true;
      step->done.push_back(at);
    };
    for (const size_t at : step->outputs) end(at);
    for (const size_t at : step->inputs) end(at);
  }
}

void StraightLineCode::call(const Step& step, Stack& stack) {
  try {
    step.op ? step.op->call_boxed(stack) : step.group->run(stack);
  } catch (const NodeError&) {
    throw;
  } catch (const Error& error) {
    // Errors raised in Python are rethrown unchanged.
    if (error.kind() == ErrorKind::kForeign) throw;
    throw NodeError(error, step.node);
  }
}

void StraightLineCode::run(Stack& stack) const {
  std::vector<IValue> slots = slots_;
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(n_inputs_);
  std::move(first, stack.end(), slots.begin());
  stack.erase(first, stack.end());
  for (const Step& step : steps_) {
    const size_t base = stack.size();
    switch (step.is) {
      case Step::StepKind::kCall:
      case Step::StepKind::kGroup:
        for (const size_t at : step.inputs) stack.push_back(slots[at]);
        call(step, stack);
        break;
      case Step::StepKind::kList: {
        std::vector<IValue> items;
        for (const size_t at : step.inputs) items.push_back(slots[at]);
        stack.push_back(make_container<List>(std::move(items)));
        break;
      }
      case Step::StepKind::kUnpack: {
        const IValue& list = slots[step.inputs[0]];
        if (const List* items = list.list()) {
          stack.insert(stack.end(), items->items.begin(), items->items.end());
        } else {
          for (Tensor& t : from_value<std::vector<Tensor>>(list)) stack.emplace_back(std::move(t));
        }
        break;
      }
    }
    check_kind(stack.size() == base + step.outputs.size(), ErrorKind::kInternal,
               "fusion group: a node of ", step.outputs.size(), " outputs left ",
               stack.size() - base);
    for (size_t i = 0; i < step.outputs.size(); ++i)
      slots[step.outputs[i]] = std::move(stack[base + i]);
    stack.resize(base);
    for (const size_t at : step.done) slots[at] = IValue();
  }
  for (const size_t at : outputs_) stack.push_back(slots[at]);
}

}  // namespace uh::jit
