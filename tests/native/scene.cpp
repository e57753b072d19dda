#include "scene.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "autograd/autograd_meta.h"
#include "base/dtype.h"
#include "capi/underhood_autograd.h"

namespace uh::test {
namespace {

const std::vector<int64_t> kExtremes = {
    INT64_MIN, INT64_MAX, int64_t{1} << 62, int64_t{1} << 40, int64_t{1} << 31, -7, 100};
const std::vector<double> kReals = {
    0.0, 1.0, -1.5, 0.5, 1e300, -1e300, 1e-320, HUGE_VAL, -HUGE_VAL, 9.3e18, __builtin_nan("")};
const std::vector<int> kFloating = {6, 7, 8, 8, 8, 9, 9};
const std::vector<int> kComplexes = {10, 11};
constexpr int64_t kMaxElements = 3000;

int64_t product(const Sizes& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

uh_value as_value(uh_handle h) { return {kTensor, static_cast<int64_t>(h), 0, nullptr}; }

std::string described(const Sizes& values) {
  std::string out = "[";
  for (int64_t v : values) out += (out.size() > 1 ? ", " : "") + std::to_string(v);
  return out + "]";
}

std::string described(uh_handle h) {
  if (!h) return "none";
  Sizes sizes(static_cast<size_t>(uh_ndim(h))), strides(sizes);
  uh_sizes(h, sizes.data(), uh_ndim(h));
  uh_strides(h, strides.data(), uh_ndim(h));
  return std::string(name(static_cast<DType>(uh_dtype(h)))) + described(sizes) + " strides " +
         described(strides) + " offset " + std::to_string(uh_offset(h)) +
         (uh_device(h) ? " meta" : "") + " #" + std::to_string(uh_tensor_id(h));
}

}  // namespace

Scene::Scene(Random& from) : random(from) {
  any = static_cast<int>(random.in(0, kDTypeCount - 1));
  floating = random.of(kFloating);
  complex = random.of(kComplexes);
  inexact = random.one_in(3) ? complex : floating;
  if (random.one_in(2)) any = floating;
  large_ = random.one_in(8);
  meta_ = random.one_in(10);
  gradients_ = random.one_in(2);
  std::fill(std::begin(letters_), std::end(letters_), -1);
  const int64_t rank = random.one_in(60) ? random.in(5, 70) : random.in(0, 4);
  for (int64_t d = 0; d < rank; ++d) shape.push_back(rank > 8 ? 1 : size());
  for (int64_t d = random.in(0, 2); d > 0; --d) batch.push_back(random.in(1, 2));
}

Scene::~Scene() {
  for (uh_handle h : handles_) uh_decref(h);
}

int64_t Scene::size() {
  if (random.one_in(30)) return 0;
  if (meta_ && random.one_in(20)) return int64_t{1} << random.in(40, 62);
  return large_ ? random.in(1, 20) : random.in(1, 4);
}

int64_t Scene::letter(char name) {
  int64_t& value = letters_[name - 'A'];
  if (value < 0) value = size();
  return value;
}

int64_t Scene::number() { return random.one_in(10) ? random.of(kExtremes) : random.in(-3, 5); }
double Scene::real() { return random.of(kReals); }

uh_value Scene::ints(const Sizes& values) {
  auto& list = ints_.emplace_back(new int64_t[values.size() + 1]);
  std::copy(values.begin(), values.end(), list.get());
  return {kInts, static_cast<int64_t>(values.size()), 0, list.get()};
}

uh_value Scene::floats(const std::vector<double>& values) {
  auto& list = reals_.emplace_back(new double[values.size() + 1]);
  std::copy(values.begin(), values.end(), list.get());
  return {kFloats, static_cast<int64_t>(values.size()), 0, list.get()};
}

uh_value Scene::tensors(const std::vector<uh_handle>& values) {
  uh_value list = ints(Sizes(values.begin(), values.end()));
  list.tag = kTensors;
  return list;
}

uh_value Scene::string(std::string text) {
  const auto& stored = strings_.emplace_back(new std::string(std::move(text)));
  return {kString, static_cast<int64_t>(stored->size()), 0, stored->data()};
}

uh_handle Scene::tensor(const Wanted& expected) {
  // Tensors that are written while gradients are recorded are not used for other arguments: as in
  // PyTorch, x.mul_(x) would be a reference cycle.
  const auto& known = gradients_ ? read_only_ : handles_;
  if (!known.empty() && !(gradients_ && expected.plain) && random.one_in(12)) {
    const uh_handle other = random.of(known);
    Sizes sizes(static_cast<size_t>(uh_ndim(other)));
    uh_sizes(other, sizes.data(), uh_ndim(other));
    const bool same = sizes == expected.sizes && uh_dtype(other) == expected.dtype;
    if (same || random.one_in(8)) return other;
  }
  // Occasionally one argument is meta and the others are not, or the reverse.
  const bool meta = random.one_in(40) ? !meta_ : meta_;
  const uh_handle result = meta ? on_meta(expected) : laid_out(expected);
  if (!expected.plain) read_only_.push_back(result);
  return result;
}

Sizes Scene::strides_for(const Sizes& sizes, bool plain) {
  const auto rank = sizes.size();
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  const bool permuted = random.one_in(4), gaps = random.one_in(4);
  if (permuted) {
    for (size_t d = rank; d > 1; --d)
      std::swap(order[d - 1],
                order[static_cast<size_t>(random.in(0, static_cast<int64_t>(d) - 1))]);
  }
  Sizes strides(rank);
  int64_t step = gaps ? random.in(1, 3) : 1;
  for (size_t d = rank; d-- > 0;) {
    strides[order[d]] = step;
    step *= std::max<int64_t>(sizes[order[d]], 1);
    if (gaps) step += random.in(0, 2);
  }
  if (!plain && rank && random.one_in(8))
    strides[static_cast<size_t>(random.in(0, static_cast<int64_t>(rank) - 1))] = 0;
  if (!plain && random.one_in(25)) {
    for (int64_t& stride : strides) stride = random.in(0, 3);
  }
  return strides;
}

double Scene::element(const Wanted& expected) {
  const bool odd = random.one_in(40);
  switch (expected.values) {
    case Wanted::kBelow:
      return static_cast<double>(odd ? random.in(-3, expected.bound + 2)
                                     : random.in(0, std::max<int64_t>(expected.bound - 1, 0)));
    case Wanted::kFromOne:
      return static_cast<double>(odd ? random.in(-3, expected.bound + 2)
                                     : random.in(1, std::max<int64_t>(expected.bound, 1)));
    case Wanted::kUnit: return odd ? real() : static_cast<double>(random.in(0, 16)) / 16.0;
    case Wanted::kDefinite: return static_cast<double>(random.in(-8, 8)) / 64.0;
    default: return odd ? real() : static_cast<double>(random.in(-12, 16)) / (1 << random.in(0, 2));
  }
}

uh_handle Scene::laid_out(const Wanted& expected) {
  Wanted result = expected;
  for (int64_t& size : result.sizes) size = std::min<int64_t>(size, kMaxElements);
  for (size_t d = 0; d < result.sizes.size() && product(result.sizes) > kMaxElements; ++d)
    result.sizes[d] = std::min<int64_t>(result.sizes[d], 1);
  const auto rank = result.sizes.size();
  const Sizes strides = strides_for(result.sizes, result.plain);
  const int64_t offset = random.one_in(6) ? random.in(1, 5) : 0;
  int64_t extent = offset + 1;
  for (size_t d = 0; d < rank; ++d)
    extent += std::max<int64_t>(result.sizes[d] - 1, 0) * strides[d];
  if (product(result.sizes) == 0) extent = offset;
  std::vector<double> values(static_cast<size_t>(extent));
  for (double& v : values) v = element(result);
  if (result.values == Wanted::kDefinite && rank >= 2 && product(result.sizes)) {
    // Iterates over all positions; those on the diagonal of the last two dimensions get large
    // values.
    Sizes at(rank, 0);
    for (size_t d = rank; d > 0;) {
      int64_t address = offset;
      for (size_t k = 0; k < rank; ++k) address += at[k] * strides[k];
      if (at[rank - 1] == at[rank - 2]) values[static_cast<size_t>(address)] = 8.0;
      for (d = rank; d > 0 && ++at[d - 1] == result.sizes[d - 1]; --d) at[d - 1] = 0;
    }
  }
  const int f64 = static_cast<int>(DType::kFloat64);
  uh_handle flat = uh_from_data(values.data(), f64, &extent, 1, result.dtype);
  if (!flat) throw Failure(uh_last_error());
  handles_.push_back(flat);
  const bool differentiated = wants_gradient(result);
  // A tensor that is written must be neither a leaf nor a view of one.
  if (differentiated && result.plain)
    flat = call("clone", {as_value(with_gradient(flat)), {kNone, 0, 0, nullptr}});
  const uh_handle tensor =
      call("as_strided",
           {as_value(flat), ints(result.sizes), ints(strides), {kInt, offset, 0, nullptr}});
  return differentiated && !result.plain ? with_gradient(tensor) : tensor;
}

// Creates a meta tensor, whose shape may exceed any machine's memory.
uh_handle Scene::on_meta(const Wanted& expected) {
  Sizes sizes = expected.sizes, strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step) ||
        step > INT64_MAX / 64) {
      sizes[d] = 1;
      step = strides[d];
    }
  }
  const uh_handle result = call(
      "empty_strided",
      {ints(sizes), ints(strides), {kDType, expected.dtype, 0, nullptr}, {kDevice, 1, 0, nullptr}});
  return !expected.plain && wants_gradient(expected) ? with_gradient(result) : result;
}

