// What a C++ program does with the installed headers; test_native_use.py compiles and runs it.
#include <cstdio>
#include <cstdlib>
#include <underhood/underhood.hpp>

using uh::Archive;
using uh::Error;
using uh::Tensor;
using uh::Value;

#define HOLDS(what)                                                                                \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what);                              \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

static void tensors() {
  const Tensor a = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  HOLDS(a.dtype() == uh::kFloat && a.dim() == 2 && a.numel() == 4);
  HOLDS((a.sizes() == uh::Sizes{2, 2}));
  const Tensor b = (2.0 * a + a.matmul(a) - 1.0).relu() / 2.0;
  HOLDS((b.doubles() == std::vector<double>{4, 6.5, 10, 14.5}));
  HOLDS((1.0 - a).sum().item<double>() == -6 && (-a).mean().item<double>() == -2.5);
  HOLDS((a > 2.0).ints() == (std::vector<int64_t>{0, 0, 1, 1}));
  HOLDS(a.t()[0].doubles()[1] == 3 && a.t().contiguous().data_ptr<float>()[1] == 3);
  HOLDS(a.argmax(1).ints()[0] == 1 && a.reshape({4}).sizes()[0] == 4);
  HOLDS(a.to(uh::kLong).dtype() == uh::kLong);
  Tensor copy = a, moved = std::move(copy);
  HOLDS(!copy && moved && uh_use_count(a.handle()) == 2);
  HOLDS(Tensor::of(std::vector<std::complex<double>>{{1, 2}}, {}).doubles()[1] == 2);
}

static void operators_by_name() {
  const Tensor a = Tensor::ones({3, 2});
  const Tensor sum = uh::call("add.Tensor", a, a, 1.5)[0];
  HOLDS(sum.doubles()[0] == 2.5);
  const auto parts = uh::call("split.Tensor", a, 1, 0);
  HOLDS(parts[0].as<std::vector<Tensor>>().size() == 3);
  HOLDS(uh::call("cat", std::vector<Tensor>{a, a}, 0)[0].as<Tensor>().numel() == 12);
  const auto values = uh::call("max.dim", a, 0, false);
  HOLDS(values.size() == 2 && Tensor(values[1]).dtype() == uh::kLong);
}

static void errors() {
  try {
    Tensor::ones({2, 3}).matmul(Tensor::ones({2, 3}));
    HOLDS(!"an error");
  } catch (const Error& error) {
    HOLDS(error.kind() == 1 && std::string(error.what()).find("2") != std::string::npos);
  }
  try {
    uh::Module("/nowhere/at/all");
    HOLDS(!"an error");
  } catch (const Error& error) {
    HOLDS(std::string(error.what()).find("/nowhere/at/all") != std::string::npos);
  }
}

// The file holds w = [[0, 1, 2], [3, 4, 5]].
static void archive(const char* path, bool mapped) {
  Tensor w;
  {
    const Archive file(path, mapped);
    HOLDS(file.size() == 1 && file.name(0) == "w");
    w = file.tensor("w");
  }
  HOLDS((w.doubles() == std::vector<double>{0, 1, 2, 3, 4, 5}));
}

int main(int count, char** arguments) try {
  HOLDS(count == 2);
  tensors();
  operators_by_name();
  errors();
  archive(arguments[1], false);
  archive(arguments[1], true);
  std::printf("all of it holds\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
