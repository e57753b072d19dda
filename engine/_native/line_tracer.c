// The line tracer: see line_tracer.h. This file follows frames and lines, names.h what names hold.
#include "line_tracer.h"

#include <string.h>

#include "names.h"
#include "output.h"

// Facts about a code object, stored on the code object and freed with it.
typedef struct {
  uint64_t recording;
  int64_t file;  // string id, 0 = not the user's own
  int64_t function;
  int plain;  // its names are slots of the frame, not entries of a dictionary
  int64_t names[];
} CodeInfo;

// A user frame that is running in this thread.
typedef struct {
  PyFrameObject* frame;  // its identity: compared, never followed
  const CodeInfo* info;
  int64_t id;
  int raising;    // an exception was raised since the last line
  Scope own;      // a function's locals; unused by module frames
  Scope* module;  // the scope of its globals, or NULL; counted in its `running`
} Running;

typedef struct {
  uint64_t recording;
  Running* frames;
  int n, room;
} ThreadStack;

enum { kMaxModules = 128, kOurDepth = 200 };

static _Thread_local ThreadStack t_stack __attribute__((tls_model("initial-exec")));
static uint64_t g_recording;  // number of this recording; facts from another are stale
static int64_t g_last_frame;
static PyObject* g_file_of;
static Py_ssize_t g_extra = -1;
static Scope* g_modules[kMaxModules];
static int g_next_module;

#if PY_VERSION_HEX >= 0x030C0000
#define request_extra PyUnstable_Eval_RequestCodeExtraIndex
#define get_extra PyUnstable_Code_GetExtra
#define set_extra PyUnstable_Code_SetExtra
#else
#define request_extra _PyEval_RequestCodeExtraIndex
#define get_extra _PyCode_GetExtra
#define set_extra _PyCode_SetExtra
#endif

// ---- code objects

// Returns -1 with an exception set if a signal handler of the user's program raised it.
static int64_t ask_file(PyObject* file_name) {
  lend_recursion(kOurDepth);  // the user's program may be at its limit
  PyObject* answer = PyObject_CallOneArg(g_file_of, file_name);
  lend_recursion(-kOurDepth);
  const int64_t file = answer ? PyLong_AsLongLong(answer) : -1;
  Py_XDECREF(answer);
  return file;
}

static const CodeInfo g_interrupted = {.file = -1};

static const CodeInfo* learn_code(PyCodeObject* code) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // a generator may be entered with an exception in flight
  const int64_t file = ask_file(code->co_filename);
  if (file < 0) {
    if (!type) return &g_interrupted;
    PyErr_Restore(type, value, trace);
    return NULL;
  }
  const int n = file ? code->co_nlocalsplus : 0;
  CodeInfo* info = calloc(1, sizeof *info + (size_t)n * sizeof info->names[0]);
  if (info) {
    info->recording = g_recording;
    info->file = file;
    info->plain = (code->co_flags & CO_OPTIMIZED) != 0;
    if (file) info->function = intern_unicode(code->co_qualname);
    for (int i = 0; i < n; ++i) {
      PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
      const int internal = PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) == '.';
      info->names[i] = internal ? 0 : intern_unicode(name);
    }
    if (set_extra((PyObject*)code, g_extra, info) != 0) {
      PyErr_Clear();
      free(info);
      info = NULL;
    }
  }
  PyErr_Restore(type, value, trace);
  return info;
}

// NULL when the code is not the user's own; &g_interrupted with an exception set.
static const CodeInfo* user_code(PyCodeObject* code) {
  void* extra = NULL;
  if (get_extra((PyObject*)code, g_extra, &extra) != 0) PyErr_Clear();
  const CodeInfo* info = extra;
  if (!info || info->recording != g_recording) info = learn_code(code);
  return info && info->file ? info : NULL;
}

// ---- scopes of modules

