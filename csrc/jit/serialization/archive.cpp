// Reads safetensors files: see archive.h. Writing is in archive_write.cpp.
#include "jit/serialization/archive.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json.h"

namespace uh::jit {
namespace {

struct Kind {
  std::string_view name;
  DType dtype;
};
constexpr Kind kKinds[] = {
    {"BOOL", DType::kBool},   {"U8", DType::kUInt8},      {"I8", DType::kInt8},
    {"I16", DType::kInt16},   {"I32", DType::kInt32},     {"I64", DType::kInt64},
    {"F16", DType::kFloat16}, {"BF16", DType::kBFloat16}, {"F32", DType::kFloat32},
    {"F64", DType::kFloat64}, {"C64", DType::kComplex64},
};

constexpr size_t kMaxDims = 64;  // the limit of PyTorch's iterators

// Quotes a name for messages: escaped, and at most a line long.
std::string quoted(std::string_view name) {
  constexpr size_t kShown = 80;
  JsonWriter writer;
  if (name.size() <= kShown) return writer.value(name).take();
  return writer.value(name.substr(0, kShown)).take() + "...";
}

std::string quoted_path(const std::string& path) { return JsonWriter().value(path).take(); }

}  // namespace

// ---- bytes

Ref<FileBytes> FileBytes::open(const std::string& path) {
  const std::string quoted_name = quoted_path(path);
  auto result = make_ref<FileBytes>();
  // O_NONBLOCK: a pipe is rejected below, instead of waiting for a writer.
  result->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(result->fd_ >= 0, "load: cannot open ", quoted_name, ": ",
        std::string(std::strerror(errno)));
  struct stat status {};
  check(::fstat(result->fd_, &status) == 0, "load: cannot stat ", quoted_name, ": ",
        std::string(std::strerror(errno)));
  check(S_ISREG(status.st_mode), "load: ", quoted_name, " is not a file");
  check(status.st_size > 0, "load: ", quoted_name, " is empty");
  result->size_ = static_cast<size_t>(status.st_size);
  return result;
}

Ref<FileBytes> FileBytes::map(const std::string& path) {
  auto result = open(path);
  int flags = MAP_PRIVATE;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;  // reserve no swap for pages that are only read
#endif
  void* pages = ::mmap(nullptr, result->size_, PROT_READ | PROT_WRITE, flags, result->fd_, 0);
  check(pages != MAP_FAILED, "load: cannot map ", quoted_path(path), ": ",
        std::string(std::strerror(errno)));
  result->data_ = static_cast<std::byte*>(pages);
  result->mapped_ = true;
  ::close(std::exchange(result->fd_, -1));
  return result;
}

Ref<FileBytes> FileBytes::copy(std::string_view content) {
  auto result = make_ref<FileBytes>();
  result->data_ = static_cast<std::byte*>(::operator new(std::max<size_t>(content.size(), 1)));
  result->size_ = content.size();
  if (!content.empty()) std::memcpy(result->data_, content.data(), content.size());
  return result;
}

FileBytes::~FileBytes() {
  if (fd_ >= 0) ::close(fd_);
  if (mapped_)
    ::munmap(data_, size_);
  else
    ::operator delete(data_);
}

void FileBytes::read(size_t begin, size_t count, void* to) const {
  if (data_) {
    std::memcpy(to, data_ + begin, count);
    return;
  }
  auto* at = static_cast<char*>(to);
  while (count > 0) {
    const size_t chunk = std::min<size_t>(count, size_t{1} << 30);
    const ssize_t n = ::pread(fd_, at, chunk, static_cast<off_t>(begin));
    if (n < 0 && errno == EINTR) continue;
    check(n >= 0, "load: cannot read the file: ", std::string(std::strerror(errno)));
    check(n > 0, "load: the file became shorter while it was read");
    at += n;
    begin += static_cast<size_t>(n);
    count -= static_cast<size_t>(n);
  }
}

// ---- the header

SafetensorsReader::SafetensorsReader(const std::string& path)
    : SafetensorsReader(FileBytes::open(path), quoted_path(path)) {}

SafetensorsReader::SafetensorsReader(std::string_view content, std::string name)
    : SafetensorsReader(FileBytes::copy(content), std::move(name)) {}

SafetensorsReader::SafetensorsReader(Ref<FileBytes> bytes, std::string name)
    : bytes_(std::move(bytes)), name_(std::move(name)) {
  read_header();
}

SafetensorsReader SafetensorsReader::map(const std::string& path) {
  return {FileBytes::map(path), quoted_path(path)};
}

void SafetensorsReader::damaged(std::string_view reason) const {
  fail(ErrorKind::kRuntime, "load: ", name_, " is not a whole safetensors file: ", reason);
}

void SafetensorsReader::read_header() {
  const size_t size = bytes_->size();
  char start[9];  // the length, and the first character of the header
  const std::string_view first(start, std::min(size, sizeof start));
  bytes_->read(0, first.size(), start);
  refuse_pickle(first);
  if (size < 8) damaged(message("it has ", size, " bytes, not even the 8 of its header's length"));
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start[i]);
  if (length > kMaxHeaderBytes)
    damaged(message("its header would have ", length, " bytes, more than ", kMaxHeaderBytes));
  if (length > size - 8)
    damaged(message("its header would have ", length, " bytes, and ", size - 8, " follow"));
  std::string header(length, '\0');
  bytes_->read(8, length, header.data());
  if (!header.starts_with('{')) damaged("its header does not begin with '{'");
  start_ = 8 + length;
  try {
    read_entries(Json::parse(header, {.bytes = kMaxHeaderBytes, .depth = 8}));
    check_bytes();
    read_complex();
  } catch (const Error& error) {
    const std::string reason = error.what();
    if (!reason.starts_with("JSON: ")) throw;
    damaged(message("its header is wrong: ", reason.substr(6)));
  }
  tensors_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) indices_.emplace(entries_[i].name, i);
}

