#include "jit/fused/tile_loop.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"

namespace uh::jit::fused {
namespace {

constexpr int64_t kLine = 64;       // bytes of a cache line
constexpr int64_t kWork = 1 << 17;  // elements times steps that justify a thread

int64_t tile_for(const FusedKernel& program, int64_t bytes_per_element) {
  const int64_t fits = kArenaWanted / std::max<int64_t>(bytes_per_element, 1);
  const int64_t best = program.reduces() ? kFoldTile : kTile;
  const int64_t target = std::clamp<int64_t>(fits & -kLine, kLine, best);
  return target * bytes_per_element <= kArena / 2 ? target : 16;
}

// Bytes of the arena for a tile: whole cache lines, and three more, see Note [Tiles].
int64_t room_for(int64_t tile, int64_t bytes_per_element) {
  return ((tile * bytes_per_element + kLine - 1) / kLine + 3) * kLine;
}

int64_t register_bytes(const FusedKernel& program) {
  return std::accumulate(program.registers.begin(), program.registers.end(), int64_t{0});
}

}  // namespace

int64_t tile_of(const FusedKernel& program) { return tile_for(program, register_bytes(program)); }

int64_t arena_of(const FusedKernel& program) {
  int64_t bytes = 0;
  for (const int64_t width : program.registers) bytes += room_for(tile_of(program), width);
  return bytes;
}

int64_t TileLoop::reserve(int64_t bytes_per_element) {
  const int64_t at = arena_bytes;
  arena_bytes += room_for(tile, bytes_per_element);
  return at;
}

void TileLoop::place_registers() {
  std::array<int64_t, kMaxSteps> begin;
  for (size_t r = 0; r < program.registers.size(); ++r) begin[r] = reserve(program.registers[r]);
  for (const Step& step : program.steps) {
    const Item& output = program.items[static_cast<size_t>(step.result)];
    if (output.reg >= 0) at(step.result) = {nullptr, 0, begin[static_cast<size_t>(output.reg)]};
  }
}

void TileLoop::set_numbers(std::span<const Scalar> argument) {
  for (size_t i = 0; i < program.items.size(); ++i) {
    const Item& item = program.items[i];
    if (item.is != Item::ItemKind::kNumber) continue;
    const Number& number = program.numbers[static_cast<size_t>(item.index)];
    auto* bytes = const_cast<std::byte*>(number.slot.bytes.data());
    if (number.launch_index >= 0) {
      Slot& slot = launch_numbers_[static_cast<size_t>(item.index)];
      slot = number_slot(argument[static_cast<size_t>(number.launch_index)], number.dtype);
      bytes = slot.bytes.data();
    }
    locations[i] = {bytes, 0, -1};
  }
}

void TileLoop::go_straight(std::span<const Tensor> inputs, std::span<Tensor> outputs, int64_t n) {
  elements = n;
  tile = tile_of(program);
  place_registers();
  for (size_t i = 0; i < inputs.size(); ++i)
    at(program.inputs[i]) = {inputs[i].data(), itemsize(inputs[i].dtype()), -1};
  for (size_t i = 0; i < outputs.size(); ++i)
    at(program.outputs[i].item) = {outputs[i].data(), itemsize(outputs[i].dtype()), -1};
  std::fill_n(done.begin(), program.steps.size(), false);
}

void TileLoop::go_around(const std::vector<Layout>& item_layouts, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const Layout& first = item_layouts[static_cast<size_t>(program.outputs[0].item)];
  const Space space(first, program.reduces());
  elements = numel_of(first.sizes);
  std::vector<StridedOperand> runs, written;
  // Only for a tensor without dimensions do all readers expect a single value.
  const auto single = [&](const StridedOperand& run, size_t id) {
    return run.uniform() && program.items[id].kind.zero_dim;
  };
  int64_t bytes = register_bytes(program);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto id = static_cast<size_t>(program.inputs[i]);
    if (program.items[id].last_use < 0) {
      runs.emplace_back();
      continue;
    }
    const int64_t width = itemsize(inputs[i].dtype());
    const StridedOperand& run = runs.emplace_back(space, item_layouts[id], inputs[i].data(), width);
    if (!run.dense() && !single(run, id)) bytes += width;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = program.outputs[i];
    const int64_t width = itemsize(output.dtype);
    const Layout& layout = item_layouts[static_cast<size_t>(output.item)];
    const bool plain = !output.fold;
    const StridedOperand& run = written.emplace_back(
        plain ? StridedOperand(space, layout, outputs[i].data(), width) : StridedOperand());
    if (plain && !run.dense()) bytes += width;
  }
  tile = tile_for(program, bytes);
  place_registers();
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto id = static_cast<size_t>(program.inputs[i]);
    if (program.items[id].last_use < 0) continue;
    const StridedOperand& run = runs[i];
    if (run.dense() || single(run, id)) {
      locations[id] = {run.data(), run.dense() ? run.item() : 0, -1};
    } else {
      locations[id] = {nullptr, 0, reserve(run.item())};
      gathered.push_back({run, locations[id].arena});
    }
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const Output& output = program.outputs[i];
    if (output.fold) continue;
    const StridedOperand& run = written[i];
    if (run.dense()) {
      at(output.item) = {run.data(), run.item(), -1};
    } else {
      at(output.item) = {nullptr, 0, reserve(run.item())};
      scattered.push_back({run, at(output.item).arena});
    }
  }
  run_uniform();
}