static Scope* find_module(PyObject* globals) {
  for (int i = 0; i < kMaxModules && g_modules[i]; ++i) {
    if (g_modules[i]->dict == globals) return g_modules[i];
  }
  return NULL;
}

// Returns NULL if no slot is left: then the names of this module are not recorded.
//
// Globals come and go (each eval() has its own), and a freed dictionary must not be read. The
// globals of a running frame are alive, so the slot of a module with running frames is never
// reused.
static Scope* new_module(PyObject* globals, int64_t frame) {
  for (int tried = 0; tried < kMaxModules; ++tried) {
    Scope** slot = &g_modules[g_next_module++ % kMaxModules];
    if (!*slot) *slot = calloc(1, sizeof **slot);
    if (!*slot) return NULL;
    if ((*slot)->running) continue;
    scope_unbind_all(*slot, frame);  // over kMaxModules: the oldest is no longer recorded
    scope_free(*slot);
    (*slot)->dict = globals;
    scope_restart(*slot, frame);
    return *slot;
  }
  return NULL;
}

// The scope of a module that ran before the recording began and whose function is called now. Its
// names get a frame that has ended, as the module's own frame has.
static Scope* module_met_late(PyObject* globals, int64_t file, int64_t parent) {
  const int64_t frame = ++g_last_frame;
  uh_emit(UH_FRAME_PUSH, 0, frame, uh_intern("<module>", 8), file, parent, 1);
  uh_emit(UH_FRAME_POP, 0, frame, 0, 0, 0, 0);
  return new_module(globals, frame);
}

// ---- frames

static void diff_locals(Running* r, PyFrameObject* frame, PyCodeObject* code) {
  Scope* scope = &r->own;
  const int n = code->co_nlocalsplus;
  if (!grow((void**)&scope->roots, &scope->room_roots, n, sizeof(Root))) return;
  for (; scope->n_roots < n; ++scope->n_roots) {
    const int i = scope->n_roots;
    const int free_variable = PyBytes_AS_STRING(code->co_localspluskinds)[i] & kKindFree;
    scope->roots[i] = (Root){.key = PyTuple_GET_ITEM(code->co_localsplusnames, i),
                             .name = r->info->names[i],
                             .kind = free_variable ? kCell : kName};
  }
  const char* kinds = PyBytes_AS_STRING(code->co_localspluskinds);
  for (int i = 0; i < n; ++i) {
    Root* root = &scope->roots[i];
    if (!root->name) continue;
    PyObject *value = local_at(frame, code, i), *cell = NULL;
    if (value && kinds[i] & (kKindCell | kKindFree) && PyCell_Check(value)) {
      cell = value;
      value = PyCell_GET(cell);
    }
    if (!value && !root->value) continue;
    compare(scope, root, value, cell);
  }
  compare_held(scope);
}

static void diff_names(Running* r, PyFrameObject* frame, PyCodeObject* code) {
  if (r->info->plain) {
    diff_locals(r, frame, code);
  } else if (r->own.dict) {  // a class body
    compare_dict(&r->own);
    compare_held(&r->own);
  }
  if (r->module) {
    compare_dict(r->module);
    compare_held(r->module);
  }
  record_objects();
}

static Running* push(PyFrameObject* frame, PyCodeObject* code, const CodeInfo* info) {
  ThreadStack* stack = &t_stack;
  if (!grow((void**)&stack->frames, &stack->room, stack->n + 1, sizeof(Running))) return NULL;
  const int64_t parent = stack->n ? stack->frames[stack->n - 1].id : 0;
  Running* r = &stack->frames[stack->n++];
  const Scope reused = r->own;  // keeps the memory of the frame that had this entry before
  PyObject* globals = frame_globals(frame);
  PyObject* names = info->plain ? NULL : frame_namespace(frame);
  Scope* module = find_module(globals);
  if (!module && names != globals) module = module_met_late(globals, info->file, parent);
  *r = (Running){
      .frame = frame, .info = info, .id = ++g_last_frame, .own = reused, .module = module};
  free(r->own.held);
  r->own.held = NULL;
  scope_restart(&r->own, r->id);
  r->own.dict = names != globals ? names : NULL;
  uh_emit(UH_FRAME_PUSH, 0, r->id, info->function, info->file, parent, code->co_firstlineno);
  if (names && names == globals) {
    if (module) {
      scope_unbind_all(module, r->id);  // another input of the playground: same names, new frame
    } else {
      r->module = new_module(globals, r->id);
    }
  }
  if (r->module) ++r->module->running;
  return r;
}

