#include "backend/opencl/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace uh::opencl {
namespace {

constexpr size_t kSmallest = 512;  // bytes, as PyTorch's blocks on a GPU

// Blocks come in few sizes, so that they fit again: multiples of 512 bytes up to 4 KiB, and above
// eight sizes per doubling (Note [Size classes] in backend/cpu/allocator.cpp).
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

void count(AllocatorStats& stats, size_t bytes, bool reused) {
  ++stats.allocations;
  stats.reused += reused;
  stats.live_bytes += static_cast<int64_t>(bytes);
  stats.peak_bytes = std::max(stats.peak_bytes, stats.live_bytes);
}

void count_freed(AllocatorStats& stats, size_t bytes) {
  ++stats.frees;
  stats.live_bytes -= static_cast<int64_t>(bytes);
}

bool is_over(cl_event event) {
  cl_int status = kComplete;
  const cl_int requested_status =
      api().GetEventInfo(event, kEventStatus, sizeof status, &status, nullptr);
  return requested_status != kSuccess || status <= kComplete;
}

}  // namespace

DeviceMemory::DeviceMemory(Queue& queue, cl_context context, size_t total, size_t largest)
    : queue_(queue), context_(context), total_(total), largest_(largest), limit_(total) {}

void* DeviceMemory::raw_allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t block = block_size(bytes);
  void* address = take(block);
  const bool reused = address != nullptr;
  if (!reused) address = make(block, bytes);
  {
    const std::lock_guard guard(lock_);
    count(stats_, bytes, reused);
  }
  record_allocate(id(), address, bytes, reused);
  return address;
}

void DeviceMemory::raw_deallocate(void* address, size_t bytes) {
  if (!address) return;
  const std::lock_guard guard(lock_);
  const size_t block = blocks_.at(reinterpret_cast<uintptr_t>(address)).bytes;
  count_freed(stats_, bytes);
  // Recorded before another thread can be handed the same block: the events must not cross.
  record_free(id(), address, bytes, true);
  cached_[block].push_back(address);
  stats_.kept_bytes += static_cast<int64_t>(block);
}

AllocatorStats DeviceMemory::stats() const {
  const std::lock_guard guard(lock_);
  return stats_;
}

void* DeviceMemory::take(size_t block) {
  const std::lock_guard guard(lock_);
  const auto it = cached_.find(block);
  if (it == cached_.end() || it->second.empty()) return nullptr;
  void* const address = it->second.back();
  it->second.pop_back();
  stats_.kept_bytes -= static_cast<int64_t>(block);
  return address;
}

void* DeviceMemory::make(size_t block, size_t requested) {
  const std::lock_guard guard(lock_);
  if (block > largest_) out_of_memory(requested);
  if (reserved_ + block > limit_) release_cached();
  if (reserved_ + block > limit_) out_of_memory(requested);
  queue_.check_failures();  // not to be taken for one of the new buffer
  const auto create = [&] {
    cl_int status = kSuccess;
    const cl_mem buffer = api().CreateBuffer(context_, kReadWrite, block, nullptr, &status);
    if (status != kSuccess) return cl_mem(nullptr);
    // Drivers find the memory when a buffer is first used: that is to fail here, and not in a
    // kernel.
    static constexpr char kZero = 0;
    const Command command{.kind = CommandKind::kWrite, .name = "a new buffer", .bytes = 1};
    try {
      queue_.add(command, [&](cl_event* event) {
        return api().EnqueueWriteBuffer(queue_.handle(), buffer, 0, block - 1, 1, &kZero, 0,
                                        nullptr, event);
      });
    } catch (const Error& error) {
      api().ReleaseMemObject(buffer);
      if (error.kind() != ErrorKind::kDeviceMemory) throw;
      return cl_mem(nullptr);
    }
    return buffer;
  };
  cl_mem buffer = create();
  if (!buffer) {
    release_cached();
    buffer = create();
  }
  if (!buffer) out_of_memory(requested);
  void* const address =
      mmap(nullptr, block, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    api().ReleaseMemObject(buffer);
    fail(ErrorKind::kDeviceMemory, uh::name(queue_.device()), ": no address space is left for ",
         block, " bytes");
  }
  blocks_[reinterpret_cast<uintptr_t>(address)] = {buffer, block};
  reserved_ += block;
  return address;
}

