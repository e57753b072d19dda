// Block: several simple steps as one loop of machine code, with values in vector registers.
//
// Steps whose expressions are a few instructions (StepOperator::postfix) run together, so that
// memory is read and written once for all of them. Compiled for AVX-512 and AVX2; elsewhere
// there are no blocks, and each step runs as a loop. Invariant: results equal those of the
// steps' loops, rounding by rounding: products and sums are fused exactly where the compiler
// fuses them, within one expression. If violated: results of a fused group depend on the
// machine.
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
  std::vector<int> reads;         // items, in the order of run()'s pointers
  std::vector<int> writes;        // items; their pointers follow
  std::vector<double> constants;  // stored as floats if the block computes floats
  CodeMemory code;

  void run(char* const* data, int64_t n) const {
    using Code = void (*)(char* const* data, const void* constants, int64_t n);
    reinterpret_cast<Code>(const_cast<void*>(code.data()))(data, constants.data(), n);
  }
};

// True if a step may be part of a block on this machine.
bool is_simple(const FusedKernel& program, const Step& step);

// Compiles steps of one dtype into a block; `writes` are the results that others read. Null if
// there are too few registers.
std::unique_ptr<Block> compile_block(const FusedKernel& program, std::span<const int> steps,
                                     std::vector<int> writes);

}  // namespace uh::jit::fused
