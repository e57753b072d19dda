// The few places of CPython's insides that the line tracer reads, one function each.
//
// Everything here returns borrowed references and changes nothing: no frame.f_locals dictionary is
// built and no instance dictionary is materialised, as the public functions would do.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1  // before Python.h: the internal headers redefine parts of it
#include <Python.h>
#include <structmember.h>

#if PY_VERSION_HEX < 0x030E0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_object.h>
#pragma GCC diagnostic pop
#endif

// Lets this thread go that many calls deeper than the recursion limit; a negative number takes them
// back.
static inline void lend_recursion(int calls) {
#if PY_VERSION_HEX >= 0x030C0000
  PyThreadState_Get()->py_recursion_remaining += calls;
#else
  PyThreadState_Get()->recursion_remaining += calls;
#endif
}

// Bits of co_localspluskinds (internal/pycore_code.h).
enum { kKindCell = 0x40, kKindFree = 0x80 };

#if PY_VERSION_HEX < 0x030E0000

// Returns the value of local variable `i`, or NULL; for a cell or free variable, the cell itself.
static inline PyObject* local_at(PyFrameObject* frame, PyCodeObject* code, int i) {
  (void)code;
  return frame->f_frame->localsplus[i];
}

static inline PyCodeObject* frame_code(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030D0000
  return _PyFrame_GetCode(frame->f_frame);
#else
  return frame->f_frame->f_code;
#endif
}

// The dictionary that a module's or class body's frame keeps its names in, or NULL.
static inline PyObject* frame_namespace(PyFrameObject* frame) {
  PyObject* names = frame->f_frame->f_locals;
  return names && PyDict_CheckExact(names) ? names : NULL;
}

static inline PyObject* frame_globals(PyFrameObject* frame) { return frame->f_frame->f_globals; }

static inline void no_line_events(PyFrameObject* frame) { frame->f_trace_lines = 0; }

static inline int suspends(PyFrameObject* frame) {
  return frame->f_frame->owner == FRAME_OWNED_BY_GENERATOR;
}

// The locals of a generator that is not running now, or NULL.
static inline PyObject** suspended_locals(PyObject* generator, PyCodeObject** code) {
  PyGenObject* gen = (PyGenObject*)generator;
  if (gen->gi_frame_state >= FRAME_EXECUTING) return NULL;
  _PyInterpreterFrame* frame = (_PyInterpreterFrame*)gen->gi_iframe;
#if PY_VERSION_HEX >= 0x030D0000
  *code = _PyFrame_GetCode(frame);
#else
  *code = frame->f_code;
#endif
  return frame->localsplus;
}

// Changes with every change of the dictionary.
static inline uint64_t dict_version(PyObject* dict) {
  return ((PyDictObject*)dict)->ma_version_tag;
}

#else

static inline PyCodeObject* frame_code(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);
  return code;
}

static inline PyObject* local_at(PyFrameObject* frame, PyCodeObject* code, int i) {
  PyObject* value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(code->co_localsplusnames, i));
  if (!value) PyErr_Clear();
  Py_XDECREF(value);  // the frame still holds it
  return value;
}

static inline PyObject* frame_globals(PyFrameObject* frame) {
  PyObject* globals = PyFrame_GetGlobals(frame);
  Py_DECREF(globals);
  return globals;
}

static inline PyObject* frame_namespace(PyFrameObject* frame) { return frame_globals(frame); }
static inline void no_line_events(PyFrameObject* frame) { (void)frame; }

static inline int suspends(PyFrameObject* frame) {
  (void)frame;
  return 0;
}

static inline PyObject** suspended_locals(PyObject* generator, PyCodeObject** code) {
  (void)generator;
  (void)code;
  return NULL;
}

static inline uint64_t dict_version(PyObject* dict) {
  static uint64_t always_new;
  (void)dict;
  return ++always_new;
}

#endif

#if PY_VERSION_HEX < 0x030E0000

// The attribute values that an instance keeps outside any dictionary, or NULL.
static inline PyDictValues* inline_values(PyObject* object) {
#if PY_VERSION_HEX >= 0x030D0000
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) return NULL;
  PyDictValues* values = _PyObject_InlineValues(object);
  return values->valid ? values : NULL;
#else
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) return NULL;
#if PY_VERSION_HEX >= 0x030C0000
  PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
  return _PyDictOrValues_IsValues(either) ? _PyDictOrValues_GetValues(either) : NULL;
#else
  return *_PyObject_ValuesPointer(object);
#endif
#endif
}

// The instance's attribute dictionary if one exists, or NULL.
static inline PyObject* instance_dict(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
#if PY_VERSION_HEX >= 0x030D0000
    return (PyObject*)_PyObject_GetManagedDict(object);
#elif PY_VERSION_HEX >= 0x030C0000
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
    return _PyDictOrValues_IsValues(either) ? NULL : _PyDictOrValues_GetDict(either);
#else
    return *_PyObject_ManagedDictPointer(object);
#endif
  }
  if (type->tp_dictoffset <= 0) return NULL;
  return *(PyObject**)((char*)object + type->tp_dictoffset);
}

// Calls next(key, value) for the instance's attributes like PyDict_Next; 0 at the end.
static inline int next_attribute(PyObject* object, Py_ssize_t* at, PyObject** key,
                                 PyObject** value) {
  PyDictValues* values = inline_values(object);
  if (!values) {
    PyObject* dict = instance_dict(object);
    return dict && PyDict_Check(dict) && PyDict_Next(dict, at, key, value);
  }
  PyDictKeysObject* keys = ((PyHeapTypeObject*)Py_TYPE(object))->ht_cached_keys;
  if (!keys) return 0;
  PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  while (*at < keys->dk_nentries) {
    const Py_ssize_t i = (*at)++;
    if (!values->values[i] || !entries[i].me_key) continue;
    *key = entries[i].me_key;
    *value = values->values[i];
    return 1;
  }
  return 0;
}

#else

static inline int next_attribute(PyObject* object, Py_ssize_t* at, PyObject** key,
                                 PyObject** value) {
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict && *dict && PyDict_Next(*dict, at, key, value);
}

#endif
