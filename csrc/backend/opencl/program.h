// Kernels compiled at run time: source text in, kernels out, kept in memory and on disk.
//
// A program is its source text. Its binary is stored in the user's cache folder under a checksum of
// text, device and driver; a program whose file is damaged or has another key is compiled again,
// and the file is replaced.
// Invariant: programs and kernels live as long as the process; a kernel's arguments are set under
// the lock of its device's queue.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/opencl/api.h"

namespace uh::opencl {

struct OpenclDevice;

struct Kernel {
  OpenclDevice& device;
  cl_kernel handle;
  const std::string name;  // for errors and recordings: that of the operator
  int64_t program;         // number of the source, counted from 1
  size_t largest_group;    // work items of a group
  const std::string& source;
  // The recording that has the source.
  mutable std::atomic<uint32_t> recorded{0};
};

class Programs {
 public:
  explicit Programs(OpenclDevice& device) : device_(device) {}

  // The kernel `function` of a program; `name` is for errors and for the recorder. Operators that
  // share a program have kernels of different names.
  const Kernel& kernel(const std::string& source, const char* function, std::string_view name);
  // The number of programs that the driver compiled, and of those that were read from disk.
  int64_t compiled() const { return compiled_; }
  int64_t read() const { return read_; }

 private:
  struct Program {
    cl_program handle = nullptr;
    int64_t number = 0;
    std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels;
  };

  cl_program build(const std::string& source, std::string_view name);
  cl_program from_binary(const std::string& key, const std::string& path);
  void store_binary(cl_program program, const std::string& key, const std::string& path);

  OpenclDevice& device_;
  std::mutex lock_;
  std::unordered_map<std::string, Program> programs_;  // by source
  int64_t compiled_ = 0, read_ = 0;
};

// The folder of compiled kernels: $UNDERHOOD_OPENCL_CACHE, else the user's cache folder; empty:
// nothing is stored.
std::string cache_folder();

}  // namespace uh::opencl
