#include "backend/cpu/isa.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace uh {
namespace {

Isa best() {
#ifndef __x86_64__
  return Isa::kV2;
#else
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::kV4;
  }
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  return v3 ? Isa::kV3 : Isa::kV2;
#endif
}

constexpr Isa kCompiled[] = {
#ifdef UH_LOOPS_V2
    Isa::kV2,
#endif
#ifdef UH_LOOPS_V3
    Isa::kV3,
#endif
#ifdef UH_LOOPS_V4
    Isa::kV4,
#endif
};

Isa choose() {
  const Isa cpu = best();
  if (kCompiled[0] > cpu) {
    throw Error(ErrorKind::kRuntime, std::string("this build has loops for x86-64-") +
                                         name(kCompiled[0]) + ", and this processor is x86-64-" +
                                         name(cpu) + ": reinstall underhood on this machine");
  }
  const char* forced = std::getenv("UNDERHOOD_ISA");
  const std::string_view text = forced ? forced : "";
  const Isa limit = text == "v2" ? Isa::kV2 : text == "v3" ? Isa::kV3 : Isa::kV4;
  Isa selected = kCompiled[0];
  for (Isa level : kCompiled) {
    if (level <= cpu && level <= limit) selected = level;
  }
  return selected;
}

}  // namespace

Isa isa() {
  static const Isa selected = choose();
  return selected;
}

bool has_bfloat16_pairs() {
#ifndef __x86_64__
  return false;
#else
  const char* forced = std::getenv("UNDERHOOD_ISA");
  return isa() == Isa::kV4 && !(forced && *forced) && __builtin_cpu_supports("avx512bf16");
#endif
}

const char* name(Isa isa) { return isa == Isa::kV4 ? "v4" : isa == Isa::kV3 ? "v3" : "v2"; }

}  // namespace uh
