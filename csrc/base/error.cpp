#include "base/error.h"

#include <locale>
#include <sstream>

namespace uh {

std::string joined(std::initializer_list<Piece> pieces) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // the program may have set another global locale
  for (const Piece& piece : pieces) piece.write(out);
  return out.str();
}

void fail_with(ErrorKind kind, std::initializer_list<Piece> pieces) {
  throw Error(kind, joined(pieces));
}

}  // namespace uh
