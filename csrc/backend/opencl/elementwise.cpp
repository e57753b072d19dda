#include "backend/opencl/elementwise.h"

#include <algorithm>
#include <cstring>

#include "backend/opencl/transfer.h"
#include "ops/geometry.h"

namespace uh::opencl {
namespace {

constexpr size_t kMaxOperands = 6;  // with the result
using Space = Geometry<kMaxOperands>;

// How operands are walked: what is known when a kernel is compiled.
struct Shape {
  size_t rank;
  size_t operands;                         // with the result
  std::array<char, kMaxOperands> inner{};  // strides along the last dimension: '0', '1' or 's'
  bool small;                              // element numbers fit 32 bits
  bool is_cpu;
};

// Dimensions that all operands walk through as one are one here.
Space space_of(const Tensor& out, std::span<const Tensor> operands) {
  std::array<Dims, kMaxOperands> strides;
  std::array<IntSpan, kMaxOperands> spans;
  const auto ndim = static_cast<size_t>(out.ndim());
  for (size_t i = 0; i < kMaxOperands; ++i) {
    const Tensor* t = i == 0 ? &out : i <= operands.size() ? &operands[i - 1] : nullptr;
    strides[i] = t ? broadcast_strides(t->sizes(), t->strides(), ndim) : Dims(ndim, 0);
    spans[i] = strides[i];
  }
  return make_geometry<kMaxOperands>(out.sizes(), spans);
}

Shape shape_of(const Space& space, size_t operands, const OpenclDevice& device) {
  Shape shape{space.sizes.size(), operands, {}, false, device.is_cpu};
  for (size_t i = 0; i < operands; ++i) {
    const int64_t stride = space.row_stride(i);
    // A result of a single element has no use for its stride.
    shape.inner[i] = stride == 0 && (i > 0 || space.row() == 1) ? '0' : stride == 1 ? '1' : 's';
  }
  shape.small = numel_of(space.sizes) < (int64_t{1} << 31);
  return shape;
}

std::string element(size_t i) { return i == 0 ? "O" : "A" + std::to_string(i - 1); }

std::string operand(size_t i) { return i == 0 ? "out" : "a" + std::to_string(i - 1); }

// The address of an operand's element along the last dimension.
std::string index(const Shape& shape, size_t i, const std::string& at) {
  switch (shape.inner[i]) {
    case '0': return "o" + std::to_string(i);
    case '1': return "o" + std::to_string(i) + " + " + at;
    default: return "o" + std::to_string(i) + " + " + at + " * s" + std::to_string(i);
  }
}

std::string store(const Shape& shape, size_t numbers, std::string_view order, bool zero_division,
                  const std::string& at) {
  std::string list;
  size_t operand_at = 1, number_at = 0;
  const auto add = [&](const std::string& argument) {
    if (!list.empty()) list += ", ";
    list += argument;
  };
  const auto add_operand = [&] {
    const size_t i = operand_at++;
    add(shape.inner[i] == '0' && shape.is_cpu
            ? "x" + std::to_string(i)
            : "LOAD_" + element(i) + "(" + operand(i) + ", " + index(shape, i, at) + ")");
  };
  const auto add_number = [&] { add("n" + std::to_string(number_at++)); };
  for (const char kind : order) kind == 'a' ? add_operand() : add_number();
  while (operand_at < shape.operands) add_operand();
  while (number_at < numbers) add_number();
  if (zero_division) add("zero_division");
  return "STORE_O(out, " + index(shape, 0, at) + ", apply(" + list + "));";
}

// The kernel around `apply`.
std::string kernel_text(const Elementwise& operation, const Shape& shape,
                        std::span<const Number> numbers, std::string_view order) {
  const std::string rank = std::to_string(shape.rank);
  const bool strided =
      shape.rank > 1 || std::find(shape.inner.begin(), shape.inner.end(), 's') != shape.inner.end();
  std::string text = "\n";
  if (strided)
    text += "typedef struct { long sizes[" + rank + "]; long strides[" +
            std::to_string(shape.operands) + "][" + rank + "]; } Space;\n\n";
  text += "kernel void elements(";
  for (size_t i = 0; i < shape.operands; ++i)
    text += "TENSOR(" + element(i) + "_STORED, " + operand(i) + "), ";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += std::string(numbers[i].type) + " n" + std::to_string(i) + ", ";
  if (operation.counts_zero_division) text += "TENSOR(int, zero_division), ";
  if (strided) text += "Space space, ";
  text += "long n, long run) {\n";
  for (size_t i = 0; i < shape.operands; ++i)
    text += "  OPEN(" + element(i) + "_STORED, " + operand(i) + ");\n";
  if (operation.counts_zero_division) text += "  OPEN(int, zero_division);\n";
  const std::string index_type = shape.small && !shape.is_cpu ? "uint" : "long";
  for (size_t i = 0; i < shape.operands; ++i) {
    if (shape.inner[i] == 's')
      text += "  const long s" + std::to_string(i) + " = space.strides[" + std::to_string(i) +
              "][" + std::to_string(shape.rank - 1) + "];\n";
  }
  const auto offsets = [&](const std::string& indent, bool constant) {
    std::string lines = indent + (constant ? "const long " : "long ");
    for (size_t i = 0; i < shape.operands; ++i)
      lines += (i ? ", o" : "o") + std::to_string(i) + " = 0";
    return lines + ";\n";
  };
  const std::string stored =
      store(shape, numbers.size(), order, operation.counts_zero_division, "j");
  const auto repeated = [&](const std::string& indent) {  // operands that do not move
    std::string lines;
    for (size_t i = 1; i < shape.operands; ++i) {
      if (shape.inner[i] == '0')
        lines += indent + "const " + element(i) + " x" + std::to_string(i) + " = LOAD_" +
                 element(i) + "(" + operand(i) + ", o" + std::to_string(i) + ");\n";
    }
    return lines;
  };
  if (!shape.is_cpu) {
    // Neighbours take neighbouring elements; every item takes several.
    text += "  for (" + index_type + " i = get_global_id(0); i < (" + index_type +
            ")n; i += get_global_size(0)) {\n" + offsets("    ", shape.rank == 1);
    if (shape.rank == 1) {
      text += "    const " + index_type + " j = i;\n";
    } else {
      text += "    " + index_type + " rest = i;\n";
      text += "    const " + index_type + " j = rest % (" + index_type + ")space.sizes[" +
              std::to_string(shape.rank - 1) + "];\n    rest /= (" + index_type + ")space.sizes[" +
              std::to_string(shape.rank - 1) + "];\n";
      for (size_t d = shape.rank - 1; d-- > 0;) {
        const std::string dim = std::to_string(d);
        text += "    {\n      const " + index_type +
                " at = " + (d ? "rest % (" + index_type + ")space.sizes[" + dim + "]" : "rest") +
                ";\n";
        for (size_t i = 0; i < shape.operands; ++i)
          text += "      o" + std::to_string(i) + " += at * space.strides[" + std::to_string(i) +
                  "][" + dim + "];\n";
        if (d) text += "      rest /= (" + index_type + ")space.sizes[" + dim + "];\n";
        text += "    }\n";
      }
    }
    return text + "    " + stored + "\n  }\n}\n";
  }
  text += "  const long begin = get_global_id(0) * run, end = min(begin + run, n);\n";
  const std::string loop = "#pragma clang loop vectorize(assume_safety)\n";
  if (shape.rank == 1) {
    return text + offsets("  ", true) + repeated("  ") + loop +
           "  for (long j = begin; j < end; ++j) " + stored + "\n}\n";
  }
  text += "  long at[" + rank + "];\n  long rest = begin;\n" + offsets("  ", false);
  text += "  for (int d = " + rank +
          " - 1; d >= 0; --d) {\n    at[d] = d ? rest % space.sizes[d] : rest;\n"
          "    if (d) rest /= space.sizes[d];\n";
  for (size_t i = 0; i < shape.operands; ++i)
    text +=
        "    o" + std::to_string(i) + " += at[d] * space.strides[" + std::to_string(i) + "][d];\n";
  const std::string last = std::to_string(shape.rank - 1);
  text += "  }\n  for (long i = begin; i < end;) {\n    const long row = min(space.sizes[" + last +
          "] - at[" + last + "], end - i);\n" + repeated("    ") + loop +
          "    for (long j = 0; j < row; ++j) " + stored + "\n    i += row;\n    at[" + last +
          "] += row;\n";
  for (size_t i = 0; i < shape.operands; ++i)
    text += "    o" + std::to_string(i) + " += row * space.strides[" + std::to_string(i) + "][" +
            last + "];\n";
  text += "    for (int d = " + last +
          "; d > 0 && at[d] == space.sizes[d]; --d) {\n      at[d] = 0;\n      ++at[d - 1];\n";
  for (size_t i = 0; i < shape.operands; ++i) {
    const std::string strides = "space.strides[" + std::to_string(i) + "]";
    text += "      o" + std::to_string(i) + " += " + strides + "[d - 1] - space.sizes[d] * " +
            strides + "[d];\n";
  }
  return text + "    }\n  }\n}\n";
}

// A kernel that has been compiled, and what its arguments depend on.
struct Compiled {
  const Kernel* kernel;
  bool strided, counts_zero_division;
};

std::string key_of(const ElementwiseCall& call, const Shape& shape) {
  std::string key(reinterpret_cast<const char*>(&call.operation), sizeof call.operation);
  key += static_cast<char>(call.compute);
  key += static_cast<char>(call.out.device().index);
  key += static_cast<char>(call.out.dtype());
  for (const Tensor& t : call.operands) key += static_cast<char>(t.dtype());
  key += static_cast<char>(shape.rank | (shape.small ? 64 : 0));
  key.append(shape.inner.data(), shape.operands);
  key.append(call.order);
  return key;
}

Compiled compiled(const ElementwiseCall& call, const Shape& shape, OpenclDevice& device) {
  static std::mutex lock;
  static auto* kernels = new std::unordered_map<std::string, Compiled>;  // leaked
  const std::string key = key_of(call, shape);
  const std::lock_guard guard(lock);
  if (const auto it = kernels->find(key); it != kernels->end()) return it->second;
  const Elementwise operation = call.make(call.context);
  Defines dtypes;
  dtypes.dtype("O", call.out.dtype());
  for (size_t i = 0; i < call.operands.size(); ++i)
    dtypes.dtype("A" + std::to_string(i), call.operands[i].dtype());
  const std::string source = dtypes.lines() + operation.defines + std::string(sources::prelude) +
                             "\n" + operation.functions +
                             kernel_text(operation, shape, call.numbers, call.order);
  const Kernel& kernel = device.programs.kernel(source, "elements", operation.name);
  const bool strided =
      shape.rank > 1 || std::find(shape.inner.begin(), shape.inner.end(), 's') != shape.inner.end();
  return kernels->emplace(key, Compiled{&kernel, strided, operation.counts_zero_division})
      .first->second;
}

}  // namespace

Number number_of(DType dtype, const Scalar& value) {
  if (dtype == DType::kBool) return Number::of("int", int32_t{value.to_bool()});
  const char* type = Defines::computed_type(dtype);
  if (is_reduced_floating(dtype)) return Number::of(type, static_cast<float>(value.to_double()));
  Number number{type, {}, static_cast<size_t>(itemsize(dtype))};
  visit_any(dtype, [&](auto zero) {
    const auto exact = value.to<decltype(zero)>();
    std::memcpy(number.value.data(), &exact, sizeof exact);
  });
  return number;
}

void map(const char* name, const char* text, const Tensor& out,
         std::initializer_list<Tensor> operands, std::initializer_list<Number> numbers) {
  const std::pair<const char*, const char*> named(name, text);
  run_elementwise({.operation = text,
                   .compute = out.dtype(),
                   .make =
                       [](const void* context) {
                         const auto& [own, code] =
                             *static_cast<const std::pair<const char*, const char*>*>(context);
                         return Elementwise{.name = own, .functions = code, .defines = {}};
                       },
                   .context = &named,
                   .out = out,
                   .operands = std::span(operands.begin(), operands.size()),
                   .numbers = std::span(numbers.begin(), numbers.size()),
                   .order = {}});
}

bool run_elementwise(const ElementwiseCall& call) {
  if (call.out.numel() == 0) return false;
  OpenclDevice& device = device_of(call.out.device());
  const Space space = space_of(call.out, call.operands);
  const Shape shape = shape_of(space, call.operands.size() + 1, device);
  const Compiled& code = compiled(call, shape, device);
  const int64_t n = numel_of(space.sizes);

  Arguments arguments(*code.kernel);
  arguments.add(call.out);
  for (const Tensor& t : call.operands) arguments.add(t);
  for (const Number& number : call.numbers) arguments.add_bytes(number.value.data(), number.size);
  Tensor flag;
  if (code.counts_zero_division) {
    static constexpr int32_t kZero = 0;
    flag = empty(Dims{1}, DType::kInt32, call.out.device());
    write(flag.data(), &kZero, sizeof kZero, device);
    arguments.add(flag);
  }
  if (code.strided) {
    std::vector<int64_t> numbers(space.sizes.begin(), space.sizes.end());
    for (size_t i = 0; i < shape.operands; ++i)
      numbers.insert(numbers.end(), space.strides[i].begin(), space.strides[i].end());
    arguments.add_bytes(numbers.data(), numbers.size() * sizeof(int64_t));
  }
  arguments.add(n);
  if (device.is_cpu) {
    // A few runs per core, so that one that is late is not waited for; none is too short to pay.
    const auto runs = static_cast<int64_t>(device.compute_units) * 4;
    const int64_t run = std::max<int64_t>(4096, ((n + runs - 1) / runs + 63) & ~int64_t{63});
    arguments.add(run).launch(groups_of((n + run - 1) / run, 1));
  } else {
    const size_t group = usual_group(*code.kernel);
    const int64_t items = std::max<int64_t>((n + 3) / 4, std::min<int64_t>(n, 65536));
    arguments.add(n).launch(items_of(items, group));
  }
  if (!flag || !call.may_divide_by_zero) return false;
  int32_t divided = 0;
  read(&divided, flag.data(), sizeof divided, device, "was an integer divided by zero?");
  return divided != 0;
}

}  // namespace uh::opencl