BufferPlace DeviceMemory::resolve(const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard guard(lock_);
  auto it = blocks_.upper_bound(at);
  check_kind(it != blocks_.begin() && at - std::prev(it)->first < std::prev(it)->second.bytes,
             ErrorKind::kInternal, uh::name(queue_.device()), ": the address ", address,
             " is in none of its buffers");
  --it;
  return {it->second.buffer, at - it->first};
}

void DeviceMemory::release_cached() {
  for (auto& [size, addresses] : cached_) {
    for (void* address : addresses) {
      const auto it = blocks_.find(reinterpret_cast<uintptr_t>(address));
      api().ReleaseMemObject(it->second.buffer);  // commands that use it hold it
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

PinnedMemory::PinnedMemory(Queue& queue, cl_context context) : queue_(queue), context_(context) {}

void* PinnedMemory::take(size_t block) {
  auto& addresses = cached_[block];
  for (auto it = addresses.rbegin(); it != addresses.rend(); ++it) {
    Block& candidate = blocks_.at(reinterpret_cast<uintptr_t>(*it));
    if (candidate.last_use && !is_over(candidate.last_use)) continue;
    if (candidate.last_use) api().ReleaseEvent(std::exchange(candidate.last_use, nullptr));
    void* const address = *it;
    addresses.erase(std::next(it).base());
    stats_.kept_bytes -= static_cast<int64_t>(block);
    return address;
  }
  return nullptr;
}

void* PinnedMemory::raw_allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t block = block_size(bytes);
  const std::lock_guard guard(lock_);
  void* address = take(block);
  const bool reused = address != nullptr;
  if (!reused) {
    cl_int status = kSuccess;
    const cl_mem buffer =
        api().CreateBuffer(context_, kReadWrite | kAllocateHostPointer, block, nullptr, &status);
    check_status(status, uh::name(queue_.device()), ": pinning ", block, " bytes of host memory");
    queue_.finish("pinned memory is mapped");
    address = api().EnqueueMapBuffer(queue_.handle(), buffer, 1, kMapReadWrite, 0, block, 0,
                                     nullptr, nullptr, &status);
    if (status != kSuccess) api().ReleaseMemObject(buffer);
    check_status(status, uh::name(queue_.device()), ": mapping ", block, " bytes of pinned memory");
    blocks_[reinterpret_cast<uintptr_t>(address)] = {buffer, block, nullptr};
  }
  count(stats_, bytes, reused);
  record_allocate(id(), address, bytes, reused);
  return address;
}

void PinnedMemory::raw_deallocate(void* address, size_t bytes) {
  if (!address) return;
  const std::lock_guard guard(lock_);
  const size_t block = blocks_.at(reinterpret_cast<uintptr_t>(address)).bytes;
  count_freed(stats_, bytes);
  record_free(id(), address, bytes, true);
  cached_[block].push_back(address);
  stats_.kept_bytes += static_cast<int64_t>(block);
}

AllocatorStats PinnedMemory::stats() const {
  const std::lock_guard guard(lock_);
  return stats_;
}

std::map<uintptr_t, PinnedMemory::Block>::const_iterator PinnedMemory::find(
    const void* address) const {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto it = blocks_.upper_bound(at);
  if (it == blocks_.begin()) return blocks_.end();
  --it;
  return at - it->first < it->second.bytes ? it : blocks_.end();
}

bool PinnedMemory::contains(const void* address, size_t bytes) const {
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
  Block& block = blocks_.at(it->first);
  if (block.last_use) api().ReleaseEvent(block.last_use);
  block.last_use = event;
}

}  // namespace uh::opencl
