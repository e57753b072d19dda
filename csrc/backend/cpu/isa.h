// The instruction set that the loop kernels use, chosen once at run time.
//
// Every csrc/backend/cpu/*_loops.cpp is compiled once per level of x86-64 that CMake's
// UNDERHOOD_ISA_LEVELS names, in namespace uh::UH_ISA; UH_LOOPS_V2, _V3 and _V4 say which those
// are: all three in a wheel, this machine's in an editable install, v2 on other processors.
// UNDERHOOD_ISA=v2|v3|v4 in the environment asks for a lower one, so that each can be tested.
#pragma once

namespace uh {

enum class Isa { kV2 = 2, kV3 = 3, kV4 = 4 };

// The highest level that is compiled in, which this CPU has and the environment allows; the lowest
// compiled one if the environment asks for less. Throws if the CPU has none of them.
Isa isa();
const char* name(Isa isa);

#ifndef UH_ISA
#define UH_ISA v2  // the namespace that headers of loops use in files compiled once
#endif

}  // namespace uh
