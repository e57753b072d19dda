/* The C ABI of Underhood: the hand-written part. Operators follow in underhood_ops.h, generated.
 *
 * Four rules: no exception leaves a function; only pointers and numbers are passed; outputs are
 * named ret_; every returned handle is a new reference, which the caller releases by uh_release.
 * A function that fails returns 0 (handles, pointers) or -1 (int); uh_last_error() then has the
 * reason.
 *
 * Note [Handles]: handles are integers, because Python keeps a tensor's in a field of its object, and
 * C code of the extension module reads it there. A pointer that cffi returns would first have to be
 * converted to an integer: 3.7 times the time of such a call. underhood_library.h, whose callers
 * are C and C++, has pointers to opaque structs.
 */
#ifndef UNDERHOOD_H
#define UNDERHOOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error_kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef uint64_t uh_handle; /* a TensorImpl with one reference; 0 = none */

/* ---- element types, for every `dtype`; -1: unspecified */
enum {
  UH_BOOL,
  UH_UINT8,
  UH_INT8,
  UH_INT16,
  UH_INT32,
  UH_INT64,
  UH_FLOAT16,
  UH_BFLOAT16,
  UH_FLOAT32,
  UH_FLOAT64,
  UH_COMPLEX64,
  UH_COMPLEX128
};

typedef struct {
  int kind;  /* 0 bool, 1 int, 2 float, 3 complex; -1 none, -2 failed (see uh_last_error) */
  int64_t i; /* for a complex number: the bits of its imaginary part as a double */
  double d;
} uh_scalar;

typedef struct {
  int64_t n;
  uh_handle* items; /* each a new reference */
} uh_list;

int uh_initialise(void); /* registers the operators; called once at import */

/* ---- errors: the last one of this thread, valid until its next failing call. Errors form a stack:
 * a host that may run other code (finalizers) before it reads an error pops each error that it has
 * read, so that the error of the interrupted call is the last again. */
int uh_last_error_kind(void); /* a uh_error_kind */
const char* uh_last_error(void);
void uh_forget_last_error(void);

/* ---- handles */
void uh_release(uh_handle self); /* the Python object died (UNWRAP): releases its reference */
void uh_decref(uh_handle self);  /* the same without the event: for references without a wrapper */
uh_handle uh_retain(uh_handle self);
void uh_list_free(uh_list* list); /* frees the array only; its handles belong to the caller */

/* ---- properties of a tensor */
int64_t uh_tensor_id(uh_handle self);
int64_t uh_storage_id(uh_handle self);
int64_t uh_counter_id(uh_handle self);
int64_t uh_use_count(uh_handle self);
int64_t uh_storage_use_count(uh_handle self);
int64_t uh_version(uh_handle self);
int uh_dtype(uh_handle self);
int uh_device(uh_handle self);
int64_t uh_ndim(uh_handle self);
int64_t uh_numel(uh_handle self);
int64_t uh_element_size(uh_handle self); /* bytes */
int64_t uh_offset(uh_handle self); /* elements */
/* Writes n values; zeros at the end if another thread has reduced the number of dimensions. */
void uh_sizes(uh_handle self, int64_t* ret_sizes, int64_t n);
void uh_strides(uh_handle self, int64_t* ret_strides, int64_t n);
int64_t uh_size(uh_handle self, int64_t dim); /* 0 if the dimension does not exist */
int uh_is_contiguous(uh_handle self);
/* The code of the memory format that only the strides of an image tensor fit, else contiguous's. */
int uh_suggested_format(uh_handle self);
/* The layout. Sparse tensors have no strides and no address. */
enum { UH_STRIDED = 0, UH_SPARSE_COO = 1, UH_SPARSE_CSR = 2 };
int uh_layout_kind(uh_handle self);
/* For a sparse tensor: the number of stored values, the sparse dimensions, 1 if coalesced; else 0.
 */
int64_t uh_nnz(uh_handle self);
int64_t uh_sparse_dim(uh_handle self);
int uh_is_coalesced(uh_handle self);
/* The part of a sparse tensor with a role (position of event TENSOR_RETAIN): 0 indices, 1 values, 2
   crow_indices, 3 col_indices. Returns a new reference, or 0 if there is no such part. */
