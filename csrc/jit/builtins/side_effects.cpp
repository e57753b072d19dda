#include "jit/builtins/side_effects.h"

#include <atomic>
#include <cstdio>

#include "base/call_section.h"
#include "jit/builtins/register_builtin.h"
#include "ops/random/generator.h"
#include "tensor/thread_state.h"

namespace uh::jit {
namespace {

std::atomic<TextHandler> g_print{nullptr}, g_warn{nullptr};

void write(const std::atomic<TextHandler>& handler, std::FILE* otherwise, const std::string& text) {
  if (const TextHandler to = handler.load()) return to(text.data(), text.size());
  std::fwrite(text.data(), 1, text.size(), otherwise);
  std::fflush(otherwise);
}

void print_all(Stack& stack, size_t n) {
  std::string line;
  const size_t base = stack.size() - n;
  for (size_t i = 0; i < n; ++i) line += (i ? " " : "") + text_of(stack[base + i]);
  stack.resize(base);
  print_out(line + "\n");
}

// Implements `raise` and `assert`: the message begins with the class, as in Python's traceback.
[[noreturn]] void raise(StringArg text, const IValue& kind) {
  std::string name = kind.is_none() ? "RuntimeError" : from_value<std::string>(kind);
  // Graphs have qualified names: builtins.ValueError, __torch__.Error.
  if (const size_t dot = name.rfind('.'); dot != std::string::npos) name = name.substr(dot + 1);
  if (name == "ValueError") fail(ErrorKind::kValue, text);
  if (name == "TypeError") fail(ErrorKind::kType, text);
  if (name == "IndexError") fail(ErrorKind::kIndex, text);
  if (name == "NotImplementedError") fail(ErrorKind::kNotImplemented, text);
  if (name == "RuntimeError") fail(ErrorKind::kRuntime, text);
  fail(ErrorKind::kRuntime, name, text.empty() ? "" : ": ", text);
}

}  // namespace

void set_print_handler(TextHandler handler) { g_print = handler; }
void set_warn_handler(TextHandler handler) { g_warn = handler; }
void print_out(const std::string& text) {
  const OutsideCalls host;
  write(g_print, stdout, text);
}
void warn_out(const std::string& text) {
  const OutsideCalls host;
  write(g_warn, stderr, text);
}

void define_effects() {
  define("prim::Print(...) -> ()", print_all, kEffect);
  define("warn(str message, int stacklevel=2) -> ()",
         boxed<[](StringArg text, int64_t) { warn_out(text); }>, kEffect);
  define("prim::RaiseException(str msg, str? cls=None) -> ()",
         boxed<[](StringArg text, const IValue& kind) { raise(text, kind); }>, kEffect);
  define("manual_seed(int seed) -> ()",
         boxed<[](int64_t seed) { random::manual_seed(static_cast<uint64_t>(seed)); }>, kEffect);
  define("is_grad_enabled() -> bool", boxed<[] { return grad_enabled(); }>, kEffect);
  constexpr TagSet kSetsGradMode = kEffect | tag_set(Tag::kSetsGradMode);
  define("set_grad_enabled(bool val) -> ()", boxed<[](bool on) { set_grad_enabled(on); }>,
         kSetsGradMode);
  define("is_inference_mode_enabled() -> bool", boxed<[] { return t_state.inference; }>, kEffect);
  define("set_inference_mode(bool val) -> ()", boxed<[](bool on) { t_state.inference = on; }>,
         kSetsGradMode);
  define("is_scripting() -> bool", boxed<[] { return true; }>);
}

}  // namespace uh::jit
