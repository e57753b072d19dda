#include "jit/fused/block.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "jit/fused/steps.h"
#include "ops/kernel/isa.h"

namespace uh::jit::fused {
namespace {

enum class Do : uint8_t {
  kLoad,
  kUniform,
  kConstant,  // an item, an item that is one value, a number
  kAdd,
  kSub,
  kMul,
  kDiv,
  kSqrt,
  kAbs,
  kNeg,
  kRound,
  kMulAdd,
  kNegMulAdd,
  kMulSub,  // a * b + c, c - a * b, a * b - c
  kCompare,
  kAnd,
  kOr,
  kChoose,  // conditions; a ? b : c
};

struct Node {
  Do what;
  int a = -1, b = -1, c = -1;
  int item = -1;           // of kLoad, kUniform
  double number = 0;       // of kConstant
  uint8_t how = 0;         // of kCompare, kRound
  bool made_here = false;  // by the expression that is being read: its products may join a sum

  bool same(const Node& o) const {
    return what == o.what && a == o.a && b == o.b && c == o.c && item == o.item && how == o.how &&
           std::memcmp(&number, &o.number, sizeof number) == 0;
  }
  bool condition() const { return what == Do::kCompare || what == Do::kAnd || what == Do::kOr; }
};

struct Failed {};

// Steps become nodes: the expression of each is read word by word.
class Reader {
 public:
  Reader(const FusedProgram& program, bool doubles) : program_(program), doubles_(doubles) {
    values.assign(program.items.size(), -1);
  }

  void read(const Step& step) {
    for (Node& node : nodes) node.made_here = false;
    std::vector<int> stack;
    std::string_view words = step.op->words;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      word(step, words.substr(0, end), stack);
      words.remove_prefix(std::min(end + 1, words.size()));
    }
    values[static_cast<size_t>(step.result)] = stack.back();
  }

  std::vector<Node> nodes;
  std::vector<int> values;  // the node that an item is