void SafetensorsReader::refuse_pickle(std::string_view start) const {
  const bool zip = start.starts_with("PK\x03\x04");
  const bool bare = start.starts_with("\x80") && start.size() > 1 && start[1] >= 2 && start[1] <= 5;
  if ((zip || bare) && start.size() > 8 && start[8] != '{')
    fail(ErrorKind::kRuntime, "load: ", name_,
         " is a pickle, as torch.save and torch.jit.save write them, and not a safetensors file: "
         "pickles can run any code, and are not read");
}

void SafetensorsReader::read_entries(const Json& header) {
  const auto& members = header.as_object();
  entries_.reserve(members.size());
  for (const auto& [name, value] : members) {
    if (name == "__metadata__") {
      if (value.is_null()) continue;
      for (const auto& [key, text] : value.as_object()) metadata_.emplace(key, text.as_string());
      continue;
    }
    Entry entry{name, DType::kUndefined, {}, 0, 0};
    const std::string& dtype = value.at("dtype").as_string();
    for (const Kind& kind : kKinds)
      if (kind.name == dtype) entry.dtype = kind.dtype;
    check_kind(entry.dtype != DType::kUndefined, ErrorKind::kType, "load: ", quoted(name), " in ",
               name_, " has dtype ", quoted(dtype), ", which the engine does not have");
    const auto& sizes = value.at("shape").as_array();
    if (sizes.size() > kMaxDims)
      damaged(message(quoted(name), " has ", sizes.size(), " dimensions, more than ", kMaxDims));
    for (const Json& size : sizes) entry.sizes.push_back(size.as_int());
    const auto& offsets = value.at("data_offsets").as_array();
    if (offsets.size() != 2)
      damaged(message(quoted(name), " has ", offsets.size(), " data_offsets, not 2"));
    const int64_t begin = offsets[0].as_int(), end = offsets[1].as_int();
    const size_t data = bytes_->size() - start_;
    if (begin < 0 || end < begin || static_cast<uint64_t>(end) > data)
      damaged(
          message("the bytes of ", quoted(name), " would be ", begin, " to ", end, " of ", data));
    entry.begin = start_ + static_cast<size_t>(begin);
    entry.end = start_ + static_cast<size_t>(end);
    entries_.push_back(std::move(entry));
  }
}