uh_handle uh_sparse_part(uh_handle self, int role);
uint64_t uh_data_ptr(uh_handle self);
uint64_t uh_storage_data_ptr(uh_handle self);
int64_t uh_storage_nbytes(uh_handle self);
int uh_storage_allocator(uh_handle self); /* 0 foreign 1 cpu 2 pool 3 meta */
uint32_t uh_key_set(uh_handle self);      /* bit n: the key with number n in traces */
const char* uh_key_name(int key);
int uh_key_count(void);
uh_handle uh_base(uh_handle self); /* the base of a view, new reference, or 0 */
int uh_is_wrapped_number(uh_handle self);
/* The Python object of the tensor, set by the host; not a reference. */
void* uh_object(uh_handle self);
void uh_set_object(uh_handle self, void* object);
/* Note [Kept objects] in tensor/kept_objects.h. uh_keep_object: 1 if the tensor, which others use,
 * now owns the caller's reference on its object, and the object none on the tensor. uh_take_object:
 * 1 if the object owns the caller's reference on the tensor again, and the caller one on the object.
 * uh_next_returned: a tensor that only its object owns; the caller owns a reference on the object. */
int uh_keep_object(uh_handle self);
int uh_take_object(uh_handle self);
void uh_set_notify_returned(void (*notify)(void));
uh_handle uh_next_returned(void);

/* ---- making tensors from data */
/* Copies n elements of dtype `source` from `data` into a new contiguous tensor of dtype `dtype`. */
uh_handle uh_from_data(const void* data, int source, const int64_t* sizes, int64_t ndim, int dtype);
/* Wraps foreign memory; `release(context)` runs exactly once, when the Storage dies. */
uh_handle uh_from_foreign(void* data, int64_t nbytes, const int64_t* sizes, const int64_t* strides,
                          int64_t ndim, int dtype, void (*release)(void*), void* context);
uh_scalar uh_item(uh_handle self);
/* The only element of a floating tensor as a double; NaN also on failure: then call uh_item(). */
double uh_item_double(uh_handle self);
/* All elements in row-major order: bools and ints as int64, floats as double, complex numbers as
 * two doubles. Returns 1 if there are not n of them: another thread has changed the tensor's sizes
 * or dtype since the caller read them. */
int uh_read_ints(uh_handle self, int64_t* ret_values, int64_t n);
int uh_read_doubles(uh_handle self, double* ret_values, int64_t n);

/* ---- basic indexing: x[1:3, None, ..., 0] as view operators, in order */
enum { UH_SELECT = 0, UH_SLICE = 1, UH_UNSQUEEZE = 2 };
typedef struct {
  int op;
  int64_t dim;               /* of the result of the previous steps */
  int64_t start, stop, step; /* SELECT: start is the index */
} uh_index_step;
uh_handle uh_index_basic(uh_handle self, const uh_index_step* steps, int64_t n);

/* ---- references on a Storage, named by the kind of their holder */
/* Returns a Storage, which can no longer be resized, because its holder has its address. */
uh_handle uh_storage_retain(uh_handle tensor, int holder_kind, int64_t holder);
/* -1 if the tensor extends beyond the end of its Storage. */
int uh_check_within_storage(uh_handle tensor);
/* Like uh_storage_retain, together with the layout of the tensor at the same moment. */
enum { UH_MAX_DIMS = 64 };
typedef struct {
  uint64_t data; /* the first element's address, 0 if there is none */
  int64_t ndim;
  int dtype;
  int64_t sizes[64], strides[64];
} uh_layout;
uh_handle uh_storage_export(uh_handle tensor, int holder_kind, int64_t holder,
                            uh_layout* ret_layout); /* 0: it has too many dimensions */
/* Copies bytes [offset, offset + n) out of or into the tensor's Storage; -1 if it has fewer. */
int uh_storage_read(uh_handle tensor, int64_t offset, void* ret_bytes, int64_t n);
int uh_storage_write(uh_handle tensor, int64_t offset, const void* bytes, int64_t n);
void uh_storage_release(uh_handle storage, int holder_kind, int64_t holder);
int uh_storage_resize(uh_handle tensor, int64_t nbytes);
/* A TensorImpl with the same metadata and its own version counter (x.data). */
uh_handle uh_variable_data(uh_handle self);
int uh_set_data(uh_handle self, uh_handle source); /* x.data = source */

