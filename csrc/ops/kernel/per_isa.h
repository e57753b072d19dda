// UH_PER_ISA(Type, function): declares `const Type& function()` of each instruction set, and an
// inline `uh::function()` that returns the table of the set in use.
#pragma once

#include "ops/kernel/isa.h"

#ifdef UH_ONE_ISA
#define UH_PER_ISA(Type, function)                                                                 \
  namespace v2 {                                                                                   \
  const Type& function();                                                                          \
  }                                                                                                \
  inline const Type& function() { return v2::function(); }
#else
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
    static const Type& chosen = UH_BY_ISA(function);                                               \
    return chosen;                                                                                 \
  }
#endif