 private:
  int add(Node node) {
    const auto at = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const Node& there) { return there.same(node); });
    if (at != nodes.end()) {
      at->made_here = true;
      return static_cast<int>(at - nodes.begin());
    }
    node.made_here = true;
    nodes.push_back(node);
    return static_cast<int>(nodes.size()) - 1;
  }
  Node& node(int id) { return nodes[static_cast<size_t>(id)]; }
  bool constant(int id) { return node(id).what == Do::kConstant; }
  double rounded(double x) const {
    return doubles_ ? x : static_cast<double>(static_cast<float>(x));
  }
  int number(double x) { return add({.what = Do::kConstant, .number = rounded(x)}); }

  int operand(int id) {
    int& value = values[static_cast<size_t>(id)];
    if (value >= 0) return value;
    const Item& item = program_.items[static_cast<size_t>(id)];
    if (item.is == Item::Is::kNumber) {
      const Number& n = program_.numbers[static_cast<size_t>(item.index)];
      if (n.given < 0) return value = number(n.value.to_double());
    }
    const bool single = item.is == Item::Is::kNumber || item.kind.zero_dim;
    value = add({.what = single ? Do::kUniform : Do::kLoad, .item = id});
    node(value).made_here = false;
    return value;
  }

  void word(const Step& step, std::string_view w, std::vector<int>& stack) {
    const auto pop = [&] {
      const int top = stack.back();
      stack.pop_back();
      return top;
    };
    const auto index = [&] { return static_cast<size_t>(w[1] - '0'); };
    const bool named = w.size() == 2 && w[1] >= '0' && w[1] <= '9';
    if (named && w[0] == 'o') return stack.push_back(operand(step.operands[index()]));
    if (named && w[0] == 'p') {
      const auto& value = (*step.params)[index()];
      return stack.push_back(value ? number(value->to_double()) : -1);
    }
    double literal = 0;
    if (std::from_chars(w.data(), w.data() + w.size(), literal).ec == std::errc())
      return stack.push_back(number(literal));
    if (w == "?") {
      const int no = pop(), yes = pop(), condition = pop();
      return stack.push_back(add({.what = Do::kChoose, .a = condition, .b = yes, .c = no}));
    }
    if (w == "low" || w == "high") {
      const int limit = pop(), value = pop();
      return stack.push_back(limit < 0 ? value : limited(value, limit, w == "low"));
    }
    static constexpr std::pair<std::string_view, std::pair<Do, uint8_t>> kUnary[] = {
        {"neg", {Do::kNeg, 0}},     {"sqrt", {Do::kSqrt, 0}},   {"abs", {Do::kAbs, 0}},
        {"floor", {Do::kRound, 9}}, {"ceil", {Do::kRound, 10}}, {"trunc", {Do::kRound, 11}},
        {"rint", {Do::kRound, 12}}};
    for (const auto& [name, what] : kUnary) {
      if (w == name) return stack.push_back(unary(what.first, what.second, pop()));
    }
    if (w == "isnan") {
      const int x = pop();
      return stack.push_back(add({.what = Do::kCompare, .a = x, .b = x, .how = 4}));
    }
    static constexpr std::pair<std::string_view, std::pair<Do, uint8_t>> kBinary[] = {
        {"+", {Do::kAdd, 0}},       {"-", {Do::kSub, 0}},       {"*", {Do::kMul, 0}},
        {"/", {Do::kDiv, 0}},       {"&&", {Do::kAnd, 0}},      {"||", {Do::kOr, 0}},
        {"==", {Do::kCompare, 0}},  {"!=", {Do::kCompare, 4}},  {"<", {Do::kCompare, 17}},
        {"<=", {Do::kCompare, 18}}, {">=", {Do::kCompare, 29}}, {">", {Do::kCompare, 30}}};
    for (const auto& [name, what] : kBinary) {
      if (w != name) continue;
      const int b = pop(), a = pop();
      return stack.push_back(binary(what.first, what.second, a, b));
    }
    throw Failed();
  }

  // m::clamp's half: a limit that is NaN wins over every value, a value that is NaN stays.
  int limited(int value, int limit, bool low) {
    if (std::isnan(node(limit).number)) return limit;
    const int beyond = add(
        {.what = Do::kCompare, .a = value, .b = limit, .how = static_cast<uint8_t>(low ? 17 : 30)});
    return add({.what = Do::kChoose, .a = beyond, .b = limit, .c = value});
  }

  int unary(Do what, uint8_t how, int a) {
    if (what == Do::kNeg && constant(a)) return number(-node(a).number);
    return add({.what = what, .a = a, .how = how});
  }

  int binary(Do what, uint8_t how, int a, int b) {
    const auto is_one = [&](int id) { return constant(id) && node(id).number == 1; };
    const auto product = [&](int id) { return node(id).what == Do::kMul && node(id).made_here; };
    if (what == Do::kMul) {
      if (constant(a) && constant(b)) return number(node(a).number * node(b).number);
      if (is_one(a)) return b;
      if (is_one(b)) return a;
    }
    if (what == Do::kDiv && is_one(b)) return a;
    if (what == Do::kAdd && (product(a) || product(b))) {
      if (product(b)) std::swap(a, b);
      return add({.what = Do::kMulAdd, .a = node(a).a, .b = node(a).b, .c = b});
    }
    if (what == Do::kSub && product(b))
      return add({.what = Do::kNegMulAdd, .a = node(b).a, .b = node(b).b, .c = a});
    if (what == Do::kSub && product(a))
      return add({.what = Do::kMulSub, .a = node(a).a, .b = node(a).b, .c = b});
    return add({.what = what, .a = a, .b = b, .how = how});
  }

  const FusedProgram& program_;
  bool doubles_;
};

