#include "backend/opencl/rows.h"

#include <algorithm>
#include <unordered_set>

#include "ops/geometry.h"

namespace uh::opencl {
namespace {

constexpr int64_t kFoldLanes = 64;  // folds that run side by side on a CPU

// A fold as OpenCL C: `s` is its state, `x` an element or another state.
struct FoldText {
  const char *init, *step, *result;
};

FoldText text_of(const FoldOperator& fold) {
  const char* const result = fold.divided ? "s / n" : "s";
  switch (fold.by) {
    case FoldOp::kSum: return {"0", "s + x", result};
    case FoldOp::kProd: return {"1", "s * x", result};
    // An extreme of elements with a NaN is NaN.
    case FoldOp::kMax: return {"-INFINITY", "(x > s || x != x ? x : s)", result};
    case FoldOp::kMin: return {"INFINITY", "(x < s || x != x ? x : s)", result};
    default: fail(ErrorKind::kInternal, "opencl: ", fold.name, " is not a fold of rows");
  }
}

// The dimensions and strides of a call's tensors, results first: the dimensions that remain, then
// those that are folded.
struct RowWalk {
  Dims outer, inner;
  std::vector<Dims> outer_strides, inner_strides;
  int64_t rows, n;

  size_t tensors() const { return outer_strides.size(); }
};

RowWalk walk_of(const RowsCall& call) {
  const size_t ndim = call.sizes.size(), outer = ndim - call.folded;
  const size_t count = call.results.size() + call.operands.size();
  check_kind(count <= kMaxOperands, ErrorKind::kInternal, "opencl: ", count, " operands");
  std::array<Dims, kMaxOperands> strides;
  for (size_t i = 0; i < kMaxOperands; ++i) {
    if (i >= count) {
      strides[i] = Dims(ndim, 0);
    } else if (i >= call.results.size()) {
      const Tensor& t = call.operands[i - call.results.size()];
      strides[i] = broadcast_strides(t.sizes(), t.strides(), ndim);
    } else {
      const RowResult& result = call.results[i];
      const IntSpan own = result.tensor.strides();
      for (size_t d = 0; d < ndim; ++d)
        strides[i].push_back(result.fold && d >= outer ? 0 : own[d]);
    }
  }
  const auto part = [&](size_t begin, size_t end, Dims& sizes, std::vector<Dims>& result) {
    std::array<IntSpan, kMaxOperands> spans;
    for (size_t i = 0; i < kMaxOperands; ++i)
      spans[i] = IntSpan(strides[i].data() + begin, end - begin);
    Geometry<kMaxOperands> geometry =
        make_geometry<kMaxOperands>(IntSpan(call.sizes.data() + begin, end - begin), spans, false);
    sizes = std::move(geometry.sizes);
    result.assign(geometry.strides.begin(),
                  geometry.strides.begin() + static_cast<ptrdiff_t>(count));
  };
  RowWalk walk;
  part(0, outer, walk.outer, walk.outer_strides);
  part(outer, ndim, walk.inner, walk.inner_strides);
  walk.rows = numel_of(walk.outer);
  walk.n = numel_of(walk.inner);
  return walk;
}

std::string numbered(const char* name, size_t i) { return name + std::to_string(i); }

// Prints one program: `rows`, and `merge_rows` for the states of slices.
class Printer {
 public:
  Printer(const RowsCall& call, const RowWalk& walk, bool groups, bool doubles)
      : call_(call),
        walk_(walk),
        groups_(groups),
        doubles_(doubles),
        results_(call.results.size()) {}

