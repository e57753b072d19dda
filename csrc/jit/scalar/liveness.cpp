#include "jit/scalar/liveness.h"

#include <algorithm>

#include "jit/scalar/region.h"

namespace uh::jit {
namespace {

template <class F>
void each_read(const ScalarProgram& p, const ScalarInstruction& i, const F& f) {
  const auto read = [&](Slot s) {
    if (!p.is_constant[s]) f(s);
  };
  if (reads_a(i.op)) read(i.a);
  if (reads_b(i.op)) read(i.b);
  if (i.op == ScalarOp::kBoxed || i.op == ScalarOp::kTrap)
    for (const auto& [value, slot] : p.sites[static_cast<size_t>(i.x)].captured) read(slot);
  if (i.op == ScalarOp::kReturn)
    for (const auto& port : p.outputs) read(port.slot);
}

}  // namespace

Liveness::Liveness(const ScalarProgram& p)
    : live_out(p.instructions.size(), SlotSet(p.types.size())),
      clash(p.types.size(), SlotSet(p.types.size())),
      weight(p.types.size(), 0.0) {
  const auto& code = p.instructions;
  std::vector<SlotSet> live_in = live_out;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = code.size(); n-- > 0;) {
      const ScalarInstruction& i = code[n];
      if (falls_through(i.op) && n + 1 < code.size()) live_out[n].add(live_in[n + 1]);
      if (jumps(i.op)) live_out[n].add(live_in[static_cast<size_t>(i.x)]);
      SlotSet in = live_out[n];
      if (writes(i.op)) in.drop(i.dst);
      each_read(p, i, [&](Slot s) { in.add(s); });
      changed |= live_in[n].add(in);
    }
  }
  for (size_t n = 0; n < code.size(); ++n) {
    const ScalarInstruction& i = code[n];
    if (!writes(i.op)) continue;
    live_out[n].each([&](Slot s) {
      // After a move both slots have the same value.
      if (s == i.dst || (i.op == ScalarOp::kMove && s == i.a)) return;
      clash[s].add(i.dst);
      clash[i.dst].add(s);
    });
  }
  // All inputs are written at once, before the first instruction.
  for (const auto& input : p.inputs) {
    const auto joins = [&](Slot s) {
      if (s == input.slot) return;
      clash[s].add(input.slot);
      clash[input.slot].add(s);
    };
    if (!live_in.empty()) live_in[0].each(joins);
    for (const auto& other : p.inputs) joins(other.slot);
  }
  std::vector<double> depth(code.size(), 1.0);
  for (size_t n = 0; n < code.size(); ++n) {
    if (!jumps(code[n].op) || static_cast<size_t>(code[n].x) > n) continue;
    for (auto k = static_cast<size_t>(code[n].x); k <= n; ++k) depth[k] *= 10;
  }
  for (size_t n = 0; n < code.size(); ++n) {
    each_read(p, code[n], [&](Slot s) { weight[s] += depth[n]; });
    if (writes(code[n].op)) weight[code[n].dst] += depth[n];
  }
}

void merge_moves(ScalarProgram& p) {
  Liveness flow(p);
  const size_t n = p.types.size();
  std::vector<Slot> joined(n);
  for (size_t s = 0; s < n; ++s) joined[s] = static_cast<Slot>(s);
  const auto find = [&](Slot s) {
    while (joined[s] != s) s = joined[s];
    return s;
  };
  // Hottest moves first: merging one pair may prevent others.
  std::vector<const ScalarInstruction*> moves;
  for (const auto& i : p.instructions)
    if (i.op == ScalarOp::kMove && !p.is_constant[i.a] && p.types[i.a] == p.types[i.dst])
      moves.push_back(&i);
  std::stable_sort(moves.begin(), moves.end(), [&](auto* x, auto* y) {
    return flow.weight[x->a] + flow.weight[x->dst] > flow.weight[y->a] + flow.weight[y->dst];
  });
  for (const ScalarInstruction* i : moves) {
    const Slot a = find(i->a), d = find(i->dst);
    if (a == d || flow.clash[a].has(d)) continue;
    joined[d] = a;
    flow.clash[d].each([&](Slot s) {
      flow.clash[s].add(a);
      flow.clash[a].add(s);
    });
  }
  // Rewrites the instructions, without moves to the same slot and jumps to the next instruction;
  // slot numbers do not change.
  std::vector<int32_t> position_of(p.instructions.size() + 1);
  std::vector<ScalarInstruction> retained;
  for (size_t k = 0; k < p.instructions.size(); ++k) {
    ScalarInstruction i = p.instructions[k];
    position_of[k] = static_cast<int32_t>(retained.size());
    i.dst = find(i.dst);
    i.a = find(i.a);
    i.b = find(i.b);
    if (i.op == ScalarOp::kMove && i.dst == i.a) continue;
    retained.push_back(i);
  }
  position_of[p.instructions.size()] = static_cast<int32_t>(retained.size());
  for (auto& i : retained)
    if (jumps(i.op)) i.x = position_of[static_cast<size_t>(i.x)];
  p.instructions = std::move(retained);
  for (auto& site : p.sites)
    for (auto& [value, slot] : site.captured) slot = find(slot);
  for (auto& port : p.inputs) port.slot = find(port.slot);
  for (auto& port : p.outputs) port.slot = find(port.slot);
}

}  // namespace uh::jit
