#include "jit/run/executor.h"

#include <algorithm>
#include <exception>

#include "base/json.h"
#include "events/recorder.h"
#include "jit/function.h"
#include "jit/pipeline.h"
#include "tensor/thread_state.h"

namespace uh::jit {
namespace {

std::string guard_failure(const InputGuard& promised, const IValue& value,
                          const std::string& name) {
  const InputGuard seen = guard_of(value, promised.input);
  return message("input ", name, ": ", seen.text(), ", specialised for ", promised.text());
}

}  // namespace

namespace {
bool holds_tensors(const Type& type) {
  return type.is(TypeKind::kTensor) ||
         (!type.is(TypeKind::kClass) &&
          std::any_of(type.inner().begin(), type.inner().end(),
                      [](const TypeRef& inner) { return holds_tensors(*inner); }));
}
bool computes_tensors(const Graph& graph) {
  bool any = false;
  graph.each_node([&](const Node* node) {
    for (const Value* output : node->outputs()) any |= holds_tensors(*output->type());
  });
  return any;
}
}  // namespace

Executor::Executor(Function& function)
    : function_(function), input_count_(function.graph().inputs().size()) {
  const auto& inputs = function.graph().inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]->type()->is(TypeKind::kTensor) && inputs[i]->has_uses())
      tensors_.push_back(static_cast<int32_t>(i));
}

int64_t Executor::function_id() const { return function_.id(); }

bool Executor::Plan::fits(const IValue* arguments) const {
  return std::all_of(guards.begin(), guards.end(),
                     [&](const InputGuard& g) { return g.holds(arguments[g.input]); });
}

const IValue* Executor::arguments_of(const Stack& stack) const {
  return stack.data() + (stack.size() - input_count_);
}

