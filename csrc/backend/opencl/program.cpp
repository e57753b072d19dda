#include "backend/opencl/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "backend/opencl/platform.h"

namespace uh::opencl {
namespace {

std::atomic<int64_t> g_programs{0};

// FNV-1a: names files and detects damaged ones; it does not protect against attacks.
uint64_t checksum(std::string_view bytes, uint64_t start = 0xcbf29ce484222325ull) {
  uint64_t hash = start;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3ull;
  return hash;
}

std::string hex(uint64_t number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) text[i] = kDigits[number & 15];
  return text;
}

// A cache file has this line, the lengths of key and binary, the checksum of both, and both.
constexpr std::string_view kFirstLine = "underhood opencl binary 1\n";

std::string file_text(const std::string& key, std::string_view binary) {
  const uint64_t numbers[] = {key.size(), binary.size(), checksum(binary, checksum(key))};
  std::string text(kFirstLine);
  text.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return text.append(key).append(binary);
}

// The binary in a file; empty if the file is damaged or was stored for another key.
std::string_view binary_of(std::string_view file, const std::string& key) {
  uint64_t numbers[3];
  if (!file.starts_with(kFirstLine) || file.size() < kFirstLine.size() + sizeof numbers) return {};
  file.remove_prefix(kFirstLine.size());
  std::copy_n(file.data(), sizeof numbers, reinterpret_cast<char*>(numbers));
  file.remove_prefix(sizeof numbers);
  if (numbers[0] != key.size() || numbers[1] != file.size() - std::min(file.size(), key.size()) ||
      !file.starts_with(key))
    return {};
  const std::string_view binary = file.substr(key.size());
  return checksum(binary, checksum(key)) == numbers[2] ? binary : std::string_view();
}

std::string build_log(cl_program program, cl_device_id id) {
  size_t size = 0;
  if (api().GetProgramBuildInfo(program, id, kBuildLog, 0, nullptr, &size) != kSuccess) return "";
  std::string log(size, '\0');
  if (api().GetProgramBuildInfo(program, id, kBuildLog, size, log.data(), nullptr) != kSuccess)
    return "";
  log.resize(std::min(log.size(), log.find('\0')));
  return log;
}

}  // namespace

std::string cache_folder() {
  if (const char* selected = std::getenv("UNDERHOOD_OPENCL_CACHE")) return selected;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/underhood/opencl";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/underhood/opencl";
  return "";
}

cl_program Programs::from_binary(const std::string& key, const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return nullptr;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return nullptr;
  const std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const std::string_view binary = binary_of(file, key);
  if (binary.empty()) return nullptr;
  const size_t length = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int accepted = kSuccess, status = kSuccess;
  const cl_program program = api().CreateProgramWithBinary(device_.context, 1, &device_.id, &length,
                                                           &bytes, &accepted, &status);
  if (status != kSuccess) return nullptr;
  if (accepted == kSuccess &&
      api().BuildProgram(program, 1, &device_.id, "", nullptr, nullptr) == kSuccess)
    return program;
  api().ReleaseProgram(program);  // the driver changed, but not its version
  return nullptr;
}

// Writes under another name and renames, so that no process reads half a file. A binary that cannot
// be stored is compiled again next time.
void Programs::store_binary(cl_program program, const std::string& key, const std::string& path) {
  size_t size = 0;
  if (api().GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr) != kSuccess ||
      size == 0)
    return;
  std::string binary(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (api().GetProgramInfo(program, kProgramBinaries, sizeof bytes, &bytes, nullptr) != kSuccess)
    return;
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  if (failure) return;
  const std::string unfinished = path + "." + std::to_string(getpid());
  {
    std::ofstream stream(unfinished, std::ios::binary);
    stream << file_text(key, binary);
    stream.close();
    if (!stream) {
      std::filesystem::remove(unfinished, failure);
      return;
    }
  }
  std::filesystem::rename(unfinished, path, failure);
  if (failure) std::filesystem::remove(unfinished, failure);
}

cl_program Programs::build(const std::string& source, std::string_view name) {
  // -w: the driver would print warnings to the user's terminal.
  const std::string options =
      device_.divides_correctly ? "-w -cl-fp32-correctly-rounded-divide-sqrt" : "-w";
  const std::string folder = cache_folder();
  const std::string key = device_.title + "\n" + device_.version + "\n" + options + "\n" + source;
  const std::string path =
      folder + "/" + hex(checksum(key)) + hex(checksum(key, 0x9e3779b97f4a7c15ull)) + ".bin";
  if (!folder.empty()) {
    if (const cl_program stored = from_binary(key, path)) {
      ++read_;
      return stored;
    }
  }
  const char* text = source.c_str();
  cl_int status = kSuccess;
  const cl_program program =
      api().CreateProgramWithSource(device_.context, 1, &text, nullptr, &status);
  check_status(status, uh::name(device_.device), ": ", name, ": reading its source");
  status = api().BuildProgram(program, 1, &device_.id, options.c_str(), nullptr, nullptr);
  if (status != kSuccess) {
    const std::string log = build_log(program, device_.id);
    api().ReleaseProgram(program);
    fail(ErrorKind::kRuntime, uh::name(device_.device), ": ", name,
         ": its kernel does not compile (", status_name(status), "). The compiler of ",
         device_.title, " says:\n", log, "\nThe source:\n", source);
  }
  ++compiled_;
  if (!folder.empty()) store_binary(program, key, path);
  return program;
}

const Kernel& Programs::kernel(const std::string& source, const char* function,
                               std::string_view name) {
  const std::lock_guard guard(lock_);
  auto it = programs_.find(source);
  if (it == programs_.end()) {
    const cl_program handle = build(source, name);
    it = programs_.emplace(source, Program{}).first;
    it->second.handle = handle;
    it->second.number = ++g_programs;
  }
  Program& program = it->second;
  std::unique_ptr<Kernel>& slot = program.kernels[message(function, " ", name)];
  if (slot) return *slot;
  cl_int status = kSuccess;
  const cl_kernel handle = api().CreateKernel(program.handle, function, &status);
  check_status(status, uh::name(device_.device), ": ", name, ": finding the kernel ", function);
  size_t largest = device_.largest_group;
  check_status(api().GetKernelWorkGroupInfo(handle, device_.id, kKernelWorkGroup, sizeof largest,
                                            &largest, nullptr),
               uh::name(device_.device), ": ", name, ": reading the size of its groups");
  slot.reset(new Kernel{device_, handle, std::string(name), program.number, largest, it->first, 0});
  return *slot;
}

}  // namespace uh::opencl
