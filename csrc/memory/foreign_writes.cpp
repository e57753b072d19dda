#include "memory/foreign_writes.h"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace uh::foreign_writes {
namespace {

// Larger storages are not compared at every line.
constexpr size_t kMaxComparedBytes = size_t{1} << 20;

std::mutex g_lock;
std::atomic<bool> g_any{false};

std::unordered_map<Storage*, std::vector<std::byte>>& copies() {
  static auto* map = new std::unordered_map<Storage*, std::vector<std::byte>>;
  return *map;
}

void copy_bytes(Storage* storage, std::vector<std::byte>& copy) {
  const auto* at = static_cast<const std::byte*>(storage->data());
  copy.assign(at, at + storage->nbytes());
}

void record_difference(Storage* storage, std::vector<std::byte>& copy) {
  const auto* current = static_cast<const std::byte*>(storage->data());
  if (std::memcmp(current, copy.data(), copy.size()) == 0) return;
  size_t lo = 0, hi = copy.size();
  while (current[lo] == copy[lo]) ++lo;
  while (current[hi - 1] == copy[hi - 1]) --hi;
  copy_bytes(storage, copy);
  const auto from = static_cast<int64_t>(lo), to = static_cast<int64_t>(hi);
  events::emit(events::Kind::kWRITE, storage->id(), 0, from, to, 0);
  events::capture_values({storage->id(), current, from, to, 1});
}

}  // namespace

void watch(Storage* storage) {
  std::lock_guard guard(g_lock);
  copies().try_emplace(storage);
  g_any = true;
}

void forget(Storage* storage) {
  if (!g_any.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(g_lock);
  copies().erase(storage);
  g_any = !copies().empty();
}

void refresh(Storage* storage) {
  if (!g_any.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(g_lock);
  const auto it = copies().find(storage);
  if (it != copies().end() && storage->nbytes() <= kMaxComparedBytes)
    copy_bytes(storage, it->second);
}

void check_all() {
  if (!events::on() || !g_any.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(g_lock);
  for (auto& [storage, copy] : copies()) {
    if (storage->nbytes() == 0 || storage->nbytes() > kMaxComparedBytes) continue;
    if (copy.size() != storage->nbytes()) {
      copy_bytes(storage, copy);
    } else {
      record_difference(storage, copy);
    }
  }
}

}  // namespace uh::foreign_writes