  std::string print() {
    line("");
    line("typedef struct { long outer[" + outer() + "]; long inner[" + inner() +
         "]; long outer_strides[" + tensors() + "][" + outer() + "]; long inner_strides[" +
         tensors() + "][" + inner() + "]; } Space;");
    line("");
    print_elements();
    print_rows();
    print_merge();
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string outer() const { return std::to_string(walk_.outer.size()); }
  std::string inner() const { return std::to_string(walk_.inner.size()); }
  std::string tensors() const { return std::to_string(walk_.tensors()); }
  std::string type(size_t i) const {
    return i < results_ ? numbered("R", i) : numbered("A", i - results_);
  }
  std::string pointer(size_t i) const {
    return i < results_ ? numbered("r", i) : numbered("a", i - results_);
  }
  bool folds(size_t i) const { return i < results_ && call_.results[i].fold; }
  template <class F>
  void each_fold(F&& f) {
    size_t at = 0;
    for (size_t i = 0; i < results_; ++i) {
      if (folds(i)) f(i, at++, text_of(*call_.results[i].fold));
    }
  }
  // A fold's text with the names of its state and of an element.
  static std::string with(std::string_view text, const std::string& s, const std::string& x) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
      const char before = i ? text[i - 1] : ' ', c = text[i];
      const bool alone = !std::isalpha(static_cast<unsigned char>(before));
      result += c == 's' && alone ? s : c == 'x' && alone ? x : std::string(1, c);
    }
    return result;
  }

  static std::string element_function(const FoldOperator& op, const std::string& x) {
    std::string name = op.name;
    std::replace(name.begin(), name.end(), '.', '_');
    return "folded_" + name + "(" + x + ")";
  }

  void print_parameters(const char* function) {
    std::string list;
    for (size_t i = 0; i < walk_.tensors(); ++i)
      list += "TENSOR(" + type(i) + "_STORED, " + pointer(i) + "), ";
    for (size_t i = 0; i < call_.numbers.size(); ++i)
      list += std::string(call_.numbers[i].type) + " " + numbered("n", i) + ", ";
    line(std::string("kernel void ") + function + "(" + list +
         "TENSOR(uchar, partial), Space space, long rows, long n, long slices" +
         (groups_ ? ", local ACC *shared" : ", long run") + ") {");
    for (size_t i = 0; i < walk_.tensors(); ++i)
      line("  OPEN(" + type(i) + "_STORED, " + pointer(i) + ");");
    line("  global ACC *states = (global ACC *)(partial_buffer + partial_first);");
  }

  // p0, p1...: the elements of the tensors where row `o` begins.
  void print_row_places(const char* indent) {
    const std::string in = indent;
    for (size_t i = 0; i < walk_.tensors(); ++i) line(in + "long " + numbered("p", i) + " = 0;");
    line(in + "{");
    line(in + "  long rest = o;");
    for (size_t d = walk_.outer.size(); d-- > 0;)
      print_dimension(in + "  ", "outer", d, d == 0, "p");
    line(in + "}");
  }
  // q0, q1...: the same at element `j` of the row.
  void print_places(const std::string& in) {
    for (size_t i = 0; i < walk_.tensors(); ++i)
      if (!folds(i)) line(in + "long " + numbered("q", i) + " = " + numbered("p", i) + ";");
    line(in + "{");
    line(in + "  long rest = j;");
    for (size_t d = walk_.inner.size(); d-- > 0;)
      print_dimension(in + "  ", "inner", d, d == 0, "q");
    line(in + "}");
  }
  void print_dimension(const std::string& in, const std::string& part, size_t d, bool last,
                       const char* position) {
    const std::string index = "[" + std::to_string(d) + "]";
    const std::string size = "space." + part + index;
    line(in + "{");
    line(in + "  const long at = " + (last ? "rest" : "rest % " + size) + ";");
    for (size_t i = 0; i < walk_.tensors(); ++i) {
      if (position[0] == 'q' && folds(i)) continue;
      line(in + "  " + numbered(position, i) + " += at * space." + part + "_strides[" +
           std::to_string(i) + "]" + index + ";");
    }
    if (!last) line(in + "  rest /= " + size + ";");
    line(in + "}");
  }

