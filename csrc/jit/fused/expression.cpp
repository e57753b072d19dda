#include "jit/fused/expression.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "jit/fused/steps.h"

namespace uh::jit::fused {
namespace {

struct Word {
  std::string_view text;
  ExprOp op;
  uint8_t mode = 0;
};
constexpr Word kUnary[] = {{"neg", ExprOp::kNeg},        {"sqrt", ExprOp::kSqrt},
                           {"abs", ExprOp::kAbs},        {"floor", ExprOp::kRound, 9},
                           {"ceil", ExprOp::kRound, 10}, {"trunc", ExprOp::kRound, 11},
                           {"rint", ExprOp::kRound, 12}};
constexpr Word kBinary[] = {{"+", ExprOp::kAdd},          {"-", ExprOp::kSub},
                            {"*", ExprOp::kMul},          {"/", ExprOp::kDiv},
                            {"&&", ExprOp::kAnd},         {"||", ExprOp::kOr},
                            {"==", ExprOp::kCompare, 0},  {"!=", ExprOp::kCompare, 4},
                            {"<", ExprOp::kCompare, 17},  {"<=", ExprOp::kCompare, 18},
                            {">=", ExprOp::kCompare, 29}, {">", ExprOp::kCompare, 30},
                            {"at_most", ExprOp::kAtMost}, {"copysign", ExprOp::kCopySign}};

// The index of the node in `nodes`, added if new.
int find_or_add(std::vector<ExprNode>& nodes, const ExprNode& node) {
  const auto at = std::find(nodes.begin(), nodes.end(), node);
  if (at != nodes.end()) return static_cast<int>(at - nodes.begin());
  nodes.push_back(node);
  return static_cast<int>(nodes.size()) - 1;
}

// Parses one step's postfix into separate nodes: the expression that the compiler sees in its loop.
class Reader {
 public:
  using Numbers = std::array<std::optional<double>, kMaxOperands>;  // operands that are numbers
  Reader(const Step& step, const Numbers& numbers, bool doubles)
      : step_(step), numbers_(numbers), doubles_(doubles) {}

  void read(std::string_view postfix) {
    while (!postfix.empty()) {
      const size_t end = std::min(postfix.find(' '), postfix.size());
      word(postfix.substr(0, end));
      postfix.remove_prefix(std::min(end + 1, postfix.size()));
    }
    if (stack_.size() != 1) throw NoBlock();
  }
  int root() const { return stack_.back(); }
  std::vector<ExprNode> nodes;  // `item` of kItem: index of the step's operand

 private:
  int add(const ExprNode& node) { return find_or_add(nodes, node); }
  const ExprNode& node(int id) const { return nodes[static_cast<size_t>(id)]; }
  bool constant(int id) const { return node(id).op == ExprOp::kConstant; }
  bool is_true(int id) const { return node(id).number != 0; }
  int number(double x) {
    const double rounded = doubles_ ? x : static_cast<double>(static_cast<float>(x));
    return add({.op = ExprOp::kConstant, .number = rounded});
  }
  int pop() {
    if (stack_.empty()) throw NoBlock();
    const int top = stack_.back();
    stack_.pop_back();
    return top;
  }
  static size_t index(std::string_view w) {
    size_t value = 0;
    std::from_chars(w.data() + 1, w.data() + w.size(), value);
    return value;
  }

  void word(std::string_view w) {
    const bool named = w.size() > 1 && w[1] >= '0' && w[1] <= '9';
    if (named && w[0] == 'o') {
      const auto& known = numbers_[index(w)];
      return stack_.push_back(
          known ? number(*known) : add({.op = ExprOp::kItem, .item = static_cast<int>(index(w))}));
    }
    if (named && w[0] == 'p') {
      const auto& value = (*step_.params)[index(w)];
      return stack_.push_back(number(value ? value->to_double() : 0));  // as in the loops
    }
    if (named && w[0] == 'h') return stack_.push_back(number((*step_.params)[index(w)] ? 1 : 0));
    if (named && w[0] == '$') return stack_.push_back(locals_.at(index(w)));
    if (named && w[0] == '=') {
      locals_.resize(std::max(locals_.size(), index(w) + 1));
      locals_[index(w)] = pop();
      return;
    }
    double literal = 0;
    if (std::from_chars(w.data(), w.data() + w.size(), literal).ec == std::errc())
      return stack_.push_back(number(literal));
    stack_.push_back(operation(w));
  }

