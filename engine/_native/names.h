// Records the value of every name, list item, attribute and closure cell, by comparing it with the last line.
//
// A Scope is one frame's locals, or one module's globals. Between two lines it stores raw addresses,
// never references; they are compared and never followed. If an address was freed and reused, the
// tensor's id or the value's bits differ.
#pragma once

#include "capi/underhood.h"
#include "cpython_inside.h"
#include "tensor_base.h"

enum EventKind {
#define UH_EVENT(NAME, number, ...) UH_##NAME = number,
#include "events/event_list.inc"
#undef UH_EVENT
};

enum HolderKind { kName = 1, kSlot = 2, kAttribute = 3, kCell = 4 };
enum { kCut = 1 };                                  // flag: a container has more than kMaxItems items
enum { kMaxItems = 64, kMaxVisits = 1024, kMaxDepth = 4, kPathBytes = 400, kTextBytes = 64 };
// Modules are followed to the bottom, however deep the network: its parameters have names.
enum { kMaxSubmodules = 256, kMaxNesting = 48 };

// Kinds of values. kHidden: modules, functions and classes, which are not recorded as names.
typedef enum {
  kOther, kTensor, kInt, kFloat, kStr, kBool, kNone, kList, kTuple, kDeque, kDict, kInstance, kFunction,
  kGenerator, kHidden
} Class;

typedef struct {
  PyObject *key, *value;  // the name and its value; alive only just after a comparison
  PyObject *holder;       // the cell that holds it, or NULL
  uint64_t bits;          // differs between values at the same address
  int64_t name, tensor;   // string id; tensor id or 0
  Py_hash_t key_hash;
  PyTypeObject *type;     // of the value, to see whether `cls` is still right
  int16_t cls;
  int16_t kind;  // kName, or kCell when the name is an outer function's
} Root;

// A tensor inside a container that a root leads to.
typedef struct {
  int64_t name, tensor;
  PyObject *holder;
  int kind;
} Held;

typedef struct {
  int64_t frame;
  int running;     // of a module: how many frames run in it
  PyObject *dict;  // of a dictionary scope: its identity
  uint64_t version;
  Root *roots;
  int n_roots, room_roots;
  Held *held;
  int n_held;
  uint64_t held_mix;
} Scope;

static PyTypeObject *g_tensor_type, *g_deque_type;

// The id of a Tensor object's TensorImpl, or 0 if it has none yet.
static inline int64_t tensor_id_of(PyObject *object) {
  uint64_t address;
  return uh_tensor_handle(object, &address) ? uh_tensor_id(address) : 0;
}

static Class class_of(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == g_tensor_type) return kTensor;
  if (type == &PyLong_Type) return kInt;
  if (type == &PyFloat_Type) return kFloat;
  if (type == &PyUnicode_Type) return kStr;
  if (type == &PyBool_Type) return kBool;
  if (object == Py_None) return kNone;
  if (type == &PyList_Type) return kList;
  if (type == &PyTuple_Type) return kTuple;
  if (type == g_deque_type) return kDeque;
  if (type == &PyDict_Type) return kDict;
  if (type == &PyFunction_Type) return PyFunction_GET_CLOSURE(object) ? kFunction : kHidden;
  if (type == &PyGen_Type) return kGenerator;
  if (type == &PyModule_Type || type == &PyCFunction_Type || PyType_Check(object)) return kHidden;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return PyDict_Check(object) ? kDict : kOther;  // defaultdict
  if (PyType_IsSubtype(type, g_tensor_type)) return kTensor;
  return PyModule_Check(object) ? kHidden : kInstance;
}

static inline int is_recorded(Class cls) { return cls != kHidden && cls != kFunction; }
static inline int is_container(Class cls) { return cls >= kList && cls <= kGenerator; }

static uint64_t bits_of(PyObject *object, Class cls) {
  if (cls == kFloat) {
    uint64_t bits;
    const double value = PyFloat_AS_DOUBLE(object);
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (cls == kInt) return PyLong_AsUnsignedLongLongMask(object);
  if (cls == kStr) return (uint64_t)PyUnicode_GET_LENGTH(object);
  return (uint64_t)(uintptr_t)Py_TYPE(object);
}

// ---- strings

static int64_t intern_unicode(PyObject *text) {
  Py_ssize_t size = 0;
  const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes) return uh_intern(bytes, (size_t)size);
  PyErr_Clear();  // lone surrogates
  return uh_intern("?", 1);
}

