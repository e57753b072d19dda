#include "jit/schema_matching/builtin_calls.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "dispatch/dispatcher.h"
#include "jit/builtins/builtin.h"
#include "jit/schema_matching/match.h"
#include "jit/schema_matching/overload.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

// The dispatcher's operators by qualified name; rebuilt when libraries have added or removed
// some.
class Index {
 public:
  std::vector<const OperatorInfo*> named(const std::string& name) {
    const uint64_t generation = Dispatcher::instance().generation();
    std::lock_guard guard(lock_);
    if (generation != generation_) {
      by_name_.clear();
      for (const OperatorInfo* op : Dispatcher::instance().all())
        by_name_[op->qualified_name()].push_back(op);
      generation_ = generation;
    }
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? std::vector<const OperatorInfo*>() : it->second;
  }

  // Returns names similar to this one.
  std::vector<std::string> like(const std::string& name) {
    std::lock_guard guard(lock_);
    std::vector<std::string> result;
    for (const auto& [other, ops] : by_name_)
      if (near(name, other)) result.push_back(other);
    for (const Builtin* builtin : all_builtins()) {
      const std::string other = builtin->qualified_name();
      if (near(name, other) && std::find(result.begin(), result.end(), other) == result.end())
        result.push_back(other);
    }
    return result;
  }

 private:
  // True for an edit distance of at most two, or one for short names.
  static bool near(const std::string& a, const std::string& b) {
    const size_t limit = a.size() < 10 ? 1 : 2;
    if (a.size() > b.size() + limit || b.size() > a.size() + limit) return false;
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t changed = diagonal + (a[i - 1] != b[j - 1]);
        diagonal = row[j];
        row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      }
    }
    return row.back() <= limit;
  }

  std::mutex lock_;
  std::map<std::string, std::vector<const OperatorInfo*>> by_name_;
  uint64_t generation_ = 0;
};

Index& index() {
  static auto* result = new Index;
  return *result;
}

// The dispatcher's operators of a name, or PyTorch's overloads of a combined operator.
std::vector<const OperatorInfo*> operators_of(const std::string& name) {
  const auto& overloads = overloads_named(name);
  std::vector<const OperatorInfo*> result(overloads.begin(), overloads.end());
  for (const OperatorInfo* op : index().named(name))
    if (overloads_of(*op).empty()) result.push_back(op);
  // PyTorch tries the `correction` overload last, so that x.std() keeps its meaning.
  std::stable_partition(result.begin(), result.end(), [](const OperatorInfo* op) {
    return op->schema().overload_name() != "correction";
  });
  return result;
}

std::vector<const OperatorInfo*> all_of(const std::string& name) {
  std::vector<const OperatorInfo*> result = operators_of(name);
  const auto& builtins = builtins_named(name);
  result.insert(result.end(), builtins.begin(), builtins.end());
  const auto alias = operator_aliases().find(name);
  if (alias == operator_aliases().end()) return result;
  for (const OperatorInfo* op : operators_of(std::string(alias->second))) result.push_back(op);
  for (const Builtin* builtin : builtins_named(alias->second)) result.push_back(builtin);
  return result;
}

// x.view(6) is a view of six elements: an int matches a size before a dtype.
bool only_when_converting(const OperatorInfo& op) {
  return op.name_space() == "aten" && op.full_name() == "view.dtype";
}

std::string full_text(const OperatorInfo& op) {
  return message(op.name_space(), "::", op.schema_text());
}

std::string unknown(std::string_view name) {
  const std::string full =
      name.find("::") == std::string_view::npos ? message("aten::", name) : std::string(name);
  std::string text = message("Unknown builtin op: ", full, ".\n");
  const std::vector<std::string> like = index().like(full);
  if (like.empty()) return text + "Could not find any similar ops to " + full + ".";
  text += "Here are some suggestions: \n";
  for (const std::string& each : like) text += "\t" + each + "\n";
  return text;
}