  // For each result, `s0 = s0 + x0` or a store, of the element `k` steps after q0, q1...
  void print_element(const std::string& in, const std::string& k, const std::string& state) {
    std::string list;
    const auto add = [&](const std::string& argument) {
      list += (list.empty() ? "" : ", ") + argument;
    };
    const auto index = [&](size_t i) {
      const int64_t stride = walk_.inner_strides[i].back();
      const std::string own = numbered("q", i);
      if (k.empty() || stride == 0) return own;
      if (stride == 1) return own + " + " + k;
      return own + " + " + k + " * space.inner_strides[" + std::to_string(i) + "][" +
             std::to_string(walk_.inner.size() - 1) + "]";
    };
    for (size_t i = results_; i < walk_.tensors(); ++i)
      add("LOAD_" + type(i) + "(" + pointer(i) + ", " + index(i) + ")");
    for (size_t i = 0; i < call_.numbers.size(); ++i) add(numbered("n", i));
    if (results_ == 1) {
      line(in + "const V0 x0 = apply(" + list + ");");
    } else {
      for (size_t i = 0; i < results_; ++i) {
        line(in + numbered("V", i) + " " + numbered("x", i) + ";");
        add("&" + numbered("x", i));
      }
      line(in + "apply(" + list + ");");
    }
    for (size_t i = 0; i < results_; ++i) {
      const std::string x = numbered("x", i);
      if (!folds(i))
        line(in + "STORE_" + type(i) + "(" + pointer(i) + ", " + index(i) + ", " + x + ");");
    }
    each_fold([&](size_t i, size_t, const FoldText& fold) {
      const std::string own = numbered("s", i) + state;
      const FoldOperator& op = *call_.results[i].fold;
      const std::string x = "(ACC)" + numbered("x", i);
      line(in + own + " = " + with(fold.step, own, op.mapped ? element_function(op, x) : x) + ";");
    });
  }

  void print_finish(const std::string& in) {
    const std::string count = std::to_string(folds_count());
    line(in + "if (slices > 1) {");
    each_fold([&](size_t i, size_t at, const FoldText&) {
      line(in + "  states[(o * slices + slice) * " + count + " + " + std::to_string(at) +
           "] = " + numbered("s", i) + ";");
    });
    line(in + "} else {");
    print_store(in + "  ");
    line(in + "}");
  }
  void print_store(const std::string& in) {
    each_fold([&](size_t i, size_t, const FoldText& fold) {
      line(in + "STORE_" + type(i) + "(" + pointer(i) + ", " + numbered("p", i) + ", (" + type(i) +
           ")(" + with(fold.result, numbered("s", i), "") + "));");
    });
  }
  void print_states(const std::string& in) {
    each_fold([&](size_t i, size_t, const FoldText& fold) {
      line(in + "ACC " + numbered("s", i) + " = " + fold.init + ";");
    });
  }
  size_t folds_count() const {
    return static_cast<size_t>(std::count_if(call_.results.begin(), call_.results.end(),
                                             [](const RowResult& r) { return r.fold; }));
  }

  // Prints each folded_<name> once.
  void print_elements() {
    std::unordered_set<const FoldOperator*> printed;
    line("#define T ACC");
    each_fold([&](size_t i, size_t, const FoldText&) {
      const FoldOperator* op = call_.results[i].fold;
      if (printed.insert(op).second) line(std::string(folded_element(*op, doubles_)));
    });
    line("#undef T");
  }

  void print_rows() {
    print_parameters("rows");
    groups_ ? print_group() : print_items();
    line("}");
    line("");
  }

  void print_items() {
    const std::string lanes = std::to_string(kFoldLanes);
    const std::string last = "space.inner[" + std::to_string(walk_.inner.size() - 1) + "]";
    line("  const long slice = get_global_id(0) % slices;");
    line("  const long first = get_global_id(0) / slices * run;");
    line("  const long begin = n / slices * slice;");
    line("  const long end = slice + 1 == slices ? n : begin + n / slices;");
    line("  for (long o = first; o < min(first + run, rows); ++o) {");
    print_row_places("    ");
    print_states("    ");
    line("    for (long j = begin; j < end;) {");
    line("      const long length = min(" + last + " - j % " + last + ", end - j);");
    print_places("      ");
    line("      long k = 0;");
    line("      if (length >= " + std::to_string(2 * kFoldLanes) + ") {");
    each_fold([&](size_t i, size_t, const FoldText& fold) {
      line("        ACC " + numbered("s", i) + "_lanes[" + lanes + "];");
      line("        for (int lane = 0; lane < " + lanes + "; ++lane) " + numbered("s", i) +
           "_lanes[lane] = " + fold.init + ";");
    });
    line("        for (; k + " + lanes + " <= length; k += " + lanes + ") {");
    line("#pragma clang loop vectorize(assume_safety)");
    line("          for (int lane = 0; lane < " + lanes + "; ++lane) {");
    print_element("            ", "(k + lane)", "_lanes[lane]");
    line("          }");
    line("        }");
    line("        for (int lane = 0; lane < " + lanes + "; ++lane) {");
    each_fold([&](size_t i, size_t, const FoldText& fold) {
      const std::string s = numbered("s", i);
      line("          " + s + " = " + with(fold.step, s, s + "_lanes[lane]") + ";");
    });
    line("        }");
    line("      }");
    line("      for (; k < length; ++k) {");
    print_element("        ", "k", "");
    line("      }");
    line("      j += length;");
    line("    }");
    print_finish("    ");
    line("  }");
  }

