#include "events/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "base/biased_lock.h"
#include "base/error.h"
#include "events/ring.h"
#include "events/sample.h"

namespace uh::events {

std::atomic<uint32_t> g_mode{0};
std::atomic<uint32_t> g_generation{0};

namespace {

// A blob of a quarter of it fits, with its length, wherever it begins.
constexpr uint64_t kMinBlobBytes = 64;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kHeartbeatLate = kSecond;
// A waiting thread looks again after this pause: long enough for the writer to make room for some
// thousands of records.
constexpr long kPauseNs = 500'000;
// The interval at which a waiting thread checks the writer, and how long it waits for a silent one
// before a window grows: a writer that starts is silent for some 100 ms.
constexpr uint64_t kCheckNs = 20'000'000, kLateNs = 200'000'000;
constexpr uint64_t kPrefetched = 8;  // records that are fetched ahead
constexpr int64_t kWholeBytes = 4096;
static_assert(sizeof(Record) == kRecordBytes);

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
}

// Allows look-ups by string_view, without a std::string.
struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Strings = std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>>;
constexpr size_t kRecent = 256;

// A recording begins and ends while other threads run. Any thread may read `header`: a mapping
// never moves. Everything else that depends on it is read and changed under the locks.
struct Ring {
  std::atomic<RingHeader*> header{nullptr};
  RingHeader* closed = nullptr;  // the last one, once it is closed
  Record* records = nullptr;
  std::byte* blobs = nullptr;
  size_t mapped = 0;
  BiasedLock lock;                    // held for some nanoseconds per record
  Window record_window, blob_window;  // as in the header
  std::mutex strings_lock;
  Strings* strings = nullptr;  // never freed
  std::array<const Strings::value_type*, kRecent> recent{};  // of `strings`, by address of the text
  std::atomic<uint64_t> value_bytes{0};
  std::atomic<uint64_t> value_limit{0};
  std::atomic<uint32_t> next_thread{0};
  uint64_t last_ns = 0;    // time of the latest record that read the clock
  uint64_t tail_seen = 0;  // the writer's tail when it was last looked at
  bool is_late = false;    // a thread waited for kLateNs in vain: a window grows
};

// Never destroyed: events may come from other threads while the process winds down.
static_assert(std::is_trivially_destructible_v<Ring>);
constinit Ring g_ring;

// Column `time` of event_list.inc, by kind.
constexpr auto kReadsClock = [] {
  enum class Time : bool { previous, now };
  std::array<bool, 256> reads{};
#define UH_EVENT(name, number, time, a, b, c, d, e, blob, sentence)                                \
  reads[number] = Time::time == Time::now;
#include "events/event_list.inc"
#undef UH_EVENT
  return reads;
}();

// The number of a thread, in the recording that has this generation.
struct ThreadNumber {
  uint32_t number, generation;
};
thread_local constinit ThreadNumber t_number __attribute__((tls_model("initial-exec"))) = {};

// THREAD records the thread's name once. Most programs record from one thread, the first: it owns
// the lock.
__attribute__((noinline)) void number_thread(uint32_t generation) {
  t_number = {g_ring.next_thread.fetch_add(1) + 1, generation};
  if (t_number.number == 1) {
    BiasedGuard guard(g_ring.lock, &t_number);
    g_ring.lock.bias(&t_number);
  }
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  emit_blob(Kind::kTHREAD, t_number.number, 0, 0, 0, name, std::strlen(name));
}

// A small number per thread and recording.
inline uint32_t thread_number() {
  const uint32_t current = g_generation.load(std::memory_order_relaxed);
  if (t_number.generation != current) [[unlikely]]
    number_thread(current);
  return t_number.number;
}

// Returns Linux's letter for the state of a process (proc(5)); 0: no such process, '?': unknown.
char process_state(pid_t pid) {
  const int fd = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kill(pid, 0) != 0 && errno == ESRCH ? 0 : '?';
  char text[512];
  const ssize_t n = read(fd, text, sizeof text);
  ::close(fd);
  const std::string_view stat(text, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t name_end = stat.rfind(") ");  // the name may hold anything, brackets too
  return name_end == std::string_view::npos ? 0 : stat[name_end + 2];
}

// Returns why to stop waiting for room, or kNone. A thread does not wait for a dead writer (reaped
// or not), only briefly for a stopped one, and at most kPatience for a silent one. `waited` counts
// this thread's own waiting while the heartbeat did not advance, so that a program and a writer
// that were stopped together (ctrl+z) continue together.
RingEnd writer_end(const RingHeader& h, uint64_t waited) {
  if (now_ns() - h.heartbeat_ns.load() < kHeartbeatLate) return RingEnd::kNone;
  const char state = process_state(static_cast<pid_t>(h.writer_pid.load()));
  if (state == 0 || state == 'Z' || state == 'X') return RingEnd::kWriterDead;
  const bool stopped = state == 'T' || state == 't';
  const uint64_t patience = stopped ? kPatienceStopped : kPatience;
  return waited > patience * kSecond ? RingEnd::kWriterSilent : RingEnd::kNone;
}

struct PendingRecord {
  Kind kind;
  int64_t a, b, c, d, e;
  uint16_t flags;
  const void* bytes = nullptr;
  size_t length = 0;
};

// Returns a window of the header's size, at position 0.
Window first_window(std::atomic<uint64_t>& word, uint64_t capacity) {
  Window window(word.load() & 63, capacity);
  window.size = std::min(std::max(window.size, kMinWindow), capacity);
  word = window.word();
  return window;
}

// Touches the memory of a window at once, which takes half as long as page faults do, one by one,
// in the program's loops. An older system refuses, and they do.
void populate([[maybe_unused]] void* start, [[maybe_unused]] uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  madvise(start, bytes, MADV_POPULATE_WRITE);
#endif
}

// Returns whether a window whose first byte is at `position` can grow, and would gain by it: more
// than a quarter of it is unread.
bool is_crowded(const Window& window, uint64_t position, uint64_t tail, uint64_t capacity) {
  const uint64_t unread = position - tail;
  return window.size < capacity && unread > window.size / 4 && unread <= window.size;
}

// Returns the position of a blob of `need` bytes, if there is room. It never wraps around the end
// of the window.
uint64_t blob_start(Ring& r, RingHeader& h, uint64_t need) {
  Window& window = r.blob_window;
  const uint64_t head = h.blob_head.load(std::memory_order_relaxed);
  const uint64_t offset = window.at(head);
  if (offset && offset + need <= window.size) [[likely]]
    return head;
  const uint64_t first = offset ? head + (window.size - offset) : head;
  const uint64_t tail = h.blob_tail.load(std::memory_order_acquire);
  const bool is_small = need > window.size && first - tail <= window.size;
  if (is_small || (r.is_late && is_crowded(window, first, tail, h.capacity_blob))) {
    const uint64_t bigger = std::bit_ceil(window.size + std::max(window.size, need));
    window.grow(first, std::min(bigger, h.capacity_blob));
    r.is_late = false;
    h.blob_window.store(window.word(), std::memory_order_relaxed);
  }
  const uint64_t at = window.at(first);
  return at + need <= window.size ? first : first + (window.size - at);
}

constexpr uint64_t kNoRoom = ~uint64_t{0};

// Writes the record and returns its number, or kNoRoom. A recording that has ended accepts and
// discards records. The record is passed by value, in registers: what was just stored field by
// field cannot be loaded in larger pieces without waiting for the stores.
inline uint64_t try_commit(Ring& r, const PendingRecord w, uint32_t thread) {
  BiasedGuard guard(r.lock, &t_number);
  RingHeader* open = r.header.load(std::memory_order_relaxed);
  if (!open) return 0;
  RingHeader& h = *open;
  const uint64_t head = h.head.load(std::memory_order_relaxed);
  if (r.record_window.at(head) == 0) [[unlikely]] {
    r.tail_seen = h.tail.load(std::memory_order_acquire);
    if (r.is_late && is_crowded(r.record_window, head, r.tail_seen, h.capacity_records)) {
      r.record_window.grow(head, 2 * r.record_window.size);
      h.record_window.store(r.record_window.word(), std::memory_order_relaxed);
      r.is_late = false;
    }
  }
  const Window& window = r.record_window;
  if (head - r.tail_seen >= window.size) {
    r.tail_seen = h.tail.load(std::memory_order_acquire);
    if (head - r.tail_seen >= window.size) return kNoRoom;
  }
  int64_t e = w.e;
  if (w.bytes) {
    const uint64_t need = 8 + ((w.length + 7) & ~uint64_t{7});
    if (need > h.capacity_blob) return 0;  // of a larger recording, which has ended since
    const uint64_t start = blob_start(r, h, need);
    const uint64_t tail = h.blob_tail.load(std::memory_order_acquire);
    if (start + need - tail > r.blob_window.size) return kNoRoom;
    std::byte* to = r.blobs + r.blob_window.at(start);
    const uint64_t length = w.length;
    std::memcpy(to, &length, 8);
    std::memcpy(to + 8, w.bytes, w.length);
    h.blob_head.store(start + need, std::memory_order_relaxed);
    e = static_cast<int64_t>(start);
  }
  if (kReadsClock[static_cast<uint8_t>(w.kind)]) r.last_ns = now_ns();
  r.records[window.at(head)] = Record{
      head, r.last_ns, thread, static_cast<uint16_t>(w.kind), w.flags, w.a, w.b, w.c, w.d, e};
  // The writer, on another processor, read the next slots last: fetch them early.
  __builtin_prefetch(&r.records[window.at(head + kPrefetched)], 1);
  h.head.store(head + 1, std::memory_order_release);
  return head;
}

// Waits for room.
__attribute__((noinline, cold)) uint64_t commit_late(const PendingRecord w, uint32_t thread) {
  Ring& r = g_ring;
  RingHeader* header = r.header.load(std::memory_order_acquire);
  if (!header) return 0;
  uint64_t number = 0;
  const uint64_t began = now_ns();
  uint64_t heartbeat = header->heartbeat_ns.load();
  uint64_t before = began, waited = 0, checked = 0;
  while (on() && (number = try_commit(r, w, thread)) == kNoRoom) {
    const timespec pause{0, kPauseNs};
    nanosleep(&pause, nullptr);
    const uint64_t time = now_ns();
    waited += std::min(time - before, kCheckNs);  // more than that: this process was stopped
    before = time;
    if (waited < checked + kCheckNs) continue;
    checked = waited;
    if (waited >= kLateNs) {
      BiasedGuard guard(r.lock, &t_number);
      r.is_late = true;
    }
    if (const uint64_t beat = header->heartbeat_ns.load(); beat != heartbeat) {
      heartbeat = beat;
      waited = checked = 0;
    } else if (const RingEnd end = writer_end(*header, waited); end != RingEnd::kNone) {
      header->lost.fetch_add(1);
      header->end = static_cast<uint64_t>(end);
      g_mode.store(0);
    }
  }
  header->waited_ns.fetch_add(now_ns() - began);
  return number == kNoRoom ? 0 : number;
}

inline uint64_t commit(const PendingRecord w) {
  if (!on()) return 0;
  const uint32_t thread = thread_number();
  const uint64_t number = try_commit(g_ring, w, thread);
  return number == kNoRoom ? commit_late(w, thread) : number;
}

// Around a fork nothing is being written, so the child's locks are free. The child shares the
// mapping, and two programs must not write one trace: it records nothing.
bool g_locked_as_owner;
void before_fork() {
  g_ring.strings_lock.lock();
  g_locked_as_owner = g_ring.lock.lock(&t_number);
}
void after_fork() {
  g_ring.lock.unlock(g_locked_as_owner);
  g_ring.strings_lock.unlock();
}
void stop_in_child() {
  after_fork();
  g_mode.store(0);
}

}  // namespace

void open(int fd, uint64_t value_budget) {
  check(!on(), "record: this process is already being recorded");
  struct stat st{};
  check(fstat(fd, &st) == 0 && st.st_size > static_cast<off_t>(kHeaderBytes),
        "record: file descriptor ", fd, " is not a ring: it is too short or closed");
  void* at =
      mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check(at != MAP_FAILED, "record: cannot map the ring: ", std::strerror(errno));
  auto* header = static_cast<RingHeader*>(at);
  const uint64_t want =
      kHeaderBytes + header->capacity_records * sizeof(Record) + header->capacity_blob;
  const bool usable = std::has_single_bit(header->capacity_records) &&
                      std::has_single_bit(header->capacity_blob) &&
                      header->capacity_blob >= kMinBlobBytes;
  if (header->magic != kRingMagic || want != static_cast<uint64_t>(st.st_size) || !usable) {
    munmap(at, static_cast<size_t>(st.st_size));
    fail(ErrorKind::kRuntime, "record: file descriptor ", fd,
         " is not a ring: wrong magic or size");
  }
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, stop_in_child); });
  Ring& r = g_ring;
  std::lock_guard strings(r.strings_lock);
  BiasedGuard guard(r.lock, &t_number);
  r.records = reinterpret_cast<Record*>(static_cast<std::byte*>(at) + kHeaderBytes);
  r.blobs = reinterpret_cast<std::byte*>(r.records + header->capacity_records);
  r.mapped = static_cast<size_t>(st.st_size);
  r.record_window = first_window(header->record_window, header->capacity_records);
  r.blob_window = first_window(header->blob_window, header->capacity_blob);
  populate(r.records, r.record_window.size * sizeof(Record));
  populate(r.blobs, r.blob_window.size);
  if (!r.strings) r.strings = new Strings;
  r.strings->clear();
  r.recent.fill(nullptr);
  r.value_bytes = 0;
  r.value_limit = value_budget;
  r.next_thread = 0;
  r.tail_seen = header->tail.load();
  r.last_ns = now_ns();
  r.header.store(header, std::memory_order_release);
  g_generation.fetch_add(1);
  header->producer_pid = static_cast<uint64_t>(getpid());
  header->state = static_cast<uint64_t>(RingState::kRecording);
  g_mode.store(kOn | static_cast<uint32_t>(header->mode.load()));
}