// The text with every line indented by two spaces.
std::string indented(const std::string& text) {
  std::string all = "  ";
  for (const char c : text) {
    all += c;
    if (c == '\n') all += "  ";
  }
  return all;
}

}  // namespace

std::vector<const OperatorInfo*> operators_named(std::string_view name) {
  std::string full(name);
  if (name.find("::") == std::string_view::npos) {
    auto result = operators_named("aten::" + full);
    return result.empty() ? operators_named("prim::" + full) : result;
  }
  std::vector<const OperatorInfo*> result = all_of(full);
  const size_t dot = full.rfind('.');
  if (!result.empty() || dot == std::string::npos) return result;
  for (const OperatorInfo* op : all_of(full.substr(0, dot)))
    if (op->schema().overload_name() == std::string_view(full).substr(dot + 1))
      result.push_back(op);
  return result;
}

std::vector<const OperatorInfo*> operators_in_texts(std::string_view kind) {
  std::vector<const OperatorInfo*> result = operators_named(kind);
  for (const OperatorInfo* op : index().named(std::string(kind)))
    if (!overloads_of(*op).empty()) result.push_back(op);
  return result;
}

Node* try_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
               const std::vector<NamedValue>& kwargs, std::string* reason) {
  // Operators that merge several overloads come last: no single overload of PyTorch's takes
  // x.sum(keepdim=True).
  const std::vector<const OperatorInfo*> candidates = operators_in_texts(name);
  if (candidates.empty()) {
    if (reason) *reason = unknown(name);
    return nullptr;
  }
  std::string tried;
  for (const bool conversions : {false, true}) {
    if (!conversions && candidates.size() == 1) continue;
    tried.clear();
    for (const OperatorInfo* op : candidates) {
      if (!conversions && only_when_converting(*op)) continue;
      const SchemaMatch match(*op, args, kwargs, conversions);
      if (match.ok()) return match.emit(graph);
      tried += message("\n", full_text(*op), ":\n", match.reason(), "\n");
    }
  }
  if (reason)
    *reason = message("Arguments for call are not valid.\nThe following variants are available:\n",
                      indented(tried));
  return nullptr;
}

Node* emit_builtin_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
                        const std::vector<NamedValue>& kwargs) {
  std::string reason;
  Node* node = try_call(graph, name, args, kwargs, &reason);
  check(node != nullptr, reason);
  return node;
}

Value* result_of(Node* call) {
  if (call->outputs().size() == 1) return call->output();
  Graph& graph = call->graph();
  std::vector<Value*> values = call->outputs();
  std::vector<std::string> names;
  if (call->op()) {
    const Signature& signature = signature_of(*call->op());
    names = signature.result_names;
    for (size_t i = 0; values.empty() && i < signature.parameters.size(); ++i)
      if (signature.parameters[i].written && !signature.builtin) return call->input(i);
  }
  if (values.empty()) return nullptr;
  if (std::find(names.begin(), names.end(), "") != names.end()) names.clear();
  std::vector<TypeRef> types;
  for (const Value* value : values) types.push_back(value->type());
  Node* tuple = graph.insert(graph.create("prim::TupleConstruct", values, 0));
  return tuple->add_output(tuple_of(std::move(types), std::move(names)));
}

const OperatorInfo* find_overload(std::string_view kind, const std::vector<TypeRef>& actual_types,
                                  size_t outputs, std::string* reason) {
  std::string tried;
  for (const OperatorInfo* op : operators_in_texts(kind)) {
    std::string problem = check_arguments(*op, actual_types);
    const Signature& signature = signature_of(*op);
    if (problem.empty() && outputs != signature.results.size() && !signature.variadic)
      problem = message("it gives ", signature.results.size(), " values, not ", outputs);
    if (problem.empty()) return op;
    tried += message("\n  ", full_text(*op), ": ", problem);
  }
  if (reason) *reason = tried;
  return nullptr;
}

}  // namespace uh::jit