  void print_group() {
    line("  const long o = get_group_id(0) / slices, slice = get_group_id(0) % slices;");
    line("  const long begin = n / slices * slice;");
    line("  const long end = slice + 1 == slices ? n : begin + n / slices;");
    line("  const int item = get_local_id(0), items = get_local_size(0);");
    print_row_places("  ");
    print_states("  ");
    line("  for (long j = begin + item; j < end; j += items) {");
    print_places("    ");
    print_element("    ", "", "");
    line("  }");
    each_fold([&](size_t i, size_t at, const FoldText&) {
      line("  shared[" + std::to_string(at) + " * items + item] = " + numbered("s", i) + ";");
    });
    line("  for (int half_of = items / 2; half_of > 0; half_of /= 2) {");
    line("    barrier(CLK_LOCAL_MEM_FENCE);");
    line("    if (item < half_of) {");
    each_fold([&](size_t i, size_t at, const FoldText& fold) {
      const std::string s = numbered("s", i);
      const std::string own = "shared[" + std::to_string(at) + " * items + item";
      line("      " + s + " = " + with(fold.step, s, own + " + half_of]") + ";");
      line("      " + own + "] = " + s + ";");
    });
    line("    }");
    line("  }");
    line("  if (item != 0) return;");
    print_finish("  ");
  }

  void print_merge() {
    const std::string count = std::to_string(folds_count());
    print_parameters("merge_rows");
    line("  const long o = get_global_id(0);");
    line("  if (o >= rows) return;");
    print_row_places("  ");
    print_states("  ");
    line("  for (long i = 0; i < slices; ++i) {");
    each_fold([&](size_t i, size_t at, const FoldText& fold) {
      const std::string s = numbered("s", i);
      line("    " + s + " = " +
           with(fold.step, s,
                "states[(o * slices + i) * " + count + " + " + std::to_string(at) + "]") +
           ";");
    });
    line("  }");
    print_store("  ");
    line("}");
  }

  const RowsCall& call_;
  const RowWalk& walk_;
  const bool groups_, doubles_;
  const size_t results_;
  std::string text_;
};

struct CompiledRows {
  const Kernel* rows;
  const Kernel* merge;
};

std::string key_of(const RowsCall& call, const RowWalk& walk, const OpenclDevice& device,
                   bool groups) {
  std::string key(reinterpret_cast<const char*>(&call.operation), sizeof call.operation);
  key += static_cast<char>(device.device.index);
  key += groups ? 'g' : 'i';
  for (const RowResult& result : call.results) {
    key += static_cast<char>(result.tensor.dtype());
    key.append(reinterpret_cast<const char*>(&result.fold), sizeof result.fold);
  }
  for (const Tensor& t : call.operands) key += static_cast<char>(t.dtype());
  key += static_cast<char>(walk.outer.size());
  key += static_cast<char>(walk.inner.size());
  for (const Dims& strides : walk.inner_strides)
    key += strides.back() == 0 ? '0' : strides.back() == 1 ? '1' : 's';
  return key;
}

CompiledRows compiled(const RowsCall& call, const RowWalk& walk, OpenclDevice& device,
                      bool groups) {
  static std::mutex lock;
  static auto* kernels = new std::unordered_map<std::string, CompiledRows>;  // leaked
  const std::string key = key_of(call, walk, device, groups);
  const std::lock_guard guard(lock);
  if (const auto it = kernels->find(key); it != kernels->end()) return it->second;
  const Elementwise operation = call.make(call.context);
  Defines defines;
  for (size_t i = 0; i < call.results.size(); ++i)
    defines.dtype(numbered("R", i), call.results[i].tensor.dtype())
        .text(numbered("V", i), Defines::computed_type(call.results[i].dtype));
  for (size_t i = 0; i < call.operands.size(); ++i)
    defines.dtype(numbered("A", i), call.operands[i].dtype());
  defines.text("ACC", device.has_double ? "double" : "float");
  if (device.has_double) defines.text("NEEDS_DOUBLE", "1");
  const std::string source = defines.lines() + operation.defines + std::string(sources::prelude) +
                             "\n" + operation.functions +
                             Printer(call, walk, groups, device.has_double).print();
  Programs& programs = device.programs;
  const CompiledRows result{&programs.kernel(source, "rows", operation.name),
                            &programs.kernel(source, "merge_rows", operation.name)};
  return kernels->emplace(key, result).first->second;
}

}  // namespace

