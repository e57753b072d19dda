#include "backend/opencl/elementwise.h"

#include <algorithm>
#include <cstring>

#include "backend/opencl/transfer.h"
#include "ops/geometry.h"

namespace uh::opencl {
namespace {

// The sizes and strides of a call; dimensions are collapsed where all of its operands allow that.
struct Space {
  Dims sizes;
  std::vector<Dims> strides;  // of the results, then of the operands

  int64_t row() const { return sizes.back(); }
  size_t bytes() const { return (strides.size() + 1) * sizes.size() * sizeof(int64_t); }
};

// How a kernel iterates over its operands, as far as that is compiled into it.
struct Shape {
  size_t rank;
  size_t results;
  std::string inner;  // strides along the last dimension, results first: '0', '1' or 's'
  bool small;         // element numbers fit 32 bits
  bool is_cpu;
  size_t lanes;  // elements of a vector, on a CPU

  size_t operands() const { return inner.size(); }  // with the results
  bool strided() const { return rank > 1 || inner.find('s') != std::string::npos; }
};

template <size_t N>
Space space_of(const ElementwiseCall& call) {
  const Tensor& first = call.results[0];
  std::array<Dims, N> strides;
  std::array<IntSpan, N> spans;
  size_t count = 0;
  const auto add = [&](const Tensor& t) {
    strides[count++] = broadcast_strides(t.sizes(), t.strides(), static_cast<size_t>(first.ndim()));
  };
  for (const Tensor& t : call.results) add(t);
  for (const Tensor& t : call.operands) add(t);
  for (size_t i = 0; i < N; ++i) {
    if (i >= count) strides[i] = Dims(static_cast<size_t>(first.ndim()), 0);
    spans[i] = strides[i];
  }
  Geometry<N> geometry = make_geometry<N>(first.sizes(), spans);
  return {std::move(geometry.sizes),
          {geometry.strides.begin(), geometry.strides.begin() + static_cast<ptrdiff_t>(count)}};
}

Space space_of(const ElementwiseCall& call) {
  constexpr size_t kFewOperands = 6;
  const size_t count = call.results.size() + call.operands.size();
  check_kind(count <= kMaxOperands, ErrorKind::kInternal, "opencl: ", count, " operands");
  return count <= kFewOperands ? space_of<kFewOperands>(call) : space_of<kMaxOperands>(call);
}

// Bytes of an element in a vector register: 16-bit floats are computed as floats.
int64_t lane_bytes(DType dtype) { return is_reduced_floating(dtype) ? 4 : itemsize(dtype); }

Shape shape_of(const Space& space, const ElementwiseCall& call, const OpenclDevice& device) {
  const size_t results = call.results.size();
  int64_t widest = lane_bytes(call.compute);
  for (const Tensor& t : call.results) widest = std::max(widest, lane_bytes(t.dtype()));
  for (const Tensor& t : call.operands) widest = std::max(widest, lane_bytes(t.dtype()));
  const size_t lanes = device.vector_width * sizeof(float) / static_cast<size_t>(widest);
  Shape shape{space.sizes.size(), results, {}, false, device.is_cpu, std::max<size_t>(lanes, 1)};
  for (size_t i = 0; i < space.strides.size(); ++i) {
    const int64_t stride = space.strides[i].back();
    // The stride of a single element is not used.
    const bool still = stride == 0 && (i >= results || space.row() == 1);
    shape.inner += still ? '0' : stride == 1 ? '1' : 's';
  }
  shape.small = numel_of(space.sizes) < (int64_t{1} << 31);
  return shape;
}

// "O" or "O1", "A0": an operand's type; "out" or "out1", "a0": its pointer.
std::string element(const Shape& shape, size_t i) {
  if (i >= shape.results) return "A" + std::to_string(i - shape.results);
  return shape.results == 1 ? "O" : "O" + std::to_string(i);
}
std::string operand(const Shape& shape, size_t i) {
  if (i >= shape.results) return "a" + std::to_string(i - shape.results);
  return shape.results == 1 ? "out" : "out" + std::to_string(i);
}

// The address of an operand's element along the last dimension.
std::string element_index(const Shape& shape, size_t i, const std::string& at) {
  switch (shape.inner[i]) {
    case '0': return "o" + std::to_string(i);
    case '1': return "o" + std::to_string(i) + " + " + at;
    default: return "o" + std::to_string(i) + " + " + at + " * s" + std::to_string(i);
  }
}

// The statement for one element.
std::string store(const Shape& shape, size_t numbers, std::string_view order, bool zero_division,
                  const std::string& at) {
  std::string list;
  size_t operand_at = shape.results, number_at = 0;
  const auto add = [&](const std::string& argument) {
    if (!list.empty()) list += ", ";
    list += argument;
  };
  const auto add_operand = [&] {
    const size_t i = operand_at++;
    add(shape.inner[i] == '0' && shape.is_cpu
            ? "x" + std::to_string(i)
            : "LOAD_" + element(shape, i) + "(" + operand(shape, i) + ", " +
                  element_index(shape, i, at) + ")");
  };
  const auto add_number = [&] { add("n" + std::to_string(number_at++)); };
  for (const char kind : order) kind == 'a' ? add_operand() : add_number();
  while (operand_at < shape.operands()) add_operand();
  while (number_at < numbers) add_number();
  if (zero_division) add("zero_division");
  const auto stored = [&](size_t i, const std::string& value) {
    return "STORE_" + element(shape, i) + "(" + operand(shape, i) + ", " +
           element_index(shape, i, at) + ", " + value + ");";
  };
  if (shape.results == 1) return stored(0, "apply(" + list + ")");
  std::string text = "{ ";
  for (size_t i = 0; i < shape.results; ++i) {
    const std::string result = "r" + std::to_string(i);
    text += element(shape, i) + " " + result + "; ";
    add("&" + result);
  }
  text += "apply(" + list + ");";
  for (size_t i = 0; i < shape.results; ++i) text += " " + stored(i, "r" + std::to_string(i));
  return text + " }";
}

// The kernel around `apply`.
std::string kernel_text(const Elementwise& operation, const Shape& shape,
                        std::span<const Number> numbers, std::string_view order) {
  const std::string rank = std::to_string(shape.rank);
  std::string text = "\n";
  if (shape.strided())
    text += "typedef struct { long sizes[" + rank + "]; long strides[" +
            std::to_string(shape.operands()) + "][" + rank + "]; } Space;\n\n";
  text += "kernel void elements(";
  for (size_t i = 0; i < shape.operands(); ++i)
    text += "TENSOR(" + element(shape, i) + "_STORED, " + operand(shape, i) + "), ";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += std::string(numbers[i].type) + " n" + std::to_string(i) + ", ";
  if (operation.counts_zero_division) text += "TENSOR(int, zero_division), ";
  if (shape.strided()) text += "Space space, ";
  text += "long n, long run) {\n";
  for (size_t i = 0; i < shape.operands(); ++i)
    text += "  OPEN(" + element(shape, i) + "_STORED, " + operand(shape, i) + ");\n";
  if (operation.counts_zero_division) text += "  OPEN(int, zero_division);\n";
  const std::string index_type = shape.small && !shape.is_cpu ? "uint" : "long";
  for (size_t i = 0; i < shape.operands(); ++i) {
    if (shape.inner[i] == 's')
      text += "  const long s" + std::to_string(i) + " = space.strides[" + std::to_string(i) +
              "][" + std::to_string(shape.rank - 1) + "];\n";
  }
  const auto offsets = [&](const std::string& indent, bool constant) {
    std::string lines = indent + (constant ? "const long " : "long ");
    for (size_t i = 0; i < shape.operands(); ++i)
      lines += (i ? ", o" : "o") + std::to_string(i) + " = 0";
    return lines + ";\n";
  };
  const std::string stored =
      store(shape, numbers.size(), order, operation.counts_zero_division, "j");
  const auto repeated = [&](const std::string& indent) {  // operands of stride 0
    std::string lines;
    for (size_t i = shape.results; i < shape.operands(); ++i) {
      if (shape.inner[i] == '0')
        lines += indent + "const " + element(shape, i) + " x" + std::to_string(i) + " = LOAD_" +
                 element(shape, i) + "(" + operand(shape, i) + ", o" + std::to_string(i) + ");\n";
    }
    return lines;
  };
  if (!shape.is_cpu) {
    // Neighbouring items compute neighbouring elements; every item computes several.
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
        for (size_t i = 0; i < shape.operands(); ++i)
          text += "      o" + std::to_string(i) + " += at * space.strides[" + std::to_string(i) +
                  "][" + dim + "];\n";
        if (d) text += "      rest /= (" + index_type + ")space.sizes[" + dim + "];\n";
        text += "    }\n";
      }
    }
    return text + "    " + stored + "\n  }\n}\n";
  }
  text += "  const long begin = get_global_id(0) * run, end = min(begin + run, n);\n";
  // A compiler tuned for another CPU of the family may prefer narrower vectors than this CPU has.
  const std::string loop = "#pragma clang loop vectorize(assume_safety) vectorize_width(" +
                           std::to_string(shape.lanes) + ")\n";
  if (shape.rank == 1) {
    return text + offsets("  ", true) + repeated("  ") + loop +
           "  for (long j = begin; j < end; ++j) " + stored + "\n}\n";
  }
  text += "  long at[" + rank + "];\n  long rest = begin;\n" + offsets("  ", false);
  text += "  for (int d = " + rank +
          " - 1; d >= 0; --d) {\n    at[d] = d ? rest % space.sizes[d] : rest;\n"
          "    if (d) rest /= space.sizes[d];\n";
  for (size_t i = 0; i < shape.operands(); ++i)
    text +=
        "    o" + std::to_string(i) + " += at[d] * space.strides[" + std::to_string(i) + "][d];\n";
  const std::string last = std::to_string(shape.rank - 1);
  text += "  }\n  for (long i = begin; i < end;) {\n    const long row = min(space.sizes[" + last +
          "] - at[" + last + "], end - i);\n" + repeated("    ") + loop +
          "    for (long j = 0; j < row; ++j) " + stored + "\n    i += row;\n    at[" + last +
          "] += row;\n";
  for (size_t i = 0; i < shape.operands(); ++i)
    text += "    o" + std::to_string(i) + " += row * space.strides[" + std::to_string(i) + "][" +
            last + "];\n";
  text += "    for (int d = " + last +
          "; d > 0 && at[d] == space.sizes[d]; --d) {\n      at[d] = 0;\n      ++at[d - 1];\n";
  for (size_t i = 0; i < shape.operands(); ++i) {
    const std::string strides = "space.strides[" + std::to_string(i) + "]";
    text += "      o" + std::to_string(i) + " += " + strides + "[d - 1] - space.sizes[d] * " +
            strides + "[d];\n";
  }
  return text + "    }\n  }\n}\n";
}

