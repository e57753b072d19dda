// Reads and writes safetensors files: tensors by name, and strings (metadata) by name.
//
// The format: eight bytes of length, a JSON header, then the tensors' bytes without gaps. The
// reader checks the header against the file before it creates anything, and reads each tensor into
// new memory on request. map() maps the file: its tensors use the file's pages. Writes to
// them do not reach the file, and they keep the file mapped after the reader is destroyed; a
// program that truncates the file then kills this one (SIGBUS). Nothing in a file is executed, and
// its size limits the memory that is allocated. Invariant: every entry's bytes are inside the file,
// and their number follows from its dtype and sizes. If violated: a damaged file causes reads out
// of bounds. engine/serialization.py reads and writes the same format.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace uh {
class Json;
}

namespace uh::jit {

// The maximum header size of the format's readers.
inline constexpr size_t kMaxHeaderBytes = 100'000'000;
// The metadata key of a JSON array with the names of complex128 tensors: the format lacks this
// dtype, so they are written as F64 with a further dimension of 2.
inline constexpr std::string_view kComplexNames = "complex128";

// The bytes of a file: opened, mapped, or copied. Counted, as tensors share mapped or copied bytes.
class FileBytes final : public RefCounted {
 public:
  static Ref<FileBytes> open(const std::string& path);
  static Ref<FileBytes> map(const std::string& path);
  static Ref<FileBytes> copy(std::string_view content);
  ~FileBytes() override;

  // Null for an opened file, whose bytes are not in memory.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Copies bytes within size(). Throws a RuntimeError if the file was truncated.
  void read(size_t begin, size_t count, void* to) const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
  bool mapped_ = false;
};

class SafetensorsReader {
 public:
  struct Entry {
    std::string name;
    DType dtype;
    Dims sizes;
    size_t begin, end;  // bytes of the file
  };

  // Throw a RuntimeError that describes the defect, and a TypeError for a dtype that the engine
  // lacks. `name` is the content's name in messages.
  explicit SafetensorsReader(const std::string& path);
  SafetensorsReader(std::string_view content, std::string name);
  static SafetensorsReader map(const std::string& path);

  // The quoted path, or the name of the content.
  const std::string& name() const { return name_; }

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of their bytes
  // The index of the entry of this name, or -1.
  int64_t find(std::string_view name) const;
  // Returns the same tensor at every call.
  Tensor tensor(size_t entry);
  Tensor tensor(std::string_view name);  // RuntimeError for an unknown name

  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  const std::string* metadata(std::string_view key) const;

 private:
  SafetensorsReader(Ref<FileBytes> bytes, std::string name);
  void read_header();
  void refuse_pickle(std::string_view start) const;
  void read_entries(const Json& header);
  void check_bytes();
  void read_complex();
  [[noreturn]] void damaged(std::string_view reason) const;

  Ref<FileBytes> bytes_;
  std::string name_;
  size_t start_ = 0;  // of the tensors' bytes
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, size_t> indices_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

class SafetensorsWriter {
 public:
  // Returns the tensor's name in the file: that of an equal one (same memory and layout, as for
  // tied weights) which was added before, else `name`. RuntimeError for a name in use, and for meta
  // tensors.
  std::string add(const std::string& name, const Tensor& tensor);
  void set_metadata(const std::string& key, std::string value) {
    metadata_[key] = std::move(value);
  }

  // Replaces the file once the new one is complete: see output_file.h.
  void write(const std::string& path) const;
  std::string bytes() const;

 private:
  using Sink = std::function<void(const void* bytes, size_t count)>;
  void emit(const Sink& sink) const;

  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::unordered_set<std::string> names_;
  std::unordered_multimap<const void*, size_t> by_memory_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace uh::jit