// A function's names end with its frame. A module's outlive it, so they are recorded again.
static void pop(int raised) {
  ThreadStack* stack = &t_stack;
  Running* r = &stack->frames[--stack->n];
  uh_emit(UH_FRAME_POP, 0, r->id, raised, 0, 0, 0);
  if (!r->info->plain && !r->own.dict && r->module && r->module->frame == r->id) {
    scope_restart(r->module, r->id);
    compare_dict(r->module);
    compare_held(r->module);
    record_objects();
  }
  if (r->module) --r->module->running;
}

// The entry of a frame, or NULL. Pops the frames above it, whose end was not seen.
static Running* find(PyFrameObject* frame) {
  ThreadStack* stack = &t_stack;
  for (int i = stack->n - 1; i >= 0; --i) {
    if (stack->frames[i].frame != frame) continue;
    while (stack->n > i + 1) pop(0);
    return &stack->frames[i];
  }
  return NULL;
}

// Enters the user frames that were running already when tracing began, the outermost first.
static void push_running(PyFrameObject* frame) {
  PyFrameObject* back = PyFrame_GetBack(frame);
  if (back) {
    push_running(back);
    Py_DECREF(back);
  }
  PyCodeObject* code = PyFrame_GetCode(frame);
  const CodeInfo* info = user_code(code);
  if (info == &g_interrupted)
    PyErr_Clear();
  else if (info)
    push(frame, code, info);
  Py_DECREF(code);
}

// ---- called by the interpreter

static void on_line(PyFrameObject* frame, PyCodeObject* code, const CodeInfo* info) {
  Running* r = find(frame);
  if (!r) r = push(frame, code, info);
  if (!r) return;
  diff_names(r, frame, code);
  uh_check_foreign();
  r->raising = 0;
  uh_output_flush();
  uh_emit(UH_LINE, 0, r->id, info->file, PyFrame_GetLineNumber(frame), 0, 0);
}

static void on_return(PyFrameObject* frame, PyCodeObject* code, PyObject* result) {
  Running* r = find(frame);
  if (!r) return;
  // Python 3.12 passes None, not NULL, when an exception ends the frame.
  const int raised = !result || (result == Py_None && r->raising);
  diff_names(r, frame, code);
  uh_check_foreign();
  pop(raised);
}

// The message if it can be read without running the user's __str__, or NULL; a subclass of str has characters too.
static PyObject* plain_message(PyObject* error) {
  if (PyUnicode_Check(error)) return error;
  if (!PyExceptionInstance_Check(error)) return NULL;
  PyObject* args = ((PyBaseExceptionObject*)error)->args;
  if (!args || !PyTuple_CheckExact(args) || PyTuple_GET_SIZE(args) == 0) return NULL;
  PyObject* first = PyTuple_GET_ITEM(args, PyTuple_GET_SIZE(args) == 2 ? 1 : 0);  // (errno, text)
  if (PyUnicode_Check(first)) return first;
  first = PyTuple_GET_ITEM(args, 0);
  return PyUnicode_Check(first) ? first : NULL;
}