/* ---- settings */
int uh_get_default_dtype(void);
/* The name under which a program imports the library, "engine" at first: messages name its functions. */
void uh_set_namespace(const char* name);
int uh_set_default_dtype(int dtype);
void uh_set_num_threads(int n);
int uh_get_num_threads(void);
const char* uh_isa(void);       /* "v2", "v3" or "v4": the kernels in use */
const char* uh_blas_core(void); /* the name of OpenBLAS's kernels for this CPU */
int uh_promote(int dtype_a, int dtype_b);
int uh_result_type(uh_handle a, uh_handle b);

/* ---- random numbers */
void uh_manual_seed(uint64_t seed);
uint64_t uh_initial_seed(void);
void uh_rng_state(uint64_t* ret_seed, uint64_t* ret_offset);
void uh_set_rng_state(uint64_t seed, uint64_t offset);

/* ---- allocators: 1 cpu, 2 pool */
typedef struct {
  int64_t live_bytes, peak_bytes, allocations, frees, reused, kept_bytes;
} uh_allocator_stats;
uh_allocator_stats uh_allocator_stats_of(int allocator);
void uh_pool_set_enabled(int enabled);
int uh_pool_enabled(void);
void uh_pool_empty(void);

/* ---- operators by name, boxed */
enum {
  UH_VALUE_NONE,
  UH_VALUE_TENSOR,  /* i is a uh_handle */
  UH_VALUE_INT,     /* i */
  UH_VALUE_FLOAT,   /* d */
  UH_VALUE_BOOL,    /* i */
  UH_VALUE_INTS,    /* p: int64_t[i] */
  UH_VALUE_STRING,  /* p: char[i] */
  UH_VALUE_TENSORS, /* p: uh_handle[i]; in a result a uh_list */
  UH_VALUE_DTYPE,   /* i */
  UH_VALUE_DEVICE,  /* i */
  UH_VALUE_FLOATS,  /* p: double[i] */
  UH_VALUE_COMPLEX, /* d, and i the bits of the imaginary part */
  UH_VALUE_BOX      /* a list, tuple, dictionary or object: i is a uh_box (underhood_jit_run.h) */
};
typedef struct {
  int tag;
  int64_t i;
  double d;
  const void* p;
} uh_value;
int64_t uh_op_count(void);
const char* uh_op_schema(int64_t i);
/* "aten::add.Tensor". These three functions return strings that are valid until the thread's next
 * call of one of them. */
const char* uh_op_name(int64_t i);
/* {"schema": {...}, "tags": [...]}: JSON for the operator of that name. */
const char* uh_op_schema_json(const char* name);
/* Parses a schema and returns the same JSON; NULL if it is malformed. */
const char* uh_schema_json(const char* schema);
const char* uh_op_kernel(const char* name, int key); /* the kernel's name, or "" */
/* Returns the number of results written to ret_ (at most 8), or -1. */
int uh_call_boxed(const char* name, const uh_value* args, int64_t n, uh_value* ret_results);

/* ---- recording: see csrc/events */
int uh_record_open(int fd, uint64_t value_budget);
void uh_record_close(void);
/* The 4096-byte header of the open or the last ring (events/ring.h). */
void* uh_record_header(void);
void uh_record_release(void); /* frees the memory of a closed ring, whose writer has ended */
int uh_recording(void);       /* 0, or 4 | 1 (lines) | 2 (values) */
uint64_t uh_emit(int kind, int flags, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e);
uint64_t uh_emit_blob(int kind, int flags, int64_t a, int64_t b, int64_t c, int64_t d,
                      const void* bytes, size_t n);
int64_t uh_intern(const char* text, size_t n);
/* The writer's side: see csrc/events/pack.h. `filled`: how many records, and how many bytes of blobs, there are
 * already, and then are. uh_pack_records returns the bytes used of `out`, or -1 where memory is out. */
void uh_take_records(void* ring, uint64_t capacity_records, uint64_t capacity_blob, void* records,
                     uint64_t room_records, void* blobs, uint64_t room_blobs, uint64_t* filled);
size_t uh_pack_room(size_t n);
int64_t uh_pack_records(const void* records, size_t n, void* out);
/* Records foreign or exported bytes that changed outside the engine. */
void uh_check_foreign(void);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
