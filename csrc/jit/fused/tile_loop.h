// TileLoop: one launch of a program over its elements; Tiles: one thread's part of it.
//
// Note [Tiles]: tiles are small enough for all registers and the inputs' parts to fit into
// the L1 cache. A unit's call costs some 3 ns, so loops prefer long tiles: 512. A fold adds
// up 64 lanes at the end of each tile: 2048 (512 takes 1.24 times as long). Registers a
// multiple of 4 KiB apart map to the same cache lines: each begins a few lines later than
// necessary.
#pragma once

#include "jit/fused/iteration_space.h"

namespace uh::jit::fused {

inline constexpr size_t kMaxItems = kMaxInputs + 2 * kMaxNumbers + kMaxSteps;
inline constexpr int64_t kTile = 512, kFoldTile = 2048;  // elements
inline constexpr int64_t kArena = 64 << 10;        // bytes for registers, on the thread's stack
inline constexpr int64_t kArenaWanted = 24 << 10;  // half of an L1 cache

struct TileLoop {
  // The location of an item: in memory, with a stride of `step` bytes (0: a single value); or, if
  // `arena` is not negative, in a part of the arena that every tile reuses.
  struct Location {  // uninitialised: there are many, and a launch needs few
    std::byte* data;
    int64_t step;
    int64_t arena;
  };
  struct Copied {  // an input or output in another memory order than the loop's
    StridedOperand run;
    int64_t arena;
  };

  explicit TileLoop(const FusedKernel& p) : program(p) {}

  // Fast path: all tensors are row-major and of one shape.
  void go_straight(std::span<const Tensor> inputs, std::span<Tensor> outputs, int64_t n);
  // General path: `item_layouts` has the layout of every item; `outputs` have been allocated.
  void go_around(const std::vector<Layout>& item_layouts, std::span<const Tensor> inputs,
                 std::span<Tensor> outputs);
  void set_numbers(std::span<const Scalar> argument);

  Location& at(int id) { return locations[static_cast<size_t>(id)]; }
  const Location& at(int id) const { return locations[static_cast<size_t>(id)]; }
  int64_t grain() const;  // minimum number of elements per thread, a multiple of the tile
  void describe(Launch& launch) const;

  const FusedKernel& program;
  int64_t elements = 0;
  int64_t tile = kTile;
  int64_t arena_bytes = 0;
  std::array<Location, kMaxItems> locations;
  std::array<bool, kMaxSteps> done;  // steps on single values, computed before the loop
  std::vector<Copied> gathered, scattered;

 private:
  int64_t reserve(int64_t bytes_per_element);
  void place_registers();
  void run_uniform();

  std::array<Slot, kMaxNumbers> launch_numbers_;
  std::array<Slot, kMaxSteps> uniform_;
};

class Tiles {
 public:
  Tiles(const TileLoop& walk, int64_t position, std::byte* arena);
  // Runs the next n elements: a tile, or the remainder.
  void run(int64_t n);
  // The address at which the next run() reads or writes an item.
  const std::byte* data(int id) const;

 private:
  struct Call {
    LoopFn loop;         // null: a block
    const void* target;  // its Params, or the Block
    char** data;
    const int64_t* strides;
  };
  struct Move {
    char** pointer;
    int64_t bytes;  // per tile
  };
  static constexpr size_t kMaxPointers = kMaxSteps * (1 + kMaxOperands);
  void add_pointer(int id);
  char* begin(const TileLoop::Location& location, int64_t position) const;

  const TileLoop& walk_;
  std::byte* arena_;
  int64_t position_;
  size_t calls_used_ = 0, pointers_used_ = 0, moves_used_ = 0;
  std::array<Call, kMaxSteps> calls_;
  std::array<char*, kMaxPointers> pointers_;
  std::array<int64_t, kMaxPointers> strides_;
  std::array<Move, kMaxPointers> moves_;
  std::vector<TileLoop::Copied> gathered_, scattered_;  // copies, with separate positions
};

// Tile and arena of a launch that gathers no inputs.
int64_t tile_of(const FusedKernel& program);
int64_t arena_of(const FusedKernel& program);

// Runs a program that ends in reductions (reduce.cpp). `sizes` are those of the iteration space.
void run_reduced(const TileLoop& walk, const Dims& sizes, std::span<Tensor> outputs);
Tensor make_reduced(const FusedKernel& program, const Output& output, const Dims& sizes,
                    Device device);

}  // namespace uh::jit::fused
