/* run_c MODEL NUMBER...: runs a saved model on one row of numbers and prints the result.
 * MODEL is a file that engine.jit.save wrote; no Python takes part. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <underhood/underhood_jit_run.h>

static int failed(const char* function) {
  fprintf(stderr, "%s: %s\n", function, uh_last_error());
  return EXIT_FAILURE;
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "usage: %s MODEL NUMBER...\n", argv[0]), 2;
  const int64_t sizes[] = {1, argc - 2};
  double row[argc - 2];
  for (int i = 2; i < argc; ++i) row[i - 2] = strtod(argv[i], NULL);

  if (uh_initialise() != 0) return failed("uh_initialise");
  const uh_box model = uh_jit_load(argv[1]);
  if (!model) return failed(argv[1]);
  const uh_handle x = uh_from_data(row, UH_FLOAT64, sizes, 2, UH_FLOAT32);
  if (!x) return failed("input");

  const uh_value argument = {.tag = UH_VALUE_TENSOR, .i = (int64_t)x};
  uh_value result;
  if (uh_jit_call(model, "forward", &argument, 1, &result) != 0) return failed("forward");
  const uh_handle y = (uh_handle)result.i; /* a model may return other things: see result.tag */
  const int64_t n = uh_numel(y);
  double* numbers = malloc(sizeof *numbers * (size_t)n);
  if (!numbers || uh_read_doubles(y, numbers, n) != 0) return failed("result");
  for (int64_t i = 0; i < n; ++i) printf("%s%.9g", i ? " " : "", numbers[i]);
  printf("\n");

  free(numbers);
  uh_release(y);
  uh_release(x);
  uh_box_release(model);
  return EXIT_SUCCESS;
}