static size_t decimal(long long number, char *out) {
  char digits[20];
  unsigned long long remaining = number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number;
  size_t n = 0, at = 0;
  do digits[n++] = (char)('0' + remaining % 10);
  while (remaining /= 10);
  if (number < 0) out[at++] = '-';
  while (n) out[at++] = digits[--n];
  return at;
}

// Writes the text of a builtin value and returns its length. No code of the user runs, not even a
// signal handler, which PyObject_Repr and the repr of an int may run.
static size_t short_text(PyObject *value, Class cls, char *out) {
  if (cls == kNone) return (size_t)sprintf(out, "None");
  if (cls == kBool) return (size_t)sprintf(out, value == Py_True ? "True" : "False");
  if (cls == kInt) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) return decimal(number, out);
    return (size_t)sprintf(out, "int of %zu bits", _PyLong_NumBits(value));
  }
  PyObject *text = NULL;
  if (cls == kFloat || (cls == kStr && PyUnicode_GET_LENGTH(value) <= kTextBytes)) {
    text = Py_TYPE(value)->tp_repr(value);
  } else if (cls == kStr) {
    PyObject *part = PyUnicode_Substring(value, 0, kTextBytes);
    text = part ? PyUnicode_Type.tp_repr(part) : NULL;
    Py_XDECREF(part);
  }
  const char *bytes = text ? PyUnicode_AsUTF8(text) : Py_TYPE(value)->tp_name;
  if (!bytes) {
    PyErr_Clear();  // a string with lone surrogates
    bytes = "str";
  }
  size_t n = strlen(bytes);
  if (n > kTextBytes) {
    for (n = kTextBytes - 3; n && ((unsigned char)bytes[n] & 0xC0) == 0x80;) --n;
    memcpy(out, bytes, n);
    memcpy(out + n, "...", 3);
    n += 3;
  } else {
    memcpy(out, bytes, n);
  }
  Py_XDECREF(text);
  return n;
}

// ---- OBJECT: the header of a tensor's Python object, whenever its reference count changed

enum { kPending = 64, kMinCounted = 4096, kRecentLines = 1024 };
typedef struct { int64_t tensor; Py_ssize_t count; uint64_t line; } Counted;
static Counted *g_counted;       // a hash table: the last recorded count of each tensor, and when it was read
static size_t g_room_counted;    // a power of two, or 0
static size_t g_n_counted;
static uint64_t g_line;          // lines compared so far
static struct { PyObject *object; int64_t tensor; } g_pending[kPending];
static int g_n_pending;
static int64_t g_tensor_type_name;  // string id, 0 = not interned yet in this recording

static int64_t type_name(PyTypeObject *type) {
  if (type == g_tensor_type && g_tensor_type_name) return g_tensor_type_name;
  const int64_t name = uh_intern(type->tp_name, strlen(type->tp_name));
  if (type == g_tensor_type) g_tensor_type_name = name;
  return name;
}

static void flush_objects(void) {
  for (int i = 0; i < g_n_pending; ++i) {
    PyObject *object = g_pending[i].object;
    const Py_ssize_t size = Py_TYPE(object)->tp_basicsize;
    uh_emit_blob(UH_OBJECT, 0, g_pending[i].tensor, (int64_t)(intptr_t)object, Py_REFCNT(object),
                 type_name(Py_TYPE(object)), object, (size_t)(size < 64 ? size : 64));
  }
  g_n_pending = 0;
}

// Called after the names are recorded, so that a count and the names that make it up agree.
static void record_objects(void) {
  flush_objects();
  ++g_line;
}

// The entry of a tensor, or the free one for it. Successive ids have successive slots.
static Counted *find_counted(Counted *table, size_t room, int64_t tensor) {
  size_t slot = (size_t)tensor & (room - 1);
  while (table[slot].tensor && table[slot].tensor != tensor) slot = (slot + 1) & (room - 1);
  return &table[slot];
}

