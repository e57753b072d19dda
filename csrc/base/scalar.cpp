#include "base/scalar.h"

namespace uh {

void imaginary_part_lost(double imag) {
  fail(ErrorKind::kRuntime,
       "value cannot be converted to type double without overflow: it has the imaginary part ",
       imag);
}

}  // namespace uh
