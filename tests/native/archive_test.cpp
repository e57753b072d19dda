// Safetensors files: reads back what was written, through the mapped file as well; rejects damaged
// files.
#include "jit/serialization/archive.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "check.h"
#include "generated/ops.h"

namespace uh::test {
namespace {

using jit::SafetensorsReader;
using jit::SafetensorsWriter;

// A unique path, whose file is deleted when the test ends.
struct Path {
  std::string text = std::filesystem::temp_directory_path() /
                     ("archive_test_" + std::to_string(::getpid()) + ".safetensors");
  ~Path() { std::remove(text.c_str()); }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor floats(Dims sizes, float first) {
  Tensor t = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_as<float>()[i] = first + static_cast<float>(i);
  return t;
}

// Returns a file's content: this header and this number of bytes.
std::string file_of(const std::string& header, size_t bytes) {
  std::string all(8, '\0');
  for (size_t i = 0; i < 8; ++i) all[i] = static_cast<char>(header.size() >> (8 * i));
  return all + header + std::string(bytes, '\x01');
}
void read(const std::string& content) { SafetensorsReader(content, "the file"); }

std::string example() {
  SafetensorsWriter writer;
  writer.add("w", floats({2, 3}, 1));
  writer.add("flags", empty(Dims{3}, DType::kBool));
  writer.add("nothing", empty(Dims{0, 4}, DType::kInt64));
  writer.set_metadata("graph", "graph(%x):\n  return (%x)\n");
  return writer.bytes();
}

}  // namespace

TEST(archive_gives_back_what_was_written) {
  const Path path;
  SafetensorsWriter writer;
  const Tensor w = floats({2, 3}, 1);
  writer.add("odd", empty(Dims{3}, DType::kUInt8));
  writer.add("w", w);
  writer.add("t", ops::transpose(w, 0, 1));
  writer.add("c", empty(Dims{2}, DType::kComplex128));
  CHECK_EQ(writer.add("tied", w), "w");
  CHECK_FAILS(writer.add("w", floats({1}, 0)), "there is a tensor 'w' already");
  writer.set_metadata("schema", "1");
  writer.write(path.text);

  SafetensorsReader reader = SafetensorsReader::map(path.text);
  CHECK_EQ(reader.entries().size(), 4u);
  CHECK_EQ(*reader.metadata("schema"), "1");
  CHECK(reader.metadata("other") == nullptr);
  CHECK_EQ(reader.find("tied"), -1);
  CHECK(reader.tensor("c").dtype() == DType::kComplex128);
  CHECK_EQ(reader.tensor("c").sizes(), Dims({2}));
  const Tensor t = reader.tensor("t");
  CHECK_EQ(t.sizes(), Dims({3, 2}));
  CHECK_EQ(t.data_as<float>()[1], 4.0f);
  CHECK(t.is_same(reader.tensor("t")));
  CHECK(t.storage()->foreign(), "it is the file's pages");
  const Tensor own = SafetensorsReader(path.text).tensor("t");
  CHECK(!own.storage()->foreign(), "it was read into new memory");
  CHECK_EQ(own.data_as<float>()[1], 4.0f);
  for (const auto& entry : reader.entries())
    CHECK_EQ(entry.begin % static_cast<size_t>(itemsize(to_real(entry.dtype))), 0u);
}

TEST(archive_stays_mapped_for_its_tensors_and_is_not_written) {
  const Path path;
  SafetensorsWriter writer;
  writer.add("w", floats({4}, 1));
  writer.write(path.text);
  const std::string before = content_of(path.text);
  Tensor w = SafetensorsReader::map(path.text).tensor("w");
  w.data_as<float>()[0] = 100;
  CHECK_EQ(w.data_as<float>()[1], 2.0f);
  CHECK(content_of(path.text) == before);
  SafetensorsWriter other;
  other.add("v", floats({1}, 7));
  other.write(path.text);  // another file with that name
  CHECK_EQ(w.data_as<float>()[3], 4.0f);
  CHECK_EQ(SafetensorsReader(path.text).entries()[0].name, "v");
}

TEST(archive_that_was_read_outlives_its_truncated_file) {
  const Path path;
  SafetensorsWriter writer;
  writer.add("v", floats({4096}, 0));
  writer.add("w", floats({4096}, 1));
  writer.write(path.text);
  SafetensorsReader reader(path.text);
  const Tensor w = reader.tensor("w");
  CHECK(::truncate(path.text.c_str(), 100) == 0);
  CHECK_EQ(w.data_as<float>()[4095], 4096.0f);
  CHECK_FAILS(reader.tensor("v"), "the file became shorter while it was read");
  CHECK_FAILS(reader.tensor("v"), "the file became shorter while it was read");
}

TEST(archive_that_cannot_be_written_leaves_nothing) {
  SafetensorsWriter writer;
  writer.add("w", floats({4}, 1));
  CHECK_FAILS(writer.write("/nowhere/at/all"), "save: cannot write '/nowhere/at/all': No such");
  CHECK_FAILS(SafetensorsReader("/nowhere"), "load: cannot open \"/nowhere\": No such file");
  CHECK_FAILS(SafetensorsReader(std::filesystem::temp_directory_path().string()), "is not a file");
}

TEST(archive_is_refused_when_it_is_not_whole) {
  const auto entry = [](const char* inside) { return std::string("{\"w\":{") + inside + "}}"; };
  const char* valid = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  read(file_of(entry(valid), 8));
  CHECK_FAILS(read(""), "it has 0 bytes");
  CHECK_FAILS(read(std::string(8, '\xff')), "more than 100000000");
  CHECK_FAILS(read(file_of(entry(valid), 7)), "0 to 8 of 7");
  CHECK_FAILS(read(file_of(entry(valid), 9)), "end at byte");
  CHECK_FAILS(read(file_of("[]", 0)), "does not begin with '{'");
  CHECK_FAILS(read(file_of("{\"w\":1}", 0)), "its header is wrong: expected an object");
  CHECK_FAILS(read(file_of(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8)),
              "has 8 bytes, which are not those of a float32 of sizes [3]");
  CHECK_FAILS(read(file_of(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8)),
              "sizes [-2]");
  CHECK_FAILS(
      read(file_of(
          entry(R"("dtype":"F32","shape":[4611686018427387906,2,2],"data_offsets":[0,32])"), 32)),
      "are not those");
  CHECK_FAILS(read(file_of(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), 8)),
              "begin at 4, and those before end at 0");
  CHECK_FAILS(read(file_of(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8)),
              "8 to 0");
  CHECK_FAILS(read(file_of(entry(R"("dtype":"U64","shape":[1],"data_offsets":[0,8])"), 8)),
              "\"w\" in the file has dtype \"U64\"");
  CHECK_FAILS(read(file_of(R"({"__metadata__":{"a":1}})", 0)), "expected a string");
  CHECK_FAILS(
      read(file_of(R"({"__metadata__":{"complex128":"[\"w\"]"},"w":{)" + std::string(valid) + "}}",
                   8)),
      "should hold pairs of F64");
  CHECK_FAILS(read("PK\x03\x04" + std::string(20, 'x')), "is a pickle");
}

FUZZ(archive_mutations) {
  Random random(budget.seed);
  const std::string valid = example();
  while (!budget.over()) {
    std::string content = valid;
    for (int64_t i = random.in(1, 4); i > 0; --i) {
      const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(content.size()) - 1));
      if (random.one_in(4))
        content.resize(at + 1);
      else if (random.one_in(4))
        content.insert(at, std::to_string(random.in(-9, 1 << 30)));
      else
        content[at] = random.one_in(2) ? static_cast<char>(random.next())
                                       : "0123456789[]{},:\""[random.in(0, 16)];
    }
    try {
      SafetensorsReader reader(content, "the file");
      uint8_t sum = 0;
      for (size_t i = 0; i < reader.entries().size(); ++i) {
        const Tensor t = reader.tensor(i);
        const int64_t bytes = t.numel() * itemsize(t.dtype());
        for (int64_t k = 0; k < bytes; ++k) sum ^= t.data_as<uint8_t>()[k];
      }
      CHECK_EQ(sum ^ sum, 0);
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).starts_with("load: "), error.what());
    }
  }
}

}  // namespace uh::test
