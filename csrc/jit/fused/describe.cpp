// describe(): a program as JSON for the explorer.
#include "base/error.h"
#include "base/json.h"
#include "jit/fused/tile_loop.h"

namespace uh::jit::fused {
namespace {

class Describer {
 public:
  explicit Describer(const FusedKernel& program) : p_(program) {}

  std::string text(const Launch* launch) {
    w_.begin_object();
    kinds("inputs", p_.inputs);
    kinds("numbers", p_.launch_numbers);
    outputs();
    steps();
    units();
    w_.key("registers").values(p_.registers);
    memory();
    if (launch) {
      w_.key("launch").begin_object();
      w_.member("elements", launch->elements).member("tile", launch->tile);
      w_.member("tiles", launch->tiles).member("threads", launch->threads);
      w_.member("gathered", launch->gathered).member("l1_bytes", launch->l1_bytes);
      w_.member("ns", launch->ns);
      w_.end_object();
    }
    return w_.end_object().take();
  }

 private:
  const Item& item(int id) const { return p_.items[static_cast<size_t>(id)]; }
  const Step& step_of(const Item& item) const { return p_.steps[static_cast<size_t>(item.index)]; }

  void kinds(std::string_view name, const std::vector<int>& ids) {
    w_.key(name).begin_array();
    for (const int id : ids) {
      w_.begin_object().member("dtype", uh::name(item(id).kind.dtype));
      w_.member("zero_dim", item(id).kind.zero_dim);
      w_.member("used", item(id).last_use >= 0).end_object();
    }
    w_.end_array();
  }

  // The name of an operand in a list of steps: "in0", "0.5", "r2", "v7", "out1".
  std::string called(int id) const {
    const Item& i = item(id);
    switch (i.is) {
      case Item::ItemKind::kInput: return "in" + std::to_string(i.index);
      case Item::ItemKind::kGiven: return "n" + std::to_string(i.index);
      case Item::ItemKind::kNumber: {
        const Number& number = p_.numbers[static_cast<size_t>(i.index)];
        if (number.launch_index >= 0) return "n" + std::to_string(number.launch_index);
        return message(number.value);
      }
      case Item::ItemKind::kStep: break;
    }
    if (i.output >= 0) return "out" + std::to_string(i.output);
    // A result that only its own block reads is never stored in memory.
    return i.reg >= 0 ? "r" + std::to_string(i.reg) : "v" + std::to_string(i.index);
  }
  static std::string op_name(const Step& step) {
    return step.op ? std::string("aten::") + step.op->name : "aten::_to_copy";
  }

  // The expression as a tree: {"op", "dtype", "step", "operands": [...]}, or {"leaf"}. A step with
  // several readers is written once; later it is {"step"} alone.
  void tree(int id, std::vector<bool>& recorded) {
    const Item& i = item(id);
    w_.begin_object();
    if (i.is != Item::ItemKind::kStep) {
      w_.member("leaf", called(id)).member("dtype", uh::name(i.kind.dtype)).end_object();
      return;
    }
    w_.member("step", number_[static_cast<size_t>(i.index)]);
    if (!recorded[static_cast<size_t>(i.index)]) {
      recorded[static_cast<size_t>(i.index)] = true;
      const Step& step = step_of(i);
      w_.member("op", op_name(step)).member("dtype", uh::name(i.kind.dtype));
      w_.key("operands").begin_array();
      for (size_t k = 0; k < step.arity; ++k) tree(step.operands[k], recorded);
      w_.end_array();
    }
    w_.end_object();
  }

  void outputs() {
    number_.resize(p_.steps.size());
    int64_t next = 0;
    for (const auto& [s, unit] : in_order()) number_[static_cast<size_t>(s)] = next++;
    std::vector<bool> recorded(p_.steps.size());
    w_.key("outputs").begin_array();
    for (const Output& output : p_.outputs) {
      w_.begin_object().member("dtype", uh::name(output.dtype));
      if (output.fold) {
        w_.member("reduce", output.reduction->name).member("keepdim", output.keepdim);
        w_.member("dims", p_.reduced_dims);  // -1: all
      }
      w_.key("tree");
      tree(output.item, recorded);
      w_.end_object();
    }
    w_.end_array();
  }

  // Live steps with the index of their unit, in execution order.
  std::vector<std::pair<int, size_t>> in_order() const {
    std::vector<std::pair<int, size_t>> steps;
    for (size_t u = 0; u < p_.units.size(); ++u) {
      for (const int s : p_.units[u].steps) steps.emplace_back(s, u);
    }
    return steps;
  }

  void units() {
    w_.key("units").begin_array();
    for (const Unit& unit : p_.units) {
      w_.begin_object().member("kind", unit.block ? "block" : "loop");
      const auto names = [&](std::string_view key, const std::vector<int>& ids) {
        w_.key(key).begin_array();
        for (const int id : ids) w_.value(called(id));
        w_.end_array();
      };
      names("reads", unit.reads(p_));
      names("writes", unit.writes(p_));
      if (unit.block) w_.member("code_bytes", unit.block->code.size());
      w_.end_object();
    }
    w_.end_array();
  }

  void steps() {
    w_.key("steps").begin_array();
    for (const auto& [s, unit] : in_order()) {
      const Step& step = p_.steps[static_cast<size_t>(s)];
      const Item& output = item(step.result);
      w_.begin_object().member("unit", unit).member("op", op_name(step));
      w_.member("computes", uh::name(step.dtype)).member("dtype", uh::name(output.kind.dtype));
      w_.key("operands").begin_array();
      for (size_t k = 0; k < step.arity; ++k) w_.value(called(step.operands[k]));
      w_.end_array();
      w_.key("parameters").begin_array();
      for (size_t i = 0; step.op && i < Params::kMaxCount; ++i) {
        if (!step.params->has(i)) continue;
        w_.value(message(*(*step.params)[i]));
      }
      w_.end_array();
      w_.member("to", called(step.result));
      w_.member("expr", step.op ? step.op->expression : "self");
      w_.end_object();
    }
    w_.end_array();
  }

  void memory() {
    int64_t read = 0, written = 0;
    for (const int id : p_.inputs) read += item(id).last_use >= 0 ? width(id) : 0;
    for (const Output& output : p_.outputs) {
      if (!output.fold) written += width(output.item);
    }
    int64_t eager = 0;  // traffic of the steps if run one by one
    for (const Step& step : p_.steps) {
      if (!step.live) continue;
      eager += width(step.result);
      for (size_t k = 0; k < step.arity; ++k) {
        const Item::ItemKind is = item(step.operands[k]).is;
        eager += is == Item::ItemKind::kNumber ? 0 : width(step.operands[k]);
      }
    }
    w_.member("tile", tile_of(p_)).member("l1_bytes", arena_of(p_));
    w_.member("read_bytes", read).member("written_bytes", written).member("eager_bytes", eager);
  }
  int64_t width(int id) const { return itemsize(item(id).kind.dtype); }

  const FusedKernel& p_;
  JsonWriter w_;
  std::vector<int64_t> number_;  // index of each step among the live ones
};

}  // namespace

std::string describe(const FusedKernel& program, const Launch* launch) {
  return Describer(program).text(launch);
}

}  // namespace uh::jit::fused
