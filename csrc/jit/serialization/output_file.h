// A file that is written whole or not at all: the target of save.
//
// What: the bytes go to a temporary file in the folder of the target, which takes its name in
// commit(). A program that has mapped the old file keeps it, and a save that fails leaves the old
// file as it was and no temporary one.
// - A symbolic link stays: the file that it points at is replaced.
// - A device, a pipe, and a descriptor of this process (/dev/stdout) are written into.
// - Of a file with several hard links the path gets the new content; the other names keep the old
//   one. Writing into the shared file would truncate it under a program that has mapped it.
// - Permissions of an existing file are copied, its owner as far as the system allows it; a new
//   file has those that the umask leaves. A file that may not be written is not replaced.
// Invariant: no existing regular file is ever truncated. If violated: a program that has mapped the
// file ends with SIGBUS.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "base/error.h"

namespace uh::jit {

// A RuntimeError with the errno of the system call that failed.
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

  const std::string path_;  // as the caller wrote it
  std::string target_;      // without symbolic links
  std::string temporary_;   // "" if there is none, or it has no name yet
  int fd_ = -1;
  bool replaces_ = true;  // a file takes the target's name; else fd_ is the target itself
};

}  // namespace uh::jit
