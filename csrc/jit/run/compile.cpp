// Compiles a Graph to Code. Three decisions are made here: which Values stay on the stack
// (preprocess_graph.h), which register a Value gets (from a list of free ones), and which use is
// its last (a LOAD becomes a MOVE).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "dispatch/library.h"
#include "jit/builtins/builtin.h"
#include "jit/function.h"
#include "jit/group/fusion_group.h"
#include "jit/run/callees.h"
#include "jit/run/code.h"
#include "jit/run/fork.h"
#include "jit/run/host_function.h"
#include "jit/run/preprocess_graph.h"
#include "jit/scalar/region.h"
#include "jit/schema_matching/signature.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

constexpr size_t kMaxRegisters = 60'000;

}  // namespace

class Compiler {
 public:
  Compiler(const GraphRef& graph, std::string name, const CompileOptions& options)
      : uses_(*graph), code_(CodeRef::adopt(new Code(graph, std::move(name)))), options_(options) {}

  CodeRef run() {
    const Graph& graph = *code_->graph_;
    code_->input_count_ = graph.inputs().size();
    code_->output_count_ = graph.outputs().size();
    code_->watched_ = !options_.scalar_programs;
    guards();
    if (!options_.scalar_programs || !whole_graph()) {
      inputs();
      block(*graph.block(), {});
      results(*graph.block());
    }
    emit(Opcode::kReturn, 0, code_->output_count_);
    if (!options_.guards.empty()) {
      code_->bail_out_ = next_pc();
      emit(Opcode::kBailOut);
    }
    code_->register_count_ = register_count_;
    if (events::on()) code_->record_constants();
    return std::move(code_);
  }

 private:
  using Values = std::vector<const Value*>;

  size_t next_pc() const { return code_->instructions_.size(); }

  size_t emit(Opcode op, size_t x = 0, size_t n = 0, const Value* value = nullptr) {
    check(n < kMaxRegisters, "compile: ", text_of(op), " with ", n, " operands");
    code_->instructions_.push_back({op, static_cast<uint16_t>(n), static_cast<int32_t>(x)});
    code_->nodes_.push_back(node_);
    code_->values_.push_back(value);
    return next_pc() - 1;
  }
  void set_target(size_t pc) { code_->instructions_[pc].x = static_cast<int32_t>(next_pc()); }

  void guards() {
    code_->guards_ = options_.guards;
    for (size_t i = 0; i < options_.guards.size(); ++i) emit(Opcode::kGuard, i);
  }

  bool whole_graph() {
    const auto region = scalar_region(*code_->graph_);
    if (!region) return false;
    node_ = code_->graph_->block()->first();
    scalar(*region);
    return true;
  }

  // ---- registers
  size_t take(size_t n = 1) {
    if (n == 1 && !free_.empty()) {
      const size_t r = free_.back();
      free_.pop_back();
      return r;
    }
    register_count_ += n;
    check(register_count_ < kMaxRegisters, "compile: ", code_->name_, " needs more than ",
          kMaxRegisters, " registers");
    return register_count_ - n;
  }
  void give_back(size_t r) { free_.push_back(r); }

  void load(const Value* value) {
    if (const Node* new_node = value->node(); new_node->is("prim::Constant")) {
      constant(new_node, value);
    } else if (uses_.is_inlined(new_node)) {
      const Node* outer = node_;
      operation(new_node);
      node_ = outer;
    } else {
      last_load_[value] = emit(Opcode::kLoad, register_.at(value), 0, value);
    }
  }

  void constant(const Node* new_node, const Value* value) {
    auto [it, fresh] = constants_.try_emplace(value, code_->constants_.size());
    if (fresh) {
      const Attribute* attribute = new_node->attribute("value");
      code_->constants_.push_back(attribute ? attribute->value : IValue());
    }
    emit(Opcode::kConst, it->second, 0, value);
  }

  // Pops the results of `node` into their registers.
  void store(const Node* node) {
    const auto& outputs = node->outputs();
    // An in-place operator pushes only results that have uses.
    const bool pushes_unused = returned_inputs(*node).empty();
    for (size_t i = outputs.size(); i-- > 0;) {
      const Value* value = outputs[i];
      if (!value->has_uses()) {
        if (pushes_unused) emit(Opcode::kDrop);
      } else {
        emit(Opcode::kStore, register_[value] = take(), 0, value);
      }
    }
  }

