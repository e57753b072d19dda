#include "backend/cpu/loop_plan.h"

#include "backend/cpu/isa.h"
#include "dispatch/record_call.h"
#include "tensor/call_scope.h"

namespace uh {
namespace {

// Returns how the innermost dimension is accessed, which selects the loop of a row.
std::string_view walk(const Plan& plan) {
  if (plan.sizes.empty()) return "one element";
  bool dense = true, repeated = false;
  for (const PlanOperand& operand : plan.operands) {
    const int64_t step = operand.strides.back();
    repeated = repeated || step == 0;
    dense = dense && (step == 0 || step == operand.itemsize);
  }
  if (!dense) return "strided";
  return repeated ? "scalar-broadcast" : "contiguous";
}

int64_t register_bytes() { return isa() == Isa::kV4 ? 64 : isa() == Isa::kV3 ? 32 : 16; }

}  // namespace

void record_plan(const Plan& plan) {
  const std::string_view loop = plan.loop.empty() ? walk(plan) : plan.loop;
  const bool dense = loop != "strided" && loop != "one element";
  const bool vector = plan.vector && dense;
  WordStream fields;
  fields.push(vector ? register_bytes() : 0);
  fields.push(static_cast<int64_t>(plan.sizes.size()));
  fields.push(static_cast<int64_t>(plan.operands.size()));
  for (const int64_t size : plan.sizes) fields.push(size);
  for (const PlanOperand& operand : plan.operands) {
    fields.push(operand.itemsize);
    for (const int64_t stride : operand.strides) fields.push(stride);
  }
  static const events::InternedText kSet;
  const int64_t set = kSet.number(name(isa()));
  events::emit_blob(events::Kind::kPLAN, current_call(), events::intern(loop), set, plan.threads,
                    fields.data(), fields.size() * 8);
}

}  // namespace uh
