#include "backend/opencl/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>

#include "backend/opencl/platform.h"

namespace uh::opencl {
namespace {

constexpr size_t kSmallest = 512;  // bytes, as in PyTorch's allocator for CUDA

// Blocks have few different sizes, so that they can be reused: multiples of 512 bytes up to 4 KiB,
// above that eight sizes per doubling (Note [Size classes] in backend/cpu/allocator.cpp).
size_t block_size(size_t bytes) {
  size_t step = kSmallest;
  while (step * 16 <= bytes - 1) step *= 2;
  const size_t rounded = (bytes + step - 1) & ~(step - 1);
  return rounded < bytes ? bytes : rounded;
}

std::string in_units(size_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 1024 && unit < 4; ++unit) amount /= 1024;
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit ? 2 : 0) << amount << ' ' << kUnits[unit];
  return text.str();
}

}  // namespace

void* BlockCache::raw_allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  check_not_forked();
  const size_t size = block_size(bytes);
  const std::lock_guard guard(lock_);
  void* address = take(size);
  const bool reused = address != nullptr;
  if (!reused) {
    cl_mem buffer = nullptr;
    std::tie(address, buffer) = make(size, bytes);
    blocks_[reinterpret_cast<uintptr_t>(address)] = {buffer, size};
  }
  ++stats_.allocations;
  stats_.reused += reused;
  stats_.live_bytes += static_cast<int64_t>(bytes);
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  record_allocate(id(), address, bytes, reused);
  return address;
}

void BlockCache::raw_deallocate(void* address, size_t bytes) {
  if (!address) return;
  const std::lock_guard guard(lock_);
  const size_t size = find(address)->second.bytes;
  ++stats_.frees;
  stats_.live_bytes -= static_cast<int64_t>(bytes);
  stats_.kept_bytes += static_cast<int64_t>(size);
  // Recorded before another thread can get the block, so that the events are in order.
  record_free(id(), address, bytes, true);
  cached_[size].push_back(address);
}

AllocatorStats BlockCache::stats() const {
  const std::lock_guard guard(lock_);
  return stats_;
}

void* BlockCache::take(size_t bytes) {
  std::vector<void*>& addresses = cached_[bytes];
  const auto it = std::find_if(addresses.rbegin(), addresses.rend(),
                               [&](void* address) { return is_ready(find(address)->second); });
  if (it == addresses.rend()) return nullptr;
  void* const address = *it;
  addresses.erase(std::next(it).base());
  stats_.kept_bytes -= static_cast<int64_t>(bytes);
  return address;
}

BlockCache::Blocks::iterator BlockCache::find(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto it = blocks_.upper_bound(at);
  if (it == blocks_.begin()) return blocks_.end();
  --it;
  return at - it->first < it->second.bytes ? it : blocks_.end();
}

DeviceMemory::DeviceMemory(Queue& queue, cl_context context, size_t total, size_t largest)
    : BlockCache(queue, context), total_(total), largest_(largest), limit_(total) {}

cl_mem DeviceMemory::new_buffer(size_t bytes) {
  cl_int status = kSuccess;
  const cl_mem buffer = api().CreateBuffer(context_, kReadWrite, bytes, nullptr, &status);
  if (status != kSuccess) return nullptr;
  // Drivers allocate a buffer at its first use: this use makes them fail here and not in a kernel.
  static constexpr char kZero = 0;
  const Command command{.kind = CommandKind::kNewBuffer, .name = "a new buffer", .bytes = 1};
  try {
    queue_.add(command, [&](cl_event* event) {
      return api().EnqueueWriteBuffer(queue_.handle(), buffer, 0, bytes - 1, 1, &kZero, 0, nullptr,
                                      event);
    });
  } catch (const Error& error) {
    api().ReleaseMemObject(buffer);
    if (error.kind() != ErrorKind::kDeviceMemory) throw;
    return nullptr;
  }
  return buffer;
}

