// Writes safetensors files: see archive.h.
#include <algorithm>

#include "base/json.h"
#include "generated/ops.h"
#include "jit/serialization/archive.h"
#include "jit/serialization/output_file.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
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

}  // namespace

std::string SafetensorsWriter::add(const std::string& name, const Tensor& tensor) {
  check(!tensor.is_meta(), "save: '", name, "' is a meta tensor: it has no elements to save");
  check(name != "__metadata__", "save: no tensor can be called '__metadata__' in the format");
  const auto [first, last] = by_memory_.equal_range(tensor.address());
  for (auto it = first; it != last; ++it)
    if (same_elements(tensor, tensors_[it->second].second)) return tensors_[it->second].first;
  check(names_.insert(name).second, "save: there is a tensor '", name, "' already");
  by_memory_.emplace(tensor.address(), tensors_.size());
  tensors_.emplace_back(name, tensor);
  return name;
}

void SafetensorsWriter::emit(const Sink& sink) const {
  // Largest elements first: every tensor is then aligned to its element size, without gaps.
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
  while ((8 + text.size()) % 64 != 0) text += ' ';  // aligns the first tensor to a cache line
  check(text.size() <= kMaxHeaderBytes, "save: the names, sizes and metadata take ", text.size(),
        " bytes, more than the ", kMaxHeaderBytes, " that readers of the format take");

  unsigned char length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  sink(length, sizeof length);
  sink(text.data(), text.size());
  const GradMode unrecorded(false);
  for (const auto* entry : order) {
    const Tensor& tensor = entry->second;
    const Tensor dense = ops::contiguous(is_host(tensor.device()) ? tensor : copy_to_host(tensor));
    if (dense.numel() > 0) sink(dense.data(), bytes_of(dense));
  }
}

void SafetensorsWriter::write(const std::string& path) const {
  OutputFile file(path);
  emit([&](const void* bytes, size_t count) { file.write(bytes, count); });
  file.commit();
}

std::string SafetensorsWriter::bytes() const {
  std::string result;
  emit([&](const void* bytes, size_t count) {
    result.append(static_cast<const char*>(bytes), count);
  });
  return result;
}

}  // namespace uh::jit