// Nodes become instructions. Numbers lie in registers from 31 downwards, all other values from 0
// upwards, conditions in k2 to k7.
class Emitter {
 public:
  Emitter(const Reader& reader, bool doubles, Block& block, std::span<const int> written)
      : nodes_(reader.nodes), as_(doubles), doubles_(doubles), block_(block) {
    last_.assign(nodes_.size(), -1);
    reg_.assign(nodes_.size(), -1);
    stores_.resize(nodes_.size());
    for (const int item : written)
      need(reader.values[static_cast<size_t>(item)], static_cast<int>(nodes_.size()));
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (last_[i] < 0) continue;
      for (const int operand : {nodes_[i].a, nodes_[i].b, nodes_[i].c})
        need(operand, static_cast<int>(i));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const bool item = nodes_[i].what == Do::kLoad || nodes_[i].what == Do::kUniform;
      if (last_[i] >= 0 && item) block.reads.push_back(nodes_[i].item);
    }
    for (size_t i = 0; i < written.size(); ++i) {
      const int id = reader.values[static_cast<size_t>(written[i])];
      stores_[static_cast<size_t>(id)].push_back(static_cast<int32_t>(block.reads.size() + i));
    }
  }

  void emit() {
    as_.begin();
    if (uses_sign()) sign_ = fixed(-0.0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_[i] < 0) continue;
      if (nodes_[i].what == Do::kConstant) reg_[i] = fixed(nodes_[i].number);
      if (nodes_[i].what != Do::kUniform) continue;
      reg_[i] = next_fixed();
      as_.pointer(pointer_of(nodes_[i].item));
      as_.broadcast(reg_[i]);
    }
    for (int r = next_fixed_; r >= 0; --r) free_.push_back(r);
    for (int k = 7; k >= 2; --k) free_masks_.push_back(k);
    const size_t loop = as_.loop_begin();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_[i] >= 0) node(i);
    }
    as_.loop_end(loop);
    as_.end();
    block_.code = CodeMemory(as_.code());
    if (!block_.code.data()) throw Failed();
  }

 private:
  void need(int id, int by) {
    if (id >= 0) last_[static_cast<size_t>(id)] = std::max(last_[static_cast<size_t>(id)], by);
  }
  bool uses_sign() const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (last_[i] >= 0 && (nodes_[i].what == Do::kNeg || nodes_[i].what == Do::kAbs)) return true;
    }
    return false;
  }
  int next_fixed() {
    if (next_fixed_ < 8) throw Failed();
    return next_fixed_--;
  }
  int fixed(double number) {
    const int reg = next_fixed();
    const size_t width = doubles_ ? 8 : 4, offset = used_ * width;
    if (block_.constants.size() * 8 < offset + width) block_.constants.push_back(0);
    auto* at = reinterpret_cast<std::byte*>(block_.constants.data()) + offset;
    const auto narrow = static_cast<float>(number);
    std::memcpy(at, doubles_ ? static_cast<const void*>(&number) : &narrow, width);
    as_.broadcast_constant(reg, static_cast<int32_t>(offset));
    ++used_;
    return reg;
  }
  int32_t pointer_of(int item) const {
    const auto at = std::find(block_.reads.begin(), block_.reads.end(), item);
    return static_cast<int32_t>(at - block_.reads.begin());
  }
  int reg(int id) const { return reg_[static_cast<size_t>(id)]; }

  // Gives back the registers of operands that nobody reads after node i.
  void release(size_t i) {
    const Node& n = nodes_[i];
    const int ids[] = {n.a, n.b, n.c};
    for (int k = 0; k < 3; ++k) {
      const int id = ids[k];
      if (id < 0 || last_[static_cast<size_t>(id)] != static_cast<int>(i)) continue;
      if (std::find(ids, ids + k, id) != ids + k) continue;
      const Node& operand = nodes_[static_cast<size_t>(id)];
      if (operand.what == Do::kConstant || operand.what == Do::kUniform) continue;
      (operand.condition() ? free_masks_ : free_).push_back(reg(id));
    }
  }
  static int take(std::vector<int>& free) {
    if (free.empty()) throw Failed();
    const int reg = free.back();
    free.pop_back();
    return reg;
  }

  void node(size_t i) {
    const Node& n = nodes_[i];
    if (n.what == Do::kConstant || n.what == Do::kUniform) return store(i);
    const bool joined = n.what == Do::kMulAdd || n.what == Do::kNegMulAdd || n.what == Do::kMulSub;
    // A joined product writes over its addend: it goes into a register of its own first.
    if (!joined) release(i);
    const int to = take(n.condition() ? free_masks_ : free_);
    reg_[i] = to;
    instruction(n, to);
    if (joined) release(i);
    store(i);
  }

  void store(size_t i) {
    for (const int32_t at : stores_[i]) {
      as_.pointer(at);
      as_.store(reg_[i]);
    }
  }

  void instruction(const Node& n, int to) {
    const int a = n.a < 0 ? 0 : reg(n.a), b = n.b < 0 ? 0 : reg(n.b), c = n.c < 0 ? 0 : reg(n.c);
    switch (n.what) {
      case Do::kLoad: as_.pointer(pointer_of(n.item)); return as_.load(to);
      case Do::kAdd: return as_.add(to, a, b);
      case Do::kSub: return as_.sub(to, a, b);
      case Do::kMul: return as_.mul(to, a, b);
      case Do::kDiv: return as_.div(to, a, b);
      case Do::kSqrt: return as_.sqrt(to, a);
      case Do::kNeg: return as_.bit_xor(to, a, sign_);
      case Do::kAbs: return as_.bit_clear(to, sign_, a);
      case Do::kRound: return as_.round(to, a, n.how);
      case Do::kMulAdd: as_.move(to, c); return as_.fma_add(to, a, b);
      case Do::kNegMulAdd: as_.move(to, c); return as_.fma_negated(to, a, b);
      case Do::kMulSub: as_.move(to, c); return as_.fma_sub(to, a, b);
      case Do::kCompare: return as_.compare(to, a, b, n.how);
      case Do::kAnd: return as_.mask_and(to, a, b);
      case Do::kOr: return as_.mask_or(to, a, b);
      case Do::kChoose: return as_.blend(to, a, b, c);
      case Do::kConstant:
      case Do::kUniform: return;
    }
  }

  const std::vector<Node>& nodes_;
  Assembler as_;
  bool doubles_;
  Block& block_;
  std::vector<int> last_, reg_;
  std::vector<std::vector<int32_t>> stores_;  // pointers that a node's value is stored through
  std::vector<int> free_, free_masks_;
  int next_fixed_ = 31, sign_ = -1;
  size_t used_ = 0;
};

}  // namespace

bool is_simple(const FusedProgram& program, const Step& step) {
#if defined(__x86_64__)
  const TermKind made = program.kind(step.result);
  const bool floats = step.dtype == DType::kFloat32 || step.dtype == DType::kFloat64;
  return isa() == Isa::kV4 && step.op && step.op->words[0] && floats && made.dtype == step.dtype &&
         !made.zero_dim;
#else
  (void)program, (void)step;
  return false;
#endif
}

std::unique_ptr<Block> compile_block(const FusedProgram& program, std::span<const int> steps,
                                     std::vector<int> writes) {
  const auto step = [&](int id) -> const Step& { return program.steps[static_cast<size_t>(id)]; };
  const bool doubles = step(steps[0]).dtype == DType::kFloat64;
  auto block = std::make_unique<Block>();
  try {
    Reader reader(program, doubles);
    for (const int id : steps) reader.read(step(id));
    Emitter(reader, doubles, *block, writes).emit();
  } catch (const Failed&) {
    return nullptr;
  }
  block->writes = std::move(writes);
  return block;
}

}  // namespace uh::jit::fused