std::pair<void*, cl_mem> DeviceMemory::make(size_t bytes, size_t requested) {
  if (bytes > largest_) out_of_memory(requested);
  if (reserved_ + bytes > limit_) release_cached();
  if (reserved_ + bytes > limit_) out_of_memory(requested);
  queue_.check_failures();  // or they would be taken for failures of the new buffer
  cl_mem buffer = new_buffer(bytes);
  if (!buffer) {
    release_cached();
    buffer = new_buffer(bytes);
  }
  if (!buffer) out_of_memory(requested);
  void* const address =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    api().ReleaseMemObject(buffer);
    fail(ErrorKind::kDeviceMemory, uh::name(queue_.device()), ": no address space is left for ",
         bytes, " bytes");
  }
  reserved_ += bytes;
  return {address, buffer};
}

BufferPlace DeviceMemory::resolve(const void* address) {
  const std::lock_guard guard(lock_);
  const auto it = find(address);
  check_kind(it != blocks_.end(), ErrorKind::kInternal, uh::name(queue_.device()), ": the address ",
             address, " is in none of its buffers");
  return {it->second.buffer, reinterpret_cast<uintptr_t>(address) - it->first};
}

void DeviceMemory::release_cached() {
  for (auto& [size, addresses] : cached_) {
    for (void* address : addresses) {
      const auto it = blocks_.find(reinterpret_cast<uintptr_t>(address));
      api().ReleaseMemObject(it->second.buffer);  // commands that use it hold a reference
      munmap(address, size);
      blocks_.erase(it);
      reserved_ -= size;
    }
    addresses.clear();
  }
  stats_.kept_bytes = 0;
}

void DeviceMemory::empty_cache() {
  const std::lock_guard guard(lock_);
  release_cached();
}

void DeviceMemory::reset_peak() {
  const std::lock_guard guard(lock_);
  stats_.peak_bytes = stats_.live_bytes;
}

void DeviceMemory::set_limit(size_t bytes) {
  const std::lock_guard guard(lock_);
  limit_ = std::min(bytes, total_);
}

size_t DeviceMemory::limit() const {
  const std::lock_guard guard(lock_);
  return limit_;
}

void DeviceMemory::out_of_memory(size_t requested) const {
  fail(ErrorKind::kDeviceMemory, uh::name(queue_.device()), " is out of memory: tried to allocate ",
       in_units(requested), "; tensors use ", in_units(static_cast<size_t>(stats_.live_bytes)),
       ", and ", in_units(static_cast<size_t>(stats_.kept_bytes)),
       " are cached and not in use; the device has ", in_units(total_), " in total, of which ",
       in_units(limit_), " may be used, ", in_units(largest_), " in one tensor");
}

std::pair<void*, cl_mem> PinnedMemory::make(size_t bytes, size_t) {
  cl_int status = kSuccess;
  const cl_mem buffer =
      api().CreateBuffer(context_, kReadWrite | kAllocateHostPointer, bytes, nullptr, &status);
  check_status(status, uh::name(queue_.device()), ": pinning ", bytes, " bytes of host memory");
  queue_.finish("pinned memory is mapped");
  void* const address = api().EnqueueMapBuffer(queue_.handle(), buffer, 1, kMapReadWrite, 0, bytes,
                                               0, nullptr, nullptr, &status);
  if (status != kSuccess) api().ReleaseMemObject(buffer);
  check_status(status, uh::name(queue_.device()), ": mapping ", bytes, " bytes of pinned memory");
  return {address, buffer};
}

bool PinnedMemory::is_ready(Block& block) {
  if (!block.last_use) return true;
  cl_int status = kComplete;
  const cl_int queried =
      api().GetEventInfo(block.last_use, kEventStatus, sizeof status, &status, nullptr);
  if (queried == kSuccess && status > kComplete) return false;  // queued, submitted or running
  api().ReleaseEvent(std::exchange(block.last_use, nullptr));
  return true;
}

bool PinnedMemory::contains(const void* address, size_t bytes) {
  const std::lock_guard guard(lock_);
  const auto it = find(address);
  return it != blocks_.end() &&
         reinterpret_cast<uintptr_t>(address) + bytes <= it->first + it->second.bytes;
}

void PinnedMemory::used_by_last_command(const void* address) {
  const cl_event event = queue_.last_event();
  const std::lock_guard guard(lock_);
  const auto it = find(address);
  if (it == blocks_.end()) {
    if (event) api().ReleaseEvent(event);
    return;
  }
  if (it->second.last_use) api().ReleaseEvent(it->second.last_use);
  it->second.last_use = event;
}

}  // namespace uh::opencl
