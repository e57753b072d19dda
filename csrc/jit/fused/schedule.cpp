// Schedules steps into units, which run one after the other.
//
// Note [Phases]: simple steps become blocks, all others run as loops. In program order, a phase
// consists of simple steps followed by loops: the first simple step after a loop starts the next
// phase. (Moving steps between phases, for longer blocks, gained at most 10 %.)
#include <algorithm>

#include "jit/fused/steps.h"

namespace uh::jit::fused {
namespace {

class Scheduler {
 public:
  explicit Scheduler(FusedKernel& program) : p_(program), simple_(program.steps.size()) {
    for (size_t s = 0; s < p_.steps.size(); ++s)
      simple_[s] = p_.steps[s].live && is_simple(p_, p_.steps[s]);
  }

  void run() {
    const int last = set_phases();
    for (int phase = 0; phase <= last; ++phase) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        add_block(select([&](size_t s) {
          return phase_[s] == phase && simple_[s] && p_.steps[s].dtype == dtype;
        }));
      }
      for (const int s : select([&](size_t s) { return phase_[s] == phase && !simple_[s]; }))
        p_.units.push_back({{s}, nullptr});
    }
  }

 private:
  template <class Question>
  std::vector<int> select(const Question& question) const {
    std::vector<int> steps;
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      if (p_.steps[s].live && question(s)) steps.push_back(static_cast<int>(s));
    }
    return steps;
  }

  // Assigns each live step its phase; returns the last one.
  int set_phases() {
    phase_.assign(p_.steps.size(), 0);
    int phase = 0;
    bool after_loop = false;
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      if (!p_.steps[s].live) continue;
      phase += simple_[s] && after_loop;
      after_loop = !simple_[s];
      phase_[s] = phase;
    }
    return phase;
  }

  // The results of `steps` that are outputs or read by other steps.
  std::vector<int> read_outside(const std::vector<int>& steps) const {
    std::vector<int> items;
    const auto inside = [&](size_t s) {
      return std::binary_search(steps.begin(), steps.end(), static_cast<int>(s));
    };
    for (const int s : steps) {
      const int id = p_.steps[static_cast<size_t>(s)].result;
      bool read = std::any_of(p_.outputs.begin(), p_.outputs.end(),
                              [&](const Output& output) { return output.item == id; });
      for (size_t other = 0; other < p_.steps.size() && !read; ++other) {
        const Step& step = p_.steps[other];
        const auto end = step.operands.begin() + static_cast<ptrdiff_t>(step.arity);
        read = step.live && !inside(other) && std::find(step.operands.begin(), end, id) != end;
      }
      if (read) items.push_back(id);
    }
    return items;
  }

  // One block if the registers suffice, else two of the halves; a single step runs as a loop.
  void add_block(const std::vector<int>& steps) {
    if (steps.empty()) return;
    if (steps.size() > 1) {
      if (auto block = compile_block(p_, steps, read_outside(steps))) {
        p_.units.push_back({steps, std::move(block)});
        return;
      }
      const auto half = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
      add_block({steps.begin(), half});
      return add_block({half, steps.end()});
    }
    p_.units.push_back({steps, nullptr});
  }

  FusedKernel& p_;
  std::vector<bool> simple_;
  std::vector<int> phase_;
};

}  // namespace

void FusedKernel::schedule() {
  units.clear();
  Scheduler(*this).run();
}

}  // namespace uh::jit::fused