  // ---- last uses
  // Ends the value after its last use by `node`, which has been compiled.
  void end_of(const Value* value, const Node* node) {
    const bool in_if = node->is("prim::If") && uses_.used_within(node, value);
    if (in_if) return;  // its branches end it
    if (node->is("prim::Loop") && uses_.used_within(node, value)) {
      emit(Opcode::kDropR, register_.at(value), 0, value);
      return;
    }
    code_->instructions_[last_load_.at(value)].op = Opcode::kMove;
  }

  // Ends the values whose last use is this node of `at`; frees the registers of those defined in
  // `at`.
  void ends_at(const Block& at, const Node* node, const Values& dying) {
    for (const Value* value : ending(at, node, dying)) {
      end_of(value, node);
      if (value->block() == &at && !loop_parameters_.count(value)) give_back(register_.at(value));
    }
  }
  Values ending(const Block& at, const Node* node, const Values& dying) const {
    Values all;
    for (const Value* value : uses_.ending_at(node)) {
      const bool ends_here =
          value->block() == &at || std::find(dying.begin(), dying.end(), value) != dying.end();
      if (ends_here && register_.count(value)) all.push_back(value);
    }
    return all;
  }

  // ---- blocks
  void inputs() {
    const auto& inputs = code_->graph_->inputs();
    if (inputs.empty()) return;
    node_ = nullptr;
    const size_t first = take(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) register_[inputs[i]] = first + i;
    emit(Opcode::kStoreN, first, inputs.size());
    for (const Value* value : inputs) {
      if (value->has_uses()) continue;
      emit(Opcode::kDropR, register_.at(value), 0, value);
      give_back(register_.at(value));
    }
  }

  // `dying`: outside values without a use after this block.
  void block(const Block& at, const Values& dying) {
    for (const Node* node = at.first(); node != at.return_node(); node = node->next()) {
      if (node->is("prim::Constant") || uses_.is_inlined(node)) continue;
      Values inside;
      if (node->is("prim::If")) inside = ending(at, node, dying);
      statement(node, inside);
      ends_at(at, node, dying);
    }
  }
  // Pushes the results of the block.
  void results(const Block& at, const Values& dying = {}) {
    node_ = at.return_node();
    for (const Value* value : at.returns()) load(value);
    ends_at(at, at.return_node(), dying);
  }

  void statement(const Node* node, const Values& dying) {
    node_ = node;
    if (node->is("prim::If")) {
      branches(node, dying);
    } else if (node->is("prim::Loop")) {
      loop(node);
    } else {
      operation(node);
      store(node);
    }
  }

  void branches(const Node* node, const Values& dying) {
    load(node->input(0));
    const size_t to_else = emit(Opcode::kJumpIfFalse);
    for (const Value* value : node->outputs())
      if (value->has_uses()) register_[value] = take();
    size_t to_end = 0;
    for (size_t i = 0; i < 2; ++i) {
      const Block& inner = *node->block(i);
      if (i == 1) set_target(to_else);
      Values inside;
      for (const Value* value : dying) {
        if (!uses_.used_within(node, value)) continue;  // the condition: already moved out
        if (uses_.used_in(&inner, value)) {
          inside.push_back(value);
        } else {
          emit(Opcode::kDropR, register_.at(value), 0, value);
        }
      }
      block(inner, inside);
      results(inner, inside);
      node_ = node;
      for (size_t k = node->outputs().size(); k-- > 0;) {
        const Value* value = node->output(k);
        if (value->has_uses()) {
          emit(Opcode::kStore, register_.at(value), 0, value);
        } else {
          emit(Opcode::kDrop);
        }
      }
      node_ = node;
      if (i == 0) to_end = emit(Opcode::kJump);
    }
    set_target(to_end);
  }

