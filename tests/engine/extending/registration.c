/* Registers operators through the C ABI, rightly and wrongly: test_libraries.py compiles and runs
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <underhood/underhood_library.h>

#define HOLDS(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, uh_last_error());     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
#define FAILS(call, kind, text)                                                                    \
  HOLDS((call) < 0 && uh_last_error_kind() == (kind) && strstr(uh_last_error(), text))

static int destroyed = 0;
static void destroy(void* context) { destroyed += *(int*)context; }
static int one = 1;

/* n results, each twice the argument; -1: it fails without saying why; -2: with an unknown kind. */
static int results = 1;
static int twice(void* context, const uh_value* args, int64_t n, uh_values* ret_results) {
  uh_value value = {UH_VALUE_INT, 2 * args[0].i, 0, NULL};
  HOLDS(*(int*)context == 1 && n == 1);
  if (results == -2) uh_set_error(12345, NULL);
  if (results < 0) return -1;
  for (int i = 0; i < results; ++i) HOLDS(uh_values_add(ret_results, &value) == 0);
  return 0;
}
static int bad_value(void* context, const uh_value* args, int64_t n, uh_values* ret_results) {
  uh_value value = {77, 0, 0, NULL};
  (void)context, (void)args, (void)n;
  return uh_values_add(ret_results, &value);
}

int main(void) {
  uh_value arg = {UH_VALUE_INT, 21, 0, NULL}, text = {UH_VALUE_STRING, 2, 0, "ab"}, ret[8];
  uh_library *library, *other;
  uh_operator* op;
  HOLDS(uh_initialise() == 0);

  HOLDS(!uh_library_new("aten", UH_FRAGMENT, NULL) && uh_last_error_kind() == UH_ERROR_VALUE);
  HOLDS(!uh_library_new("no word", UH_FRAGMENT, NULL) && uh_last_error_kind() == UH_ERROR_VALUE);
  HOLDS(!uh_library_new("c_test", 9, NULL) && uh_last_error_kind() == UH_ERROR_RUNTIME);
  library = uh_library_new("c_test", UH_DEFINITIONS, "registration.c");
  HOLDS(library != NULL);
  HOLDS(!uh_library_new("c_test", UH_DEFINITIONS, NULL) &&
        strstr(uh_last_error(), "registration.c"));

  FAILS(uh_library_define(NULL, "f(int x) -> int"), UH_ERROR_RUNTIME, "the handle is 0");
  FAILS(uh_library_define(library, NULL), UH_ERROR_RUNTIME, "expected an operator name");
  FAILS(uh_library_define(library, "f(int x -> int"), UH_ERROR_RUNTIME, "expected");
  FAILS(uh_library_define(library, "elsewhere::f(int x) -> int"), UH_ERROR_VALUE,
        "another namespace");
  HOLDS(uh_library_define(library, "c_test::twice(int x) -> int") == 0);
  FAILS(uh_library_define(library, "twice(int x) -> int"), UH_ERROR_RUNTIME, "already registered");
  FAILS(uh_call_boxed("c_test::twice", &arg, 1, ret), UH_ERROR_NOT_IMPLEMENTED, "Could not run");

  /* A registration that fails destroys its context as one that ends does. */
  FAILS(uh_library_implement(library, "thrice", "CPU", twice, 1, &one, destroy, NULL),
        UH_ERROR_RUNTIME, "define its schema first");
  FAILS(uh_library_implement(library, "twice", "GPU", twice, 1, &one, destroy, NULL),
        UH_ERROR_RUNTIME, "could not parse dispatch key 'GPU'");
  FAILS(uh_library_implement(library, "twice", "CPU", twice, 2, &one, destroy, NULL),
        UH_ERROR_RUNTIME, "has 2 parameters");
  FAILS(uh_library_implement(library, "twice", "CPU", NULL, -1, &one, destroy, NULL),
        UH_ERROR_RUNTIME, "the kernel is 0");
  HOLDS(destroyed == 4);
  other = uh_library_new("c_test", UH_IMPLEMENTATIONS, NULL);
  FAILS(uh_library_define(other, "more(int x) -> int"), UH_ERROR_RUNTIME, "cannot define");
  HOLDS(uh_library_implement(other, "twice", "CPU", twice, 1, &one, destroy, "twice_cpu") == 0);
  FAILS(uh_library_implement(library, "twice", "CPU", twice, 1, &one, destroy, NULL),
        UH_ERROR_RUNTIME, "already registered");
  HOLDS(destroyed == 5 && !strcmp(uh_op_kernel("c_test::twice", 0), "twice_cpu"));

  HOLDS(uh_call_boxed("c_test::twice", &arg, 1, ret) == 1 && ret[0].i == 42);
  FAILS(uh_call_boxed("c_test::twice", &arg, 0, ret), UH_ERROR_TYPE, "expected 1 arguments");
  FAILS(uh_call_boxed("c_test::twice", &text, 1, ret), UH_ERROR_TYPE, "must be int, got str");
  results = 0;
  FAILS(uh_call_boxed("c_test::twice", &arg, 1, ret), UH_ERROR_RUNTIME, "returned 0 results");
  results = 100;
  FAILS(uh_call_boxed("c_test::twice", &arg, 1, ret), UH_ERROR_RUNTIME, "returned 100 results");
  results = -1;
  FAILS(uh_call_boxed("c_test::twice", &arg, 1, ret), UH_ERROR_RUNTIME, "without saying why");
  results = -2;
  FAILS(uh_call_boxed("c_test::twice", &arg, 1, ret), UH_ERROR_RUNTIME, "without a message");
  results = 1;
  HOLDS(uh_library_define(library, "bad(int x) -> int") == 0);
  HOLDS(uh_library_implement(library, "bad", "CPU", bad_value, -1, NULL, NULL, NULL) == 0);
  FAILS(uh_call_boxed("c_test::bad", &arg, 1, ret), UH_ERROR_TYPE, "unknown value tag 77");

  /* What a library registered goes with it; the operator's handle stays. */
  op = uh_operator_find("c_test::twice");
  HOLDS(op && !strcmp(uh_operator_namespace(op), "c_test"));
  HOLDS(uh_operator_call(op, &arg, 1, ret) == 1 && ret[0].i == 42);
  uh_library_free(other);
  HOLDS(destroyed == 6);
  FAILS(uh_operator_call(op, &arg, 1, ret), UH_ERROR_NOT_IMPLEMENTED, "Could not run");
  uh_library_free(library);
  FAILS(uh_operator_call(op, &arg, 1, ret), UH_ERROR_RUNTIME, "has been destroyed");
  HOLDS(!uh_operator_find("c_test::twice"));
  FAILS(uh_operator_call(NULL, &arg, 1, ret), UH_ERROR_RUNTIME, "the handle is 0");

  library = uh_library_new("c_test", UH_DEFINITIONS, NULL);
  HOLDS(library && uh_library_define(library, "twice(int x) -> int") == 0);
  HOLDS(uh_operator_find("c_test::twice") != op);
  uh_library_free(library);
  puts("ok");
  return 0;
}