static void forget_counted(void) {
  free(g_counted);
  g_counted = NULL;
  g_room_counted = g_n_counted = 0;
}

// Replaces the table by one with room for twice the recently seen tensors. The others are forgotten, and
// at worst recorded again. Returns 0 if memory is out.
static int renew_counted(void) {
  size_t recent = 0, room = kMinCounted;
  for (size_t i = 0; i < g_room_counted; ++i) {
    recent += g_counted[i].tensor && g_counted[i].line + kRecentLines >= g_line;
  }
  while (room < 4 * recent) room *= 2;
  Counted *fresh = calloc(room, sizeof *fresh);
  for (size_t i = 0; fresh && i < g_room_counted; ++i) {
    if (!g_counted[i].tensor || g_counted[i].line + kRecentLines < g_line) continue;
    *find_counted(fresh, room, g_counted[i].tensor) = g_counted[i];
  }
  forget_counted();
  if (!fresh) return 0;
  g_counted = fresh;
  g_room_counted = room;
  g_n_counted = recent;
  return 1;
}

static void note_object(PyObject *object, int64_t tensor) {
  const Py_ssize_t count = Py_REFCNT(object);
  if (2 * g_n_counted >= g_room_counted && !renew_counted()) return;
  Counted *entry = find_counted(g_counted, g_room_counted, tensor);
  entry->line = g_line;
  if (entry->tensor == tensor && entry->count == count) return;
  g_n_counted += !entry->tensor;
  entry->tensor = tensor;
  entry->count = count;
  if (g_n_pending == kPending) flush_objects();
  g_pending[g_n_pending].object = object;
  g_pending[g_n_pending++].tensor = tensor;
}

// ---- roots

static void bind(const Scope *scope, int64_t name, int kind, int64_t tensor, PyObject *holder) {
  uh_emit(UH_NAME_BIND, 0, scope->frame, name, kind, tensor, (int64_t)(intptr_t)holder);
}

static void unbind(const Scope *scope, const Root *root) {
  if (!root->value || !is_recorded((Class)root->cls)) return;
  uh_emit(UH_NAME_UNBIND, 0, scope->frame, root->name, root->kind, root->tensor, 0);
}

// Compares one root with its present value and records a difference.
//
// Note [Holders of bindings]: field e of a binding to a tensor is the address of the cell, list,
// dictionary or instance that holds the reference (0: the frame or module). With it, a reference that
// several paths lead to is counted once.
static void compare(const Scope *scope, Root *root, PyObject *value, PyObject *holder) {
  if (value && value == root->value && root->cls == kHidden) return;
  if (!value) {
    unbind(scope, root);
    root->value = NULL;
    return;
  }
  // Two functions, with and without a closure, are the only ones of one type in two classes.
  const int is_same = Py_TYPE(value) == root->type && root->type != &PyFunction_Type;
  const Class cls = is_same ? (Class)root->cls : class_of(value);
  const int64_t tensor = cls == kTensor ? tensor_id_of(value) : 0;
  const uint64_t bits = tensor ? (uint64_t)tensor : bits_of(value, cls);
  if (value != root->value || bits != root->bits || holder != root->holder) {
    if (!is_recorded(cls)) unbind(scope, root);
    root->value = value;
    root->bits = bits;
    root->type = Py_TYPE(value);
    root->cls = (int16_t)cls;
    root->tensor = tensor;
    root->holder = holder;
    if (tensor) {
      bind(scope, root->name, root->kind, tensor, holder);
    } else if (is_recorded(cls)) {
      char text[kTextBytes];
      const size_t n = short_text(value, cls, text);
      const int cut = cls >= kList && cls <= kDeque && Py_SIZE(value) > kMaxItems;
      uh_emit_blob(UH_NAME_BIND, cut ? kCut : 0, scope->frame, root->name, root->kind, 0, text, n);
    }
  }
  if (tensor) note_object(value, tensor);
}

static int grow(void **items, int *room, int needed, size_t size) {
  if (needed <= *room) return 1;
  int capacity = *room ? *room * 2 : 16;
  while (capacity < needed) capacity *= 2;
  void *more = realloc(*items, (size_t)capacity * size);
  if (!more) return 0;
  memset((char *)more + (size_t)*room * size, 0, (size_t)(capacity - *room) * size);
  *items = more;
  *room = capacity;
  return 1;
}

