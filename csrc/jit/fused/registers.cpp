// Finds the needed steps, and assigns registers to the results of units.
#include <algorithm>

#include "jit/fused/steps.h"

namespace uh::jit::fused {
namespace {

// The registers that are free at present.
class Free {
 public:
  explicit Free(std::vector<int64_t>& bytes) : bytes_(bytes) {}

  // Returns a wide enough register; else the widest one, enlarged; else a new one.
  int take(int64_t bytes) {
    if (free_.empty()) {
      bytes_.push_back(bytes);
      return static_cast<int>(bytes_.size()) - 1;
    }
    const auto better = [&](int a, int b) {
      const int64_t x = width(a), y = width(b);
      if ((x >= bytes) != (y >= bytes)) return x >= bytes;
      return x >= bytes ? x < y : x > y;
    };
    const auto best = std::min_element(free_.begin(), free_.end(), better);
    const int reg = *best;
    free_.erase(best);
    bytes_[static_cast<size_t>(reg)] = std::max(width(reg), bytes);
    return reg;
  }
  void give(int reg) { free_.push_back(reg); }

 private:
  int64_t width(int reg) const { return bytes_[static_cast<size_t>(reg)]; }

  std::vector<int64_t>& bytes_;
  std::vector<int> free_;
};

}  // namespace

bool FusedKernel::reduces() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const Output& o) { return o.fold; });
}

FusedKernel::FusedKernel(const FusedKernel& original, const std::vector<int>& selected)
    : items(original.items),
      steps(original.steps),
      numbers(original.numbers),
      inputs(original.inputs),
      launch_numbers(original.launch_numbers) {
  for (const int i : selected) {
    outputs.push_back(original.outputs[static_cast<size_t>(i)]);
    if (outputs.back().fold) reduced_dims = original.reduced_dims;
  }
  plan();
}

const FusedKernel& FusedKernel::with_outputs(const std::vector<int>& selected) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [key, part] : parts_) {
    if (key == selected) return *part;
  }
  return *parts_.emplace_back(selected, std::make_unique<FusedKernel>(*this, selected)).second;
}

void FusedKernel::plan() {
  mark_live();
  schedule();
  allocate();
}

void FusedKernel::mark_live() {
  std::vector<bool> needed(items.size());
  for (size_t i = 0; i < outputs.size(); ++i) needed[static_cast<size_t>(outputs[i].item)] = true;
  live_steps = 0;
  for (size_t s = steps.size(); s-- > 0;) {
    Step& step = steps[s];
    step.live = needed[static_cast<size_t>(step.result)];
    live_steps += step.live;
    for (size_t k = 0; step.live && k < step.arity; ++k)
      needed[static_cast<size_t>(step.operands[k])] = true;
  }
}

void FusedKernel::allocate() {
  const auto item = [&](int id) -> Item& { return items[static_cast<size_t>(id)]; };
  for (Item& each : items) each.output = each.reg = each.last_use = -1;
  for (size_t u = 0; u < units.size(); ++u) {
    for (const int id : units[u].reads(*this)) item(id).last_use = static_cast<int>(u);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    Item& result = item(output.item);
    result.last_use = static_cast<int>(units.size());
    if (!output.fold) result.output = static_cast<int>(i);
  }
  all_inputs_used =
      std::all_of(inputs.begin(), inputs.end(), [&](int id) { return item(id).last_use >= 0; });
  registers.clear();
  Free free(registers);
  for (size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    // A loop's result may overwrite an operand of the same width: an element is read before that of
    // the same index is written. Conversions and blocks do not guarantee this.
    const auto release = [&](bool before) {
      for (const int id : unit.reads(*this)) {
        const Item& read = item(id);
        if (read.reg >= 0 && read.last_use == static_cast<int>(u) && before == in_place(unit, id))
          free.give(read.reg);
      }
    };
    release(true);
    for (const int id : unit.writes(*this)) {
      if (item(id).output < 0) item(id).reg = free.take(itemsize(item(id).kind.dtype));
    }
    release(false);
  }
}

bool FusedKernel::in_place(const Unit& unit, int id) const {
  const Step& step = steps[static_cast<size_t>(unit.steps[0])];
  return !unit.block && step.op && itemsize(kind(id).dtype) == itemsize(kind(step.result).dtype);
}

std::vector<int> Unit::reads(const FusedKernel& program) const {
  if (block) return block->reads;
  const Step& step = program.steps[static_cast<size_t>(steps[0])];
  std::vector<int> items;
  for (size_t k = 0; k < step.arity; ++k) {
    if (std::find(items.begin(), items.end(), step.operands[k]) == items.end())
      items.push_back(step.operands[k]);
  }
  return items;
}

std::vector<int> Unit::writes(const FusedKernel& program) const {
  if (block) return block->writes;
  return {program.steps[static_cast<size_t>(steps[0])].result};
}

}  // namespace uh::jit::fused
