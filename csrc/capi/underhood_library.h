/* The C ABI of libraries of operators: operators that are defined outside of the engine. The rules
 * of underhood.h hold. C++ programs use underhood_library.hpp instead.
 *
 * A library is one registration block of a namespace. It defines operators by their schemas and
 * registers kernels for dispatch keys; what it registered goes with it. An operator so defined is
 * called, traced, scripted, recorded and saved like any other.
 */
#ifndef UNDERHOOD_LIBRARY_H
#define UNDERHOOD_LIBRARY_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef struct uh_library uh_library;
typedef struct uh_operator uh_operator;
typedef struct uh_values uh_values;
typedef struct uh_formula_context uh_formula_context;
typedef struct uh_library_block uh_library_block;

/* A namespace has one UH_DEFINITIONS at a time, any number of
 * fragments.
 */
enum { UH_DEFINITIONS, UH_FRAGMENT, UH_IMPLEMENTATIONS };

/* `location` says where it is registered, as in "FILE:12"; 0: nowhere in particular. */
uh_library* uh_library_new(const char* name_space, int kind, const char* location);
/* Removes what it registered. Graphs that name its operators stay; running them is an error. */
void uh_library_free(uh_library* library);
/* "twice(Tensor x, *, int n=2) -> Tensor"; the name may have an overload: "twice.out(...)". */
int uh_library_define(uh_library* library, const char* schema);
/* The Python module whose import registers the fake kernels of operators defined from here on: the
 * error of a call on meta tensors without them names it, and ends with `context`. */
int uh_library_set_python_module(uh_library* library, const char* module, const char* context);

/* ---- kernels. The arguments are lent: whatever is to outlive the call is retained or copied.
 * A kernel adds its results in the schema's order and returns 0; or it says what went wrong with
 * uh_set_error, or lets a function of this ABI say it, and returns -1. */
typedef int (*uh_kernel_fn)(void* context, const uh_value* args, int64_t n, uh_values* ret_results);
/* Copies the value: a tensor is retained, and what `p` points to is the caller's again. */
int uh_values_add(uh_values* values, const uh_value* value);
/* Refuses a kernel whose parameters and results are of other types than the schema's. `signature`
 * is what the kernel takes and returns, in the schema's language: "(Tensor a, int b) -> Tensor".
 * A Tensor fits Tensor? as well: None arrives as a Tensor without a value. */
int uh_library_check_signature(uh_library* library, const char* name, const char* signature,
                               const char* kernel_name);
/* `name` without the namespace; `key`: "CPU", "Meta" (the fake kernel), "Autograd",
 * "CompositeImplicitAutograd" (its gradient is that of the operators it calls) or
 * "CompositeExplicitAutograd". `n_parameters`: how many arguments the kernel takes, which
 * must be the schema's; -1: any. `destroy(context)` runs once, after the last call; it may be 0.
 * It runs also where this fails. */
int uh_library_implement(uh_library* library, const char* name, const char* key,
                         uh_kernel_fn kernel, int64_t n_parameters, void* context,
                         void (*destroy)(void*), const char* kernel_name);

/* ---- gradient formulas. After the call `setup_context` (it may be 0) chooses what to save;
 * `backward` gets one gradient per result tensor and adds one value per argument of the schema: a
 * Tensor, for a list of Tensors a list, or None. An operator with neither a formula nor a kernel
 * for Autograd or CompositeImplicitAutograd refuses to be differentiated. */
typedef int (*uh_setup_context_fn)(void* context, uh_formula_context* ctx, const uh_value* args,
                                   int64_t n, const uh_value* results, int64_t n_results);
typedef int (*uh_formula_fn)(void* context, uh_formula_context* ctx, const uh_value* gradients,
                             int64_t n, uh_values* ret_gradients);
int uh_library_autograd(uh_library* library, const char* name, uh_formula_fn backward,
                        uh_setup_context_fn setup_context, void* context, void (*destroy)(void*),
                        const char* kernel_name);
int uh_formula_save(uh_formula_context* ctx, const uh_handle* tensors, int64_t n);
uh_list* uh_formula_saved(uh_formula_context* ctx);
int uh_formula_set(uh_formula_context* ctx, const char* name, const uh_value* value);
int uh_formula_get(uh_formula_context* ctx, const char* name, uh_value* ret_value);
int uh_formula_needs_gradient(uh_formula_context* ctx, int64_t argument);
void uh_formula_materialize(uh_formula_context* ctx, int on);

/* ---- operators by handle: "aten::add.Tensor"; valid as long as the process. */
uh_operator* uh_operator_find(const char* name);
const char* uh_operator_schema(uh_operator* op);
const char* uh_operator_namespace(uh_operator* op);
/* As uh_call_boxed; but a recording knows nothing of the references that it returns, which go with
 * uh_decref. */
int uh_operator_call(uh_operator* op, const uh_value* args, int64_t n, uh_value* ret_results);
/* What a kernel for Autograd calls: the kernels below it, as part of the same call. Only operators
 * of libraries have such kernels. The references are recorded as those of uh_call_boxed. */
int uh_operator_redispatch(uh_operator* op, const uh_value* args, int64_t n, uh_value* ret_results);
uh_operator* uh_operator_at(int64_t i); /* of uh_op_count(); 0: there are fewer now */
/* Changes whenever operators are registered or removed. */
uint64_t uh_operator_generation(void);
/* Calls of this thread run without the Autograd key while it is set; returns what was set before:
 * what a kernel for Autograd puts around its own call of the operator. */
int uh_set_below_autograd(int below);

/* ---- shared objects. A block is run when the object is loaded by uh_library_load, else when the
 * engine is initialised, those that define first; it fails as a kernel does. Called by static
 * constructors and destructors: UH_LIBRARY of underhood_library.hpp. */
typedef int (*uh_library_block_fn)(void* context, uh_library* library);
uh_library_block* uh_library_block_new(const char* name_space, int kind, uh_library_block_fn run,
                                       void* context, const char* location);
void uh_library_block_free(uh_library_block* block);
/* Loads a shared object that registers operators; once is enough. */
int uh_library_load(const char* path);

uh_handle uh_incref(uh_handle self); /* another reference, without the event of uh_retain */

/* This thread's last error: `kind` is a uh_error_kind. */
void uh_set_error(int kind, const char* text);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