static int is_dunder(PyObject *name) {
  const Py_ssize_t n = PyUnicode_GET_LENGTH(name);
  return n > 4 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_' &&
         PyUnicode_READ_CHAR(name, n - 1) == '_' && PyUnicode_READ_CHAR(name, n - 2) == '_';
}

// A dictionary keeps its order, so root i is entry i until a name is deleted. Then the roots from that
// entry on are unbound and read again.
static void compare_dict(Scope *scope) {
  const uint64_t version = dict_version(scope->dict);
  if (version == scope->version) {
    for (int i = 0; i < scope->n_roots; ++i) {
      Root *root = &scope->roots[i];  // the dictionary has not changed: it still holds these
      if (root->tensor) compare(scope, root, root->value, NULL);
    }
    return;
  }
  scope->version = version;
  Py_ssize_t at = 0;
  int i = 0;
  PyObject *key, *value;
  while (PyDict_Next(scope->dict, &at, &key, &value)) {
    if (!PyUnicode_CheckExact(key)) continue;
    const Py_hash_t hash = ((PyASCIIObject *)key)->hash;
    Root *root = i < scope->n_roots ? &scope->roots[i] : NULL;
    if (!root || root->key != key || root->key_hash != hash) {
      if (is_dunder(key)) continue;
      for (int k = i; k < scope->n_roots; ++k) unbind(scope, &scope->roots[k]);
      if (!grow((void **)&scope->roots, &scope->room_roots, i + 1, sizeof(Root))) return;
      scope->n_roots = i + 1;
      root = &scope->roots[i];
      *root = (Root){.key = key, .key_hash = hash, .name = intern_unicode(key), .kind = kName};
    }
    compare(scope, root, value, NULL);
    ++i;
  }
  for (int k = i; k < scope->n_roots; ++k) unbind(scope, &scope->roots[k]);
  scope->n_roots = i;
}

// ---- the contents of containers
//
// The first walk computes one hash of every (container, position, tensor). Only if the hash is new, a
// second walk writes out the paths and compares each of them.

typedef struct {
  Scope *scope;
  uint64_t mix;
  int visits, submodules, naming, n_new, n_above;
  PyObject *above[kMaxNesting];
  char path[kPathBytes];
  Held *found;
  int room_found;
} Walk;

static void walk(Walk *w, PyObject *object, Class cls, int depth, int end);

static inline uint64_t mixed(uint64_t mix, uint64_t value) {
  mix = (mix ^ value) * 0x9E3779B97F4A7C15ull;
  return mix ^ (mix >> 29);
}

// One item of a container; `end` is the length of its path in w->path when naming.
static void visit(Walk *w, PyObject *holder, uint64_t position, PyObject *item, int kind, int depth, int end) {
  const Class cls = class_of(item);
  if (cls == kTensor) {
    const int64_t tensor = tensor_id_of(item);
    if (!tensor) return;
    w->mix = mixed(mixed(mixed(w->mix, (uint64_t)(uintptr_t)holder), position), (uint64_t)tensor);
    if (!w->naming) {
      note_object(item, tensor);
    } else if (grow((void **)&w->found, &w->room_found, w->n_new + 1, sizeof(Held))) {
      w->found[w->n_new++] = (Held){uh_intern(w->path, (size_t)end), tensor, holder, kind};
    }
    if (instance_dict(item)) walk(w, item, kInstance, depth, end);  // x.tag = other
  } else if (is_container(cls)) {
    walk(w, item, cls, depth, end);
  }
}

static int add_path(Walk *w, int end, const char *format, const void *text, Py_ssize_t number) {
  if (!w->naming) return 0;
  const int left = kPathBytes - end;
  const int n = text ? snprintf(w->path + end, (size_t)left, format, (const char *)text)
                     : snprintf(w->path + end, (size_t)left, format, number);
  return n < 0 ? end : n >= left ? kPathBytes - 1 : end + n;
}

