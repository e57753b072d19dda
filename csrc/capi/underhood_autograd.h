/* The C ABI of Underhood: differentiation. The rules of underhood.h hold.
 *
 * A uh_node is a Node of the graph with one reference, which uh_node_release releases.
 */
#ifndef UNDERHOOD_AUTOGRAD_H
#define UNDERHOOD_AUTOGRAD_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef uint64_t uh_node; /* 0 = none */

/* ---- autograd metadata of a tensor */
int uh_requires_grad(uh_handle self);
int uh_set_requires_grad(uh_handle self, int requires_grad);
/* The graphs made so far do not lead to the leaf any more: set_ has given it other memory. */
int uh_forget_accumulator(uh_handle self);
int uh_is_leaf(uh_handle self);
int uh_has_no_autograd(uh_handle self); /* no gradient, no history, not a view; waits for no lock */
int uh_has_no_node(uh_handle self); /* is_leaf, but a view's history is not brought up to date */
uh_node uh_grad_fn(uh_handle self); /* all bits set on failure */
int64_t uh_output_nr(uh_handle self);
uh_handle uh_grad(uh_handle self);
int uh_set_grad(uh_handle self, uh_handle grad); /* 0 clears */
int uh_retains_grad(uh_handle self);
int uh_is_inference(uh_handle self);
uh_node uh_gradient_edge(uh_handle self, int64_t* ret_input);
int uh_detach_(uh_handle self);
/* A leaf that shares the elements and the version counter: the base of a Parameter. */
uh_handle uh_variable_view(uh_handle self);

/* ---- modes of the calling thread */
int uh_grad_enabled(void);
void uh_set_grad_enabled(int enabled);
int uh_inference_enabled(void);
void uh_set_inference_enabled(int enabled);
/* Autocast: calls cast their arguments. `dtype` is a code of dtypes.inc, float16 or bfloat16. */
int uh_autocast_enabled(void);
void uh_set_autocast_enabled(int enabled);
int uh_autocast_dtype(void);
int uh_set_autocast_dtype(int dtype);
int uh_autocast_cache_enabled(void);
void uh_set_autocast_cache_enabled(int enabled);
void uh_clear_autocast_cache(void);

/* ---- backward passes */
enum {
  UH_BACKWARD_KEEP_GRAPH = 1,
  UH_BACKWARD_CREATE_GRAPH = 2,
  UH_BACKWARD_ACCUMULATE = 4, /* into .grad of the leaves; else the gradients are returned */
  UH_BACKWARD_ALLOW_UNUSED = 8
};
/* `flags` are UH_BACKWARD_... */
int uh_backward(const uh_handle* roots, const uh_handle* gradients, int64_t n,
                const uh_handle* inputs, int64_t n_inputs, int flags, uh_handle* ret_gradients);
int uh_backward_edges(const uh_node* roots, const int64_t* root_inputs, const uh_handle* gradients,
                      int64_t n, const uh_node* inputs, const int64_t* input_numbers,
                      int64_t n_inputs, int flags, uh_handle* ret_gradients);
/* 1 if the backward pass of this thread runs the Node or returns its gradient. */
int uh_will_run(uh_node node);
/* 1 if the backward pass of this thread accumulates into all leaves: not grad(), not inputs=. */
int uh_run_is_plain(void);
uh_node uh_failed_node(void); /* its formula or hook failed this thread's last backward pass */
int64_t uh_current_run(void);
int uh_queue_callback(void (*call)(void*), void* context);

/* ---- Nodes */
void uh_node_release(uh_node node);
int64_t uh_node_id(uh_node node);
const char* uh_node_name(uh_node node); /* valid until the thread's next call of it */
int64_t uh_node_sequence(uh_node node); /* -1: before all others */
int64_t uh_node_edges(uh_node node);    /* their number */
uh_node uh_node_edge(uh_node node, int64_t i, int64_t* ret_input);
int64_t uh_node_inputs(uh_node node);
int uh_node_input(uh_node node, int64_t i, uh_value* ret_sizes, int* ret_dtype);
uh_handle uh_node_variable(uh_node node);      /* AccumulateGrad's leaf */
const char* uh_node_saved_names(uh_node node); /* one per line */
int uh_node_saved(uh_node node, const char* name, uh_value* ret_value);
/* The version at which a tensor was saved and its present one, without unpacking; -1: none. */
int uh_node_saved_version(uh_node node, const char* name, int64_t* ret_saved, int64_t* ret_now);
const char* uh_node_traceback(uh_node node);
uh_node uh_node_created_by(uh_node node); /* in anomaly mode: the Node whose backward created it */
/* Calls the Node directly: grad_fn(gradients). */
int uh_node_apply(uh_node node, const uh_handle* gradients, int64_t n, uh_handle* ret,
                  int64_t n_ret);