// Checks that the tensors' bytes fill the file without gaps or overlap, from the end of the header.
void SafetensorsReader::check_bytes() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t reached = start_;
  for (const Entry& entry : entries_) {
    if (entry.begin != reached)
      damaged(message("the bytes of ", quoted(entry.name), " begin at ", entry.begin - start_,
                      ", and those before end at ", reached - start_));
    reached = entry.end;
    int64_t bytes = 0;
    try {
      if (__builtin_mul_overflow(checked_numel(entry.sizes, "shape"), itemsize(entry.dtype),
                                 &bytes))
        bytes = -1;
    } catch (const Error&) {
      bytes = -1;  // a negative size, or a product beyond 64 bits
    }
    if (bytes < 0 || static_cast<uint64_t>(bytes) != entry.end - entry.begin)
      damaged(message(quoted(entry.name), " has ", entry.end - entry.begin,
                      " bytes, which are not those of a ", uh::name(entry.dtype), " of sizes ",
                      entry.sizes));
  }
  if (reached != bytes_->size())
    damaged(message("its tensors end at byte ", reached, " of ", bytes_->size()));
}

void SafetensorsReader::read_complex() {
  const std::string* listed = metadata(kComplexNames);
  if (!listed) return;
  const Json names = Json::parse(*listed, {.depth = 1});
  std::unordered_set<std::string_view> expected;
  for (const Json& item : names.as_array()) expected.insert(item.as_string());
  for (Entry& entry : entries_) {
    if (!expected.contains(entry.name)) continue;
    if (entry.dtype != DType::kFloat64 || entry.sizes.empty() || entry.sizes.back() != 2)
      damaged(message(quoted(entry.name), " should hold pairs of F64, and is a ",
                      uh::name(entry.dtype), " of sizes ", entry.sizes));
    entry.dtype = DType::kComplex128;
    entry.sizes.resize(entry.sizes.size() - 1);
  }
}

// ---- tensors

int64_t SafetensorsReader::find(std::string_view name) const {
  const auto it = indices_.find(name);
  return it == indices_.end() ? -1 : static_cast<int64_t>(it->second);
}

const std::string* SafetensorsReader::metadata(std::string_view key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? nullptr : &it->second;
}

Tensor SafetensorsReader::tensor(std::string_view name) {
  const int64_t index = find(name);
  check(index >= 0, "load: there is no tensor ", quoted(name), " in ", name_);
  return tensor(static_cast<size_t>(index));
}

Tensor SafetensorsReader::tensor(size_t which) {
  check_kind(which < entries_.size(), ErrorKind::kIndex, "load: there are ", entries_.size(),
             " tensors in ", name_, ", and no number ", which);
  if (tensors_[which]) return tensors_[which];
  Tensor result;
  const Entry& entry = entries_[which];
  const size_t count = entry.end - entry.begin;
  std::byte* shared = bytes_->data() ? bytes_->data() + entry.begin : nullptr;
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(itemsize(entry.dtype), 8));
  if (count == 0 || !shared || reinterpret_cast<uintptr_t>(shared) % alignment) {
    result = empty(entry.sizes, entry.dtype);  // other writers may not align tensors
    if (count) bytes_->read(entry.begin, count, result.data());
  } else {
    const auto let_go = [](void* owner, void*, size_t) {
      static_cast<FileBytes*>(owner)->release();
    };
    Ref<FileBytes> owner = bytes_;
    auto storage = make_ref<Storage>(DataPtr(shared, count, owner.leak(), let_go), count);
    Layout layout{entry.sizes, contiguous_strides(entry.sizes), 0};
    result = Tensor(make_ref<TensorImpl>(std::move(storage), std::move(layout), entry.dtype));
  }
  // Other writers may store True as any byte but 0; kernels for bools require 0 or 1.
  if (entry.dtype == DType::kBool)
    for (std::byte* at = result.data(); at != result.data() + count; ++at)
      if (*at > std::byte{1}) *at = std::byte{1};
  record_write(result);
  return tensors_[which] = std::move(result);
}

}  // namespace uh::jit
