// A device in one folder: toy/ has an allocator, three kernels and one registration. All other
// operators run there through views, composites and the fallback.
#include "toy/toy.h"
#include "capi/underhood.h"
#include "check.h"
#include "generated/ops.h"
#include "graph.h"
#include "memory/device_registry.h"
#include "ops/cpu_fallback.h"

namespace uh {
namespace {

using namespace uh::test;

constexpr Device kToy{DeviceType::kPrivateUse1, 0};

void use_toy() { [[maybe_unused]] static const bool once = (toy::register_toy(), true); }

Tensor host(const std::vector<float>& values, const Dims& sizes) {
  Tensor t = empty(sizes, DType::kFloat32);
  std::copy(values.begin(), values.end(), t.data_as<float>());
  return t;
}
Tensor on(Device device, const Tensor& t) {
  return ops::_to_copy(t, DType::kUndefined, device, MemoryFormat::kUndefined);
}
Tensor toy_tensor(const std::vector<float>& values, const Dims& sizes) {
  use_toy();
  return on(kToy, host(values, sizes));
}

void same_values(const Tensor& t, const std::vector<float>& expected) {
  CHECK_EQ(name(t.device()), name(kToy));
  const Tensor copy = ops::contiguous(on(Device::kCPU, t), MemoryFormat::kContiguous);
  CHECK_EQ(copy.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) CHECK_EQ(copy.data_as<float>()[i], expected[i]);
}

// Returns the number of calls in `body` that ran on the CPU.
template <class F>
int64_t fallbacks(const F& body) {
  const int64_t before = cpu_fallback_calls();
  body();
  return cpu_fallback_calls() - before;
}

TEST(a_device_has_its_name_and_its_tensors_their_index) {
  use_toy();
  CHECK_EQ(name(Device(DeviceType::kPrivateUse1)), std::string("toy"));
  CHECK(find_device("toy:0") == kToy);
  CHECK(!find_device("toy:x") && !find_device("gpu"));
  CHECK(empty(Dims{2}, DType::kFloat32, DeviceType::kPrivateUse1).device() == kToy);
  CHECK_FAILS(empty(Dims{2}, DType::kFloat32, Device(DeviceType::kPrivateUse1, 3)),
              "there is no toy:3; the number of toy devices is 1");
  CHECK_FAILS(empty(Dims{2}, DType::kFloat32, DeviceType::kPrivateUse2),
              "no backend for privateusetwo");
}

TEST(a_device_runs_its_own_kernels) {
  const Tensor x = toy_tensor({1, 2, 3, 4}, {2, 2}), y = toy_tensor({10, 20}, {2});
  CHECK_EQ(fallbacks([&] {
             same_values(ops::add(x, y), {11, 22, 13, 24});
             same_values(ops::add(x, ops::t(x), Scalar(2)), {3, 8, 7, 12});
             same_values(ops::mul(x, Scalar(3)), {3, 6, 9, 12});
             same_values(ops::mul(ops::t(x), host({5}, {})), {5, 15, 10, 20});
             ops::add_(x, y);
             same_values(x, {11, 22, 13, 24});
             same_values(ops::ones(Dims{2}, DType::kFloat32, kToy), {1, 1});
             same_values(ops::clone(ops::t(x), MemoryFormat::kContiguous), {11, 13, 22, 24});
           }),
           0);
}

TEST(a_device_falls_back_to_the_cpu) {
  const Tensor x = toy_tensor({1, 2, 3, 4}, {2, 2});
  CHECK_EQ(fallbacks([&] { same_values(ops::mm(x, x), {7, 10, 15, 22}); }), 1);
  CHECK_EQ(fallbacks([&] { same_values(ops::sub(x, x), {0, 0, 0, 0}); }), 1);
  CHECK_EQ(fallbacks([&] { ops::sub_(ops::select(x, 0, 1), Scalar(1)); }), 1);
  same_values(x, {1, 2, 2, 3});  // written through a view
  CHECK_EQ(fallbacks([&] { same_values(ops::arange(0, 3, 1, DType::kFloat32, kToy), {0, 1, 2}); }),
           1);
  const auto [values, indices] = ops::topk(x, 1);
  same_values(values, {2, 3});
  CHECK_EQ(name(indices.device()), name(kToy));
  CHECK_FAILS(ops::mm(x, host({1, 2, 3, 4}, {2, 2})), "at least two devices");
  CHECK_FAILS(ops::add(x, host({1, 2}, {2})), "at least two devices");
}

TEST(a_device_takes_part_in_differentiation) {
  const Tensor x = toy_tensor({1, 2, 3, 4}, {2, 2});
  autograd::set_requires_grad(x, true);
  const Tensor root = ops::sum(ops::mul(ops::mm(x, x), x));
  same_values(gradient(root, x), {22, 35, 40, 67});  // by finite differences
}

TEST(elements_of_a_device_are_read_through_the_c_abi) {
  const Tensor x = toy_tensor({1.5}, {1});
  CHECK_EQ(uh_item(reinterpret_cast<uh_handle>(x.impl())).d, 1.5);
}

}  // namespace
}  // namespace uh