// Runs steps on tensors without dimensions once, instead of for every element.
void TileLoop::run_uniform() {
  const auto uniform = [&](int id) { return at(id).arena < 0 && at(id).step == 0; };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    done[s] = false;
    const Item& output = program.items[static_cast<size_t>(step.result)];
    const bool internal = output.last_use < static_cast<int>(program.units.size());
    if (!step.live || !internal || !output.kind.zero_dim ||
        !std::all_of(step.operands.begin(), step.operands.begin() + step.arity, uniform))
      continue;
    std::array<char*, 1 + kMaxOperands> data{reinterpret_cast<char*>(uniform_[s].bytes.data())};
    for (size_t k = 0; k < step.arity; ++k)
      data[k + 1] = reinterpret_cast<char*>(at(step.operands[k]).data);
    constexpr std::array<int64_t, 1 + kMaxOperands> kNoStrides{};
    step.loop(data.data(), kNoStrides.data(), 1, *step.params);
    at(step.result) = {uniform_[s].bytes.data(), 0, -1};
    done[s] = true;
  }
}

int64_t TileLoop::grain() const {
  const auto steps = static_cast<int64_t>(std::max<size_t>(program.live_steps, 1));
  const int64_t target = std::clamp<int64_t>(kWork / steps, 4096, 32768);
  return (target + tile - 1) / tile * tile;
}

void TileLoop::describe(Launch& launch) const {
  launch.elements += elements;
  launch.tile = tile;
  launch.tiles += (elements + tile - 1) / tile;
  launch.threads = std::max(launch.threads, ranges_of(elements, grain()));
  launch.gathered += static_cast<int64_t>(gathered.size());
  launch.l1_bytes = std::max(launch.l1_bytes, arena_bytes);
}

Tiles::Tiles(const TileLoop& walk, int64_t position, std::byte* arena)
    : walk_(walk), arena_(arena), position_(position) {
  gathered_ = walk.gathered;
  scattered_ = walk.scattered;
  for (TileLoop::Copied& each : gathered_) each.run.seek(position);
  for (TileLoop::Copied& each : scattered_) each.run.seek(position);
  for (const Unit& unit : walk.program.units) {
    const auto first = static_cast<size_t>(unit.steps[0]);
    const Step& step = walk.program.steps[first];
    if (!unit.block && walk.done[first]) continue;
    Call& call = calls_[calls_used_++];
    call.data = &pointers_[pointers_used_];
    call.strides = &strides_[pointers_used_];
    if (unit.block) {
      call.loop = nullptr;
      call.target = unit.block.get();
      for (const int id : unit.block->reads) add_pointer(id);
      for (const int id : unit.block->writes) add_pointer(id);
    } else {
      call.loop = step.loop;
      call.target = step.params.get();
      add_pointer(step.result);
      for (size_t k = 0; k < step.arity; ++k) add_pointer(step.operands[k]);
    }
  }
}

void Tiles::add_pointer(int id) {
  const TileLoop::Location& location = walk_.at(id);
  char*& pointer = pointers_[pointers_used_];
  int64_t& stride = strides_[pointers_used_++];
  pointer = begin(location, position_);
  if (location.arena >= 0) {
    stride = itemsize(walk_.program.kind(id).dtype);
  } else {
    stride = location.step;
    if (stride != 0) moves_[moves_used_++] = {&pointer, stride * walk_.tile};
  }
}

char* Tiles::begin(const TileLoop::Location& location, int64_t position) const {
  return reinterpret_cast<char*>(location.arena >= 0 ? arena_ + location.arena
                                                     : location.data + position * location.step);
}

const std::byte* Tiles::data(int id) const {
  return reinterpret_cast<const std::byte*>(begin(walk_.at(id), position_));
}

void Tiles::run(int64_t n) {
  for (TileLoop::Copied& each : gathered_) each.run.read(arena_ + each.arena, n);
  for (size_t i = 0; i < calls_used_; ++i) {
    const Call& call = calls_[i];
    if (call.loop)
      call.loop(call.data, call.strides, n, *static_cast<const Params*>(call.target));
    else
      static_cast<const Block*>(call.target)->run(call.data, n);
  }
  for (TileLoop::Copied& each : scattered_) each.run.write(arena_ + each.arena, n);
  for (size_t i = 0; i < moves_used_; ++i) *moves_[i].pointer += moves_[i].bytes;
  position_ += n;
}

}  // namespace uh::jit::fused