bool Scene::wants_gradient(const Wanted& expected) {
  return gradients_ && autograd::is_differentiable(static_cast<DType>(expected.dtype)) &&
         !random.one_in(4);
}

uh_handle Scene::with_gradient(uh_handle leaf) {
  if (uh_set_requires_grad(leaf, 1) != 0) throw Failure(uh_last_error());
  leaves.push_back(leaf);
  return leaf;
}

uh_handle Scene::call(const char* op, const std::vector<uh_value>& args) {
  uh_value result[8];
  if (uh_call_boxed(op, args.data(), static_cast<int64_t>(args.size()), result) != 1)
    throw Failure(uh_last_error());
  handles_.push_back(static_cast<uh_handle>(result[0].i));
  return handles_.back();
}

std::string described(const uh_value& value) {
  const auto n = static_cast<size_t>(std::max<int64_t>(value.i, 0));
  const auto* list = static_cast<const int64_t*>(value.p);
  switch (value.tag) {
    case kTensor: return described(static_cast<uh_handle>(value.i));
    case kInt: return std::to_string(value.i);
    case kFloat: return message(value.d);
    case kBool: return value.i ? "true" : "false";
    case kInts: return described(Sizes(list, list + n));
    case kString: return message('"', std::string(static_cast<const char*>(value.p), n), '"');
    case kTensors: {
      std::string out = "{";
      for (size_t i = 0; i < n; ++i)
        out += (i ? "; " : "") + described(static_cast<uh_handle>(list[i]));
      return out + "}";
    }
    case kDType: return "dtype " + std::to_string(value.i);
    case kDevice: return "device " + std::to_string(value.i);
    case kFloats: {
      std::string out = "floats";
      for (size_t i = 0; i < n; ++i) out += " " + message(static_cast<const double*>(value.p)[i]);
      return out;
    }
    case kComplex: return message(value.d, " + ", std::bit_cast<double>(value.i), "j");
    default: return "None";
  }
}

}  // namespace uh::test
