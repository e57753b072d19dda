// Block: several simple steps as one loop of machine code, whose values stay in vector registers.
//
// What: steps whose expressions are a few instructions (StepOperator::postfix) run together, so
// that memory is read and written once for all of them. Compiled for AVX-512 and AVX2; elsewhere
// there are no blocks, and each step is the loop that it is. Invariant: what is computed is what
// the steps' loops compute, rounding by rounding: a product is joined with a sum exactly where the
// compiler joins them, inside of one expression. If violated: results of a fused group depend on
// the machine.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "jit/assembler/code_memory.h"
#include "tensor/tensor.h"

namespace uh::jit::fused {

class FusedKernel;
struct Step;

struct Block {
  std::vector<int> reads;         // items, in the order of the pointers that run() is given
  std::vector<int> writes;        // their pointers follow
  std::vector<double> constants;  // as floats where the block computes floats
  CodeMemory code;

  void run(char* const* data, int64_t n) const {
    using Code = void (*)(char* const* data, const void* constants, int64_t n);
    reinterpret_cast<Code>(const_cast<void*>(code.data()))(data, constants.data(), n);
  }
};

// Returns true if a step may be part of a block on this machine.
bool is_simple(const FusedKernel& program, const Step& step);

// One block of steps that compute in one dtype; `writes` are the results that others read. Null
// where the registers do not suffice.
std::unique_ptr<Block> compile_block(const FusedKernel& program, std::span<const int> steps,
                                     std::vector<int> writes);

}  // namespace uh::jit::fused
