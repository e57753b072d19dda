#include "jit/run/code.h"

#include "autograd/autograd_meta.h"
#include "base/json.h"
#include "events/recorder.h"
#include "jit/function.h"
#include "jit/group/fusion_group.h"
#include "jit/scalar/program.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

std::atomic<int64_t> g_codes{0}, g_alive{0};

constexpr std::string_view kTexts[] = {
#define UH_OPCODE(name, text, x, n, doc) text,
    UH_OPCODES(UH_OPCODE)
#undef UH_OPCODE
};

}  // namespace

std::string_view text_of(Opcode op) { return kTexts[static_cast<size_t>(op)]; }

bool InputGuard::holds(const IValue& value) const {
  const Tensor* t = value.get_if<Tensor>();
  return t && *t && t->dtype() == dtype && t->ndim() == rank && t->device() == device &&
         autograd::requires_grad(*t) == requires_grad;
}

std::string InputGuard::text() const {
  if (rank < 0) return "no Tensor";
  TensorProperties facts;
  facts.dtype = dtype;
  facts.device = device;
  facts.requires_grad = requires_grad;
  facts.sizes = Dims();
  for (int32_t i = 0; i < rank; ++i) facts.sizes->push_back(-1);
  return tensor_type(std::move(facts))->text();
}

InputGuard guard_of(const IValue& value, int32_t input) {
  const Tensor* t = value.get_if<Tensor>();
  if (!t || !*t) return {input, DType::kUndefined, Device::kUndefined, -1, false};
  return {input, t->dtype(), t->device(), static_cast<int32_t>(t->ndim()),
          autograd::requires_grad(*t)};
}

Code::Code(GraphRef graph, std::string name)
    : id_(++g_codes), graph_(std::move(graph)), name_(std::move(name)) {
  ++g_alive;
}
Code::~Code() { --g_alive; }
int64_t Code::alive() { return g_alive; }

void Code::record_constants() {
  std::vector<HolderTracker::Reference> references;
  for (size_t i = 0; i < constants_.size(); ++i)
    each_tensor(constants_[i],
                [&](const Tensor& t) { references.push_back({static_cast<int64_t>(i), &t}); });
  if (references.empty()) return;
  holders_ = std::make_unique<HolderTracker>(events::Holder::kCode, id_);
  holders_->update(references);
}

std::string Code::text(size_t pc) const {
  const Instruction& i = instructions_[pc];
  const auto x = static_cast<size_t>(i.x);
  std::string line(text_of(i.op));
  const auto add = [&](const auto& part) { line += message(" ", part); };
  switch (i.op) {
    case Opcode::kOp:
      add(message(operators_[x].info->name_space(), "::", operators_[x].info->full_name()));
      break;
    case Opcode::kConst: {
      add(i.x);
      std::string value = print(constants_[x]);
      if (value.size() > 40) value = value.substr(0, 37) + "...";
      line += " = " + value;
      break;
    }
    case Opcode::kCall:
    case Opcode::kCallMethod: add(functions_[x]->name()); break;
    case Opcode::kLoop:
    case Opcode::kStoreN:
    case Opcode::kTupleSlice:
      add(i.x);
      add(i.n);
      break;
    case Opcode::kList:
    case Opcode::kTuple:
    case Opcode::kDict:
    case Opcode::kUnpack:
    case Opcode::kReturn: add(i.n); break;
    case Opcode::kObject:
    case Opcode::kIsInstance:
      for (const TypeRef& type : types_[x]) add(type->text());
      break;
    case Opcode::kGetAttr:
    case Opcode::kSetAttr: add(nodes_[pc]->text_attribute("name")); break;
    case Opcode::kGuard: add(message(guards_[x].input, ": ", guards_[x].text())); break;
    case Opcode::kDrop:
    case Opcode::kTupleIndex:
    case Opcode::kRaise:
    case Opcode::kBailOut: break;
    default: add(i.x);
  }
  if (const Value* value = values_[pc]) line += " (%" + value->name() + ")";
  return line;
}

std::string Code::text() const {
  std::string all;
  for (size_t pc = 0; pc < instructions_.size(); ++pc)
    all += std::to_string(pc) + " " + text(pc) + "\n";
  return all;
}

std::string Code::json() const {
  JsonWriter w;
  w.begin_object().member("name", name_).member("registers", register_count_);
  w.member("watched", watched_);
  w.key("instructions").begin_array();
  for (size_t pc = 0; pc < instructions_.size(); ++pc) {
    const Instruction& i = instructions_[pc];
    w.begin_object().member("text", text(pc)).member("op", text_of(i.op));
    w.member("x", i.x).member("n", i.n);
    w.member("node", nodes_[pc] ? nodes_[pc]->id() : 0);
    w.member("value", values_[pc] ? values_[pc]->id() : 0);
    w.key("span");
    if (const Span* span = nodes_[pc] ? &nodes_[pc]->span() : nullptr; span && *span) {
      w.begin_array().value(span->source->file);
      w.value(span->line).value(span->column).value(span->end_line).value(span->end_column);
      w.end_array();
    } else {
      w.value(nullptr);
    }
    w.end_object();
  }
  w.end_array().key("constants").begin_array();
  for (const IValue& constant : constants_) w.value(print(constant));
  w.end_array().key("guards").begin_array();
  for (const InputGuard& guard : guards_) {
    w.begin_object().member("input", guard.input).member("text", guard.text()).end_object();
  }
  w.end_array().end_object();
  return w.take();
}

void Code::record(int64_t function) const {
  const uint64_t generation = events::g_generation.load(std::memory_order_relaxed) + 1;
  if (recorded_in_.exchange(generation, std::memory_order_relaxed) == generation) return;
  const std::string text = json();
  events::emit_blob(events::Kind::kCODE, function, id_, graph_->id(),
                    static_cast<int64_t>(instructions_.size()), text.data(), text.size());
}

}  // namespace uh::jit
