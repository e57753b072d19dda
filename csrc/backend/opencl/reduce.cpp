#include "backend/opencl/reduce.h"

#include <cmath>

#include "backend/opencl/host.h"
#include "backend/opencl/launch.h"
#include "generated/ops/moments.h"
#include "generated/ops/norms.h"
#include "generated/ops/reduce.h"
#include "generated/structured/moments.h"
#include "generated/structured/norms.h"
#include "generated/structured/reduce.h"
#include "ops/geometry.h"

namespace uh::opencl {
namespace {

constexpr size_t kStateBytes = 32;  // the maximum; reduce.cl declares the states

// The dimensions of a tensor in a fold: those that remain, and those that are folded.
struct FoldWalk {
  Geometry<2> remaining;  // strides in self, and in the results
  Geometry<1> folded;     // in order, as results may be indices along it
  int64_t results, n;
};

FoldWalk walk_of(const Tensor& self, const std::optional<Dims>& dim, const Tensor& result) {
  const auto ndim = static_cast<size_t>(self.ndim());
  std::vector<bool> is_folded(ndim, !dim || dim->empty());
  if (dim) {
    for (const int64_t d : *dim) {
      if (ndim > 0) is_folded[static_cast<size_t>(d < 0 ? d + self.ndim() : d)] = true;
    }
  }
  const bool keepdim = result.ndim() == self.ndim();
  Dims remaining, kept_self, kept_out, folded, folded_self;
  size_t out = 0;
  for (size_t d = 0; d < ndim; ++d) {
    if (is_folded[d]) {
      folded.push_back(self.sizes()[d]);
      folded_self.push_back(self.strides()[d]);
    } else {
      remaining.push_back(self.sizes()[d]);
      kept_self.push_back(self.strides()[d]);
      kept_out.push_back(result.strides()[keepdim ? d : out]);
      ++out;
    }
  }
  return {make_geometry<2>(remaining, {IntSpan(kept_self), IntSpan(kept_out)}),
          make_geometry<1>(folded, {IntSpan(folded_self)}, false), numel_of(remaining),
          numel_of(folded)};
}

struct Fold {
  std::string_view name;  // of the operator
  const char* kind;   // FOLD_SUM...: reduce.cl
  DType accumulator;  // a dtype of the category: float, int or complex
  Defines more;       // other definitions for reduce.cl
  double parameter = 0;
};

// The dtype in which a fold computes: the widest that the device has.
void define_accumulator(Defines& defines, DType dtype, const OpenclDevice& device) {
  const bool wide = device.has_double;
  const char* part = wide ? "double" : "float";
  if (wide && is_inexact(dtype)) defines.text("NEEDS_DOUBLE", "1");
  if (is_complex(dtype))
    defines.text("ACC", wide ? "double2" : "float2").text("ACC_PART", part);
  else
    defines.text("ACC", is_floating(dtype) ? part : "long")
        .text("ACC_PART", is_floating(dtype) ? part : "long");
  defines.text("MIN_VALUE", is_floating(dtype) ? "-INFINITY" : "LONG_MIN");
  defines.text("MAX_VALUE", is_floating(dtype) ? "INFINITY" : "LONG_MAX");
}

Arguments& add_parameter(Arguments& arguments, const Fold& fold, const OpenclDevice& device) {
  if (!is_inexact(fold.accumulator)) return arguments.add(int64_t{0});
  if (device.has_double) return arguments.add(fold.parameter);
  return arguments.add(static_cast<float>(fold.parameter));
}

Source& source_of(const char* function) {
  static auto* items = new Source(sources::reduce, "fold_items");  // leaked, like kernels
  static auto* columns = new Source(sources::reduce, "fold_columns");
  static auto* groups = new Source(sources::reduce, "fold_groups");
  static auto* slices = new Source(sources::reduce, "fold_slices");
  const std::string_view requested(function);
  return *(requested == "fold_items"     ? items
           : requested == "fold_columns" ? columns
           : requested == "fold_groups"  ? groups
                                         : slices);
}

// Folds `self` over `dim` into one result, or two.
void run_fold(const Fold& fold, const Tensor& self, const std::optional<Dims>& dim,
              const Tensor& first, const Tensor& second = Tensor()) {
  if (first.numel() == 0) return;
  OpenclDevice& device = device_of(self.device());
  const FoldWalk walk = walk_of(self, dim, first);
  const size_t k = walk.remaining.sizes.size(), m = walk.folded.sizes.size();
  Defines defines = fold.more;
  defines.text(fold.kind, "1")
      .dtype("A", self.dtype())
      .dtype("O", first.dtype())
      .dtype("P", second ? second.dtype() : first.dtype())
      .number("K", static_cast<int64_t>(k))
      .number("M", static_cast<int64_t>(m));
  if (!second) defines.number("ONE_RESULT", 1);
  define_accumulator(defines, fold.accumulator, device);

  std::vector<int64_t> numbers;
  for (const Dims& part : {walk.remaining.sizes, walk.remaining.strides[0],
                           walk.remaining.strides[1], walk.folded.sizes, walk.folded.strides[0]})
    numbers.insert(numbers.end(), part.begin(), part.end());

  // Neighbouring results whose elements are also neighbours are folded side by side.
  const bool columns = walk.remaining.row_stride(0) == 1 && walk.remaining.row() >= 8 &&
                       walk.folded.row_stride(0) != 1;
  const auto units = static_cast<int64_t>(device.compute_units);
  int64_t slices = 1;
  const int64_t work = walk.n * walk.results;
  const int64_t lanes = device.is_cpu ? units * 4 : units * 8;
  const int64_t parallel = device.is_cpu && columns ? (walk.results + 31) / 32 : walk.results;
  if (parallel < lanes && work > 65536)
    slices = std::clamp<int64_t>(lanes / parallel, 1, walk.n / 2048 + 1);
  const bool groups = !device.is_cpu && walk.n / slices >= 32 &&
                      (walk.results < 4096 || walk.folded.row_stride(0) == 1) && !columns;
  const char* const function = groups                     ? "fold_groups"
                               : columns && device.is_cpu ? "fold_columns"
                                                          : "fold_items";
  Tensor partial = slices > 1
                       ? empty(Dims{walk.results * slices * static_cast<int64_t>(kStateBytes)},
                               DType::kUInt8, self.device())
                       : Tensor();
  const auto add_all = [&](Arguments& arguments) {
    arguments.add(self).add(first).add(second ? second : first).add(partial ? partial : first);
    arguments.add_bytes(numbers.data(), numbers.size() * sizeof(int64_t));
    arguments.add(walk.results).add(walk.n).add(slices);
    add_parameter(arguments, fold, device);
  };
  const Kernel& kernel = source_of(function).kernel(self.device(), defines, fold.name);
  Arguments arguments(kernel);
  add_all(arguments);
  if (groups) {
    const size_t preferred = preferred_group(kernel);
    size_t group = 32;
    while (group * 2 <= preferred && static_cast<int64_t>(group) * 4 < walk.n / slices) group *= 2;
    arguments.add(LocalMemory{group * kStateBytes});
    arguments.launch(groups_of(walk.results * slices, group));
  } else {
    const int64_t run =
        device.is_cpu
            ? std::max<int64_t>({1, walk.results / lanes,
                                 std::min(walk.results, 4096 / std::max<int64_t>(1, walk.n))})
            : 1;
    // Whole blocks of columns.
    const int64_t rounded = columns && device.is_cpu ? (run + 31) / 32 * 32 : run;
    const int64_t items = (walk.results + rounded - 1) / rounded * slices;
    arguments.add(rounded);
    // A GPU's group has more items than there are results: their loops are empty.
    arguments.launch(items_of(items, preferred_group(kernel)));
  }
  if (slices == 1) return;
  const Kernel& merge = source_of("fold_slices").kernel(self.device(), defines, fold.name);
  Arguments merge_arguments(merge);
  add_all(merge_arguments);
  merge_arguments.launch(items_of(walk.results, preferred_group(merge)));
}

// True if the device has both dtypes, and `to` has the category of the elements or a higher one.
bool folds(const Tensor& self, DType to) {
  return has_dtype(self.device(), self.dtype()) && has_dtype(self.device(), to) &&
         category(self.dtype()) <= category(to);
}

// ---- sums and products: computed in the category of the result

template <class Op>
void fold_numbers(const char* kind, bool complex, const Op& op, const Tensor& self,
                  const std::optional<Dims>& dim, bool keepdim, DType dtype, const Tensor& result) {
  if (!folds(self, result.dtype()) || (is_complex(result.dtype()) && !complex))
    return on_cpu(op, std::tuple(result), self, dim, keepdim, dtype);
  run_fold({op.schema().name(), kind, result.dtype(), {}}, self, dim, result);
}

// `complex`: true if reduce.cl has the fold for complex numbers.
#define UH_FOLD(name, kind, complex)                                                               \
  void name(const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype,         \
            const Tensor& result) {                                                                \
    fold_numbers(kind, complex, ops::name##_op, self, dim, keepdim, dtype, result);                \
  }
UH_FOLD(sum, "FOLD_SUM", true)
UH_FOLD(mean, "FOLD_MEAN", true)
UH_FOLD(prod, "FOLD_PROD", false)
UH_FOLD(nansum, "FOLD_NANSUM", false)
UH_FOLD(nanmean, "FOLD_NANMEAN", false)
#undef UH_FOLD

// ---- extremes, all and any: computed in the category of the elements

#define UH_FOLD(name, kind)                                                                        \
  void name(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,                      \
            const Tensor& result) {                                                                \
    if (!has_dtype(self.device(), self.dtype()))                                                   \
      return on_cpu(ops::name##_op, std::tuple(result), self, dim, keepdim);                       \
    run_fold({#name, kind, self.dtype(), {}}, self, dim, result);                                  \
  }
UH_FOLD(amax, "FOLD_MAX")
UH_FOLD(amin, "FOLD_MIN")
UH_FOLD(all, "FOLD_ALL")
UH_FOLD(any, "FOLD_ANY")
#undef UH_FOLD

std::optional<Dims> as_list(std::optional<int64_t> dim) {
  return dim ? std::optional<Dims>(Dims{*dim}) : std::nullopt;
}

#define UH_FOLD(name, kind)                                                                        \
  void name(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& result) {  \
    if (!has_dtype(self.device(), self.dtype()))                                                   \
      return on_cpu(ops::name##_op, std::tuple(result), self, dim, keepdim);                       \
    run_fold({#name, kind, self.dtype(), Defines().number("INDEX_ALONE", 1)}, self, as_list(dim),  \
             result);                                                                              \
  }
UH_FOLD(argmax, "FOLD_ARGMAX")
UH_FOLD(argmin, "FOLD_ARGMIN")
#undef UH_FOLD

#define UH_FOLD(name, kind, index_kind)                                                            \
  void name(const Tensor& self, const Tensor& result) {                                            \
    if (!has_dtype(self.device(), self.dtype()))                                                   \
      return on_cpu(ops::name##_op, std::tuple(result), self);                                     \
    run_fold({#name, kind, self.dtype(), {}}, self, std::nullopt, result);                         \
  }                                                                                                \
  void name##_dim(const Tensor& self, int64_t dim, bool keepdim, const Tensor& values,             \
                  const Tensor& indices) {                                                         \
    if (!has_dtype(self.device(), self.dtype()))                                                   \
      return on_cpu(ops::name##_dim_op, std::tuple(values, indices), self, dim, keepdim);          \
    run_fold({#name, index_kind, self.dtype(), {}}, self, Dims{dim}, values, indices);             \
  }
UH_FOLD(max, "FOLD_MAX", "FOLD_ARGMAX")
UH_FOLD(min, "FOLD_MIN", "FOLD_ARGMIN")
#undef UH_FOLD

void aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& smallest,
             const Tensor& greatest) {
  if (!has_dtype(self.device(), self.dtype()))
    return on_cpu(ops::aminmax_op, std::tuple(smallest, greatest), self, dim, keepdim);
  run_fold({"aminmax", "FOLD_EXTREMES", self.dtype(), {}}, self, as_list(dim), smallest, greatest);
}

void count_nonzero(const Tensor& self, std::optional<int64_t> dim, const Tensor& result) {
  if (!has_dtype(self.device(), self.dtype()))
    return on_cpu(ops::count_nonzero_op, std::tuple(result), self, dim);
  run_fold({"count_nonzero", "FOLD_COUNT", self.dtype(), {}}, self, as_list(dim), result);
}

void count_nonzero_dims(const Tensor& self, const Dims& dim, const Tensor& result) {
  if (!has_dtype(self.device(), self.dtype()))
    return on_cpu(ops::count_nonzero_dim_IntList_op, std::tuple(result), self, dim);
  run_fold({"count_nonzero", "FOLD_COUNT", self.dtype(), {}}, self, dim, result);
}

void logsumexp(const Tensor& self, const Dims& dim, bool keepdim, const Tensor& result) {
  if (!folds(self, result.dtype()) || is_complex(self.dtype()))
    return on_cpu(ops::logsumexp_op, std::tuple(result), self, dim, keepdim);
  run_fold({"logsumexp", "FOLD_LOGSUMEXP", result.dtype(), {}}, self, dim, result);
}

// ---- moments

template <class Op, class Results>
void moments(const Op& op, bool root, const Tensor& self, const std::optional<Dims>& dim,
             const std::optional<Scalar>& correction, bool keepdim, const Results& results) {
  if (!has_dtype(self.device(), self.dtype()) || is_complex(self.dtype()))
    return on_cpu(op, results, self, dim, correction, keepdim);
  Defines more;
  if (root) more.number("ROOT", 1);
  const Fold fold{op.schema().name(), "FOLD_MOMENTS", self.dtype(), more,
                  correction ? correction->to_double() : 1};
  if constexpr (std::tuple_size_v<Results> == 1) {
    run_fold(fold, self, dim, std::get<0>(results), Tensor());
  } else {
    run_fold(fold, self, dim, std::get<0>(results), std::get<1>(results));
  }
}

void var(const Tensor& self, const std::optional<Dims>& dim,
         const std::optional<Scalar>& correction, bool keepdim, const Tensor& result) {
  moments(ops::var_correction_op, false, self, dim, correction, keepdim, std::tuple(result));
}
void standard_deviation(const Tensor& self, const std::optional<Dims>& dim,
                        const std::optional<Scalar>& correction, bool keepdim,
                        const Tensor& result) {
  moments(ops::standard_deviation_correction_op, true, self, dim, correction, keepdim,
          std::tuple(result));
}
void var_mean(const Tensor& self, const std::optional<Dims>& dim,
              const std::optional<Scalar>& correction, bool keepdim, const Tensor& variance,
              const Tensor& average) {
  moments(ops::var_mean_correction_op, false, self, dim, correction, keepdim,
          std::tuple(variance, average));
}
void std_mean(const Tensor& self, const std::optional<Dims>& dim,
              const std::optional<Scalar>& correction, bool keepdim, const Tensor& deviation,
              const Tensor& average) {
  moments(ops::std_mean_correction_op, true, self, dim, correction, keepdim,
          std::tuple(deviation, average));
}

// ---- norms

void vector_norm(const Tensor& self, const Scalar& ord, const std::optional<Dims>& dim,
                 bool keepdim, DType dtype, const Tensor& result) {
  if (!folds(self, result.dtype()) || is_complex(self.dtype()) || !is_floating(result.dtype()))
    return on_cpu(ops::linalg_vector_norm_op, std::tuple(result), self, ord, dim, keepdim, dtype);
  const double p = ord.to_double();
  const int norm = p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : !std::isinf(p) ? 5 : p > 0 ? 3 : 4;
  run_fold({"linalg_vector_norm", "FOLD_NORM", result.dtype(), Defines().number("NORM", norm), p},
           self, dim, result);
}

}  // namespace

void mean_and_variance(const Tensor& self, const Dims& dims, const Tensor& variance,
                       const Tensor& mean) {
  run_fold({"mean and variance", "FOLD_MOMENTS", self.dtype(), {}, 0}, self, dims, variance, mean);
}

void sum_over(const Tensor& self, const Dims& dims, const Tensor& result) {
  run_fold({"sum", "FOLD_SUM", result.dtype(), {}}, self, dims, result);
}

void register_reductions() {
  constexpr Key kKey = Key::kOpenCL;
  structured::register_sum<sum>(kKey, "opencl sum");
  structured::register_mean<mean>(kKey, "opencl mean");
  structured::register_prod<prod>(kKey, "opencl prod");
  structured::register_nansum<nansum>(kKey, "opencl nansum");
  structured::register_nanmean<nanmean>(kKey, "opencl nanmean");
  structured::register_amax<amax>(kKey, "opencl amax");
  structured::register_amin<amin>(kKey, "opencl amin");
  structured::register_all<all>(kKey, "opencl all");
  structured::register_any<any>(kKey, "opencl any");
  structured::register_argmax<argmax>(kKey, "opencl argmax");
  structured::register_argmin<argmin>(kKey, "opencl argmin");
  structured::register_max<max>(kKey, "opencl max");
  structured::register_min<min>(kKey, "opencl min");
  structured::register_max_dim<max_dim>(kKey, "opencl max.dim");
  structured::register_min_dim<min_dim>(kKey, "opencl min.dim");
  structured::register_aminmax<aminmax>(kKey, "opencl aminmax");
  structured::register_count_nonzero<count_nonzero>(kKey, "opencl count_nonzero");
  structured::register_count_nonzero_dim_IntList<count_nonzero_dims>(kKey, "opencl count_nonzero");
  structured::register_logsumexp<logsumexp>(kKey, "opencl logsumexp");
  structured::register_var_correction<var>(kKey, "opencl var");
  structured::register_standard_deviation_correction<standard_deviation>(kKey, "opencl std");
  structured::register_var_mean_correction<var_mean>(kKey, "opencl var_mean");
  structured::register_std_mean_correction<std_mean>(kKey, "opencl std_mean");
  structured::register_linalg_vector_norm<vector_norm>(kKey, "opencl linalg_vector_norm");
}

}  // namespace uh::opencl
