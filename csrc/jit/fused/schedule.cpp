// Which steps run together, and in which order: units.
//
// Note [Phases]: simple steps become blocks, all others run as loops. To make blocks long, steps
// are put into phases: in a phase first all simple steps run, then the loops that read them; a
// simple step that reads the result of a loop belongs to the next phase. Each step goes into the
// last phase that those who read it allow, so that nothing is made long before it is needed.
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
        add_block(chosen([&](size_t s) {
          return phase_[s] == phase && simple_[s] && p_.steps[s].dtype == dtype;
        }));
      }
      for (const int s : chosen([&](size_t s) { return phase_[s] == phase && !simple_[s]; }))
        p_.units.push_back({{s}, nullptr});
    }
  }

 private:
  // The live step that makes an item, or -1.
  int maker(int id) const {
    const Item& item = p_.items[static_cast<size_t>(id)];
    return item.is == Item::ItemKind::kStep ? item.index : -1;
  }

  template <class Question>
  std::vector<int> chosen(const Question& question) const {
    std::vector<int> steps;
    for (size_t s = 0; s < p_.steps.size(); ++s) {
      if (p_.steps[s].live && question(s)) steps.push_back(static_cast<int>(s));
    }
    return steps;
  }

  int set_phases() {
    const size_t n = p_.steps.size();
    std::vector<int> earliest(n, 0);
    int last = 0;
    const auto operands = [&](size_t s, const auto& each) {
      const Step& step = p_.steps[s];
      for (size_t k = 0; step.live && k < step.arity; ++k) {
        if (const int result = maker(step.operands[k]); result >= 0)
          each(static_cast<size_t>(result));
      }
    };
    for (size_t s = 0; s < n; ++s) {
      operands(s, [&](size_t from) {
        const int gap = simple_[s] && !simple_[from] ? 1 : 0;
        earliest[s] = std::max(earliest[s], earliest[from] + gap);
      });
      last = std::max(last, earliest[s]);
    }
    phase_.assign(n, last);
    for (size_t s = n; s-- > 0;) {
      operands(s, [&](size_t from) {
        const int gap = simple_[s] && !simple_[from] ? 1 : 0;
        phase_[from] = std::min(phase_[from], phase_[s] - gap);
      });
    }
    return last;
  }

  // The results among `steps` that are outputs, or that other steps read.
  std::vector<int> read_outside(const std::vector<int>& steps) const {
    std::vector<int> items;
    const auto inside = [&](size_t s) {
      return std::binary_search(steps.begin(), steps.end(), static_cast<int>(s));
    };
    for (const int s : steps) {
      const int id = p_.steps[static_cast<size_t>(s)].result;
      bool wanted = std::any_of(p_.outputs.begin(), p_.outputs.end(),
                                [&](const Output& output) { return output.item == id; });
      for (size_t other = 0; other < p_.steps.size() && !wanted; ++other) {
        const Step& step = p_.steps[other];
        const auto end = step.operands.begin() + static_cast<ptrdiff_t>(step.arity);
        wanted = step.live && !inside(other) && std::find(step.operands.begin(), end, id) != end;
      }
      if (wanted) items.push_back(id);
    }
    return items;
  }

  // One block if the registers suffice, else two of the halves; a single step is its loop.
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
