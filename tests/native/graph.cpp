#include "graph.h"
#include "backend/cpu/allocator.h"

#include <atomic>
#include <cmath>

namespace uh::test {

Tensor constant(const std::vector<double>& values) {
  const Tensor t = ops::zeros(Dims{static_cast<int64_t>(values.size())}, DType::kFloat64);
  std::copy(values.begin(), values.end(), t.data_as<double>());
  return t;
}

Tensor constant_index(const std::vector<int64_t>& values) {
  const Tensor t = ops::zeros(Dims{static_cast<int64_t>(values.size())}, DType::kInt64);
  std::copy(values.begin(), values.end(), t.data_as<int64_t>());
  return t;
}

Tensor leaf(const std::vector<double>& values) {
  const Tensor t = constant(values);
  autograd::set_requires_grad(t, true);
  return t;
}

std::vector<double> read(const Tensor& t) {
  CHECK(static_cast<bool>(t), "there is no tensor");
  CHECK(t.dtype() == DType::kFloat64);
  const GradMode quiet(false);
  const Tensor dense = ops::clone(t, MemoryFormat::kContiguous);
  const double* data = dense.data_as<double>();
  return {data, data + dense.numel()};
}

void backward(const Tensor& root, RunOptions options) {
  autograd::run_backward(std::vector<Tensor>{root}, {}, {}, options);
}

Tensor gradient(const Tensor& root, const Tensor& of, RunOptions options) {
  return autograd::run_backward(std::vector<Tensor>{root}, {}, {of}, options)[0];
}

Tensor grad(const Tensor& leaf) { return autograd::meta(leaf).grad(); }

static int64_t next_hook() {
  static std::atomic<int64_t> last{1'000'000};
  return ++last;
}

CallHook::CallHook(Body body) : Hook(next_hook()), body_(std::move(body)) {}

int64_t hook(const Tensor& t, CallHook::Body body) {
  auto result = make_ref<CallHook>(std::move(body));
  const int64_t id = result->id();
  const autograd::Edge history = autograd::history_of(t);
  history.node->add_hook(&autograd::Node::Hooks::tensor, history.input, std::move(result));
  return id;
}

namespace {

class Through final : public autograd::Node {
 public:
  explicit Through(std::function<Tensor(const Tensor&)> formula) : formula_(std::move(formula)) {}
  std::string name() const override { return "Through"; }
  Gradients apply(Gradients gradients) override {
    Gradients result(1);
    result[0] = formula_(gradients[0]);
    return result;
  }

 private:
  std::function<Tensor(const Tensor&)> formula_;
};

}  // namespace

Tensor through(const Tensor& input, std::function<Tensor(const Tensor&)> formula) {
  const Ref<autograd::Node> node = make_ref<Through>(std::move(formula));
  node->add_edge(input);
  const GradMode quiet(false);
  const Tensor output = ops::clone(input, MemoryFormat::kContiguous);
  autograd::set_history(output, node);
  return output;
}

void leaving_nothing(const std::function<void()>& body) {
  const int64_t before = pool_allocator().stats().live_bytes;
  body();
  CHECK_EQ(pool_allocator().stats().live_bytes, before);
}

void same(const Tensor& result, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = read(result);
  CHECK_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(std::abs(values[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])), "element ",
          i, " is ", values[i], ", not ", expected[i]);
}

}  // namespace uh::test
