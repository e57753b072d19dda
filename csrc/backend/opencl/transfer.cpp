#include "backend/opencl/transfer.h"

#include <cstring>

#include "memory/device_registry.h"

namespace uh::opencl {
namespace {

constexpr size_t kStaged = 64 << 10;  // up to this many bytes are copied rather than waited for

}  // namespace

void write(void* to, const void* from, size_t bytes, OpenclDevice& device, bool non_blocking) {
  if (bytes == 0) return;
  const BufferPlace position = device.memory.resolve(to);
  const bool pinned = device.pinned.contains(from, bytes);
  const bool later = pinned && non_blocking;
  std::unique_ptr<std::byte[]> staged;
  if (!later && bytes <= kStaged) {
    staged = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(staged.get(), from, bytes);
  }
  const void* const source = staged ? staged.get() : from;
  const bool waits = !later && !staged;
  const Command command{.kind = CommandKind::kWrite,
                        .name = "host to device",
                        .bytes = static_cast<int64_t>(bytes),
                        .from = from,
                        .to = to,
                        .pinned = pinned};
  device.queue.add(
      command,
      [&](cl_event* event) {
        return api().EnqueueWriteBuffer(device.queue.handle(), position.buffer, 0, position.offset,
                                        bytes, source, 0, nullptr, event);
      },
      std::move(staged));
  if (later) device.pinned.used_by_last_command(from);
  if (waits) device.queue.finish("a copy from the host's memory reads it");
}

void read(void* to, const void* from, size_t bytes, OpenclDevice& device, const char* reason,
          bool non_blocking) {
  if (bytes == 0) return;
  const BufferPlace position = device.memory.resolve(from);
  const bool pinned = device.pinned.contains(to, bytes);
  const Command command{.kind = CommandKind::kRead,
                        .name = "device to host",
                        .bytes = static_cast<int64_t>(bytes),
                        .from = from,
                        .to = to,
                        .pinned = pinned};
  device.queue.add(command, [&](cl_event* event) {
    return api().EnqueueReadBuffer(device.queue.handle(), position.buffer, 0, position.offset,
                                   bytes, to, 0, nullptr, event);
  });
  if (pinned && non_blocking)
    device.pinned.used_by_last_command(to);
  else
    device.queue.finish(reason);
}

void copy_within(void* to, const void* from, size_t bytes, OpenclDevice& device) {
  if (bytes == 0) return;
  const BufferPlace source = device.memory.resolve(from), target = device.memory.resolve(to);
  const Command command{.kind = CommandKind::kCopy,
                        .name = "device to device",
                        .bytes = static_cast<int64_t>(bytes),
                        .from = from,
                        .to = to};
  device.queue.add(command, [&](cl_event* event) {
    return api().EnqueueCopyBuffer(device.queue.handle(), source.buffer, target.buffer,
                                   source.offset, target.offset, bytes, 0, nullptr, event);
  });
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (is_host(from_device)) return write(to, from, bytes, device_of(to_device));
  if (is_host(to_device))
    return read(to, from, bytes, device_of(from_device), "a copy to the host");
  OpenclDevice& source = device_of(from_device);
  OpenclDevice& target = device_of(to_device);
  if (&source == &target) return copy_within(to, from, bytes, source);
  const auto host = std::make_unique_for_overwrite<std::byte[]>(bytes);
  read(host.get(), from, bytes, source, "a copy to another device");
  write(to, host.get(), bytes, target);
}

}  // namespace uh::opencl
