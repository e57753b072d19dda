// run_cpp MODEL NUMBER...: runs a saved model on one row of numbers and prints the result, without
// Python. MODEL is a file that engine.jit.save wrote.
#include <cstdio>
#include <cstdlib>
#include <underhood/underhood.hpp>

int main(int argc, char** argv) try {
  if (argc < 3) return std::fprintf(stderr, "usage: %s MODEL NUMBER...\n", argv[0]), 2;
  std::vector<float> row;
  for (int i = 2; i < argc; ++i) row.push_back(std::strtof(argv[i], nullptr));

  const uh::Module model(argv[1]);
  const auto x = uh::Tensor::of(row, {1, static_cast<int64_t>(row.size())});
  const uh::Tensor y = model(x);

  const char* between = "";
  for (double number : y.doubles()) {
    std::printf("%s%.9g", between, number);
    between = " ";
  }
  std::printf("\n");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
