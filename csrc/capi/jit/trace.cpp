// The C ABI of Python's tracer: see underhood_jit_trace.h.
#include "capi/convert.h"
#include "capi/returned_string.h"
#include "capi/underhood_jit_trace.h"
#include "jit/trace/tracing_state.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

uh_handle uh_jit_trace_size(uh_handle tensor, const char* property, int64_t dim) {
  return guard(0,
               [&] { return give(TracingState::current().size_of(take(tensor), property, dim)); });
}
int uh_jit_trace_argument(const char* name, int64_t index, uh_handle tensor) {
  return done([&] {
    if (TracingState::records()) TracingState::current().give_argument(name, index, take(tensor));
  });
}
void uh_jit_trace_forget_arguments(void) {
  if (TracingState::on()) TracingState::current().forget_arguments();
}
int uh_jit_trace_names(const char* const* names, const uh_handle* tensors, int64_t n) {
  return done([&] {
    std::vector<std::pair<const TensorImpl*, std::string>> all;
    for (int64_t i = 0; i < n; ++i) all.emplace_back(impl_of(tensors[i]), names[i]);
    TracingState::current().set_names(std::move(all));
  });
}
int uh_jit_trace_record(const char* full_name, const uh_value* args, int64_t n, uh_handle result) {
  return done([&] {
    Stack arguments;
    for (int64_t i = 0; i < n; ++i) arguments.push_back(read_value(args[i]));
    TracingState::current().record(full_name, arguments, take(result));
  });
}
int uh_jit_trace_enter(uh_box module) {
  return done([&] {
    check(module != 0, "trace: the module is 0");
    TracingState::current().enter(Ref<Container>::share(reinterpret_cast<Container*>(module)));
  });
}
int uh_jit_trace_leave(void) {
  return done([&] { TracingState::current().leave(); });
}
int uh_jit_trace_pause(int paused) {
  return done([&] {
    TracingState::current();  // throws outside of a trace
    if (paused != 0) {
      t_state.included = t_state.included - Key::kTracer;
    } else {
      t_state.included = t_state.included | Key::kTracer;
    }
  });
}
