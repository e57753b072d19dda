// run(): computes the outputs. Row-major tensors of one shape take a fast path.
#include <algorithm>
#include <chrono>

#include "base/parallel.h"
#include "jit/fused/on_opencl.h"
#include "jit/fused/tile_loop.h"
#include "memory/device_registry.h"
#include "tensor/stride_order.h"

namespace uh::jit::fused {
namespace {

[[noreturn]] void broken_promise(const FusedKernel& program, std::span<const Tensor> inputs) {
  check(inputs.size() == program.inputs.size(), "FusedKernel: ", program.inputs.size(),
        " inputs are needed, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TermKind kind = program.kind(program.inputs[i]);
    check(runs_on(inputs[i].device()) && inputs[i].device() == inputs[0].device(),
          "FusedKernel: input ", i, " is on ", name(inputs[i].device()), ", the first one on ",
          name(inputs[0].device()));
    check(inputs[i].dtype() == kind.dtype, "FusedKernel: input ", i, " is ",
          info(inputs[i].dtype()).title, ", the program was made for ", info(kind.dtype).title);
    check((inputs[i].ndim() == 0) == kind.zero_dim, "FusedKernel: input ", i, " has ",
          inputs[i].ndim(), " dimensions, the program was made for one with",
          kind.zero_dim ? "out" : "");
  }
  fail(ErrorKind::kRuntime, "FusedKernel: inputs do not match the program");
}

// True if all inputs have one shape and its row-major strides: then so does every result.
bool all_alike(std::span<const Tensor> inputs) {
  const TensorImpl& first = *inputs[0].impl();
  if (first.numel() == 0) return false;
  return std::ranges::all_of(inputs, [&](const Tensor& t) {
    return t.sizes() == first.sizes() && has_row_major_strides(t.impl()->layout());
  });
}

void go(const TileLoop& walk) {
  const int64_t tiles = (walk.elements + walk.tile - 1) / walk.tile;
  parallel_for(0, tiles, walk.grain() / walk.tile, [&](int64_t lo, int64_t hi) {
    alignas(64) std::byte arena[kArena];
    const int64_t end = std::min(walk.elements, hi * walk.tile);
    Tiles part(walk, lo * walk.tile, arena);
    for (int64_t at = lo * walk.tile; at < end; at += walk.tile)
      part.run(std::min(walk.tile, end - at));
  });
}

// Runs one loop, whose outputs all have the sizes of `item_layouts[outputs[0].item]`.
void walk_around(const FusedKernel& program, const std::vector<Layout>& item_layouts,
                 std::span<const Tensor> inputs, std::span<Tensor> outputs,
                 std::span<const Scalar> numbers, Launch* launch) {
  const Device device = inputs.empty() ? Device::kCPU : inputs[0].device();
  const Dims& sizes = item_layouts[static_cast<size_t>(program.outputs[0].item)].sizes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = program.outputs[i];
    const Layout& layout = item_layouts[static_cast<size_t>(output.item)];
    outputs[i] = output.fold ? make_reduced(program, output, sizes, device)
                             : empty_strided(layout.sizes, layout.strides, output.dtype, device);
  }
  if (!is_host(device)) {
    if (launch) launch->elements += numel_of(sizes);
    return run_on_opencl(program, sizes, inputs, outputs, numbers);
  }
  TileLoop walk(program);
  walk.set_numbers(numbers);
  walk.go_around(item_layouts, inputs, outputs);
  if (launch) walk.describe(*launch);
  program.reduces() ? run_reduced(walk, sizes, outputs) : go(walk);
}

// Note [Outputs of several shapes].
void run_around(const FusedKernel& program, std::span<const Tensor> inputs,
                std::span<Tensor> outputs, std::span<const Scalar> numbers, Launch* launch) {
  const std::vector<Layout> item_layouts = layouts(program, inputs);
  const auto sizes = [&](size_t i) -> const Dims& {
    return item_layouts[static_cast<size_t>(program.outputs[i].item)].sizes;
  };
  std::vector<bool> result(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (result[i]) continue;
    std::vector<int> selected;
    for (size_t j = i; j < outputs.size(); ++j) {
      if (!(sizes(j) == sizes(i))) continue;
      selected.push_back(static_cast<int>(j));
      result[j] = true;
    }
    if (selected.size() == outputs.size())
      return walk_around(program, item_layouts, inputs, outputs, numbers, launch);
    std::vector<Tensor> results(selected.size());
    walk_around(program.with_outputs(selected), item_layouts, inputs, results, numbers, launch);
    for (size_t k = 0; k < selected.size(); ++k)
      outputs[static_cast<size_t>(selected[k])] = std::move(results[k]);
  }
}

}  // namespace

bool matches(const FusedKernel& program, std::span<const Tensor> inputs) {
  if (inputs.size() != program.inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TermKind kind = program.kind(program.inputs[i]);
    const TensorImpl& t = *inputs[i].impl();
    if (t.dtype() != kind.dtype || (t.ndim() == 0) != kind.zero_dim || !runs_on(t.device()) ||
        !(t.device() == inputs[0].device()))
      return false;
  }
  return true;
}

namespace {

// Measures a launch if the caller passed a Launch.
class Timed {
 public:
  explicit Timed(Launch* launch) : launch_(launch) {
    if (launch_) began_ = Clock::now();
  }
  ~Timed() {
    if (launch_) launch_->ns = std::chrono::nanoseconds(Clock::now() - began_).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Launch* launch_;
  Clock::time_point began_;
};

}  // namespace

void run(const FusedKernel& program, std::span<const Tensor> inputs, std::span<Tensor> outputs,
         std::span<const Scalar> numbers, Launch* launch) {
  if (!matches(program, inputs)) broken_promise(program, inputs);
  check(outputs.size() == program.outputs.size(), "FusedKernel: ", program.outputs.size(),
        " outputs expected, got ", outputs.size());
  check(numbers.size() == program.launch_numbers.size(),
        "FusedKernel: ", program.launch_numbers.size(), " numbers are needed, got ",
        numbers.size());
  if (outputs.empty()) return;
  const Timed timed(launch);
  const bool plain = !inputs.empty() && is_host(inputs[0].device()) && program.all_inputs_used &&
                     !program.reduces();
  if (!plain || !all_alike(inputs)) return run_around(program, inputs, outputs, numbers, launch);
  const TensorImpl& first = *inputs[0].impl();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = program.outputs[i];
    outputs[i] = empty_dense(first.layout(), first.numel(), output.dtype);
  }
  TileLoop walk(program);
  walk.set_numbers(numbers);
  walk.go_straight(inputs, outputs, first.numel());
  if (launch) walk.describe(*launch);
  go(walk);
}

size_t input_count(const FusedKernel& program) { return program.inputs.size(); }
size_t output_count(const FusedKernel& program) { return program.outputs.size(); }

}  // namespace uh::jit::fused