static void on_exception(PyFrameObject* frame, PyObject* arg) {
  Running* r = find(frame);
  if (!r || !arg || !PyTuple_Check(arg) || PyTuple_GET_SIZE(arg) < 2) return;
  r->raising = 1;
  PyObject *type = PyTuple_GET_ITEM(arg, 0), *error = PyTuple_GET_ITEM(arg, 1);
  const char* name = PyType_Check(type) ? ((PyTypeObject*)type)->tp_name : "?";
  const char* dot = strrchr(name, '.');
  if (dot) name = dot + 1;
  PyObject* message = plain_message(error);
  Py_ssize_t size = 0;
  const char* text = message ? PyUnicode_AsUTF8AndSize(message, &size) : "";
  if (!text) {
    PyErr_Clear();
    text = "";
  }
  uh_emit_blob(UH_EXCEPTION, 0, r->id, PyFrame_GetLineNumber(frame), uh_intern(name, strlen(name)),
               0, text, (size_t)size);
}

static int trace(PyObject* self, PyFrameObject* frame, int event, PyObject* arg) {
  (void)self;
  if (event > PyTrace_RETURN) return 0;
  if (!uh_recording()) {  // the recording has ended, or this is a forked child
    PyEval_SetTrace(NULL, NULL);
    return 0;
  }
  ThreadStack* stack = &t_stack;
  if (stack->recording != g_recording) {
    stack->recording = g_recording;
    stack->n = 0;
  }
  PyCodeObject* code = frame_code(frame);
  const CodeInfo* info = user_code(code);
  if (info == &g_interrupted) return -1;
  if (!info) {
    if (event == PyTrace_CALL) no_line_events(frame);
    return 0;
  }
  if (event == PyTrace_LINE) {
    on_line(frame, code, info);
  } else if (event == PyTrace_CALL) {
    push(frame, code, info);
  } else if (event == PyTrace_RETURN) {
    on_return(frame, code, arg);
  } else if (event == PyTrace_EXCEPTION) {
    on_exception(frame, arg);
  }
  return 0;
}

// ---- what Python calls: cffi has released the GIL

int uh_trace_begin(uintptr_t tensor_type, uintptr_t file_of) {
  PyGILState_STATE gil = PyGILState_Ensure();
  int failed = -1;
  if (g_extra < 0) g_extra = request_extra(free);
  if (g_extra < 0) goto done;
  g_tensor_type = (PyTypeObject*)tensor_type;
  if (!g_deque_type) {
    PyObject* module = PyImport_ImportModule("_collections");
    g_deque_type = module ? (PyTypeObject*)PyObject_GetAttrString(module, "deque") : NULL;
    Py_XDECREF(module);
    if (!g_deque_type) {
      PyErr_Clear();
      goto done;
    }
  }
  Py_XSETREF(g_file_of, Py_NewRef((PyObject*)file_of));
  ++g_recording;
  g_last_frame = 0;
  g_next_module = 0;
  forget_counted();
  g_tensor_type_name = 0;
  for (int i = 0; i < kMaxModules && g_modules[i]; ++i) {
    scope_free(g_modules[i]);
    free(g_modules[i]);
    g_modules[i] = NULL;
  }
  failed = 0;
done:
  PyGILState_Release(gil);
  return failed;
}

int uh_trace_thread(void) {
  if (!uh_recording()) return -1;
  PyGILState_STATE gil = PyGILState_Ensure();
  t_stack.recording = g_recording;
  t_stack.n = 0;
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame) push_running(frame);
  PyEval_SetTrace(trace, NULL);
  PyGILState_Release(gil);
  return 0;
}

void uh_trace_resume(void) {
  if (!uh_recording() || t_stack.recording != g_recording) return;  // it was not traced before
  PyGILState_STATE gil = PyGILState_Ensure();
  PyEval_SetTrace(trace, NULL);
  PyGILState_Release(gil);
}

void uh_trace_end(void) {
  t_stack.recording = 0;
  PyGILState_STATE gil = PyGILState_Ensure();
  PyEval_SetTrace(NULL, NULL);
  PyGILState_Release(gil);
}