void close() {
  Ring& r = g_ring;
  g_mode.store(0);
  BiasedGuard guard(r.lock, &t_number);
  RingHeader* header = r.header.load(std::memory_order_relaxed);
  if (!header) return;
  header->state = static_cast<uint64_t>(RingState::kClosed);
  // The mapping stays: a thread that passed on() just before may still be writing its record.
  r.header = nullptr;
  r.closed = header;
}

RingHeader* ring_header() {
  Ring& r = g_ring;
  RingHeader* open = r.header.load();
  return open ? open : r.closed;
}

void release_ring() {
  Ring& r = g_ring;
  BiasedGuard guard(r.lock, &t_number);
  if (r.header.load() || !r.closed) return;
  auto* after_header = reinterpret_cast<std::byte*>(r.closed) + kHeaderBytes;
  madvise(after_header, r.mapped - kHeaderBytes, MADV_REMOVE);
}

uint64_t emit(Kind kind, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, uint16_t flags) {
  return commit({kind, a, b, c, d, e, flags});
}

uint64_t emit_blob(Kind kind, int64_t a, int64_t b, int64_t c, int64_t d, const void* bytes,
                   size_t length, uint16_t flags) {
  Ring& r = g_ring;
  const RingHeader* header = r.header.load(std::memory_order_acquire);
  if (!header) return 0;
  const size_t limit = header->capacity_blob / 4;
  if (length > limit) {
    length = limit;
    flags |= kTruncated;
  }
  static const char kEmpty = 0;
  return commit({kind, a, b, c, d, 0, static_cast<uint16_t>(flags | kHasBlob),
                 bytes ? bytes : &kEmpty, bytes ? length : 0});
}

