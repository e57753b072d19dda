// Runs a ScalarProgram: transfers values to and from slots, calls nodes' operators, and has the
// portable machine for processors that x86.cpp does not support.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>

#include "jit/builtins/builtin.h"
#include "jit/builtins/numbers.h"
#include "jit/run/interpreter.h"
#include "jit/run/interrupt.h"
#include "jit/run/node_error.h"
#include "jit/scalar/native.h"
#include "jit/scalar/program.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

struct Name {
  std::string_view text, shape;
};
constexpr Name kNames[] = {
#define UH_SCALAR(name, shape) {#name, shape},
    UH_SCALAR_OPS(UH_SCALAR)
#undef UH_SCALAR
};

std::atomic<bool> g_native{true};

int64_t unboxed(const IValue& value, ScalarType type) {
  switch (type) {
    case ScalarType::kInt: return from_value<int64_t>(value);
    case ScalarType::kFloat: return std::bit_cast<int64_t>(from_value<double>(value));
    case ScalarType::kBool: return from_value<bool>(value);
  }
  return 0;
}
IValue boxed_slot(int64_t bits, ScalarType type) {
  switch (type) {
    case ScalarType::kInt: return IValue(bits);
    case ScalarType::kFloat: return IValue(std::bit_cast<double>(bits));
    case ScalarType::kBool: return IValue(bits != 0);
  }
  return IValue();
}

// A program's slots, on the stack unless they are many.
class Slots {
 public:
  explicit Slots(const std::vector<int64_t>& initial) {
    if (initial.size() > kInline) many_.resize(initial.size());
    std::memcpy(data(), initial.data(), initial.size() * sizeof(int64_t));
  }
  int64_t* data() { return many_.empty() ? few_ : many_.data(); }

 private:
  static constexpr size_t kInline = 256;
  int64_t few_[kInline];
  std::vector<int64_t> many_;
};

}  // namespace

std::string_view text_of(ScalarOp op) { return kNames[static_cast<size_t>(op)].text; }
std::string_view shape_of(ScalarOp op) { return kNames[static_cast<size_t>(op)].shape; }
bool reads_a(ScalarOp op) { return shape_of(op).find('A') != std::string_view::npos; }
bool reads_b(ScalarOp op) { return shape_of(op).find('B') != std::string_view::npos; }
bool jumps(ScalarOp op) { return shape_of(op).ends_with('X'); }

void set_native_programs(bool on) { g_native.store(on, std::memory_order_relaxed); }
bool native_programs() { return g_native.load(std::memory_order_relaxed); }

std::string ScalarProgram::text() const {
  std::string all;
  const auto address_of = [&](Slot s) {
    return is_constant[s] ? print(boxed_slot(initial[s], types[s])) : "s" + std::to_string(s);
  };
  for (size_t n = 0; n < instructions.size(); ++n) {
    const ScalarInstruction& i = instructions[n];
    all += message(n, " ", text_of(i.op));
    if (writes(i.op)) all += " " + address_of(i.dst) + " =";
    if (reads_a(i.op)) all += " " + address_of(i.a);
    if (reads_b(i.op)) all += " " + address_of(i.b);
    if (jumps(i.op)) all += message(" -> ", i.x);
    if (i.op == ScalarOp::kBoxed || i.op == ScalarOp::kTrap)
      all += " " + sites[static_cast<size_t>(i.x)].node->kind().text();
    if (i.op == ScalarOp::kReturn)
      for (const Port& port : outputs) all += " " + address_of(port.slot);
    all += "\n";
  }
  return all;
}

void ScalarProgram::call_site(size_t which, int64_t* slots, Slot dst) const {
  const ScalarSite& at = sites[which];
  std::unordered_map<const Value*, IValue> result;  // parts of a message, each once
  const auto value_of = [&](const Value* value, const auto& self) -> IValue {
    if (value->node()->is("prim::Constant")) {
      const IValue* constant = value->constant();
      return constant ? *constant : IValue();
    }
    for (const auto& [captured, slot] : at.captured)
      if (captured == value) return boxed_slot(slots[slot], types[slot]);
    if (const auto it = result.find(value); it != result.end()) return it->second;
    Stack stack;
    for (const Value* input : value->node()->inputs()) stack.push_back(self(input, self));
    as_builtin(value->node()->op())->call(stack, stack.size());
    return result[value] = std::move(stack.back());
  };
  Stack stack;
  for (const Value* input : at.node->inputs()) stack.push_back(value_of(input, value_of));
  try {
    if (at.node->is("prim::RaiseException")) raise_exception(stack, stack.size());
    as_builtin(at.node->op())->call(stack, stack.size());
  } catch (const Error& error) {
    throw NodeError(error, at.node);
  }
  slots[dst] = unboxed(stack.back(), types[dst]);
}

