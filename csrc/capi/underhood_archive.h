/* The C ABI of Underhood: reading, mapping and writing safetensors files. The rules of underhood.h
 * hold. Nothing in a file is executed; a damaged one is an error (RuntimeError, or TypeError for a
 * dtype that the engine lacks) before any tensor is created.
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
/* Tensors use the file's pages, which are read on access. A program that truncates the file kills
 * this one (SIGBUS); saving replaces files and never truncates one. */
uh_archive uh_archive_map(const char* path);
uh_archive uh_archive_of_bytes(const void* bytes, size_t n); /* copies the content */
void uh_archive_close(uh_archive self); /* its tensors stay valid, and keep a mapped file mapped */
int64_t uh_archive_count(uh_archive self);
const char* uh_archive_name(uh_archive self,
                            int64_t i); /* valid as long as the archive; 0: out of range */
int64_t uh_archive_find(uh_archive self, const char* name); /* -1 if there is none */
/* Writes to the tensor do not change the file. */
uh_handle uh_archive_tensor(uh_archive self, int64_t i);
/* Valid as long as the archive; 0 if the key is absent. */
const char* uh_archive_metadata(uh_archive self, const char* key);

/* ---- writing. Equal tensors (same memory and layout) are written once. uh_archive_writer_add
 * returns the name in the file, valid until the thread's next call of it. */
uh_archive_writer uh_archive_writer_new(void);
void uh_archive_writer_free(uh_archive_writer self);
const char* uh_archive_writer_add(uh_archive_writer self, const char* name, uh_handle tensor);
int uh_archive_writer_set_metadata(uh_archive_writer self, const char* key, const char* text);
/* Replaces the file once the new one is complete, or leaves it unchanged. Symbolic links are kept,
 * devices and pipes are written directly; csrc/jit/serialization/output_file.h has the rules. If a
 * system call failed, errno has its error; it is 0 for other errors. */
int uh_archive_writer_write(uh_archive_writer self, const char* path);
/* cdef end */

#ifdef __cplusplus
}
#endif
#endif
