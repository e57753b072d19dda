/* The kinds of errors, each with the class of the Python exception. Read by C, C++ and cffi, and
 * part of the C ABI: a number never changes.
 */
#ifndef UNDERHOOD_ERROR_KINDS_H
#define UNDERHOOD_ERROR_KINDS_H

/* cdef begin */
enum uh_error_kind {
  UH_ERROR_RUNTIME = 1,         /* RuntimeError */
  UH_ERROR_VALUE = 2,           /* ValueError */
  UH_ERROR_TYPE = 3,            /* TypeError */
  UH_ERROR_INDEX = 4,           /* IndexError */
  UH_ERROR_NOT_IMPLEMENTED = 5, /* NotImplementedError */
  UH_ERROR_MEMORY = 6,          /* RuntimeError, as in PyTorch */
  UH_ERROR_BUFFER = 7,          /* BufferError */
  UH_ERROR_INTERNAL = 8,        /* SystemError: a bug in the engine */
  UH_ERROR_LINALG = 9,          /* linalg.LinAlgError: the matrix has no such factor or inverse */
  UH_ERROR_FOREIGN = 10,        /* an exception of the host; the text is its token: see uh_raise */
  UH_ERROR_SCRIPT = 11,         /* jit.Error: a compiled program raised */
  UH_ERROR_DEVICE_MEMORY = 12   /* OutOfMemoryError: memory of a device other than the CPU */
};
/* cdef end */

#endif
