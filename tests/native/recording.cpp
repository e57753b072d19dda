#include "recording.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "capi/underhood.h"
#include "events/record.h"

namespace uh::test {

using events::kHeaderBytes;
using events::Record;
using events::RingHeader;

int ring_file(uint64_t records, uint64_t blob_bytes) {
  const int fd = memfd_create("ring", 0);
  const auto size = static_cast<off_t>(kHeaderBytes + records * sizeof(Record) + blob_bytes);
  if (fd < 0 || ftruncate(fd, size) != 0) throw Failure("no memory for a ring");
  const uint64_t head[3] = {events::kRingMagic, records, blob_bytes};
  if (pwrite(fd, head, sizeof head, 0) != sizeof head)
    throw Failure("cannot write a ring's header");
  return fd;
}

Recording::Recording(uint64_t records, uint64_t blob_bytes, uint64_t mode, Hear hear, uint64_t first_window)
    : fd_(ring_file(records, blob_bytes)),
      mapped_(kHeaderBytes + records * sizeof(Record) + blob_bytes),
      hear_(std::move(hear)) {
  void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) throw Failure("cannot map a ring");
  header_ = static_cast<RingHeader*>(at);
  header_->mode = mode;
  header_->record_window = header_->blob_window = first_window;
  header_->writer_pid = static_cast<uint64_t>(getpid());
  if (uh_record_open(fd_, 1 << 20) != 0) throw Failure(uh_last_error());
  thread_ = std::thread([this] { drain(); });
}

Recording::~Recording() {
  finish();
  munmap(header_, mapped_);
  close(fd_);
}

uint64_t Recording::finish() {
  if (thread_.joinable()) {
    uh_record_close();
    stop_ = true;
    thread_.join();
    if (!wrong_.empty()) throw Failure(std::exchange(wrong_, ""));
  }
  return records_read_;
}

void Recording::drain() {
  while (!stop_) {
    take();
    std::this_thread::yield();
  }
  take();
}

// Reads all records between tail and head, and checks that numbers are consecutive and blobs inside
// their area.
void Recording::take() {
  const auto* records =
      reinterpret_cast<const Record*>(reinterpret_cast<std::byte*>(header_) + kHeaderBytes);
  const auto* blobs = reinterpret_cast<const std::byte*>(records + header_->capacity_records);
  const uint64_t head = header_->head.load(std::memory_order_acquire);
  const events::Window window(header_->record_window, header_->capacity_records);
  const events::Window blob_window(header_->blob_window, header_->capacity_blob);
  for (; records_read_ < head; ++records_read_) {
    const Record& r = records[window.at(records_read_)];
    if (r.number != records_read_ && wrong_.empty()) {
      wrong_ =
          "record " + std::to_string(records_read_) + " has the number " + std::to_string(r.number);
    }
    if (r.flags & events::kHasBlob) {
      const uint64_t at = blob_window.at(static_cast<uint64_t>(r.e));
      uint64_t length = 0;
      std::memcpy(&length, blobs + at, 8);
      const uint64_t padded = 8 + ((length + 7) & ~uint64_t{7});
      if (at + padded > blob_window.size && wrong_.empty()) {
        wrong_ = "the blob of record " + std::to_string(records_read_) +
                 " wraps: " + std::to_string(length) + " bytes";
      }
      if (hear_) hear_(r, {reinterpret_cast<const char*>(blobs + at + 8), length});
      header_->blob_tail.store(static_cast<uint64_t>(r.e) + padded, std::memory_order_release);
    } else if (hear_) {
      hear_(r, {});
    }
    header_->tail.store(records_read_ + 1, std::memory_order_release);
  }
}

}  // namespace uh::test
