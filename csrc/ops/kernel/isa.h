// Which instruction set the loop kernels use, chosen once at run time.
//
// Every csrc/ops/kernel/*_loops.cpp is compiled three times, for x86-64-v2, v3 and v4 (elsewhere
// once, as v2), in namespace uh::UH_ISA. UNDERHOOD_ISA=v2|v3|v4 forces one, so that each can be
// tested.
#pragma once

namespace uh {

enum class Isa { kV2 = 2, kV3 = 3, kV4 = 4 };

// The best set this CPU has, or the one forced by the environment (never one the CPU lacks).
Isa isa();
const char* name(Isa isa);

#ifndef UH_ISA
#define UH_ISA v2  // files that are compiled once only ever name v2
#endif

// Calls FUNCTION of the chosen set: UH_BY_ISA(pointwise_loops) -> v4::pointwise_loops().
#ifdef UH_ONE_ISA
#define UH_BY_ISA(function) (::uh::v2::function())
#else
#define UH_BY_ISA(function)                                                                        \
  (::uh::isa() == ::uh::Isa::kV4   ? ::uh::v4::function()                                          \
   : ::uh::isa() == ::uh::Isa::kV3 ? ::uh::v3::function()                                          \
                                   : ::uh::v2::function())
#endif

}  // namespace uh