void ScalarProgram::run(Stack& stack) const {
  Slots slots(initial);
  const size_t first = stack.size() - inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i)
    slots.data()[inputs[i].slot] = unboxed(stack[first + i], inputs[i].type);
  stack.resize(first);
  if (native) {
    run_native(slots.data());
  } else {
    run_portable(slots.data());
  }
  for (const Port& port : outputs) stack.push_back(boxed_slot(slots.data()[port.slot], port.type));
}

// ---- called by machine code; an exception must not cross it, so it is stored here
namespace {
thread_local std::exception_ptr t_pending;
}  // namespace

extern "C" int64_t uh_scalar_site(const ScalarProgram* program, int64_t* slots, int64_t site,
                                  int64_t dst) {
  try {
    program->call_site(static_cast<size_t>(site), slots, static_cast<Slot>(dst));
    return 0;
  } catch (...) {
    t_pending = std::current_exception();
    return 1;
  }
}
extern "C" int64_t uh_scalar_poll() {
  try {
    poll_interrupt();
    return 0;
  } catch (...) {
    t_pending = std::current_exception();
    return 1;
  }
}

void ScalarProgram::run_native(int64_t* slots) const {
  const auto entry = reinterpret_cast<NativeEntry>(const_cast<void*>(native.data()));
  const int64_t ended = entry(slots, this);
  if (ended == kNativeDone) return;
  if (ended == kNativePending) std::rethrow_exception(std::exchange(t_pending, nullptr));
  call_site(static_cast<size_t>(ended), slots, 0);
  fail(ErrorKind::kInternal, "jit: ", print(*sites[static_cast<size_t>(ended)].node),
       " expected an error, got none");
}

