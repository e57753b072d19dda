// A ring in this process with its reader: a thread that takes records out and checks them.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "check.h"
#include "events/record.h"
#include "events/ring.h"

namespace uh::test {

// Creates a ring's file. Capacities must be powers of two, unless the test expects a rejection.
int ring_file(uint64_t records, uint64_t blob_bytes);

// Records this process until destroyed; the trace is only passed to `hear`, which is called with
// each record and its blob, on another thread, until finish() has returned.
class Recording {
 public:
  using Hear = std::function<void(const events::Record&, std::string_view blob)>;
  // The windows begin with 2^first_window records and bytes, 0: with all.
  Recording(uint64_t records, uint64_t blob_bytes, uint64_t mode, Hear hear = {}, uint64_t first_window = 0);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Stops, reads the remaining records, and returns their total number. Throws at the first error.
  uint64_t finish();

 private:
  void drain();
  void take();

  int fd_;
  size_t mapped_;
  events::RingHeader* header_;
  std::atomic<bool> stop_{false};
  const Hear hear_;
  uint64_t records_read_ = 0;
  std::string wrong_;
  std::thread thread_;
};

}  // namespace uh::test
