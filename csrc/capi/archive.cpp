// The C ABI of safetensors files. underhood_archive.h has the contract of each function.
#include <cerrno>

#include "capi/convert.h"
#include "capi/returned_string.h"
#include "capi/underhood_archive.h"
#include "jit/serialization/archive.h"
#include "jit/serialization/output_file.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {

SafetensorsReader& reader_of(uh_archive self) {
  return *reinterpret_cast<SafetensorsReader*>(self);
}
SafetensorsWriter& writer_of(uh_archive_writer self) {
  return *reinterpret_cast<SafetensorsWriter*>(self);
}

}  // namespace

uh_archive uh_archive_open(const char* path) {
  return guard(uh_archive{0}, [&] {
    initialise();
    return reinterpret_cast<uh_archive>(new SafetensorsReader(path));
  });
}
uh_archive uh_archive_map(const char* path) {
  return guard(uh_archive{0}, [&] {
    initialise();
    return reinterpret_cast<uh_archive>(new SafetensorsReader(SafetensorsReader::map(path)));
  });
}
uh_archive uh_archive_of_bytes(const void* bytes, size_t n) {
  return guard(uh_archive{0}, [&] {
    initialise();
    const std::string_view content(static_cast<const char*>(bytes), n);
    return reinterpret_cast<uh_archive>(new SafetensorsReader(content, "the file"));
  });
}
void uh_archive_close(uh_archive self) { delete &reader_of(self); }
int64_t uh_archive_count(uh_archive self) {
  return static_cast<int64_t>(reader_of(self).entries().size());
}
const char* uh_archive_name(uh_archive self, int64_t i) {
  const auto& entries = reader_of(self).entries();
  if (i < 0 || i >= static_cast<int64_t>(entries.size())) return nullptr;
  return entries[static_cast<size_t>(i)].name.c_str();
}
int64_t uh_archive_find(uh_archive self, const char* name) { return reader_of(self).find(name); }
uh_handle uh_archive_tensor(uh_archive self, int64_t i) {
  return guard(uh_handle{0}, [&] { return give(reader_of(self).tensor(static_cast<size_t>(i))); });
}
const char* uh_archive_metadata(uh_archive self, const char* key) {
  const std::string* text = reader_of(self).metadata(key);
  return text ? text->c_str() : nullptr;
}

uh_archive_writer uh_archive_writer_new(void) {
  return guard(uh_archive_writer{0},
               [] { return reinterpret_cast<uh_archive_writer>(new SafetensorsWriter); });
}
void uh_archive_writer_free(uh_archive_writer self) { delete &writer_of(self); }
const char* uh_archive_writer_add(uh_archive_writer self, const char* name, uh_handle tensor) {
  return text_of([&] { return writer_of(self).add(name, take(tensor)); });
}
int uh_archive_writer_set_metadata(uh_archive_writer self, const char* key, const char* text) {
  return guard(-1, [&] {
    writer_of(self).set_metadata(key, text);
    return 0;
  });
}
int uh_archive_writer_write(uh_archive_writer self, const char* path) {
  int code = 0;
  const int done = guard(-1, [&] {
    try {
      writer_of(self).write(path);
    } catch (const OutputError& error) {
      code = error.code();
      throw;
    }
    return 0;
  });
  errno = code;
  return done;
}