  int operation(std::string_view w) {
    if (w == "?") {
      const int no = pop(), yes = pop(), condition = pop();
      if (constant(condition)) return is_true(condition) ? yes : no;
      return add({.op = ExprOp::kChoose, .a = condition, .b = yes, .c = no});
    }
    if (w == "isnan") {
      const int x = pop();
      if (constant(x)) return number(std::isnan(node(x).number) ? 1 : 0);
      return add({.op = ExprOp::kCompare, .a = x, .b = x, .mode = 4});
    }
    if (w == "!") {
      const int x = pop();
      if (!constant(x)) throw NoBlock();
      return number(is_true(x) ? 0 : 1);
    }
    if (w == "<<") {
      const int by = pop(), x = pop();
      if (!constant(by)) throw NoBlock();
      return add({.op = ExprOp::kShiftLeft, .a = x, .mode = static_cast<uint8_t>(node(by).number)});
    }
    for (const Word& known : kUnary) {
      if (w == known.text) return unary(known, pop());
    }
    for (const Word& known : kBinary) {
      if (w != known.text) continue;
      const int b = pop(), a = pop();
      return binary(known, a, b);
    }
    throw NoBlock();
  }

  int unary(const Word& w, int a) {
    if (constant(a) && w.op == ExprOp::kNeg) return number(-node(a).number);
    if (constant(a) && w.op == ExprOp::kAbs) return number(std::fabs(node(a).number));
    return add({.op = w.op, .a = a, .mode = w.mode});
  }

  int binary(const Word& w, int a, int b) {
    const auto is_one = [&](int id) { return constant(id) && node(id).number == 1; };
    if (w.op == ExprOp::kAnd || w.op == ExprOp::kOr) {
      const bool is_and = w.op == ExprOp::kAnd;
      if (constant(a)) return is_true(a) == is_and ? b : a;
      if (constant(b)) return is_true(b) == is_and ? a : b;
    }
    if (constant(a) && constant(b)) {
      const double x = node(a).number, y = node(b).number;
      if (w.op == ExprOp::kAdd) return number(x + y);
      if (w.op == ExprOp::kSub) return number(x - y);
      if (w.op == ExprOp::kMul) return number(x * y);
    }
    if (w.op == ExprOp::kMul && is_one(a)) return b;
    if ((w.op == ExprOp::kMul || w.op == ExprOp::kDiv) && is_one(b)) return a;
    return add({.op = w.op, .a = a, .b = b, .mode = w.mode});
  }

  const Step& step_;
  const Numbers& numbers_;
  bool doubles_;
  std::vector<int> stack_, locals_;
};

// Note [Joined products]: compilers fuse a product with the sum that reads it (-ffp-contract=fast)
// if all its readers are sums that read it once; the first product in the source is preferred.
// Uniform values are computed before the loop, and rounded. Blocks must do the same.
class Joiner {
 public:
  Joiner(std::vector<ExprNode>& nodes, int root, const std::vector<bool>& invariant)
      : nodes_(nodes), root_(root), invariant_(invariant), live_(nodes.size()) {
    live_[static_cast<size_t>(root)] = true;
    for (size_t i = nodes.size(); i-- > 0;) {
      for (const int operand : {nodes[i].a, nodes[i].b, nodes[i].c}) {
        if (live_[i] && operand >= 0) live_[static_cast<size_t>(operand)] = true;
      }
    }
  }

  void join() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const ExprNode product = nodes_[i];
      if (!live_[i] || product.op != ExprOp::kMul || static_cast<int>(i) == root_) continue;
      const bool both = fixed(product.a) && fixed(product.b);
      if (!both && std::all_of(nodes_.begin(), nodes_.end(),
                               [&](const ExprNode& n) { return agrees(n, static_cast<int>(i)); }))
        put_into_sums(static_cast<int>(i));
    }
  }

 private:
  bool fixed(int id) const {
    return nodes_[static_cast<size_t>(id)].op == ExprOp::kConstant ||
           invariant_[static_cast<size_t>(id)];
  }
  // True if a node does not read `id`, or is a sum that reads it once.
  bool agrees(const ExprNode& n, int id) const {
    if (!live_[static_cast<size_t>(&n - nodes_.data())]) return true;
    if (n.a != id && n.b != id && n.c != id) return true;
    return (n.op == ExprOp::kAdd || n.op == ExprOp::kSub) && n.a != n.b;
  }
  void put_into_sums(int id) {
    const ExprNode product = nodes_[static_cast<size_t>(id)];
    for (ExprNode& n : nodes_) {
      if (n.a != id && n.b != id) continue;
      if (n.op != ExprOp::kAdd && n.op != ExprOp::kSub) continue;
      const bool left = n.a == id;
      const ExprOp op = n.op == ExprOp::kAdd ? ExprOp::kMulAdd
                        : left               ? ExprOp::kMulSub
                                             : ExprOp::kNegMulAdd;
      n = {.op = op, .a = product.a, .b = product.b, .c = left ? n.b : n.a};
    }
  }

