#include "ops/kernel/isa.h"

#include <cstdlib>
#include <string_view>

namespace uh {
namespace {

Isa best() {
#if defined(UH_ONE_ISA) || !defined(__x86_64__)
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

Isa choose() {
  const Isa limit = best();
  const char* forced = std::getenv("UNDERHOOD_ISA");
  if (!forced) return limit;
  const std::string_view text = forced;
  const Isa expected = text == "v2"   ? Isa::kV2
                       : text == "v3" ? Isa::kV3
                       : text == "v4" ? Isa::kV4
                                      : limit;
  return expected < limit ? expected : limit;
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

const char* name(Isa isa) { return isa == Isa::kV4 ? "v4" : isa == Isa::kV3 ? "v3" : "v2"; }

}  // namespace uh