// A compiled kernel, and the facts that its arguments depend on.
struct Compiled {
  const Kernel* kernel;
  bool counts_zero_division;
};

std::string key_of(const ElementwiseCall& call, const Shape& shape) {
  std::string key(reinterpret_cast<const char*>(&call.operation), sizeof call.operation);
  key += static_cast<char>(call.compute);
  key += static_cast<char>(call.results[0].device().index);
  key += static_cast<char>(shape.results);
  for (const Tensor& t : call.results) key += static_cast<char>(t.dtype());
  for (const Tensor& t : call.operands) key += static_cast<char>(t.dtype());
  key += static_cast<char>(shape.rank | (shape.small ? 64 : 0));
  key.append(shape.inner);
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
  for (size_t i = 0; i < call.results.size(); ++i)
    dtypes.dtype(element(shape, i), call.results[i].dtype());
  for (size_t i = 0; i < call.operands.size(); ++i)
    dtypes.dtype(element(shape, shape.results + i), call.operands[i].dtype());
  const std::string source = dtypes.lines() + operation.defines + std::string(sources::prelude) +
                             "\n" + operation.functions +
                             kernel_text(operation, shape, call.numbers, call.order);
  const Kernel& kernel = device.programs.kernel(source, "elements", operation.name);
  return kernels->emplace(key, Compiled{&kernel, operation.counts_zero_division}).first->second;
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
                   .results = std::span(&out, 1),
                   .operands = std::span(operands.begin(), operands.size()),
                   .numbers = std::span(numbers.begin(), numbers.size()),
                   .order = {}});
}