void ScalarProgram::run_portable(int64_t* s) const {
  uint32_t trips = 0;
  const ScalarInstruction* first = instructions.data();
  const auto f = [&](Slot slot) { return std::bit_cast<double>(s[slot]); };
  const auto put = [&](Slot slot, double value) { s[slot] = std::bit_cast<int64_t>(value); };
  for (const ScalarInstruction* i = first;; ++i) {
    const auto go_if = [&](bool jump) {
      if (jump) i = first + i->x - 1;
    };
    switch (i->op) {
      case ScalarOp::kMove: s[i->dst] = s[i->a]; break;
      case ScalarOp::kAddI: s[i->dst] = python::add(s[i->a], s[i->b]); break;
      case ScalarOp::kSubI: s[i->dst] = python::sub(s[i->a], s[i->b]); break;
      case ScalarOp::kMulI: s[i->dst] = python::mul(s[i->a], s[i->b]); break;
      case ScalarOp::kFloorDivI: s[i->dst] = python::floordiv(s[i->a], s[i->b]); break;
      case ScalarOp::kModI: s[i->dst] = python::mod(s[i->a], s[i->b]); break;
      case ScalarOp::kAndI: s[i->dst] = s[i->a] & s[i->b]; break;
      case ScalarOp::kOrI: s[i->dst] = s[i->a] | s[i->b]; break;
      case ScalarOp::kXorI: s[i->dst] = s[i->a] ^ s[i->b]; break;
      case ScalarOp::kShlI: s[i->dst] = python::shift_left(s[i->a], s[i->b] & 63); break;
      case ScalarOp::kShrI: s[i->dst] = s[i->a] >> (s[i->b] & 63); break;
      case ScalarOp::kMinI: s[i->dst] = std::min(s[i->a], s[i->b]); break;
      case ScalarOp::kMaxI: s[i->dst] = std::max(s[i->a], s[i->b]); break;
      case ScalarOp::kNegI: s[i->dst] = python::neg(s[i->a]); break;
      case ScalarOp::kNotI: s[i->dst] = ~s[i->a]; break;
      case ScalarOp::kAbsI: s[i->dst] = s[i->a] < 0 ? python::neg(s[i->a]) : s[i->a]; break;
      case ScalarOp::kAddF: put(i->dst, f(i->a) + f(i->b)); break;
      case ScalarOp::kSubF: put(i->dst, f(i->a) - f(i->b)); break;
      case ScalarOp::kMulF: put(i->dst, f(i->a) * f(i->b)); break;
      case ScalarOp::kDivF: put(i->dst, f(i->a) / f(i->b)); break;
      case ScalarOp::kMinF: put(i->dst, f(i->a) < f(i->b) ? f(i->a) : f(i->b)); break;
      case ScalarOp::kMaxF: put(i->dst, f(i->a) > f(i->b) ? f(i->a) : f(i->b)); break;
      case ScalarOp::kNegF: put(i->dst, -f(i->a)); break;
      case ScalarOp::kAbsF: put(i->dst, std::abs(f(i->a))); break;
      case ScalarOp::kSqrtF: put(i->dst, std::sqrt(f(i->a))); break;
      case ScalarOp::kFloorF: put(i->dst, std::floor(f(i->a))); break;
      case ScalarOp::kCeilF: put(i->dst, std::ceil(f(i->a))); break;
      case ScalarOp::kTruncF: put(i->dst, std::trunc(f(i->a))); break;
      case ScalarOp::kRoundF: put(i->dst, std::nearbyint(f(i->a))); break;
      case ScalarOp::kIntToFloat: put(i->dst, static_cast<double>(s[i->a])); break;
      case ScalarOp::kFloatToInt: {
        const double x = f(i->a);
        const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
        s[i->dst] = fits ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
        break;
      }
      case ScalarOp::kEqI: s[i->dst] = s[i->a] == s[i->b]; break;
      case ScalarOp::kNeI: s[i->dst] = s[i->a] != s[i->b]; break;
      case ScalarOp::kLtI: s[i->dst] = s[i->a] < s[i->b]; break;
      case ScalarOp::kLeI: s[i->dst] = s[i->a] <= s[i->b]; break;
      case ScalarOp::kEqF: s[i->dst] = f(i->a) == f(i->b); break;
      case ScalarOp::kNeF: s[i->dst] = f(i->a) != f(i->b); break;
      case ScalarOp::kLtF: s[i->dst] = f(i->a) < f(i->b); break;
      case ScalarOp::kLeF: s[i->dst] = f(i->a) <= f(i->b); break;
      case ScalarOp::kNotB: s[i->dst] = !s[i->a]; break;
      case ScalarOp::kCall1: put(i->dst, functions1[static_cast<size_t>(i->x)](f(i->a))); break;
      case ScalarOp::kCall2:
        put(i->dst, functions2[static_cast<size_t>(i->x)](f(i->a), f(i->b)));
        break;
      case ScalarOp::kCallI2:
        s[i->dst] = int_functions2[static_cast<size_t>(i->x)](s[i->a], s[i->b]);
        break;
      case ScalarOp::kBoxed: call_site(static_cast<size_t>(i->x), s, i->dst); break;
      case ScalarOp::kJump: go_if(true); break;
      case ScalarOp::kIfEqI: go_if(s[i->a] == s[i->b]); break;
      case ScalarOp::kIfNeI: go_if(s[i->a] != s[i->b]); break;
      case ScalarOp::kIfLtI: go_if(s[i->a] < s[i->b]); break;
      case ScalarOp::kIfLeI: go_if(s[i->a] <= s[i->b]); break;
      case ScalarOp::kIfEqF: go_if(f(i->a) == f(i->b)); break;
      case ScalarOp::kIfNeF: go_if(f(i->a) != f(i->b)); break;
      case ScalarOp::kIfLtF: go_if(f(i->a) < f(i->b)); break;
      case ScalarOp::kIfLeF: go_if(f(i->a) <= f(i->b)); break;
      case ScalarOp::kIfNotLtF: go_if(!(f(i->a) < f(i->b))); break;
      case ScalarOp::kIfNotLeF: go_if(!(f(i->a) <= f(i->b))); break;
      case ScalarOp::kPoll:
        if (++trips % kScalarTripsBetweenPolls == 0) poll_interrupt();
        break;
      case ScalarOp::kTrap:
        call_site(static_cast<size_t>(i->x), s, 0);
        fail(ErrorKind::kInternal, "jit: ", print(*sites[static_cast<size_t>(i->x)].node),
             " expected an error, got none");
      case ScalarOp::kReturn: return;
    }
  }
}

}  // namespace uh::jit
