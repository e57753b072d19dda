/* The C ABI of Underhood: one safetensors file, read or mapped, and written. The rules of
 * underhood.h hold. Nothing in a file is run; a damaged one is an error (RuntimeError, TypeError
 * for a dtype that the engine does not have) before any tensor is made.
 */
#ifndef UNDERHOOD_ARCHIVE_H
#define UNDERHOOD_ARCHIVE_H

#include "capi/underhood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */
typedef uint64_t uh_archive;        /* an open file; 0 = none */
typedef uint64_t uh_archive_writer; /* the content of a future file; 0 = none */

/* ---- reading. Tensors are numbered from 0 in the order of their bytes. */
uh_archive uh_archive_open(const char* path); /* each uh_archive_tensor reads its bytes */
/* Tensors are the file's pages, read when they are touched. A program that truncates the file ends
 * this one (SIGBUS); saving replaces files and truncates none. */
uh_archive uh_archive_map(const char* path);
uh_archive uh_archive_of_bytes(const void* bytes, size_t n); /* a file's content; it is copied */
void uh_archive_close(uh_archive self); /* its tensors stay valid, and keep a mapped file mapped */
int64_t uh_archive_count(uh_archive self);
const char* uh_archive_name(uh_archive self,
                            int64_t i); /* valid while the archive is; 0 if there is no i */
int64_t uh_archive_find(uh_archive self, const char* name); /* -1 if there is none */
/* A write to it does not change the file. */
uh_handle uh_archive_tensor(uh_archive self, int64_t i);
/* Valid while the archive is; 0 if there is none of that key. */
const char* uh_archive_metadata(uh_archive self, const char* key);

/* ---- writing. Equal tensors (same memory and layout) are written once: the name in the file is
 * returned, valid until the thread's next call of it. */
uh_archive_writer uh_archive_writer_new(void);
void uh_archive_writer_free(uh_archive_writer self);
const char* uh_archive_writer_add(uh_archive_writer self, const char* name, uh_handle tensor);
int uh_archive_writer_set_metadata(uh_archive_writer self, const char* key, const char* text);
/* Replaces the file when the new one is complete, or leaves it as it was. Symbolic links stay,
 * devices and pipes are written into; csrc/jit/serialization/output_file.h has the rules. Where a
 * system call failed, errno says why; it is 0 for other errors. */
int uh_archive_writer_write(uh_archive_writer self, const char* path);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