bool run_elementwise(const ElementwiseCall& call) {
  const Tensor& first = call.results[0];
  if (first.numel() == 0) return false;
  OpenclDevice& device = device_of(first.device());
  const Space space = space_of(call);
  const Shape shape = shape_of(space, call, device);
  size_t bytes = 64 + space.strides.size() * 16 + (shape.strided() ? space.bytes() : 0);
  for (const Number& number : call.numbers) bytes += number.size;
  check(bytes <= device.max_argument_bytes, name(first.device()), ": a kernel of ",
        space.strides.size(), " tensors and ", call.numbers.size(), " numbers has ", bytes,
        " bytes of arguments, and the device takes ", device.max_argument_bytes);
  const Compiled& code = compiled(call, shape, device);
  const int64_t n = numel_of(space.sizes);

  Arguments arguments(*code.kernel);
  for (const Tensor& t : call.results) arguments.add(t);
  for (const Tensor& t : call.operands) arguments.add(t);
  for (const Number& number : call.numbers) arguments.add_bytes(number.value.data(), number.size);
  Tensor flag;
  if (code.counts_zero_division) {
    static constexpr int32_t kZero = 0;
    flag = empty(Dims{1}, DType::kInt32, first.device());
    write(flag.address(), &kZero, sizeof kZero, device);
    arguments.add(flag);
  }
  if (shape.strided()) {
    std::vector<int64_t> numbers(space.sizes.begin(), space.sizes.end());
    for (const Dims& strides : space.strides)
      numbers.insert(numbers.end(), strides.begin(), strides.end());
    arguments.add_bytes(numbers.data(), numbers.size() * sizeof(int64_t));
  }
  arguments.add(n);
  if (device.is_cpu) {
    // A few runs per core, so that none waits long for a late one, but no run is too short to pay.
    const auto runs = static_cast<int64_t>(device.compute_units) * 4;
    const int64_t run = std::max<int64_t>(4096, ((n + runs - 1) / runs + 63) & ~int64_t{63});
    arguments.add(run).launch(groups_of((n + run - 1) / run, 1));
  } else {
    const size_t group = preferred_group(*code.kernel);
    const int64_t items = std::max<int64_t>((n + 3) / 4, std::min<int64_t>(n, 65536));
    arguments.add(n).launch(items_of(items, group));
  }
  if (!flag || !call.may_divide_by_zero) return false;
  int32_t divided = 0;
  read(&divided, flag.address(), sizeof divided, device, "was an integer divided by zero?");
  return divided != 0;
}

}  // namespace uh::opencl
