/* The C ABI of operator libraries: operators that are defined outside of the engine. The rules of
 * underhood.h hold. C++ programs use underhood_library.hpp instead.
 *
 * A library is one registration block of a namespace. It defines operators by their schemas and
 * registers kernels for dispatch keys; destroying it removes its registrations. Its operators are
 * called, traced, scripted, recorded and saved like any others.
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

/* A namespace has one UH_DEFINITIONS at a time, and any number of fragments. */
enum { UH_DEFINITIONS, UH_FRAGMENT, UH_IMPLEMENTATIONS };

/* `location`: the source location of the registration, such as "FILE:12"; 0: unknown. */
uh_library* uh_library_new(const char* name_space, int kind, const char* location);
/* Removes the library's registrations. Running a graph that still calls its operators is an error.
 */
void uh_library_free(uh_library* library);
/* "twice(Tensor x, *, int n=2) -> Tensor"; the name may have an overload: "twice.out(...)". */
int uh_library_define(uh_library* library, const char* schema);
/* Sets the Python module that registers the fake kernels of operators defined from now on: the
 * error for a missing fake kernel names it, and ends with `context`. */
int uh_library_set_python_module(uh_library* library, const char* module, const char* context);

/* ---- kernels. The arguments are borrowed: a kernel must retain or copy what is to outlive the
 * call. It adds its results in the schema's order and returns 0; or it returns -1 after it called
 * uh_set_error, or after a function of this ABI failed. */
typedef int (*uh_kernel_fn)(void* context, const uh_value* args, int64_t n, uh_values* ret_results);
/* Copies the value, including the data at `p`; a tensor is retained. */
int uh_values_add(uh_values* values, const uh_value* value);
/* Fails if the types of a kernel's parameters and results differ from the schema's. `signature`
 * has the kernel's types in schema syntax: "(Tensor a, int b) -> Tensor". A Tensor parameter also
 * matches Tensor?: None is passed as an undefined Tensor. */
int uh_library_check_signature(uh_library* library, const char* name, const char* signature,
                               const char* kernel_name);
/* `name` without the namespace; `key`: "CPU", "Meta" (the fake kernel), "Autograd",
 * "CompositeImplicitAutograd" (the operators that it calls are differentiated) or
 * "CompositeExplicitAutograd". `n_parameters`: the kernel's number of arguments, which must match
 * the schema; -1: not checked. `destroy(context)` runs once, after the last call, and also if this
 * function fails; it may be 0. */
int uh_library_implement(uh_library* library, const char* name, const char* key,
                         uh_kernel_fn kernel, int64_t n_parameters, void* context,
                         void (*destroy)(void*), const char* kernel_name);

/* ---- gradient formulas. After each call `setup_context` (may be 0) saves values; `backward` gets
 * one gradient per result tensor and adds one value per argument of the schema: a Tensor, for a
 * list of Tensors a list, or None. Differentiating an operator with neither a formula nor a kernel
 * for Autograd or CompositeImplicitAutograd is an error. */
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
const char* uh_operator_namespace(uh_operator* op);
/* As uh_call_boxed, but the returned references are not recorded; they are released by uh_decref.
 */
int uh_operator_call(uh_operator* op, const uh_value* args, int64_t n, uh_value* ret_results);
/* Called by a library's Autograd kernel: runs the kernels below it, as part of the same call.
 * Returned references are recorded, as those of uh_call_boxed. */
int uh_operator_redispatch(uh_operator* op, const uh_value* args, int64_t n, uh_value* ret_results);
/* Changes whenever operators are registered or removed. */
uint64_t uh_operator_generation(void);
/* While set, this thread's calls dispatch without the Autograd key; returns the previous value. A
 * kernel for Autograd sets it around its own call of the operator. */
int uh_set_below_autograd(int below);

/* ---- shared objects. A block runs when uh_library_load loads the object, else when the engine is
 * initialised, definitions first; it reports errors as a kernel does. Static constructors and
 * destructors call these functions: UH_LIBRARY of underhood_library.hpp. */
typedef int (*uh_library_block_fn)(void* context, uh_library* library);
uh_library_block* uh_library_block_new(const char* name_space, int kind, uh_library_block_fn run,
                                       void* context, const char* location);
void uh_library_block_free(uh_library_block* block);
/* Loads a shared object that registers operators; has no effect the second time. */
int uh_library_load(const char* path);

uh_handle uh_incref(uh_handle self); /* like uh_retain, without its event */

/* This thread's last error: `kind` is a uh_error_kind. */
void uh_set_error(int kind, const char* text);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