  std::vector<ExprNode>& nodes_;
  int root_;
  const std::vector<bool>& invariant_;
  std::vector<bool> live_;
};

}  // namespace

bool ExprNode::operator==(const ExprNode& o) const {
  return op == o.op && a == o.a && b == o.b && c == o.c && item == o.item && mode == o.mode &&
         std::bit_cast<int64_t>(number) == std::bit_cast<int64_t>(o.number);
}

Expression::Expression(const FusedKernel& program, bool doubles)
    : program_(program), doubles_(doubles), values_(program.items.size(), -1) {}

// A step's operand: the result of an earlier step, or an item of the program.
int Expression::leaf(int id) {
  int& value = values_[static_cast<size_t>(id)];
  if (value >= 0) return value;
  const Item& item = program_.items[static_cast<size_t>(id)];
  const bool single = item.is == Item::ItemKind::kNumber || item.kind.zero_dim;
  return value = find_or_add(nodes_, {.op = single ? ExprOp::kUniform : ExprOp::kItem, .item = id});
}

void Expression::add(const Step& step) {
  Reader::Numbers numbers;
  for (size_t k = 0; k < step.arity; ++k) {
    const Item& item = program_.items[static_cast<size_t>(step.operands[k])];
    if (item.is != Item::ItemKind::kNumber) continue;
    const Number& number = program_.numbers[static_cast<size_t>(item.index)];
    if (number.launch_index < 0) numbers[k] = number.value.to_double();
  }
  Reader reader(step, numbers, doubles_);
  reader.read(doubles_ ? step.op->postfix_double : step.op->postfix);
  const auto operand = [&](const ExprNode& node) {
    return leaf(step.operands[static_cast<size_t>(node.item)]);
  };
  std::vector<bool> invariant(reader.nodes.size());
  for (size_t i = 0; i < reader.nodes.size(); ++i) {
    if (reader.nodes[i].op == ExprOp::kItem)
      invariant[i] = nodes_[static_cast<size_t>(operand(reader.nodes[i]))].op == ExprOp::kUniform;
  }
  Joiner(reader.nodes, reader.root(), invariant).join();
  std::vector<int> node_of;  // maps the reader's nodes to the expression's
  for (const ExprNode& node : reader.nodes) {
    ExprNode copy = node;
    for (int* id : {&copy.a, &copy.b, &copy.c}) {
      if (*id >= 0) *id = node_of[static_cast<size_t>(*id)];
    }
    node_of.push_back(node.op == ExprOp::kItem ? operand(node) : find_or_add(nodes_, copy));
  }
  values_[static_cast<size_t>(step.result)] = node_of[static_cast<size_t>(reader.root())];
}

// Changes nodes in place. A node without uses is not emitted.
void Expression::finish(bool wide) {
  constexpr uint8_t kSignOfA = 2, kNoSign = 10, kNotAtMost = 22;  // encodings of the instructions
  const auto at = [&](int id) -> const ExprNode& { return nodes_[static_cast<size_t>(id)]; };
  const auto asks = [&](const ExprNode& n, uint8_t mode) {
    return n.op == ExprOp::kCompare && n.mode == mode;
  };
  const auto asks_nan = [&](const ExprNode& n) { return asks(n, 4) && n.a == n.b; };
  for (ExprNode& n : nodes_) {
    // a > b || isnan(a), the form of relu
    if (n.op == ExprOp::kOr && asks(at(n.a), 30) && asks_nan(at(n.b)) && at(n.a).a == at(n.b).a &&
        at(at(n.b).a).op != ExprOp::kConstant) {
      n = {.op = ExprOp::kCompare, .a = at(n.a).a, .b = at(n.a).b, .mode = kNotAtMost};
    }
    if (!wide) continue;
    // at_most(|x|, limit), copysign(of that, x) and keep_nan of vector_math.h. A limit is positive,
    // and the result for a NaN does not matter as keep_nan replaces it.
    if (n.op == ExprOp::kAtMost && at(n.a).op == ExprOp::kAbs) {
      n = {.op = ExprOp::kLimit, .a = at(n.a).a, .b = n.b, .mode = kNoSign};
    } else if (n.op == ExprOp::kCopySign && at(n.a).op == ExprOp::kLimit && at(n.a).a == n.b) {
      n = {.op = ExprOp::kLimit, .a = n.b, .b = at(n.a).b, .mode = kSignOfA};
    } else if (n.op == ExprOp::kChoose && asks(at(n.a), 0) && at(n.a).a == n.c &&
               at(n.a).b == n.c) {
      n = {.op = ExprOp::kKeepNan, .a = n.b, .b = n.c};
    }
  }
}

}  // namespace uh::jit::fused
