#include "capi/returned_string.h"

#include <unordered_map>

#include "base/per_thread.h"

namespace uh {

namespace {
struct Strings : std::unordered_map<const void*, std::string> {};
}  // namespace

std::string& returned_string(const void* key) { return per_thread<Strings>()[key]; }

}  // namespace uh