void* uh_node_metadata(uh_node node);
void uh_node_set_metadata(uh_node node, void* object, void (*release)(void*));
/* Must be called when the host shuts down: afterwards none of its functions is called, and none of
 * its objects released. */
void uh_host_finalizing(void);

/* ---- hooks. A hook may replace gradients[i] by a new reference, or by 0. `from`: the gradients
 * that the Node received. The hook returns -1 on failure, after it called uh_raise. */
typedef int (*uh_hook_fn)(void* context, uh_handle* gradients, int64_t n, const uh_handle* from,
                          int64_t n_from);
enum {
  UH_HOOK_TENSOR = 1,
  UH_HOOK_BEFORE = 2,
  UH_HOOK_AFTER = 3,
  UH_HOOK_POST_ACCUMULATE = 4,
  UH_HOOK_RETAIN_GRAD = 5
};
/* `target`: a tensor, or for BEFORE and AFTER a Node. Returns the hook's id, -1 on failure. */
int64_t uh_add_hook(uint64_t target, int kind, uh_hook_fn call, void* context,
                    void (*release)(void*));
void uh_remove_hook(uint64_t target, int kind, int64_t hook);

/* ---- for a host with a garbage collector: calls visit(object, argument) for every host object
 * (the context of a hook or Function, a packed tensor, metadata) that releasing this reference
 * would release. If there is a second reference to the tensor or Node, nothing is visited. `visit`
 * must not call the core. */
typedef void (*uh_visit_fn)(void* object, void* argument);
void uh_visit_owned(uh_handle self, uh_visit_fn visit, void* argument);
void uh_node_visit_owned(uh_node node, uh_visit_fn visit, void* argument);

/* ---- saved_tensors_hooks of this thread: pack returns an object that unpack accepts */
typedef struct {
  void* (*pack)(uh_handle tensor);   /* 0: failed */
  uh_handle (*unpack)(void* packed); /* 0: failed */
  void (*release)(void* packed);
} uh_pack_calls;
void uh_set_pack(const uh_pack_calls* calls, int active);
int uh_node_saved_hooks(uh_node node, const char* name, void* packed, const uh_pack_calls* calls);
void* uh_node_packed(uh_node node, const char* name);

/* ---- autograd.Function */
typedef struct {
  int (*apply)(void* context, const uh_handle* gradients, int64_t n, uh_handle* ret, int64_t n_ret);
  void (*release_saved)(void* context);
  void (*destroy)(void* context);
} uh_function_calls;
uh_node uh_function_node(const char* name, void* context, const uh_function_calls* calls,
                         const uh_handle* inputs, int64_t n);
int uh_function_save(uh_node node, const uh_handle* tensors, const int* outputs, int64_t n);
uh_list* uh_function_saved(uh_node node);
void uh_function_materialize(uh_node node, int on);
void* uh_function_context(uh_node node); /* 0: not such a Node */
int uh_function_skip_output(uh_node node); /* an output that is not a tensor */
enum { UH_OUTPUT_IS_INPUT = 1, UH_OUTPUT_IS_DIRTY = 2, UH_OUTPUT_IS_DIFFERENTIABLE = 4 };
/* `flags` are UH_OUTPUT_... */
uh_handle uh_function_output(uh_node node, uh_handle output, int flags);

/* ---- anomaly mode; traceback returns a string that is valid until the thread's next call */
void uh_set_anomaly(int enabled, int check_nan, const char* (*traceback)(void));
enum { UH_ANOMALY_ENABLED = 1, UH_ANOMALY_CHECK_NAN = 2 };
int uh_anomaly(void); /* UH_ANOMALY_... */

/* ---- failure inside a callback: `token` becomes the message of error kind 10 */
void uh_raise(const char* token);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
