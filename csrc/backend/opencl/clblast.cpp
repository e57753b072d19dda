#include "backend/opencl/clblast.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "backend/opencl/copy.h"
#include "memory/device_registry.h"

namespace uh::opencl {
namespace {

constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112;  // as in CLBlast's C header

template <class T>
using Gemm = int (*)(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k,
                     T alpha, cl_mem a, size_t a_first, size_t a_row, cl_mem b, size_t b_first,
                     size_t b_row, T beta, cl_mem c, size_t c_first, size_t c_row,
                     cl_command_queue* queue, cl_event* event);
template <class T>
using BatchedGemm = int (*)(int layout, int a_transpose, int b_transpose, size_t m, size_t n,
                            size_t k, T alpha, cl_mem a, size_t a_first, size_t a_row,
                            size_t a_batch, cl_mem b, size_t b_first, size_t b_row, size_t b_batch,
                            T beta, cl_mem c, size_t c_first, size_t c_row, size_t c_batch,
                            size_t count, cl_command_queue* queue, cl_event* event);

template <class T>
struct Functions {
  Gemm<T> gemm = nullptr;
  BatchedGemm<T> batched = nullptr;
};

struct ClBlast {
  Functions<float> floats;
  Functions<double> doubles;
  bool complete = false;
  bool on_cpus = false;

  ClBlast() {
    const char* const setting = std::getenv("UNDERHOOD_CLBLAST");
    const std::string_view requested = setting ? setting : "";
    if (requested == "0") return;
    on_cpus = !requested.empty();
    const bool named = !requested.empty() && requested != "1";
    void* const handle = dlopen(named ? setting : "libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    const auto find = [&]<class F>(F& function, const char* name) {
      function = reinterpret_cast<F>(dlsym(handle, name));
      return function != nullptr;
    };
    complete = find(floats.gemm, "CLBlastSgemm") && find(doubles.gemm, "CLBlastDgemm") &&
               find(floats.batched, "CLBlastSgemmStridedBatched") &&
               find(doubles.batched, "CLBlastDgemmStridedBatched");
  }
};

const ClBlast& clblast_library() {
  static const auto* instance = new ClBlast;  // leaked: CLBlast caches kernels until exit
  return *instance;
}

// A matrix for BLAS: its rows or its columns are contiguous.
struct Operand {
  cl_mem buffer;
  size_t first, row, batch;
  int transpose;
};

std::optional<Operand> operand_of(const Matrices& m, int64_t rows, int64_t columns,
                                  OpenclDevice& device) {
  const bool as_it_is = (m.column == 1 || columns == 1) && m.row >= columns;
  const bool transposed = (m.row == 1 || rows == 1) && m.column >= rows;
  if (!as_it_is && !transposed) return std::nullopt;
  const BufferPlace position = device.memory.resolve(m.tensor.address());
  return Operand{position.buffer, position.offset / static_cast<size_t>(itemsize(m.tensor.dtype())),
                 static_cast<size_t>(as_it_is ? m.row : m.column), static_cast<size_t>(m.batch),
                 as_it_is ? kAsItIs : kTransposed};
}

// "mm by CLBlast"; lives as long as the process.
const char* command_name(const char* op) {
  static std::mutex lock;
  static auto* names = new std::unordered_map<std::string, std::string>;
  const std::lock_guard guard(lock);
  return names->try_emplace(op, op + std::string(" by CLBlast")).first->second.c_str();
}

template <class T>
bool enqueue(const Functions<T>& functions, const Product& p, const Tensor& result) {
  OpenclDevice& device = device_of(result.device());
  const auto a = operand_of(p.a, p.rows, p.depth, device);
  const auto b = operand_of(p.b, p.depth, p.columns, device);
  const bool repeats = p.batch > 1 && (p.a.batch == 0 || p.b.batch == 0);
  if (!a || !b || repeats) return false;
  const Matrices dense{result, p.columns, 1, p.rows * p.columns};
  const auto c = operand_of(dense, p.rows, p.columns, device);
  if (p.has_sum()) copy_elements(result, p.sum.tensor);
  const auto m = static_cast<size_t>(p.rows), n = static_cast<size_t>(p.columns),
             k = static_cast<size_t>(p.depth);
  const T alpha = p.alpha.to<T>(), beta = p.has_sum() ? p.beta.to<T>() : T{0};
  cl_command_queue queue = device.queue.handle();
  cl_event event = nullptr;
  const std::lock_guard guard(device.queue.lock());
  const int status =
      p.batch == 1 ? functions.gemm(kRowMajor, a->transpose, b->transpose, m, n, k, alpha,
                                    a->buffer, a->first, a->row, b->buffer, b->first, b->row, beta,
                                    c->buffer, c->first, n, &queue, &event)
                   : functions.batched(kRowMajor, a->transpose, b->transpose, m, n, k, alpha,
                                       a->buffer, a->first, a->row, a->batch, b->buffer, b->first,
                                       b->row, b->batch, beta, c->buffer, c->first, n, m * n,
                                       static_cast<size_t>(p.batch), &queue, &event);
  if (status != kSuccess || !event) return false;
  const Command command{.kind = CommandKind::kKernel,
                        .name = command_name(p.name),
                        .items = m * n * static_cast<size_t>(p.batch),
                        .group = 1};
  device.queue.add_locked(command, [&](cl_event* own) {
    *own = event;
    return kSuccess;
  });
  return true;
}

}  // namespace

bool uses_clblast(const OpenclDevice& device) {
  return clblast_library().complete && (!device.is_cpu || clblast_library().on_cpus);
}

bool clblast_product(const Product& product, const Tensor& result) {
  if (product.depth == 0) return false;
  if (result.dtype() == DType::kFloat32) return enqueue(clblast_library().floats, product, result);
  if (result.dtype() == DType::kFloat64) return enqueue(clblast_library().doubles, product, result);
  return false;
}

}  // namespace uh::opencl
