/* The C ABI of compiled programs: functions, classes and objects, lists, dictionaries, tracing,
 * files. The rules of underhood.h hold; graphs are in underhood_jit.h.
 */
#ifndef UNDERHOOD_JIT_RUN_H
#define UNDERHOOD_JIT_RUN_H

#include "capi/underhood_archive.h"
#include "capi/underhood_jit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef uint64_t uh_box;      /* one reference on a list, tuple, dictionary or object; 0 = none */
typedef uint64_t uh_class;    /* one reference on a class */
typedef uint64_t uh_function; /* one reference on a function */
typedef uint64_t uh_enum;     /* one reference on an Enum */

/* ---- boxes: tag UH_VALUE_BOX of uh_value. Returned values contain new references. */
uh_box uh_box_list(const uh_value* items, int64_t n);
uh_box uh_box_tuple(const uh_value* items, int64_t n);
uh_box uh_box_dict(const uh_value* keys, const uh_value* values, int64_t n);
uh_box uh_box_retain(uh_box self);
void uh_box_release(uh_box self);
int uh_box_kind(uh_box self);         /* 0 list 1 tuple 2 dictionary 3 object 4 member of an Enum */
const char* uh_box_type(uh_box self); /* "int[]", "__torch__.Pair", "Enum<__torch__.Color>" */
int64_t uh_box_size(uh_box self);
int uh_box_item(uh_box self, int64_t i, uh_value* ret_value); /* for a dictionary the i-th value */
int uh_box_key(uh_box self, int64_t i, uh_value* ret_key);

/* ---- classes of modules, and their objects */
uh_class uh_class_new(const char* name); /* "__torch__.Cell": unique in the process */
uh_class uh_class_find(const char* name);
void uh_class_release(uh_class self);
int64_t uh_class_add_attribute(uh_class self, const char* name, const char* type, int kind);
/* kind: 0 plain 1 parameter 2 buffer */
int uh_class_add_method(uh_class self, const char* name, uh_function function);
/* Marks a class that is not a module's: programs create its objects. Call before adding methods. */
int uh_class_set_plain(uh_class self);
/* JSON: {name, plain, attributes: [{name, type, kind}], methods: [name]} */
const char* uh_class_describe(uh_class self);
uh_function uh_class_method(uh_class self, const char* name); /* 0 and no error: none */
uh_box uh_object_new(uh_class type);
uh_class uh_object_class(uh_box self);
int uh_object_get(uh_box self, const char* name, uh_value* ret_value);
int uh_object_set(uh_box self, const char* name, const uh_value* value);

/* ---- Enums: names with values, which are all ints, floats or strings */
uh_enum uh_enum_new(const char* name, const char* const* names, const uh_value* values, int64_t n);
uh_enum uh_enum_find(const char* name); /* 0 and no error: none */
void uh_enum_release(uh_enum self);
int64_t uh_enum_size(uh_enum self);
uh_box uh_enum_member(uh_enum self, int64_t i); /* a box of two items: its name and its value */

/* ---- functions */
uh_function uh_function_new(const char* name, uh_graph graph);
uh_function uh_function_retain(uh_function self);
void uh_function_release(uh_function self);
int64_t uh_function_id(uh_function self);
const char* uh_function_name(uh_function self);
const char* uh_function_schema(uh_function self);
int uh_function_set_defaults(uh_function self, const uh_value* values,
                             int64_t n); /* of the last n parameters */
/* Returns 1 and the default of parameter i, or 0 if it has none. */
int uh_function_default(uh_function self, int64_t i, uh_value* ret_value);
uh_graph uh_function_graph(uh_function self);
/* `prim::Constant[name=...]`, at the insertion point; a value. */
int64_t uh_graph_function(uh_graph self, uh_function function);
int uh_function_call(uh_function self, const uh_value* args, int64_t n, uh_value* ret_value);
/* The same for tensor arguments and one tensor result, the usual call; 0 on failure. */
uh_handle uh_function_call_tensors(uh_function self, const uh_handle* args, int64_t n);
uh_handle uh_function_call_1(uh_function self, uh_handle a);
uh_handle uh_function_call_2(uh_function self, uh_handle a, uh_handle b);
uh_handle uh_function_call_3(uh_function self, uh_handle a, uh_handle b, uh_handle c);
/* Runs a graph without optimising or caching it. */
int uh_graph_run(uh_graph self, const uh_value* args, int64_t n, uh_value* ret_value);
/* The graph that runs for inputs like these, optimised and specialised, and its instructions. */
uh_graph uh_function_graph_for(uh_function self, const uh_value* args, int64_t n);
const char* uh_function_code(uh_function self, const uh_value* args, int64_t n);
/* Records the origin of a function; `origin` is script, trace or load. */
void uh_function_record_origin(uh_function self, const char* origin, const char* file,
                               const char* json);

/* The number of live objects of a kind: "function", "graph", "class" or "code". */
int64_t uh_jit_alive(const char* kind);

/* The destinations of print() and warnings.warn() in compiled programs; null: stdout, stderr. */
void uh_jit_set_output(void (*print)(const char* text, size_t n),
                       void (*warn)(const char* text, size_t n));

/* ---- tracing: from begin to end, every operator that this thread calls becomes a node */
int uh_jit_trace_begin(const char* name);
int64_t uh_jit_trace_input(const char* name,
                           const uh_value* value); /* a tensor, tuple, list, dict */
/* The module being traced; the graph reads its tensors as attributes. */
int64_t uh_jit_trace_self(uh_box module);
uh_graph uh_jit_trace_end(const uh_value* result); /* the traced graph, returning this */
void uh_jit_trace_abort(void);
int uh_jit_tracing(void);
/* Sets the source range of the next nodes. */
void uh_jit_trace_span(uh_source source, int line, int column, int end_line, int end_column);

/* Long loops of scripted programs call `check` about twenty times a second. If the result is not 0
 * (Ctrl+C), they fail with this thread's last error. NULL: no check. */
void uh_set_interrupt(int (*check)(void));

/* Sets the function of `prim::Constant[name=...]` nodes of that name. */
int uh_graph_bind(uh_graph self, const char* name, uh_function function);
/* The same for `prim::PythonOp` nodes, which call the host: `call` returns 0, or -1 with an error
 * set; the host owns its result and may free it at the thread's next call. `release`
 * frees the context. */
typedef int (*uh_host_fn)(void* context, const uh_value* args, int64_t n, uh_value* ret_value);
int uh_graph_bind_host(uh_graph self, const char* name, uh_host_fn call, void* context,
                       void (*release)(void*));

/* ---- files */
/* An extra file inside the saved one: any bytes, under a name. */
typedef struct {
  const char* name;
  const void* bytes;
  size_t size;
} uh_extra_file;
int uh_jit_save(uh_box module, const char* path, const uh_extra_file* extra, int64_t n_extra);
uh_box uh_jit_load(const char* path); /* an object; for a saved function, one with a forward */
/* The same from an open file, read or mapped, which may be closed afterwards. */
uh_box uh_jit_load_archive(uh_archive file);
/* The bytes of an extra file, valid until the thread's next call; 0 if there is none. */
const char* uh_jit_extra(uh_archive file, const char* name, size_t* size);
uh_box uh_function_module(uh_function self); /* a function as a module with a forward */
uh_box uh_jit_freeze(uh_box self, const char* const* preserved, int64_t n, int optimize_numerics);
/* Calls a method of an object; the result holds new references. */
int uh_jit_call(uh_box self, const char* method, const uh_value* args, int64_t n,
                uh_value* ret_value);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