static int add_key(Walk *w, int end, PyObject *key, Py_ssize_t position) {
  if (!w->naming) return 0;
  const Class cls = class_of(key);
  char text[kTextBytes + 1];
  if (cls != kStr && cls != kInt && cls != kFloat && cls != kBool && cls != kNone) {
    return add_path(w, end, "[key %zd]", NULL, position);
  }
  text[short_text(key, cls, text)] = 0;
  return add_path(w, end, "[%s]", text, 0);
}

static int add_attribute(Walk *w, int end, PyObject *name) {
  if (!w->naming) return 0;
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) PyErr_Clear();
  return add_path(w, end, ".%s", text ? text : "?", 0);
}

// Return whether this attribute is the table of submodules of an nn.Module.
static int is_module_table(PyObject *key, PyObject *value) {
  static PyObject *name;
  if (!name) name = PyUnicode_InternFromString("_modules");
  return key == name && PyDict_Check(value);
}

static void walk_instance(Walk *w, PyObject *object, int depth, int end) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  int n = 0, is_module = 0;
  for (; n < kMaxItems && next_attribute(object, &at, &key, &value); ++n) {
    const int table = is_module_table(key, value);
    is_module |= table;
    if (table && ++w->submodules > kMaxSubmodules) continue;
    const int level = table ? depth - 2 : depth;  // submodules are as deep as their module
    visit(w, object, (uint64_t)(uintptr_t)key, value, kAttribute, level, add_attribute(w, end, key));
  }
  if (!is_module) w->visits += n;  // modules are counted against another limit
  for (PyTypeObject *type = Py_TYPE(object); type && type->tp_flags & Py_TPFLAGS_HEAPTYPE; type = type->tp_base) {
    for (PyMemberDef *slot = type->tp_members; slot && slot->name; ++slot) {
      if (slot->type != T_OBJECT_EX || slot->offset <= 0) continue;
      value = *(PyObject **)((char *)object + slot->offset);
      if (!value) continue;
      ++w->visits;
      visit(w, object, (uint64_t)slot->offset, value, kAttribute, depth, add_path(w, end, ".%s", slot->name, 0));
    }
  }
}

static void walk_closure(Walk *w, PyObject *function, int depth, int end) {
  PyObject *cells = PyFunction_GET_CLOSURE(function);
  if (!cells) return;
  PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells) && i < kMaxItems; ++i, ++w->visits) {
    PyObject *cell = PyTuple_GET_ITEM(cells, i);
    PyObject *value = PyCell_Check(cell) ? PyCell_GET(cell) : NULL;
    if (!value) continue;
    PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, first + i);
    visit(w, cell, 0, value, kCell, depth, add_attribute(w, end, name));
  }
}

// A suspended generator holds its locals.
static void walk_generator(Walk *w, PyObject *generator, int depth, int end) {
  PyCodeObject *code = NULL;
  PyObject **locals = suspended_locals(generator, &code);
  for (int i = 0; locals && i < code->co_nlocalsplus && i < kMaxItems; ++i, ++w->visits) {
    PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
    if (locals[i]) visit(w, generator, (uint64_t)i, locals[i], kAttribute, depth, add_attribute(w, end, name));
  }
}

