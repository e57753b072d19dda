// The events of a recorded run. JIT_FRAME carries {"inputs": [V]}, JIT_FRAME_END
// {"outputs": [V]} or {"error": text}, JIT_STEP {"registers": {"3": V or null},
// "stack": [V]}: the registers that the instruction wrote or emptied, and the
// stack of the frame after it. V is {"tensor": id}, or {"text": "2.5", "type":
// "float"}.
#include <atomic>

#include "base/json.h"
#include "events/recorder.h"
#include "jit/function.h"
#include "jit/run/executor.h"
#include "jit/run/interpreter.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

std::atomic<int64_t> g_frames{0};
constexpr size_t kMaxTextLength = 80;
constexpr size_t kMaxPrintedItems = 12;

std::string short_text(const IValue& value, int depth = 0);

template <class Items, class F>
std::string joined_items(const char* open, const Items& items, const char* close, const F& text) {
  std::string all = open;
  size_t n = 0;
  for (const auto& item : items) {
    if (n) all += ", ";
    if (n++ == kMaxPrintedItems || all.size() > kMaxTextLength) {
      all += "...";
      break;
    }
    all += text(item);
  }
  return all + close;
}

std::string short_text(const IValue& value, int depth) {
  if (const Tensor* t = value.get_if<Tensor>())
    return *t ? message("Tensor ", t->id()) : std::string("None");
  if (depth > 3) return "...";
  const auto inner = [&](const IValue& item) { return short_text(item, depth + 1); };
  if (const List* list = value.list()) return joined_items("[", list->items, "]", inner);
  if (const Tuple* tuple = value.tuple()) return joined_items("(", tuple->items, ")", inner);
  if (const Dict* dict = value.dict()) {
    return joined_items("{", dict->items(), "}", [&](const Dict::Entry& entry) {
      return inner(entry.first) + ": " + inner(entry.second);
    });
  }
  if (enum_of(value)) return member_text(value);
  if (const Object* object = value.object())
    return static_cast<const Type*>(object->type.get())->text();
  if (const auto* tensors = value.get_if<std::vector<Tensor>>()) {
    return joined_items("[", *tensors, "]", [&](const Tensor& t) { return inner(IValue(t)); });
  }
  std::string text = print(value);
  if (text.size() > kMaxTextLength) text.replace(kMaxTextLength - 3, std::string::npos, "...");
  return text;
}

void write(JsonWriter& w, const IValue& value) {
  w.begin_object();
  if (const Tensor* t = value.get_if<Tensor>(); t && *t) {
    w.member("tensor", t->id());
  } else {
    w.member("text", short_text(value)).member("type", value.type_name());
  }
  w.end_object();
}

void write_stack(JsonWriter& w, const char* name, const Stack& stack, size_t from) {
  w.key(name).begin_array();
  for (size_t i = from; i < stack.size(); ++i) write(w, stack[i]);
  w.end_array();
}

}  // namespace

void emit_text(events::Kind kind, int64_t a, int64_t b, int64_t c, int64_t d,
               const std::string& text) {
  events::emit_blob(kind, a, b, c, d, text.data(), text.size());
}

int64_t next_frame_id() { return ++g_frames; }

void record_frame(const Frame& frame, int64_t parent, const Stack& stack) {
  const int64_t function = frame.executor ? frame.executor->function_id() : 0;
  frame.code->record(function);
  JsonWriter w;
  w.begin_object();
  write_stack(w, "inputs", stack, frame.stack);
  w.end_object();
  emit_text(events::Kind::kJIT_FRAME, frame.id, frame.code->id(), parent, function, w.text());
}

void record_step(const Frame& frame, const Instruction& i, const IValue* registers,
                 const Stack& stack) {
  JsonWriter w;
  w.begin_object().key("registers").begin_object();
  int64_t written = 0;
  const auto wrote = [&](size_t r) {
    ++written;
    w.key(std::to_string(r));
    const Tensor* t = registers[r].get_if<Tensor>();
    if (registers[r].is_none() || (t && !*t)) {
      w.value(nullptr);
    } else {
      write(w, registers[r]);
    }
  };
  const auto x = static_cast<size_t>(i.x);
  if (i.op == Opcode::kStore || i.op == Opcode::kMove || i.op == Opcode::kDropR) wrote(x);
  if (i.op == Opcode::kLoop) wrote(i.n);
  if (i.op == Opcode::kStoreN)
    for (size_t k = 0; k < i.n; ++k) wrote(x + k);
  w.end_object();
  write_stack(w, "stack", stack, frame.stack);
  w.end_object();
  emit_text(events::Kind::kJIT_STEP, frame.id, static_cast<int64_t>(frame.pc), written,
            static_cast<int64_t>(stack.size() - std::min(stack.size(), frame.stack)), w.text());
}

void record_step_limit(const Frame& frame) {
  const Node* node = frame.code->node(frame.pc);
  emit_text(events::Kind::kJIT_WARNING, frame.executor ? frame.executor->function_id() : 0,
            node ? node->span().line : 0, 0, 0,
            message("steps of this run are not recorded after the first ", kMaxRecordedSteps));
}

void record_frame_end(const Frame& frame, const Stack& stack, const std::string* error) {
  JsonWriter w;
  w.begin_object();
  if (error) {
    w.member("error", *error);
  } else {
    write_stack(w, "outputs", stack, frame.stack);
  }
  w.end_object();
  emit_text(events::Kind::kJIT_FRAME_END, frame.id, error != nullptr, frame.steps, 0, w.text());
}

}  // namespace uh::jit