namespace {

// Restores the thread's modes: an error may leave `with no_grad():`.
class Modes {
 public:
  Modes() : gradients_(grad_enabled()), inference_(t_state.inference) {}
  ~Modes() {
    if (std::uncaught_exceptions() == errors_) return;
    set_grad_enabled(gradients_);
    t_state.inference = inference_;
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

 private:
  const int errors_ = std::uncaught_exceptions();
  const bool gradients_, inference_;
};

}  // namespace

void Executor::run(Stack& stack) {
  const Modes modes;
  const IValue* arguments = arguments_of(stack);
  for (const int32_t i : tensors_) {
    const Tensor* tensor = arguments[i].get_if<Tensor>();
    if (!tensor || !*tensor || !tensor->is_sparse()) [[likely]]
      continue;
    fail(ErrorKind::kNotImplemented, function_.name(),
         ": compiled programs take no sparse tensors: call the function without the compiler, or "
         "pass x.to_dense()");
  }
  jit::run(code_for(stack, events::on()), stack, this);
}

std::vector<InputGuard> Executor::guards_for(const IValue* arguments) const {
  std::vector<InputGuard> guards;
  for (const int32_t i : tensors_) {
    const InputGuard guard = guard_of(arguments[i], i);
    if (guard.rank >= 0) guards.push_back(guard);
  }
  return guards;
}

// A copy without tensor properties of the inputs, which a trace has from its examples.
GraphRef Executor::graph_for_any_input() const {
  GraphRef graph = function_.graph().copy();
  for (Value* input : graph->inputs()) input->set_type(unshaped(input->type()));
  return graph;
}

Executor::Plan& Executor::general() {
  if (!general_) {
    auto plan = std::make_unique<Plan>();
    plan->graph = graph_for_any_input();
    optimise(*plan->graph, false, function_.id());
    plan->code = compile(plan->graph, function_.name());
    computes_tensors_ = computes_tensors(*plan->graph);
    general_ = std::move(plan);
    settle_counts();
  }
  return *general_;
}

const Code& Executor::code_of(Plan& plan, bool recorded) {
  if (!recorded || !plan.code->has_scalar_programs()) return *plan.code;
  if (!plan.watched) {
    CompileOptions options;
    options.guards = plan.guards;
    options.scalar_programs = false;
    plan.watched = compile(plan.graph, function_.name(), options);
  }
  return *plan.watched;
}

const Code& Executor::general_code() {
  std::lock_guard guard(lock_);
  return *general().code;
}

size_t Executor::specialised_count() const {
  std::lock_guard guard(lock_);
  return specialised_.size();
}

GraphRef Executor::specialised_graph(const std::vector<InputGuard>& guards) const {
  GraphRef graph = graph_for_any_input();
  for (const InputGuard& guard : guards) {
    TensorProperties facts;
    facts.dtype = guard.dtype;
    facts.device = guard.device;
    facts.requires_grad = guard.requires_grad;
    facts.sizes = Dims();
    for (int32_t i = 0; i < guard.rank; ++i) facts.sizes->push_back(-1);
    graph->inputs()[static_cast<size_t>(guard.input)]->set_type(tensor_type(facts));
  }
  optimise(*graph, true, function_.id());
  return graph;
}

Executor::Plan& Executor::specialise(const std::vector<InputGuard>& guards, int64_t runs) {
  auto plan = std::make_unique<Plan>();
  plan->guards = guards;
  plan->graph = specialised_graph(guards);
  CompileOptions options;
  options.guards = guards;
  plan->code = compile(plan->graph, function_.name(), options);
  if (events::on()) {
    plan->code->record(function_.id());
    JsonWriter w;
    w.begin_object();
    for (const InputGuard& guard : guards) {
      w.member(function_.graph().inputs()[static_cast<size_t>(guard.input)]->name(), guard.text());
    }
    w.end_object();
    emit_text(events::Kind::kSPECIALISE, function_.id(), plan->code->id(), runs, 0, w.text());
  }
  specialised_.push_back(std::move(plan));
  settle_counts();
  return *specialised_.back();
}

Executor::Plan* Executor::profile(const IValue* arguments) {
  if (!computes_tensors_) return nullptr;
  for (const auto& plan : specialised_)
    if (plan->fits(arguments)) return plan.get();
  std::vector<InputGuard> seen = guards_for(arguments);
  if (specialised_.size() >= kMaxSpecialisations) return nullptr;
  auto it = std::find_if(profiles_.begin(), profiles_.end(),
                         [&](const Profile& p) { return p.seen == seen; });
  if (it == profiles_.end()) {
    if (profiles_.size() >= kMaxProfiles) return nullptr;
    it = profiles_.insert(it, Profile{std::move(seen), 0});
  }
  if (it->runs < kProfiledRuns) {
    ++it->runs;
    return nullptr;
  }
  return &specialise(it->seen, it->runs);
}

const Code& Executor::slow_code_for(const Stack& stack, bool recorded) {
  std::lock_guard guard(lock_);
  Plan& any = general();
  // A recorded call starts like any other: its guards and bail-outs are recorded.
  if (const Plan* current_plan = current_.load(std::memory_order_acquire))
    return code_of(const_cast<Plan&>(*current_plan), recorded);
  Plan* plan = profile(arguments_of(stack));
  if (plan) {
    current_.store(plan, std::memory_order_release);
  } else if (!computes_tensors_) {
    current_.store(&any, std::memory_order_release);
  }
  return code_of(plan ? *plan : any, recorded);
}

std::string Executor::mismatch(const Code& code, const IValue* arguments) const {
  for (const InputGuard& guard : code.guards()) {
    if (guard.holds(arguments[guard.input])) continue;
    const auto& inputs = function_.graph().inputs();
    return guard_failure(guard, arguments[guard.input],
                         inputs[static_cast<size_t>(guard.input)]->name());
  }
  return "";
}

const Code& Executor::bail_out(const Frame& frame, const Stack& stack, bool recorded) {
  std::lock_guard guard(lock_);
  const IValue* arguments = stack.data() + frame.stack;
  Plan& any = general();
  Plan* plan = profile(arguments);
  // Callers that alternate between kinds of arguments do not make this switch back and forth:
  // failing the guards of the first code costs a few instructions.
  if (plan) current_.store(plan, std::memory_order_release);
  const Code& next = code_of(plan ? *plan : any, recorded);
  if (events::on()) {
    next.record(function_.id());
    emit_text(events::Kind::kBAIL_OUT, frame.code->id(), frame.id, static_cast<int64_t>(frame.pc),
              next.id(), mismatch(*frame.code, arguments));
  }
  return next;
}

void Executor::record_guard(const Frame& frame, const InputGuard& guard, const IValue& value,
                            bool holds) {
  if (!events::on()) return;
  const auto& inputs = function_.graph().inputs();
  emit_text(events::Kind::kGUARD, frame.code->id(), frame.id, holds, static_cast<int64_t>(frame.pc),
            guard_failure(guard, value, inputs[static_cast<size_t>(guard.input)]->name()));
}

GraphRef Executor::graph_for(const Stack& arguments) {
  std::lock_guard guard(lock_);
  check(arguments.size() == input_count_, function_.name(), ": graph_for: expected ", input_count_,
        " arguments, got ", arguments.size());
  const Plan& any = general();
  if (!computes_tensors_) return any.graph;
  for (const auto& plan : specialised_)
    if (plan->fits(arguments.data())) return plan->graph;
  const std::vector<InputGuard> guards = guards_for(arguments.data());
  // A query does not use up a specialisation.
  if (specialised_.size() + 1 >= kMaxSpecialisations) return specialised_graph(guards);
  return specialise(guards, 0).graph;
}

}  // namespace uh::jit
