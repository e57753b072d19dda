// OutputFile: a file that is written completely or not at all; the target of save.
//
// The bytes go to a temporary file in the target's folder, which commit() renames. A program that
// has mapped the old file keeps it, and a failed save leaves the old file unchanged and no
// temporary one.
// - A symbolic link is kept: the file that it points to is replaced.
// - A device, a pipe, and a descriptor of this process (/dev/stdout) are written directly.
// - If a file has several hard links, the path gets the new content; the other names keep the
//   old one. Writing into the shared file would truncate it under a program that has mapped it.
// - Permissions of an existing file are copied, its owner if the system permits; a new file has
//   the umask's permissions. A file without write permission is not replaced.
// Invariant: no existing regular file is ever truncated. If violated: a program that has mapped the
// file is killed by SIGBUS.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "base/error.h"

namespace uh::jit {

// A RuntimeError with the errno of the failed system call.
class OutputError : public Error {
 public:
  OutputError(int code, const std::string& message)
      : Error(ErrorKind::kRuntime, message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, size_t count);
  void commit();

 private:
  void open_target();
  void open_temporary();
  void copy_permissions(const struct stat& old) const;
  std::string free_name() const;
  void close();
  [[noreturn]] void fail_with_errno() const;

  const std::string path_;  // as passed by the caller
  std::string target_;      // with symbolic links resolved
  std::string temporary_;   // "" if there is none, or it is unnamed
  int fd_ = -1;
  bool replaces_ = true;  // a file is renamed to the target; else fd_ is the target itself
};

}  // namespace uh::jit
