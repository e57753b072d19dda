// Which steps are needed, and where their results live.
#include <algorithm>

#include "jit/fused/steps.h"

namespace uh::jit::fused {
namespace {

// Registers that hold nothing at the moment.
class Free {
 public:
  explicit Free(std::vector<int64_t>& bytes) : bytes_(bytes) {}

  // One that is wide enough; else the widest, widened; else a new one.
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

bool FusedProgram::reduces() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const Output& o) { return o.fold; });
}

FusedProgram::FusedProgram(const FusedProgram& whole, const std::vector<int>& chosen)
    : items(whole.items),
      steps(whole.steps),
      numbers(whole.numbers),
      inputs(whole.inputs),
      given(whole.given) {
  for (const int i : chosen) {
    outputs.push_back(whole.outputs[static_cast<size_t>(i)]);
    if (outputs.back().fold) reduced_dims = whole.reduced_dims;
  }
  plan();
}

const FusedProgram& FusedProgram::with_outputs(const std::vector<int>& chosen) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [key, part] : parts_) {
    if (key == chosen) return *part;
  }
  return *parts_.emplace_back(chosen, std::make_unique<FusedProgram>(*this, chosen)).second;
}

void FusedProgram::plan() {
  const auto item = [&](int id) -> Item& { return items[static_cast<size_t>(id)]; };
  const auto after = static_cast<int>(steps.size());
  for (Item& each : items) each.output = each.reg = each.last_use = -1;
  for (Step& step : steps) step.live = false;
  std::vector<bool> wanted(items.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    output.same_as = -1;
    wanted[static_cast<size_t>(output.item)] = true;
    Item& made = item(output.item);
    made.last_use = after;
    if (output.fold) continue;
    if (made.output >= 0)
      output.same_as = made.output;
    else
      made.output = static_cast<int>(i);
  }
  live_steps = 0;
  for (size_t s = steps.size(); s-- > 0;) {
    Step& step = steps[s];
    step.live = wanted[static_cast<size_t>(step.result)];
    if (!step.live) continue;
    ++live_steps;
    for (size_t k = 0; k < step.arity; ++k) {
      wanted[static_cast<size_t>(step.operands[k])] = true;
      Item& read = item(step.operands[k]);
      if (read.last_use < 0) read.last_use = static_cast<int>(s);
    }
  }
  all_inputs_used =
      std::all_of(inputs.begin(), inputs.end(), [&](int id) { return item(id).last_use >= 0; });
  registers.clear();
  Free free(registers);
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    if (!step.live) continue;
    Item& made = item(step.result);
    // A result may take the place of an operand of the same width: a loop reads an element before
    // it writes the one of that index. Conversions promise no such thing.
    const auto release = [&](bool same_width) {
      for (size_t k = 0; k < step.arity; ++k) {
        const Item& read = item(step.operands[k]);
        const bool again = std::find(step.operands.begin(), step.operands.begin() + k,
                                     step.operands[k]) != step.operands.begin() + k;
        const bool same = step.op && itemsize(read.kind.dtype) == itemsize(made.kind.dtype);
        if (read.reg >= 0 && read.last_use == static_cast<int>(s) && !again && same == same_width)
          free.give(read.reg);
      }
    };
    release(true);
    if (made.output < 0) made.reg = free.take(itemsize(made.kind.dtype));
    release(false);
  }
}

}  // namespace uh::jit::fused
