// Shapes and memory orders of a launch whose inputs differ in shape or layout.
//
// layouts() computes the sizes and strides that each step has in eager mode; StridedOperand maps
// one operand onto the iteration space. Invariant: a loop visits the elements in the memory order
// of its first output (row-major if it reduces); position p is the same element for every
// operand.
#pragma once

#include "backend/cpu/copy_loops.h"
#include "jit/fused/steps.h"

namespace uh::jit::fused {

// Computes the layout of every item; those of numbers are empty. Throws if operands do not
// broadcast.
std::vector<Layout> layouts(const FusedKernel& program, std::span<const Tensor> inputs);

// The dimensions of an iteration space, outermost first.
struct Space {
  Dims sizes;
  Dims order;  // the tensors' dimension that each one is
  size_t ndim;

  Space(const Layout& first, bool row_major);
};

// An operand over the iteration space; dimensions with a common stride are merged.
class StridedOperand {
 public:
  StridedOperand() = default;
  StridedOperand(const Space& space, const Layout& layout, std::byte* data, int64_t item);

  std::byte* data() const { return data_; }
  int64_t item() const { return item_; }  // bytes
  bool dense() const { return sizes_.size() == 1 && strides_[0] == 1; }
  bool uniform() const { return sizes_.size() == 1 && strides_[0] == 0; }

  // Moves to a position; read and write continue there and advance n elements.
  void seek(int64_t position);
  void read(std::byte* to, int64_t n);
  void write(const std::byte* from, int64_t n);

 private:
  template <class Part>
  void parts(int64_t n, const Part& part);

  std::byte* data_ = nullptr;
  int64_t item_ = 0;
  Dims sizes_, strides_, index_;
  int64_t offset_ = 0;
};

}  // namespace uh::jit::fused
