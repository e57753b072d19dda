#include <Python.h>

#include "output.h"

#include <string.h>

#include "capi/underhood.h"

enum EventKind {
#define UH_EVENT(NAME, number, ...) UH_##NAME = number,
#include "events/event_list.inc"
#undef UH_EVENT
};

enum { kPending = 4096, kMaxText = 1 << 16 };

// A stream that is recorded. `write` is the builtin that it got; `pending` waits for the end of the
// line.
typedef struct {
  PyObject *stream, *write;
  char pending[kPending];
  size_t n;
} Tee;

static Tee g_tees[2];  // stdout, stderr

static void emit(int stream, const char* text, size_t n) {
  if (n) uh_emit_blob(UH_OUTPUT, 0, stream, 0, 0, 0, text, n);
}

static void flush(int i) {
  Tee* tee = &g_tees[i];
  emit(i + 1, tee->pending, tee->n);
  tee->n = 0;
}

static void append(int i, const char* text, size_t n) {
  Tee* tee = &g_tees[i];
  if (tee->n + n > kPending) flush(i);
  if (n > kPending) {
    emit(i + 1, text, n < kMaxText ? n : kMaxText);
    return;
  }
  memcpy(tee->pending + tee->n, text, n);
  tee->n += n;
  if (n && text[n - 1] == '\n') flush(i);
}

static void record_text(PyObject* stream, PyObject* text) {
  const int i = stream == g_tees[1].stream;
  Py_ssize_t n = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &n);
  if (bytes) {
    append(i, bytes, (size_t)n);
    return;
  }
  PyErr_Clear();  // a lone surrogate, which the stream's own error handler has encoded
  PyObject* encoded = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (encoded)
    append(i, PyBytes_AS_STRING(encoded), (size_t)PyBytes_GET_SIZE(encoded));
  else
    PyErr_Clear();
  Py_XDECREF(encoded);
}

static PyObject* write_text(PyObject* self, PyObject* text) {
  PyObject* method = PyObject_GetAttrString((PyObject*)Py_TYPE(self), "write");
  if (!method) return NULL;
  PyObject* result = PyObject_CallFunctionObjArgs(method, self, text, NULL);
  Py_DECREF(method);
  if (result && uh_recording()) record_text(self, text);
  return result;
}

static PyMethodDef g_write = {"write", write_text, METH_O, "write($self, text, /)\n--\n\n"};

int uh_output_begin(uintptr_t out, uintptr_t error) {
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* streams[2] = {(PyObject*)out, (PyObject*)error};
  int problem = 0;
  for (int i = 0; i < 2; ++i) {
    Tee* tee = &g_tees[i];
    if (tee->stream || strcmp(Py_TYPE(streams[i])->tp_name, "_io.TextIOWrapper") != 0) continue;
    PyObject* write = PyCFunction_New(&g_write, streams[i]);
    if (!write || PyObject_SetAttrString(streams[i], "write", write) != 0) {
      PyErr_Clear();
      Py_XDECREF(write);
      problem = -1;
      continue;
    }
    tee->stream = streams[i];  // the builtin keeps it alive
    tee->write = write;
    tee->n = 0;
  }
  PyGILState_Release(gil);
  return problem;
}

void uh_output_flush(void) {
  if (g_tees[0].n) flush(0);
  if (g_tees[1].n) flush(1);
}

void uh_output_end(void) {
  PyGILState_STATE gil = PyGILState_Ensure();
  if (uh_recording()) uh_output_flush();
  for (int i = 0; i < 2; ++i) {
    Tee* tee = &g_tees[i];
    if (!tee->stream) continue;
    PyObject* current = PyObject_GetAttrString(tee->stream, "write");
    if (!current || (current == tee->write && PyObject_DelAttrString(tee->stream, "write") != 0))
      PyErr_Clear();
    Py_XDECREF(current);
    PyObject* write = tee->write;
    tee->stream = tee->write = NULL;
    tee->n = 0;
    Py_DECREF(write);
  }
  PyGILState_Release(gil);
}
