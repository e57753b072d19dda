#include "jit/serialization/output_file.h"

#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "jit/run/interrupt.h"

namespace uh::jit {
namespace {

constexpr size_t kChunk = size_t{64} << 20;  // bytes between polls for interruption
constexpr int kMaxLinks = 40;                // the limit of Linux

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// After an interrupted system call: the host's signal handlers run, and may throw.
void poll_signals() {
  if (const auto ask = g_interrupt.load(std::memory_order_acquire)) ask();
}

int open_retrying(const char* path, int flags) {
  for (;;) {
    const int fd = ::open(path, flags | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EINTR) return fd;
    poll_signals();
  }
}

#ifdef __linux__
// The descriptor of this process that a link in /proc refers to; -1 for any other link. Its target
// is not a path to write to: /proc/self/fd/1 may be a pipe, or a file that a shell opened.
int own_descriptor(const std::string& link, const struct stat& target) {
  const int at = ::open(link.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (at < 0) return -1;
  struct statfs system {};
  const bool on_proc = ::fstatfs(at, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  ::close(at);
  int fd = -1;
  const size_t name = folder_of(link).size();
  const char* last = link.data() + link.size();
  const auto [end, error] = std::from_chars(link.data() + name, last, fd);
  struct stat status {};
  if (!on_proc || error != std::errc() || end != last || ::fstat(fd, &status) != 0) return -1;
  return status.st_dev == target.st_dev && status.st_ino == target.st_ino ? fd : -1;
}
#endif

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  try {
    open_target();
  } catch (...) {
    close();
    throw;
  }
}

OutputFile::~OutputFile() {
  close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void OutputFile::open_target() {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail_with_errno();
  for (int links = 0;; ++links) {
    struct stat link {};
    if (::lstat(target_.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) break;
#ifdef __linux__
    if (const int fd = exists ? own_descriptor(target_, status) : -1; fd >= 0) {
      replaces_ = false;
      fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
      if (fd_ < 0) fail_with_errno();
      return;
    }
#endif
    errno = ELOOP;
    if (links == kMaxLinks) fail_with_errno();
    char content[4096];
    const ssize_t size = ::readlink(target_.c_str(), content, sizeof content);
    if (size < 0) fail_with_errno();
    const std::string next(content, static_cast<size_t>(size));
    target_ = next.starts_with('/') ? next : folder_of(target_) + next;
  }
  errno = EISDIR;
  if (exists && S_ISDIR(status.st_mode)) fail_with_errno();
  if (exists && !S_ISREG(status.st_mode)) {
    replaces_ = false;
    fd_ = open_retrying(path_.c_str(), O_WRONLY | O_NOCTTY);
    if (fd_ < 0) fail_with_errno();
    return;
  }
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail_with_errno();
  open_temporary();
  if (exists) copy_permissions(status);
}

void OutputFile::open_temporary() {
#ifdef O_TMPFILE
  // An unnamed file leaves nothing if the process is killed. Not every file system supports
  // it.
  const std::string folder = folder_of(target_);
  if (::access("/proc/self/fd", X_OK) == 0)
    fd_ = open_retrying(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY);
  if (fd_ >= 0) return;
#endif
  for (int attempt = 0; fd_ < 0 && attempt < 100; ++attempt) {
    const std::string name = free_name();
    fd_ = open_retrying(name.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    if (fd_ >= 0) temporary_ = name;
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail_with_errno();
}

std::string OutputFile::free_name() const {
  static std::atomic<uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return message(folder_of(target_), ".saving-", ::getpid(), "-", now, "-", ++counter);
}

void OutputFile::copy_permissions(const struct stat& old) const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail_with_errno();
  if (status.st_uid != old.st_uid || status.st_gid != old.st_gid) {
    // Not permitted to most users: the file then belongs to its writer, like a copy.
    [[maybe_unused]] const int refused = ::fchown(fd_, old.st_uid, old.st_gid);
  }
  if (::fchmod(fd_, old.st_mode & 07777) != 0) fail_with_errno();
}

void OutputFile::write(const void* bytes, size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(fd_, at, std::min(count, kChunk));
    if (written < 0 && errno != EINTR) fail_with_errno();
    if (written > 0) {
      at += written;
      count -= static_cast<size_t>(written);
    }
    if (written < 0 || count > 0) poll_signals();
  }
}

void OutputFile::commit() {
  if (!replaces_) {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 && errno != EINTR) fail_with_errno();
    return;
  }
#ifdef O_TMPFILE
  for (int attempt = 0; temporary_.empty() && attempt < 100; ++attempt) {
    const std::string own = message("/proc/self/fd/", fd_), name = free_name();
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      temporary_ = name;
    else if (errno != EEXIST)
      break;
  }
  if (temporary_.empty()) fail_with_errno();
#endif
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 && errno != EINTR) fail_with_errno();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno();
  temporary_.clear();
}

void OutputFile::fail_with_errno() const {
  const int code = errno;
  throw OutputError(
      code, message("save: cannot write '", path_, "': ", std::string(std::strerror(code))));
}

}  // namespace uh::jit
