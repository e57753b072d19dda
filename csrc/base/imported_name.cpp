#include "base/imported_name.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

namespace uh {
namespace {

std::atomic<const char*> current = "engine";

}  // namespace

const char* imported_name() { return current.load(std::memory_order_acquire); }

void set_imported_name(const char* name) {
  // All names that were set stay: another thread may be writing one into a message.
  static std::mutex mutex;
  static auto* names = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  current.store(names->insert(name).first->c_str(), std::memory_order_release);
}

}  // namespace uh
