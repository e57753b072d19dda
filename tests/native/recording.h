// A ring in this process and the other side of it: a thread that takes records out and checks them.
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

// Makes a ring's file: capacities must be powers of two, unless a test wants it to be refused.
int ring_file(uint64_t records, uint64_t blob_bytes);

// Records what this process does until it is destroyed; the trace goes nowhere but to `hear`, which
// is called for each record, with its blob, on another thread until finish() has returned.
class Recording {
 public:
  using Hear = std::function<void(const events::Record&, std::string_view blob)>;
  Recording(uint64_t records, uint64_t blob_bytes, uint64_t mode, Hear hear = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Stops, takes the rest out, and returns how many records came. Throws at the first wrong one.
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