void run_rows(const RowsCall& call) {
  const RowWalk walk = walk_of(call);
  if (walk.rows == 0) return;
  OpenclDevice& device = device_of(call.results[0].tensor.device());
  const auto units = static_cast<int64_t>(device.compute_units);
  const int64_t lanes = units * (device.is_cpu ? 4 : 8);
  int64_t slices = 1;
  if (walk.rows < lanes && walk.n > 65536 / walk.rows)
    slices = std::clamp<int64_t>(lanes / walk.rows, 1, walk.n / 2048 + 1);
  const bool groups = !device.is_cpu && walk.n / slices >= 32;
  const CompiledRows code = compiled(call, walk, device, groups);

  const auto folds = std::count_if(call.results.begin(), call.results.end(),
                                   [](const RowResult& result) { return result.fold; });
  const int64_t state = static_cast<int64_t>(folds) * 8;  // bytes, if all states are doubles
  const Tensor& first = call.results[0].tensor;
  const Tensor partial =
      slices > 1 ? empty(Dims{walk.rows * slices * state}, DType::kUInt8, first.device()) : first;
  std::vector<int64_t> space(walk.outer.begin(), walk.outer.end());
  space.insert(space.end(), walk.inner.begin(), walk.inner.end());
  for (const auto* strides : {&walk.outer_strides, &walk.inner_strides})
    for (const Dims& each : *strides) space.insert(space.end(), each.begin(), each.end());
  size_t bytes = 64 + (walk.tensors() + 1) * 16 + space.size() * sizeof(int64_t);
  for (const Number& number : call.numbers) bytes += number.size;
  check(bytes <= device.max_argument_bytes, name(first.device()), ": a kernel of ", walk.tensors(),
        " tensors and ", call.numbers.size(), " numbers has ", bytes,
        " bytes of arguments, and the device takes ", device.max_argument_bytes);

  size_t group = preferred_group(*code.rows);
  if (groups) {
    group = 32;
    while (group * 2 <= preferred_group(*code.rows) &&
           static_cast<int64_t>(group) * 4 < walk.n / slices)
      group *= 2;
  }
  // On a CPU an item computes enough elements to be worth starting.
  const int64_t run =
      device.is_cpu ? std::max<int64_t>(walk.rows / lanes,
                                        std::min(walk.rows, 4096 / std::max<int64_t>(1, walk.n)))
                    : 1;
  const int64_t rows_of_item = std::max<int64_t>(1, run);
  const auto launch_kernel = [&](const Kernel& kernel, const Range& range) {
    Arguments arguments(kernel);
    for (const RowResult& result : call.results) arguments.add(result.tensor);
    for (const Tensor& t : call.operands) arguments.add(t);
    for (const Number& number : call.numbers) arguments.add_bytes(number.value.data(), number.size);
    arguments.add(partial).add_bytes(space.data(), space.size() * sizeof(int64_t));
    arguments.add(walk.rows).add(walk.n).add(slices);
    groups ? arguments.add(LocalMemory{group * static_cast<size_t>(state)})
           : arguments.add(rows_of_item);
    arguments.launch(range);
  };
  const int64_t items = (walk.rows + rows_of_item - 1) / rows_of_item * slices;
  launch_kernel(*code.rows, groups ? groups_of(walk.rows * slices, group) : items_of(items, group));
  if (slices > 1) launch_kernel(*code.merge, items_of(walk.rows, preferred_group(*code.merge)));
}

}  // namespace uh::opencl