  void loop(const Node* node) {
    if (options_.scalar_programs) {
      if (const auto region = scalar_region(*node)) {
        scalar(*region);
        store(node);
        return;
      }
    }
    const Block& body = *node->block(0);
    const size_t counter = take(2);
    load(node->input(0));
    node_ = node;
    emit(Opcode::kStore, counter + 1);
    emit(Opcode::kConst, before_first());
    emit(Opcode::kStore, counter);
    load(node->input(1));
    node_ = node;
    // Carried values stay in their registers across iterations, and become the outputs at the end.
    // The counter's register is that of the body's first parameter.
    for (size_t i = 2; i < node->inputs().size(); ++i) load(node->input(i));
    node_ = node;
    std::vector<size_t> carried;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      carried.push_back(take());
      const Value* param = body.params()[i + 1];
      register_[param] = carried[i];
      register_[node->output(i)] = carried[i];
      loop_parameters_.insert(param);
    }
    for (size_t i = carried.size(); i-- > 0;)
      emit(Opcode::kStore, carried[i], 0, body.params()[i + 1]);
    const Value* index = body.params()[0];
    const size_t head = emit(Opcode::kLoop, 0, counter);
    if (index->has_uses()) {
      // LOOP needs the count in the first register; the body may move it out, so it gets a copy.
      register_[index] = take();
      emit(Opcode::kLoad, counter, 0, index);
      emit(Opcode::kStore, register_[index], 0, index);
    }
    block(body, {});
    results(body);
    node_ = node;
    for (size_t i = carried.size(); i-- > 0;)
      emit(Opcode::kStore, carried[i], 0, body.params()[i + 1]);
    emit(Opcode::kJump, head);
    set_target(head);
    for (size_t i = 0; i < carried.size(); ++i) {
      if (node->output(i)->has_uses()) continue;
      emit(Opcode::kDropR, carried[i], 0, node->output(i));
      give_back(carried[i]);
    }
    give_back(counter);
    give_back(counter + 1);
  }

  size_t before_first() {
    for (size_t i = 0; i < code_->constants_.size(); ++i)
      if (const int64_t* v = code_->constants_[i].get_if<int64_t>(); v && *v == -1) return i;
    code_->constants_.push_back(IValue(int64_t{-1}));
    return code_->constants_.size() - 1;
  }

  void scalar(const ScalarRegion& region) {
    if (region.node) {
      for (const Value* value : region.inputs) load(value);
      node_ = region.node;
    }
    code_->programs_.push_back(region.program);
    emit(Opcode::kScalar, code_->programs_.size() - 1, region.inputs.size());
  }

  // ---- a node without blocks: pushes its inputs and emits the instruction; results are on the
  // stack
  void operation(const Node* node) {
    const auto& inputs = node->inputs();
    // The written tensor is also the result: pushed before the operands, it stays when they are
    // popped.
    const std::vector<Value*> written = returned_inputs(*node);
    for (size_t i = 0; i < written.size(); ++i)
      if (node->output(i)->has_uses()) load(written[i]);
    const size_t first = node->is("prim::CallFunction") ? 1 : 0;
    for (size_t i = first; i < inputs.size(); ++i) load(inputs[i]);
    node_ = node;
    const size_t n = inputs.size() - first;
    if (node->is("prim::RaiseException")) {
      emit(Opcode::kRaise, 0, n);
      return;
    }
    if (node->op()) {
      emit(Opcode::kOp, index_of(code_->operators_, called(node->op())), n);
      return;
    }
    if (container(node, n) || member(node, n) || subgraph(node, n)) return;
    if (node->is("prim::Uninitialized")) {
      nothing(node);
    } else if (const Builtin* builtin = find_builtin(node->kind().text())) {
      emit(Opcode::kOp, index_of(code_->operators_, called(builtin)), n);
    } else if (!node->is("prim::unchecked_cast")) {
      // A cast changes only the type: the operand is the result.
      fail(ErrorKind::kRuntime, "compile: there is no instruction for ", print(*node));
    }
  }

  // Constructs or unpacks lists, tuples and dictionaries; true if the node does that.
  bool container(const Node* node, size_t n) {
    const std::string& kind = node->kind().text();
    if (kind == "prim::ListConstruct") {
      emit(Opcode::kList, 0, n);
    } else if (kind == "prim::TupleConstruct") {
      emit(Opcode::kTuple, 0, n);
    } else if (kind == "prim::DictConstruct") {
      emit(Opcode::kDict, 0, n);
    } else if (kind == "prim::ListUnpack" || kind == "prim::TupleUnpack") {
      emit(Opcode::kUnpack, 0, node->outputs().size());
    } else if (kind == "prim::TupleIndex") {
      emit(Opcode::kTupleIndex);
    } else if (kind == "prim::TupleSlice") {
      const auto at = [&](const char* name) {
        return static_cast<size_t>(*node->attribute(name)->value.get_if<int64_t>());
      };
      emit(Opcode::kTupleSlice, at("beg"), at("end") - at("beg"));
    } else {
      return false;
    }
    return true;
  }

  // Functions, methods, attributes and classes; true if the node uses one.
  bool member(const Node* node, size_t n) {
    const std::string& kind = node->kind().text();
    if (kind == "prim::CallFunction") {
      emit(Opcode::kCall, index_of_function(callee_of(*node)), n);
    } else if (kind == "prim::CallMethod") {
      emit(Opcode::kCallMethod, index_of_function(method_of(*node)), n);
    } else if (kind == "prim::GetAttr" || kind == "prim::SetAttr") {
      emit(kind == "prim::GetAttr" ? Opcode::kGetAttr : Opcode::kSetAttr, slot_of(*node));
    } else if (kind == "prim::CreateObject") {
      code_->types_.push_back({node->output()->type()});
      emit(Opcode::kObject, code_->types_.size() - 1);
    } else if (kind == "prim::isinstance") {
      const Attribute* types = node->attribute("types");
      check(types != nullptr, "compile: prim::isinstance without types");
      code_->types_.push_back(types->types);
      emit(Opcode::kIsInstance, code_->types_.size() - 1, types->types.size());
    } else {
      return false;
    }
    return true;
  }

  // Subgraphs and host functions; true if the node runs one.
  bool subgraph(const Node* node, size_t n) {
    if (node->is("prim::FusionGroup")) {
      code_->groups_.push_back(fusion_group_of(*node));
      emit(Opcode::kFused, code_->groups_.size() - 1, n);
    } else if (node->is("prim::fork")) {
      const Attribute* sub = node->attribute("Subgraph");
      check(sub && sub->graph, "compile: prim::fork without a subgraph");
      code_->forks_.push_back(make_ref<Fork>(sub->graph, node->output()->type()));
      call_alone(static_cast<Fork&>(*code_->forks_.back()).op(), n);
    } else if (node->is("prim::PythonOp")) {
      const Attribute* bound = node->attribute("name");
      check(bound && bound->object, "compile: ", print(*node),
            " calls an unavailable Python function");
      call_alone(static_cast<HostFunction*>(bound->object.get())->op(), n);
    } else {
      return false;
    }
    return true;
  }
  void call_alone(OperatorInfo& op, size_t n) {
    const Code::Operator called{&op, nullptr, true, false};
    emit(Opcode::kOp, index_of(code_->operators_, called), n);
  }

  // Pushes an undefined value: never read, but passed to machine-code loops, which need a number.
  void nothing(const Node* node) {
    const Type& type = *node->output()->type();
    IValue value;
    if (type.is(TypeKind::kInt)) value = int64_t{0};
    if (type.is(TypeKind::kFloat)) value = 0.0;
    if (type.is(TypeKind::kBool)) value = false;
    code_->constants_.push_back(std::move(value));
    emit(Opcode::kConst, code_->constants_.size() - 1, 0, node->output());
  }

  template <class T>
  static size_t index_of(std::vector<T>& all, T item) {
    const auto it = std::find(all.begin(), all.end(), item);
    if (it != all.end()) return static_cast<size_t>(it - all.begin());
    all.push_back(item);
    return all.size() - 1;
  }

  static Code::Operator called(const OperatorInfo* op) {
    auto* info = const_cast<OperatorInfo*>(op);
    const Builtin* builtin = as_builtin(op);
    const auto& results = op->schema().returns;
    const bool lists = !builtin && std::any_of(results.begin(), results.end(),
                                               [](const Argument& r) { return r.type.is_list(); });
    return {info, builtin, dynamic_cast<BoxedOperator*>(info) != nullptr, lists};
  }

  size_t index_of_function(Ref<Function> function) {
    auto& all = code_->functions_;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].get() == function.get()) return i;
    all.push_back(std::move(function));
    return all.size() - 1;
  }

  const LastUses uses_;
  CodeRef code_;
  const CompileOptions& options_;
  const Node* node_ = nullptr;
  std::unordered_map<const Value*, size_t> register_;
  std::unordered_map<const Value*, size_t> constants_;
  std::unordered_map<const Value*, size_t> last_load_;
  std::unordered_set<const Value*> loop_parameters_;  // their registers belong to the loop
  std::vector<size_t> free_;
  size_t register_count_ = 0;
};

CodeRef compile(const GraphRef& graph, std::string name, const CompileOptions& options) {
  return Compiler(graph, std::move(name), options).run();
}

}  // namespace uh::jit
