// The instruction set that the loop kernels use, chosen once at run time.
//
// Every csrc/backend/cpu/*_loops.cpp is compiled once per x86-64 level in CMake's
// UNDERHOOD_ISA_LEVELS, in namespace uh::UH_ISA; UH_LOOPS_V2, _V3 and _V4 say which: all three in
// a wheel, this machine's in an editable install, v2 on other processors. The environment variable
// UNDERHOOD_ISA=v2|v3|v4 selects a lower one, so that each can be tested.
#pragma once

namespace uh {

enum class Isa { kV2 = 2, kV3 = 3, kV4 = 4 };

// Returns the highest compiled level that this CPU has and the environment allows; the lowest
// compiled one if the environment's is lower. Throws if the CPU has none of them.
Isa isa();
const char* name(Isa isa);

// Returns true if loops may use AVX512-BF16, which no level includes: the CPU has it, and
// UNDERHOOD_ISA does not ask for a level, which is then all that is used.
bool has_bfloat16_pairs();

#ifndef UH_ISA
#define UH_ISA v2  // the namespace of loop headers in files compiled once
#endif

}  // namespace uh