int64_t intern(std::string_view text) {
  Ring& r = g_ring;
  std::lock_guard guard(r.strings_lock);
  if (!r.strings) return 0;  // nothing was ever recorded
  // Equal strings are usually at the same address; the contents are compared in any case.
  const auto*& recent = r.recent[std::bit_cast<uintptr_t>(text.data()) / 8 % kRecent];
  if (recent && recent->first == text) return recent->second;
  const auto next = static_cast<int64_t>(r.strings->size() + 1);
  auto known = r.strings->find(text);
  const bool is_new = known == r.strings->end();
  if (is_new) known = r.strings->emplace(text, next).first;
  recent = &*known;  // elements of the map stay where they are
  if (is_new) emit_blob(Kind::kSTRING, next, 0, 0, 0, text.data(), text.size());
  return known->second;
}

void capture_values(const ValueSource& s) {
  if (!values_on() || s.hi <= s.lo || !s.base) return;
  Ring& r = g_ring;
  const int64_t bytes = s.hi - s.lo;
  const bool complete = bytes <= kWholeBytes;
  const uint64_t cost = static_cast<uint64_t>(complete ? bytes : kSampleElements * 8 + 64);
  const uint64_t used = r.value_bytes.fetch_add(cost) + cost;
  if (used > r.value_limit) {
    if (used - cost <= r.value_limit) {
      emit(Kind::kBUDGET, static_cast<int64_t>(used - cost), static_cast<int64_t>(r.value_limit));
    }
    return;
  }
  if (complete) {
    emit_blob(Kind::kVALUES, s.storage, s.lo, s.hi, 0, s.base + s.lo, static_cast<size_t>(bytes));
    return;
  }
  const auto bytes_of_sample = sample(s);
  emit_blob(Kind::kVALUES, s.storage, s.lo, s.hi, 1, bytes_of_sample.data(), bytes_of_sample.size());
}

}  // namespace uh::events
