/* The C ABI of the JIT's graphs: building, reading and changing them. Nodes, values and blocks have
 * ids that are unique in the process; using the id of a removed one is an error, not undefined
 * behaviour. The rules of underhood.h hold. Functions that run graphs are in
 * underhood_jit_run.h.
 */
#ifndef UNDERHOOD_JIT_H
#define UNDERHOOD_JIT_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef uint64_t uh_graph;  /* one reference on a Graph; 0 = none */
typedef uint64_t uh_source; /* one reference on a piece of source text; 0 = none */

/* ---- graphs; strings are valid until the next call of the same function on the same thread */
uh_graph uh_graph_new(const char* name);
uh_graph uh_graph_retain(uh_graph self);
void uh_graph_release(uh_graph self);
uh_graph uh_graph_copy(uh_graph self);
uh_graph uh_graph_parse(const char* text); /* PyTorch's text form */
const char* uh_graph_text(uh_graph self, int with_source);
const char* uh_graph_snapshot(uh_graph self); /* JSON: see jit/ir/snapshot.h */
int uh_graph_verify(uh_graph self);
const char* uh_graph_lint(uh_graph self); /* values without origin and span, one per line; or "" */
int64_t uh_graph_id(uh_graph self);
int64_t uh_graph_version(uh_graph self); /* changes with every edit */
int64_t uh_graph_block(uh_graph self);   /* the outermost block */
int64_t uh_graph_add_input(uh_graph self, const char* name, const char* type); /* a value */
int uh_graph_add_output(uh_graph self, int64_t value);
const char* uh_type_plain(const char* type);      /* without tensor properties */
const char* uh_type_annotation(const char* type); /* as a Python annotation: Optional[int] */
int uh_type_is_subtype(const char* type, const char* expected);

/* ---- the insertion point and the source range of new nodes */
int uh_graph_insert_at_end(uh_graph self, int64_t block);
int uh_graph_insert_before(uh_graph self, int64_t node);
uh_source uh_source_new(const char* file, int first_line, const char* text);
void uh_source_release(uh_source self);
int uh_graph_set_span(uh_graph self, uh_source source, int line, int column, int end_line,
                      int end_column);

/* ---- new nodes, at the insertion point; each returns an id, or -1 */
int64_t uh_graph_node(uh_graph self, const char* kind, const int64_t* inputs, int64_t n,
                      int64_t n_outputs);
int64_t uh_graph_constant(uh_graph self, const uh_value* value); /* a value */
/* The call of an operator or builtin, chosen by name and the types of the arguments, with defaults
 * and conversions added: kw_names[i] names kw_values[i]. An error lists the candidates. */
int64_t uh_graph_call(uh_graph self, const char* name, const int64_t* args, int64_t n,
                      const char* const* kw_names, const int64_t* kw_values, int64_t n_kw);
/* The same; returns the value of the call in a program: its output, a tuple of several outputs, the
 * tensor that an in-place operator wrote; 0 for None. */
int64_t uh_graph_call_result(uh_graph self, const char* name, const int64_t* args, int64_t n,
                             const char* const* kw_names, const int64_t* kw_values, int64_t n_kw);

/* ---- changing nodes */
int uh_node_move(uh_graph self, int64_t node, int64_t before);
int uh_node_destroy(uh_graph self, int64_t node);
int uh_node_set_input(uh_graph self, int64_t node, int64_t index, int64_t value);
int uh_node_insert_input(uh_graph self, int64_t node, int64_t index, int64_t value);
int uh_node_drop_input(uh_graph self, int64_t node, int64_t index);
int64_t uh_node_add_output(uh_graph self, int64_t node, const char* type); /* a value */
int uh_node_drop_output(uh_graph self, int64_t node, int64_t index);
int64_t uh_node_add_block(uh_graph self, int64_t node); /* a block */
int uh_node_set_attribute(uh_graph self, int64_t node, const char* name, const uh_value* value);
int uh_node_set_types(uh_graph self, int64_t node, const char* name, const char* const* types,
                      int64_t n);
int uh_node_set_graph(uh_graph self, int64_t node, const char* name, uh_graph graph);
/* Moves the only block of a node into a graph, its attribute of that name. Outside values that the
 * block uses become inputs of the node and of the graph. */
int uh_node_outline(uh_graph self, int64_t node, const char* name);
int uh_node_drop_attribute(uh_graph self, int64_t node, const char* name);
int64_t uh_block_add_param(uh_graph self, int64_t block, const char* name, const char* type);
int uh_block_add_return(uh_graph self, int64_t block, int64_t value);
int uh_block_set_return(uh_graph self, int64_t block, int64_t index, int64_t value);
int uh_block_drop_return(uh_graph self, int64_t block, int64_t index);
int uh_value_set_type(uh_graph self, int64_t value, const char* type);
int uh_value_set_name(uh_graph self, int64_t value, const char* name);
int uh_value_add_origin(uh_graph self, int64_t value, int64_t origin);
int uh_value_replace(uh_graph self, int64_t value, int64_t other);
int uh_value_replace_after(uh_graph self, int64_t value, int64_t node, int64_t other);
const char* uh_value_type(uh_graph self, int64_t value);
/* 1 and the value of a constant, else 0; a string points into the graph. */
int uh_value_constant(uh_graph self, int64_t value, uh_value* ret_value);

/* ---- passes */
int64_t uh_pass_count(void);
const char* uh_pass_name(int64_t i);
const char* uh_pass_doc(int64_t i);
/* Runs and records a pass; returns the number of its rewrites, or -1. */
int64_t uh_pass_run(uh_graph self, const char* name);
/* The same, and the rewrites as JSON: [{rule, file, line, reason, nodes, edits}]. */
const char* uh_pass_run_recorded(uh_graph self, const char* name);
/* The phases of the pipeline: JSON [{name, doc, specialised, passes}]. */
const char* uh_pipeline(void);
/* Registers a pass of the host. `run` borrows the graph, and returns 0, or -1 with an error set.
 * The pass runs after the pass, or at the end of the phase, that `after` names. */
typedef int (*uh_pass_fn)(void* context, uh_graph graph);
int uh_pass_register(const char* name, const char* doc, const char* after, uh_pass_fn run,
                     void* context);
int uh_pass_unregister(const char* name);
/* The scope of one rewrite of a pass of the host: its rule and the source location of the rule. */
int uh_rewrite_begin(uh_graph self, const char* rule, const char* reason, const char* file,
                     int line, const int64_t* nodes, int64_t n);
int uh_rewrite_end(uh_graph self);
/* The scope of a pass of the host, around its rewrites: begin, then end with "" or the reason of a
 * failure. Both are recorded. End returns the number of rewrites, or -1 if the graph was changed
 * outside of them or is no longer valid. */
int uh_pass_begin(uh_graph self, const char* name);
int64_t uh_pass_end(uh_graph self, const char* failed);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
