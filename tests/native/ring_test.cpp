// The recorder and its ring: order, blobs, threads, small rings, and invalid files.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "capi/underhood.h"
#include "events/record.h"
#include "events/recorder.h"
#include "recording.h"

namespace uh {
namespace {

using test::Recording;

int open_and_close(int fd) {
  const int answer = uh_record_open(fd, 0);
  if (answer == 0) uh_record_close();
  close(fd);
  return answer;
}

TEST(what_is_not_a_ring_is_refused) {
  CHECK_EQ(uh_record_open(-1, 0), -1);
  const int empty = memfd_create("empty", 0);
  CHECK_EQ(open_and_close(empty), -1);
  CHECK_EQ(open_and_close(test::ring_file(12, 64)), -1);
  CHECK_EQ(open_and_close(test::ring_file(16, 24)), -1);
  CHECK_EQ(open_and_close(test::ring_file(0, 64)), -1);
  CHECK_EQ(open_and_close(test::ring_file(16, 8)), -1);
  CHECK_EQ(uh_recording(), 0);
}

TEST(nothing_is_recorded_twice_at_once) {
  const Recording recording(64, 4096, 0);
  const int fd = test::ring_file(64, 4096);
  CHECK_EQ(uh_record_open(fd, 0), -1);
  CHECK(std::strstr(uh_last_error(), "already being recorded"));
  close(fd);
}

TEST(a_blob_larger_than_a_quarter_is_cut) {
  Recording recording(64, 4096, 0);
  const std::string text(5000, 'x');
  events::emit_blob(events::Kind::kSOURCE, 1, 0, 0, 0, text.data(), text.size());
  events::emit_blob(events::Kind::kSOURCE, 1, 0, 0, 0, nullptr, 0);
  CHECK_EQ(recording.finish(), 3u);  // and the thread's event
}

TEST(emitting_after_the_end_is_nothing) {
  { const Recording recording(64, 4096, 0); }
  CHECK_EQ(events::emit(events::Kind::kLINE), 0u);
  CHECK_EQ(events::emit_blob(events::Kind::kSOURCE, 1, 0, 0, 0, "x", 1), 0u);
}

TEST(one_text_is_one_string_in_every_recording) {
  for (int round = 0; round < 3; ++round) {
    Recording recording(64, 4096, 0);
    const int64_t first = uh_intern("weight", 6);
    CHECK_EQ(uh_intern("weight", 6), first);
    CHECK(uh_intern("bias", 4) != first);
    CHECK_EQ(recording.finish(), 3u);
  }
}

TEST(threads_write_one_contiguous_stream) {
  Recording recording(256, 1 << 14, 0, {}, 6);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        if (i % 5)
          events::emit(events::Kind::kLINE, t, i);
        else
          events::emit_blob(events::Kind::kSOURCE, t, i, 0, 0, "abcdefghijk",
                            static_cast<size_t>(i % 12));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(recording.finish(), 4u * 2000 + 4);
}

// The first thread owns the recorder's lock until a second one records, at any point of a section.
TEST(a_second_thread_ends_the_ownership_of_the_lock) {
  for (int round = 0; round < 50; ++round) {
    Recording recording(256, 1 << 14, 0, {}, 6);
    std::atomic<bool> is_running{false};
    std::thread first([&] {
      for (int i = 0; i < 2000; ++i) {
        events::emit(events::Kind::kLINE, 1, i);
        if (i == 10 * round) is_running = true;
      }
    });
    while (!is_running) std::this_thread::yield();
    for (int i = 0; i < 500; ++i) events::emit(events::Kind::kLINE, 2, i);
    first.join();
    CHECK_EQ(recording.finish(), 2000u + 500 + 2);
  }
}

FUZZ(rings_of_any_size) {
  test::Random random(budget.seed);
  while (!budget.over()) {
    const uint64_t blob = uint64_t{64} << random.in(0, 8);
    Recording recording(uint64_t{1} << random.in(0, 8), blob,
                        static_cast<uint64_t>(random.in(0, 3)), {},
                        static_cast<uint64_t>(random.in(0, 9)));
    const std::string bytes(2 * blob, 'b');
    uint64_t sent = 1;  // the thread's event
    for (int64_t i = random.in(0, 1000); i > 0; --i, ++sent) {
      const auto n = static_cast<size_t>(random.in(0, static_cast<int64_t>(bytes.size())));
      if (random.one_in(2))
        events::emit(events::Kind::kLINE, i);
      else
        events::emit_blob(events::Kind::kSOURCE, i, 0, 0, 0, bytes.data(), n);
    }
    const uint64_t came = recording.finish();
    CHECK(came == sent || (sent == 1 && came == 0), "sent ", sent, ", came ", came);
  }
}

// Changed header bytes before opening: the ring is rejected or usable; never a write outside the
// mapping.
FUZZ(headers_with_wrong_capacities) {
  test::Random random(budget.seed);
  while (!budget.over()) {
    const uint64_t records = random.one_in(2) ? 16 : static_cast<uint64_t>(random.in(0, 40));
    const uint64_t blob = random.one_in(2) ? 1024 : static_cast<uint64_t>(random.in(0, 2000));
    const int fd = test::ring_file(records, blob);
    if (random.one_in(3)) {
      const uint64_t nonsense = random.next();
      const off_t at = 8 * random.in(0, 2);
      CHECK_EQ(pwrite(fd, &nonsense, 8, at), 8);
    }
    if (uh_record_open(fd, 0) == 0) {
      CHECK(records >= 1 && blob >= 64, records, " records, ", blob, " bytes");
      if (records >= 4 && blob >= 256) {  // room for these, as there is no reader
        events::emit(events::Kind::kLINE, 1);
        events::emit_blob(events::Kind::kSOURCE, 1, 0, 0, 0, "some bytes", 10);
      }
      uh_record_close();
    }
    close(fd);
  }
}

}  // namespace
}  // namespace uh
