#include "events/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "events/ring.h"

namespace uh::events {

std::atomic<uint32_t> g_mode{0};
std::atomic<uint32_t> g_generation{0};

namespace {

constexpr uint64_t kMinBlobBytes =
    64;  // a quarter of it, with its length, finds room wherever it begins
constexpr uint64_t kHeartbeatLate = 1'000'000'000;
constexpr uint64_t kPatienceStopped = 2'000'000'000;
constexpr uint64_t kPatience = 30'000'000'000;
constexpr uint64_t kLookNs = 20'000'000;  // how often a thread that waits looks after the writer
constexpr int64_t kWholeBytes = 4096;
constexpr int64_t kSampleElements = 64;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ull + static_cast<uint64_t>(t.tv_nsec);
}

// Held for some ten nanoseconds per record; contended only by threads that record at once.
class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
      while (flag_.test(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

// A recording begins and ends while other threads run. `header` may be read by anybody: a mapping
// stays where it is. What else depends on it is read, and changed, under the locks.
struct Ring {
  std::atomic<RingHeader*> header{nullptr};
  RingHeader* closed = nullptr;  // the last one, once it is closed
  Record* records = nullptr;
  std::byte* blobs = nullptr;
  size_t mapped = 0;
  SpinLock lock;
  std::mutex strings_lock;
  std::unordered_map<std::string, int64_t> strings;
  std::atomic<uint64_t> value_bytes{0};
  std::atomic<uint64_t> value_limit{0};
  std::atomic<uint32_t> next_thread{0};
  uint64_t last_ns = 0;    // time of the latest record that read the clock
  uint64_t tail_seen = 0;  // the writer's tail when it was last looked at
};

// Never destroyed: events may come from other threads while the process winds down.
Ring& ring() {
  static auto* instance = new Ring;
  return *instance;
}

// Column `time` of event_list.inc.
bool reads_clock(Kind kind) {
  enum class Time : bool { previous, now };
  switch (kind) {
#define UH_EVENT(name, number, time, a, b, c, d, e, blob, sentence)                                \
  case Kind::k##name: return Time::time == Time::now;
#include "events/event_list.inc"
#undef UH_EVENT
  }
  return true;
}

// A small number per thread and recording; THREAD records its name once.
uint32_t thread_number() {
  thread_local uint32_t number = 0;
  thread_local uint32_t generation = 0;
  Ring& r = ring();
  const uint32_t current = g_generation.load(std::memory_order_relaxed);
  if (generation == current) return number;
  generation = current;
  number = r.next_thread.fetch_add(1) + 1;
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  emit_blob(Kind::kTHREAD, number, 0, 0, 0, name, std::strlen(name));
  return number;
}

// The letter that Linux has for the state of a process (proc(5)); 0 when there is no such process,
// '?' where the system does not say.
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

// How a wait for room ends without room: a writer that is dead (reaped or not) is not waited for,
// one that is stopped only for a short while, and one that does nothing for kPatience neither.
// `waited` counts this thread's own waiting while the heartbeat stood still, so that a program and
// a writer that were stopped together (ctrl+z) continue together.
RingEnd writer_end(const RingHeader& h, uint64_t waited) {
  if (now_ns() - h.heartbeat_ns.load() < kHeartbeatLate) return RingEnd::kNone;
  const char state = process_state(static_cast<pid_t>(h.writer_pid.load()));
  if (state == 0 || state == 'Z' || state == 'X') return RingEnd::kWriterDead;
  const bool stopped = state == 'T' || state == 't';
  const uint64_t patience = stopped ? kPatienceStopped : kPatience;
  return waited > patience ? RingEnd::kWriterSilent : RingEnd::kNone;
}

struct PendingRecord {
  Kind kind;
  int64_t a, b, c, d, e;
  uint16_t flags;
  const void* bytes = nullptr;
  size_t length = 0;
};

// Where a blob of `need` bytes may begin: it never wraps round the end of the area.
uint64_t blob_start(uint64_t head, uint64_t need, uint64_t capacity) {
  const uint64_t offset = head & (capacity - 1);
  return offset + need <= capacity ? head : head + (capacity - offset);
}

// One attempt; false when there is no room yet. A recording that has ended takes everything.
bool try_commit(Ring& r, const PendingRecord& w, uint32_t thread, uint64_t& number) {
  std::lock_guard guard(r.lock);
  RingHeader* open = r.header.load(std::memory_order_relaxed);
  if (!open) return true;
  RingHeader& h = *open;
  const uint64_t head = h.head.load(std::memory_order_relaxed);
  if (head - r.tail_seen >= h.capacity_records) {
    r.tail_seen = h.tail.load(std::memory_order_acquire);
    if (head - r.tail_seen >= h.capacity_records) return false;
  }
  int64_t e = w.e;
  if (w.bytes) {
    const uint64_t need = 8 + ((w.length + 7) & ~uint64_t{7});
    if (need > h.capacity_blob) return true;  // of a larger recording, which has ended since
    const uint64_t start =
        blob_start(h.blob_head.load(std::memory_order_relaxed), need, h.capacity_blob);
    if (start + need - h.blob_tail.load(std::memory_order_acquire) > h.capacity_blob) return false;
    std::byte* to = r.blobs + (start & (h.capacity_blob - 1));
    const uint64_t length = w.length;
    std::memcpy(to, &length, 8);
    std::memcpy(to + 8, w.bytes, w.length);
    h.blob_head.store(start + need, std::memory_order_relaxed);
    e = static_cast<int64_t>(start);
  }
  if (reads_clock(w.kind)) r.last_ns = now_ns();
  r.records[head & (h.capacity_records - 1)] = Record{
      head, r.last_ns, thread, static_cast<uint16_t>(w.kind), w.flags, w.a, w.b, w.c, w.d, e};
  number = head;
  h.head.store(head + 1, std::memory_order_release);
  return true;
}

uint64_t commit(const PendingRecord& w) {
  Ring& r = ring();
  RingHeader* header = r.header.load(std::memory_order_acquire);
  if (!on() || !header) return 0;
  const uint32_t thread = thread_number();
  uint64_t number = 0;
  if (try_commit(r, w, thread, number)) [[likely]]
    return number;
  const uint64_t began = now_ns();
  uint64_t heartbeat = header->heartbeat_ns.load();
  uint64_t before = began, waited = 0, looked = 0;
  while (on() && !try_commit(r, w, thread, number)) {
    const timespec pause{0, 50000};
    nanosleep(&pause, nullptr);
    const uint64_t time = now_ns();
    waited += std::min(time - before, kLookNs);  // more than that: this process was stopped
    before = time;
    if (waited < looked + kLookNs) continue;
    looked = waited;
    if (const uint64_t beat = header->heartbeat_ns.load(); beat != heartbeat) {
      heartbeat = beat;
      waited = looked = 0;
    } else if (const RingEnd end = writer_end(*header, waited); end != RingEnd::kNone) {
      header->lost.fetch_add(1);
      header->end = static_cast<uint64_t>(end);
      g_mode.store(0);
    }
  }
  header->waited_ns.fetch_add(now_ns() - began);
  return number;
}

// Around a fork nothing is being written, so the child's locks are free. The child shares the
// mapping, and two programs must not write one trace: it records nothing.
void before_fork() {
  ring().strings_lock.lock();
  ring().lock.lock();
}
void after_fork() {
  ring().lock.unlock();
  ring().strings_lock.unlock();
}
void stop_in_child() {
  after_fork();
  g_mode.store(0);
}

// Note [Sampled values]: this head precedes every step-th element of a span that is not kept
// whole. engine/inspect/history/storage_contents.py reads it.
struct SampleHead {
  int64_t dtype, numel, nans, infs;
  double low, high, mean;  // of the finite elements; of complex ones their absolute values
  int64_t step;            // every step-th element follows
};

template <class T>
double as_double(T value) {
  if constexpr (is_complex_v<T>)
    return std::hypot(static_cast<double>(value.re), static_cast<double>(value.im));
  else
    return static_cast<double>(value);
}

// Statistics and every step-th element of a span that is too large to keep whole.
template <class T>
std::vector<std::byte> sample(const ValueSource& s) {
  const auto* at = reinterpret_cast<const T*>(s.base + s.lo);
  const int64_t n = (s.hi - s.lo) / static_cast<int64_t>(sizeof(T));
  const int64_t step = n > kSampleElements ? (n + kSampleElements - 1) / kSampleElements : 1;
  int64_t nans = 0, infs = 0;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = as_double(at[i]);
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    if (std::isinf(v)) {
      ++infs;
      continue;
    }
    low = v < low ? v : low;
    high = v > high ? v : high;
    sum += v;
  }
  const int64_t finite = n - nans - infs;
  const double mean = finite ? sum / static_cast<double>(finite) : NAN;
  const SampleHead head{s.dtype, n, nans, infs, low, high, mean, step};
  const auto sampled = static_cast<size_t>((n + step - 1) / step);
  std::vector<std::byte> out(sizeof head + sampled * sizeof(T));
  std::memcpy(out.data(), &head, sizeof head);
  for (size_t i = 0; i < sampled; ++i) {
    std::memcpy(out.data() + sizeof head + i * sizeof(T), at + static_cast<int64_t>(i) * step,
                sizeof(T));
  }
  return out;
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
  Ring& r = ring();
  std::lock_guard strings(r.strings_lock);
  std::lock_guard guard(r.lock);
  r.records = reinterpret_cast<Record*>(static_cast<std::byte*>(at) + kHeaderBytes);
  r.blobs = reinterpret_cast<std::byte*>(r.records + header->capacity_records);
  r.mapped = static_cast<size_t>(st.st_size);
  r.strings.clear();
  r.value_bytes = 0;
  r.value_limit = value_budget;
  r.next_thread = 0;
  r.tail_seen = header->tail.load();
  r.last_ns = now_ns();
  r.header.store(header, std::memory_order_release);
  g_generation.fetch_add(1);
  header->producer_pid = static_cast<uint64_t>(getpid());
  header->state = 1;
  g_mode.store(kOn | static_cast<uint32_t>(header->mode.load()));
}

void close() {
  Ring& r = ring();
  g_mode.store(0);
  std::lock_guard guard(r.lock);
  RingHeader* header = r.header.load(std::memory_order_relaxed);
  if (!header) return;
  header->state = 2;
  // The mapping stays: a thread that passed on() just before may still be writing its record.
  r.header = nullptr;
  r.closed = header;
}

RingHeader* ring_header() {
  Ring& r = ring();
  RingHeader* open = r.header.load();
  return open ? open : r.closed;
}

void release_ring() {
  Ring& r = ring();
  std::lock_guard guard(r.lock);
  if (r.header.load() || !r.closed) return;
  auto* after_header = reinterpret_cast<std::byte*>(r.closed) + kHeaderBytes;
  madvise(after_header, r.mapped - kHeaderBytes, MADV_REMOVE);
}

uint64_t emit(Kind kind, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, uint16_t flags) {
  return commit({kind, a, b, c, d, e, flags});
}

uint64_t emit_blob(Kind kind, int64_t a, int64_t b, int64_t c, int64_t d, const void* bytes,
                   size_t length, uint16_t flags) {
  Ring& r = ring();
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
  Ring& r = ring();
  std::lock_guard guard(r.strings_lock);
  auto [it, fresh] = r.strings.try_emplace(std::string(text), 0);
  if (fresh) {
    it->second = static_cast<int64_t>(r.strings.size());
    emit_blob(Kind::kSTRING, it->second, 0, 0, 0, text.data(), text.size());
  }
  return it->second;
}

void capture_values(const ValueSource& s) {
  if (!values_on() || s.hi <= s.lo || !s.base) return;
  Ring& r = ring();
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
  visit_any(static_cast<DType>(s.dtype), [&](auto zero) {
    const auto bytes_kept = sample<decltype(zero)>(s);
    emit_blob(Kind::kVALUES, s.storage, s.lo, s.hi, 1, bytes_kept.data(), bytes_kept.size());
  });
}

}  // namespace uh::events
