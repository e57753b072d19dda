// Writing: see archive.h.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "generated/ops.h"
#include "jit/model/archive.h"
#include "tensor/thread_state.h"

namespace uh::jit {
namespace {

std::string_view format_name(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "BOOL";
    case DType::kUInt8: return "U8";
    case DType::kInt8: return "I8";
    case DType::kInt16: return "I16";
    case DType::kInt32: return "I32";
    case DType::kInt64: return "I64";
    case DType::kFloat16: return "F16";
    case DType::kBFloat16: return "BF16";
    case DType::kFloat32: return "F32";
    case DType::kFloat64: return "F64";
    case DType::kComplex64: return "C64";
    case DType::kComplex128: return "F64";  // pairs: see kComplexNames
    default: fail(ErrorKind::kType, "save: there is no dtype number ", static_cast<int>(dtype));
  }
}

size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel() * itemsize(t.dtype())); }

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.numel() > 0 && a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

// A new file of a name that nobody has, in the folder of `path`; removed unless it was renamed.
class FileBeside {
 public:
  explicit FileBeside(const std::string& path) : path_(path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    static std::atomic<uint64_t> counter{0};
    for (int attempt = 0; fd_ < 0 && attempt < 100; ++attempt) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
      beside_ = message(folder, ".saving-", ::getpid(), "-", now, "-", ++counter);
      fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0 && errno != EEXIST) break;
    }
    if (fd_ < 0) refuse();
  }
  ~FileBeside() {
    if (fd_ >= 0) ::close(fd_);
    if (!renamed_) ::unlink(beside_.c_str());
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  void write(const void* bytes, size_t count) {
    const char* at = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t written = ::write(fd_, at, std::min<size_t>(count, size_t{1} << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse();
      at += written;
      count -= static_cast<size_t>(written);
    }
  }
  void rename() {
    const int closed = ::close(fd_);
    fd_ = -1;
    if (closed != 0 || std::rename(beside_.c_str(), path_.c_str()) != 0) refuse();
    renamed_ = true;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorKind::kRuntime, "save: cannot write '", path_, "': ", std::string(strerror(errno)));
  }

  std::string path_, beside_;
  int fd_ = -1;
  bool renamed_ = false;
};

}  // namespace

std::string SafetensorsWriter::add(const std::string& name, const Tensor& tensor) {
  check(!tensor.is_meta(), "save: '", name, "' is a meta tensor: it has no elements to save");
  check(name != "__metadata__", "save: no tensor can be called '__metadata__' in the format");
  const auto [first, last] = by_memory_.equal_range(tensor.data());
  for (auto it = first; it != last; ++it)
    if (same_elements(tensor, tensors_[it->second].second)) return tensors_[it->second].first;
  check(names_.insert(name).second, "save: there is a tensor '", name, "' already");
  by_memory_.emplace(tensor.data(), tensors_.size());
  tensors_.emplace_back(name, tensor);
  return name;
}

void SafetensorsWriter::emit(const Sink& sink) const {
  // Large elements first: every tensor is then aligned to its own, without holes.
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& entry : tensors_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return itemsize(a->second.dtype()) > itemsize(b->second.dtype());
  });

  JsonWriter complex;
  complex.begin_array();
  for (const auto* entry : order)
    if (entry->second.dtype() == DType::kComplex128) complex.value(entry->first);
  complex.end_array();

  JsonWriter header;
  header.begin_object();
  const bool pairs = complex.text() != "[]";
  if (pairs || !metadata_.empty()) {
    header.key("__metadata__").begin_object();
    for (const auto& [key, text] : metadata_)
      if (key != kComplexNames) header.member(key, text);
    if (pairs) header.member(kComplexNames, complex.text());
    header.end_object();
  }
  size_t offset = 0;
  for (const auto* entry : order) {
    const Tensor& tensor = entry->second;
    header.key(entry->first).begin_object().member("dtype", format_name(tensor.dtype()));
    header.key("shape").begin_array();
    for (int64_t size : tensor.sizes()) header.value(size);
    if (tensor.dtype() == DType::kComplex128) header.value(2);
    header.end_array();
    header.key("data_offsets").begin_array().value(offset);
    header.value(offset += bytes_of(tensor)).end_array().end_object();
  }
  header.end_object();
  std::string text = header.take();
  while ((8 + text.size()) % 64 != 0) text += ' ';  // the first tensor begins a cache line
  check(text.size() <= kLongestHeader, "save: the names, sizes and metadata take ", text.size(),
        " bytes, more than the ", kLongestHeader, " that readers of the format take");

  unsigned char length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  sink(length, sizeof length);
  sink(text.data(), text.size());
  const GradMode unrecorded(false);
  for (const auto* entry : order) {
    const Tensor dense = ops::contiguous(entry->second);
    if (dense.numel() > 0) sink(dense.data(), bytes_of(dense));
  }
}

void SafetensorsWriter::write(const std::string& path) const {
  FileBeside file(path);
  emit([&](const void* bytes, size_t count) { file.write(bytes, count); });
  file.rename();
}

std::string SafetensorsWriter::bytes() const {
  std::string made;
  emit([&](const void* bytes, size_t count) {
    made.append(static_cast<const char*>(bytes), count);
  });
  return made;
}

}  // namespace uh::jit
