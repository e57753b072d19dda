#include "backend/cpu/loop_plan.h"

#include "backend/cpu/isa.h"
#include "dispatch/record_call.h"
#include "tensor/call_scope.h"

namespace uh {
namespace {

constexpr std::string_view kDense = "contiguous", kScalarBroadcast = "scalar-broadcast";

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
  return repeated ? kScalarBroadcast : kDense;
}

int64_t register_bytes() { return isa() == Isa::kV4 ? 64 : isa() == Isa::kV3 ? 32 : 16; }

void emit_plan(int64_t loop, int64_t threads, const WordStream& fields) {
  static const events::InternedText kSet;
  events::emit_blob(events::Kind::kPLAN, current_call(), loop, kSet.number(name(isa())), threads,
                    fields.data(), fields.size() * 8);
}

}  // namespace

void record_row(std::span<const int64_t> strides, int64_t n) {
  bool repeated = false;
  WordStream fields;
  fields.push(register_bytes());
  fields.push(1);
  fields.push(static_cast<int64_t>(strides.size()));
  fields.push(n);
  for (const int64_t stride : strides) {
    repeated = repeated || stride == 0;
    fields.push(stride);  // the itemsize
    fields.push(stride);
  }
  static const events::InternedText kContiguous, kRepeated;
  emit_plan(repeated ? kRepeated.number(kScalarBroadcast) : kContiguous.number(kDense), 1, fields);
}

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
  emit_plan(events::intern(loop), plan.threads, fields);
}

}  // namespace uh