static void walk(Walk *w, PyObject *object, Class cls, int depth, int end) {
  if (depth >= kMaxDepth || w->visits > kMaxVisits || w->n_above == kMaxNesting) return;
  for (int i = 0; i < w->n_above; ++i) {
    if (w->above[i] == object) return;
  }
  w->above[w->n_above++] = object;
  if (cls == kList || cls == kTuple) {
    PyObject **items = PySequence_Fast_ITEMS(object);
    const Py_ssize_t n = Py_SIZE(object) < kMaxItems ? Py_SIZE(object) : kMaxItems;
    w->visits += (int)n;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (items[i]) visit(w, object, (uint64_t)i, items[i], kSlot, depth + 1, add_path(w, end, "[%zd]", NULL, i));
    }
  } else if (cls == kDeque) {
    const Py_ssize_t n = Py_SIZE(object) < kMaxItems ? Py_SIZE(object) : kMaxItems;
    w->visits += (int)n;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject *item = PySequence_GetItem(object, i);  // runs no code of the user
      if (!item) PyErr_Clear();
      if (item) visit(w, object, (uint64_t)i, item, kSlot, depth + 1, add_path(w, end, "[%zd]", NULL, i));
      Py_XDECREF(item);
    }
  } else if (cls == kDict) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (int i = 0; i < kMaxItems && PyDict_Next(object, &at, &key, &value); ++i, ++w->visits) {
      if (class_of(key) == kTensor) {  // the state of an optimizer: its keys are references, too
        visit(w, object, (uint64_t)i, key, kSlot, depth + 1, add_path(w, end, ".keys()[%zd]", NULL, i));
      }
      visit(w, object, (uint64_t)(uintptr_t)key, value, kSlot, depth + 1, add_key(w, end, key, i));
    }
  } else if (cls == kFunction) {
    walk_closure(w, object, depth + 1, end);
  } else if (cls == kGenerator) {
    walk_generator(w, object, depth + 1, end);
  } else if (cls == kInstance) {
    walk_instance(w, object, depth + 1, end);
  }
  --w->n_above;
}

static void walk_roots(Walk *w) {
  w->visits = w->submodules = 0;
  for (int i = 0; i < w->scope->n_roots; ++i) {
    const Root *root = &w->scope->roots[i];
    if (!root->value) continue;
    const int is_tensor = root->cls == kTensor && instance_dict(root->value);
    if (!is_tensor && !is_container((Class)root->cls)) continue;
    w->mix = mixed(w->mix, (uint64_t)root->name);
    const char *name = w->naming ? PyUnicode_AsUTF8(root->key) : NULL;
    walk(w, root->value, is_tensor ? kInstance : (Class)root->cls, 0, name ? add_path(w, 0, "%s", name, 0) : 0);
  }
}

static Held *find_held(Held *items, int n, int hint, int64_t name, int kind) {
  for (int k = 0; k < n; ++k) {
    Held *item = &items[(hint + k) % n];
    if (item->name == name && item->kind == kind) return item;
  }
  return NULL;
}

static void compare_held(Scope *scope) {
  Walk w;  // not its arrays, which would take longer to clear than most scopes to walk
  w.scope = scope;
  w.mix = 1;
  w.naming = w.n_new = w.n_above = w.room_found = 0;
  w.found = NULL;
  walk_roots(&w);
  if (w.mix == scope->held_mix) return;
  scope->held_mix = w.mix;
  w.naming = 1;
  walk_roots(&w);
  for (int i = 0; i < scope->n_held; ++i) {
    const Held *old = &scope->held[i];
    if (find_held(w.found, w.n_new, i, old->name, old->kind)) continue;
    uh_emit(UH_NAME_UNBIND, 0, scope->frame, old->name, old->kind, old->tensor, 0);
  }
  for (int i = 0; i < w.n_new; ++i) {
    const Held *new = &w.found[i];
    const Held *old = find_held(scope->held, scope->n_held, i, new->name, new->kind);
    if (old && old->tensor == new->tensor && old->holder == new->holder) continue;
    bind(scope, new->name, new->kind, new->tensor, new->holder);
  }
  free(scope->held);
  scope->held = w.found;
  scope->n_held = w.n_new;
}

// ---- the life of a scope

// Forgets what was recorded, so that everything is recorded again, for frame `frame`.
static void scope_restart(Scope *scope, int64_t frame) {
  scope->frame = frame;
  scope->version = 0;
  scope->n_roots = scope->n_held = 0;
  scope->held_mix = 1;
}

// Records that every name of the scope is unbound, and restarts the scope.
static void scope_unbind_all(Scope *scope, int64_t next_frame) {
  for (int i = 0; i < scope->n_roots; ++i) unbind(scope, &scope->roots[i]);
  for (int i = 0; i < scope->n_held; ++i) {
    const Held *old = &scope->held[i];
    uh_emit(UH_NAME_UNBIND, 0, scope->frame, old->name, old->kind, old->tensor, 0);
  }
  scope_restart(scope, next_frame);
}

static void scope_free(Scope *scope) {
  free(scope->roots);
  free(scope->held);
  memset(scope, 0, sizeof *scope);
}
