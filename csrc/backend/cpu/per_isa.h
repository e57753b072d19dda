// UH_PER_ISA(Type, function): declares `const Type& function()` for each instruction set, and an
// inline `uh::function()` that returns the active one's table.
#pragma once

#include "backend/cpu/isa.h"

#ifdef UH_LOOPS_V2
#define UH_IF_V2(function)                                                                         \
  if (isa() == Isa::kV2) return v2::function();
#else
#define UH_IF_V2(function)
#endif
#ifdef UH_LOOPS_V3
#define UH_IF_V3(function)                                                                         \
  if (isa() == Isa::kV3) return v3::function();
#else
#define UH_IF_V3(function)
#endif
#ifdef UH_LOOPS_V4
#define UH_IF_V4(function)                                                                         \
  if (isa() == Isa::kV4) return v4::function();
#else
#define UH_IF_V4(function)
#endif

#define UH_PER_ISA(Type, function)                                                                 \
  namespace v2 {                                                                                   \
  const Type& function();                                                                          \
  }                                                                                                \
  namespace v3 {                                                                                   \
  const Type& function();                                                                          \
  }                                                                                                \
  namespace v4 {                                                                                   \
  const Type& function();                                                                          \
  }                                                                                                \
  inline const Type& function() {                                                                  \
    static const Type& table = []() -> const Type& {                                               \
      UH_IF_V4(function)                                                                           \
      UH_IF_V3(function)                                                                           \
      UH_IF_V2(function)                                                                           \
          __builtin_unreachable(); /* isa() names a level that is compiled in, or throws */        \
    }();                                                                                           \
    return table;                                                                                  \
  }
