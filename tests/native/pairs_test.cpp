// Every pair of calls on the same object, from two threads at once: a test of memory safety for the
// sanitizers. Values may be arbitrary, and calls may fail; see Note [Calls and changes].
#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "capi/underhood.h"
#include "capi/underhood_autograd.h"
#include "capi/underhood_jit_run.h"
#include "check.h"
#include "generated/underhood_ops.h"
#include "recording.h"

namespace uh::test {
namespace {

constexpr int64_t kSide = 4;

// The tensors of both calls; new ones for each pair, as some calls release them.
struct Shared {
  uh_handle leaf;    // requires a gradient
  uh_handle plain;   // kSide x kSide, requires no gradient
  uh_handle view;    // of plain
  uh_handle result;  // of an operator on leaf
  uh_handle total;   // its sum
  uh_node node;      // of result
  uh_graph graph;
  uh_function function;
};

uh_handle matrix() {
  std::array<double, kSide * kSide> values{};
  values.fill(0.5);
  const int64_t sizes[] = {kSide, kSide};
  return uh_from_data(values.data(), UH_FLOAT64, sizes, 2, UH_FLOAT64);
}

constexpr const char* kProgram = R"(graph(%x : Tensor):
  %y : Tensor = aten::mul(%x, %x)
  %z : Tensor = aten::mul(%y, %x)
  return (%z)
)";

uh_handle product(uh_handle a, uh_handle b) { return uh_mul(a, 0, 0, 0, b, 0, 0, 0); }

uh_handle sum(uh_handle a, uh_handle b) { return uh_add(a, 0, 0, 0, b, 0, 0, 0, 1, 1, 0); }

Shared make_shared() {
  Shared s{};
  s.leaf = matrix();
  uh_set_requires_grad(s.leaf, 1);
  s.plain = matrix();
  s.view = uh_select(s.plain, 0, 1);
  s.result = product(s.leaf, s.leaf);
  s.total = uh_sum(s.result, nullptr, -1, 0, -1);
  s.node = uh_grad_fn(s.result);
  s.graph = uh_graph_parse(kProgram);
  s.function = uh_function_new("cube", uh_graph_parse(kProgram));
  return s;
}

void release(const Shared& s) {
  for (const uh_handle h : {s.leaf, s.plain, s.view, s.result, s.total}) uh_release(h);
  uh_node_release(s.node);
  uh_graph_release(s.graph);
  uh_function_release(s.function);
}

void drop(uh_handle result) {
  if (result) uh_release(result);
}

int pass(void*, uh_handle*, int64_t, const uh_handle*, int64_t) { return 0; }
void forget(void*) {}

void add_and_remove(uint64_t index, int kind) {
  const int64_t hook = uh_add_hook(index, kind, pass, nullptr, forget);
  if (hook > 0) uh_remove_hook(index, kind, hook);
}

void read(uh_handle h) {
  const int64_t n = uh_numel(h);
  std::vector<double> values(static_cast<size_t>(n));
  (void)uh_read_doubles(h, values.data(), n);
  (void)uh_item_double(h);
}

void backward(uh_handle root) {
  (void)uh_backward(&root, nullptr, 1, nullptr, 0, UH_BACKWARD_KEEP_GRAPH | UH_BACKWARD_ACCUMULATE,
                    nullptr);
}

void resize(uh_handle h, int64_t rows) {
  const int64_t sizes[] = {rows, kSide};
  (void)uh_resize_(h, sizes, 2);
}

struct Call {
  const char* name;
  void (*run)(const Shared& s);
};

const Call kCalls[] = {
    {"sizes and strides",
     [](const Shared& s) {
       int64_t dims[8];
       uh_sizes(s.plain, dims, 8);
       uh_strides(s.plain, dims, 8);
       (void)uh_size(s.plain, 1);
       (void)uh_is_contiguous(s.plain);
       (void)uh_offset(s.plain);
       (void)uh_key_set(s.plain);
     }},
    {"dtype and device",
     [](const Shared& s) {
       (void)uh_dtype(s.plain);
       (void)uh_device(s.plain);
       (void)uh_result_type(s.plain, s.leaf);
     }},
    {"data_ptr",
     [](const Shared& s) {
       (void)uh_data_ptr(s.plain);
       (void)uh_storage_data_ptr(s.plain);
       (void)uh_storage_nbytes(s.plain);
       (void)uh_storage_id(s.plain);
       (void)uh_storage_use_count(s.plain);
     }},
    {"version", [](const Shared& s) { (void)(uh_version(s.plain) + uh_counter_id(s.plain)); }},
    {"read", [](const Shared& s) { read(s.plain); }},
    {"read a view", [](const Shared& s) { read(s.view); }},
    {"read a leaf", [](const Shared& s) { read(s.leaf); }},
    {"read the storage",
     [](const Shared& s) {
       char bytes[16];
       (void)uh_storage_read(s.plain, 0, bytes, 16);
     }},
    {"export",
     [](const Shared& s) {
       uh_layout layout;
       const uh_handle storage = uh_storage_export(s.plain, 7, 1, &layout);
       uh_storage_release(storage, 7, 1);
     }},
    {"select", [](const Shared& s) { drop(uh_select(s.plain, 0, 0)); }},
    {"transpose", [](const Shared& s) { drop(uh_transpose(s.plain, 0, 1)); }},
    {"detach", [](const Shared& s) { drop(uh_detach(s.leaf)); }},
    {"data", [](const Shared& s) { drop(uh_variable_data(s.plain)); }},
    {"base", [](const Shared& s) { drop(uh_base(s.view)); }},
    {"add", [](const Shared& s) { drop(sum(s.plain, s.plain)); }},
    {"matmul", [](const Shared& s) { drop(uh_matmul(s.plain, s.plain)); }},
    {"add a view", [](const Shared& s) { drop(sum(s.view, s.leaf)); }},
    {"clone", [](const Shared& s) { drop(uh_clone(s.plain, -1)); }},
    {"matmul into", [](const Shared& s) { (void)uh_matmul_out(s.leaf, s.leaf, s.plain); }},
    {"write", [](const Shared& s) { (void)uh_copy_(s.plain, s.plain, 0); }},
    {"write a view", [](const Shared& s) { (void)uh_copy_(s.view, s.view, 0); }},
    {"resize", [](const Shared& s) { resize(s.plain, 40), resize(s.plain, kSide); }},
    {"resize the storage",
     [](const Shared& s) {
       (void)uh_storage_resize(s.plain, 4096);
       (void)uh_storage_resize(s.plain, 8 * kSide * kSide);
     }},
    {"transpose in place", [](const Shared& s) { (void)uh_t_(s.plain); }},
    {"unsqueeze in place",
     [](const Shared& s) {
       (void)uh_unsqueeze_(s.plain, 0);
       (void)uh_squeeze_(s.plain, nullptr, -1);
     }},
    {"set",
     [](const Shared& s) {
       const uh_handle other = matrix();
       (void)uh_set__source_Tensor(s.plain, other);
       uh_release(other);
     }},
    {"set data",
     [](const Shared& s) {
       const uh_handle other = matrix();
       (void)uh_set_data(s.plain, other);
       uh_release(other);
     }},
    {"set data of a leaf", [](const Shared& s) { (void)uh_set_data(s.leaf, s.plain); }},
    {"requires_grad", [](const Shared& s) { (void)uh_requires_grad(s.leaf); }},
    {"set requires_grad",
     [](const Shared& s) {
       (void)uh_set_requires_grad(s.plain, 1);
       (void)uh_set_requires_grad(s.plain, 0);
     }},
    {"is_leaf", [](const Shared& s) { (void)(uh_is_leaf(s.result) + uh_output_nr(s.result)); }},
    {"grad", [](const Shared& s) { drop(uh_grad(s.leaf)); }},
    {"set grad",
     [](const Shared& s) {
       const uh_handle other = matrix();
       (void)uh_set_grad(s.leaf, other);
       uh_release(other);
       (void)uh_set_grad(s.leaf, 0);
     }},
    {"read grad",
     [](const Shared& s) {
       const uh_handle grad = uh_grad(s.leaf);
       if (grad) read(grad);
       drop(grad);
     }},
    {"grad_fn",
     [](const Shared& s) {
       const uh_node node = uh_grad_fn(s.result);
       if (node && node != ~uh_node{0}) uh_node_release(node);
     }},
    {"detach in place", [](const Shared& s) { (void)uh_detach_(s.result); }},
    {"hook of a leaf", [](const Shared& s) { add_and_remove(s.leaf, UH_HOOK_TENSOR); }},
    {"hook after accumulation",
     [](const Shared& s) { add_and_remove(s.leaf, UH_HOOK_POST_ACCUMULATE); }},
    {"hook of a result", [](const Shared& s) { add_and_remove(s.result, UH_HOOK_TENSOR); }},
    {"hook before a node", [](const Shared& s) { add_and_remove(s.node, UH_HOOK_BEFORE); }},
    {"hook after a node", [](const Shared& s) { add_and_remove(s.node, UH_HOOK_AFTER); }},
    {"retain_grad",
     [](const Shared& s) {
       if (uh_is_leaf(s.result) == 0)
         (void)uh_add_hook(s.result, UH_HOOK_RETAIN_GRAD, nullptr, nullptr, nullptr);
       (void)uh_retains_grad(s.result);
     }},
    {"record", [](const Shared& s) { drop(product(s.leaf, s.result)); }},
    {"backward", [](const Shared& s) { backward(s.total); }},
    {"backward that releases",
     [](const Shared& s) {
       const uh_handle root = s.total;
       (void)uh_backward(&root, nullptr, 1, nullptr, 0, UH_BACKWARD_ACCUMULATE, nullptr);
     }},
    {"node's edges",
     [](const Shared& s) {
       int64_t input = 0;
       for (int64_t i = 0; i < uh_node_edges(s.node); ++i) {
         const uh_node next = uh_node_edge(s.node, i, &input);
         if (next) uh_node_release(next);
       }
       (void)uh_node_name(s.node);
       (void)uh_node_sequence(s.node);
     }},
    {"node's saved",
     [](const Shared& s) {
       uh_value value{};
       if (uh_node_saved(s.node, "_saved_self", &value) == 0 && value.tag == UH_VALUE_TENSOR)
         drop(static_cast<uh_handle>(value.i));
       int64_t at = 0, now = 0;
       (void)uh_node_saved_version(s.node, "_saved_self", &at, &now);
       (void)uh_node_packed(s.node, "_saved_self");
     }},
    {"node's metadata",
     [](const Shared& s) {
       static int thing;
       uh_node_set_metadata(s.node, &thing, forget);
       (void)uh_node_metadata(s.node);
     }},
    {"owned objects",
     [](const Shared& s) {
       uh_visit_owned(s.result, [](void*, void*) {}, nullptr);
       uh_visit_owned(s.leaf, [](void*, void*) {}, nullptr);
       uh_node_visit_owned(s.node, [](void*, void*) {}, nullptr);
     }},
    {"last reference",
     [](const Shared& s) {
       const uh_handle own = product(s.result, s.leaf);
       const uh_handle second = uh_retain(own);
       std::thread other([second] { uh_release(second); });
       uh_release(own);
       other.join();
     }},
    {"run a function", [](const Shared& s) { drop(uh_function_call_1(s.function, s.leaf)); }},
    {"run a function on plain",
     [](const Shared& s) { drop(uh_function_call_1(s.function, s.plain)); }},
    {"inspect a function",
     [](const Shared& s) {
       (void)uh_function_name(s.function);
       (void)uh_function_schema(s.function);
       (void)uh_function_id(s.function);
       uh_graph_release(uh_function_graph(s.function));
       const uh_function second = uh_function_retain(s.function);
       uh_function_release(second);
     }},
    {"run a graph",
     [](const Shared& s) {
       const uh_value argument{UH_VALUE_TENSOR, static_cast<int64_t>(s.plain), 0, nullptr};
       uh_value result{};
       if (uh_graph_run(s.graph, &argument, 1, &result) == 0)
         drop(static_cast<uh_handle>(result.i));
     }},
    {"allocator",
     [](const Shared&) {
       (void)uh_allocator_stats_of(1);
       (void)uh_allocator_stats_of(2);
       (void)uh_pool_enabled();
       uh_pool_empty();
     }},
    {"settings",
     [](const Shared&) {
       uh_set_num_threads(2);
       (void)uh_get_num_threads();
       uh_set_default_dtype(uh_get_default_dtype());
       (void)uh_recording();
       uh_set_grad_enabled(uh_grad_enabled());
     }},
    {"random numbers",
     [](const Shared&) {
       uint64_t seed = 0, offset = 0;
       uh_rng_state(&seed, &offset);
       uh_set_rng_state(seed, offset);
       (void)uh_initial_seed();
     }},
};

// Two threads that start together and each repeat a call `times` times.
class Pair {
 public:
  Pair() : other_([this] { serve(); }) {}
  ~Pair() {
    stop_ = true;
    together_.arrive_and_wait();
    other_.join();
  }
  void run(const Call& first, const Call& second, const Shared& shared, int times) {
    second_ = &second;
    shared_ = &shared;
    times_ = times;
    together_.arrive_and_wait();
    for (int i = 0; i < times; ++i) first.run(shared);
    together_.arrive_and_wait();
  }

 private:
  void serve() {
    for (;;) {
      together_.arrive_and_wait();
      if (stop_) return;
      for (int i = 0; i < times_; ++i) second_->run(*shared_);
      together_.arrive_and_wait();
    }
  }

  std::barrier<> together_{2};
  bool stop_ = false;
  const Call* second_ = nullptr;
  const Shared* shared_ = nullptr;
  int times_ = 0;
  std::thread other_;
};

void run_all_pairs(int times) {
  Pair pair;
  for (const Call& first : kCalls) {
    for (const Call& second : kCalls) {
      if (&second < &first) continue;
      const Shared shared = make_shared();
      pair.run(first, second, shared, times);
      release(shared);
    }
  }
}

TEST(two_threads_may_make_any_two_calls_on_one_object) { run_all_pairs(6); }

TEST(two_threads_may_make_any_two_calls_while_they_are_recorded) {
  Recording recording(1 << 14, 1 << 20, 0);
  run_all_pairs(2);
  recording.finish();
}

// Fuzzing repeats the same pairs until the time limit.
FUZZ(any_two_calls_on_one_object) {
  for (int times = 8; !budget.over(); times *= 2) run_all_pairs(times);
}

}  // namespace
}  // namespace uh::test
