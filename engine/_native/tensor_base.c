// The native bases of engine.Tensor and engine.autograd.graph.Node: see tensor_base.h.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stddef.h>
#include <structmember.h>

#include "capi/underhood.h"
#include "capi/underhood_autograd.h"
#include "tensor_base.h"
#include "tensor_metadata.h"

// An object that owns one reference on something of the core: a TensorImpl or a Node.
typedef struct {
  PyObject_HEAD uint64_t handle;  // 0: none yet, or none any more
  PyObject* weak_references;
} Wrapper;

// A tensor's object also has attributes, in a dictionary that its first attribute creates.
typedef struct {
  Wrapper base;
  PyObject* attributes;
} TensorWrapper;

// ---- garbage

// Note [Cycles through the core]: a hook, the context of a Function and a packed tensor are Python
// objects that the core holds, one reference each. If the wrapper of a tensor or a Node has the
// only reference on the core object that leads to such a Python object, it owns that object as it
// owns an attribute, and shows it to Python's collector (uh_visit_owned). A graph or a running pass
// that also leads to it is a second reference: then the wrapper shows nothing, and the collector
// takes the object for reachable, as it does with everything that it cannot see.
//
// A collection asks twice. First it subtracts from each object's count the references that are
// shown to it (visit_decref); an object that has any left is reachable from outside. Then it
// follows the references of the reachable objects (visit_reachable), and takes the rest for
// garbage. In between another thread, inside the core and so without the GIL, may take a second
// reference. An object that was shown the first time must be shown the second time too, or it is
// taken for garbage while the other thread uses it. So the first answer is stored, and the second
// is the same. The objects shown live until then: releasing one takes the GIL, which the collector
// holds.

typedef struct {
  PyObject* wrapper;  // NULL: a free slot
  size_t first, count;
} OwnedRange;

static struct {
  OwnedRange* table;  // open addressing; its size is a power of 2
  size_t room, used;
  PyObject** objects;
  size_t objects_room, objects_used;
  int is_over;  // the second half of the collection has begun
} g_owned;

static visitproc g_subtract, g_follow;  // NULL: not known for this Python

static OwnedRange* slot_of(const PyObject* wrapper) {
  size_t at = ((size_t)(uintptr_t)wrapper >> 4) * 0x9E3779B97F4A7C15ull;
  for (at >>= 20;; ++at) {
    OwnedRange* slot = &g_owned.table[at & (g_owned.room - 1)];
    if (!slot->wrapper || slot->wrapper == wrapper) return slot;
  }
}

static int make_room(void) {
  if (2 * (g_owned.used + 1) <= g_owned.room) return 1;
  OwnedRange* old = g_owned.table;
  const size_t old_room = g_owned.room, room = old_room ? 2 * old_room : 64;
  OwnedRange* table = calloc(room, sizeof *table);
  if (!table) return 0;
  g_owned.table = table;
  g_owned.room = room;
  for (size_t i = 0; i < old_room; ++i)
    if (old[i].wrapper) *slot_of(old[i].wrapper) = old[i];
  free(old);
  return 1;
}

static void collect_object(void* object, void* complete) {
  if (g_owned.objects_used == g_owned.objects_room) {
    const size_t room = g_owned.objects_room ? 2 * g_owned.objects_room : 64;
    PyObject** more = realloc(g_owned.objects, room * sizeof *more);
    if (!more) {
      *(int*)complete = 0;
      return;
    }
    g_owned.objects = more;
    g_owned.objects_room = room;
  }
  g_owned.objects[g_owned.objects_used++] = object;
}

typedef void (*VisitOwned)(Wrapper* wrapper, uh_visit_fn visit, void* argument);

typedef struct {
  visitproc visit;
  void* argument;
  int status;
} Direct;

static void visit_object(void* object, void* opaque) {
  Direct* direct = opaque;
  if (!direct->status) direct->status = direct->visit(object, direct->argument);
}

static int show(const OwnedRange* range, visitproc visit, void* argument) {
  for (size_t i = 0; i < range->count; ++i) {
    const int status = visit(g_owned.objects[range->first + i], argument);
    if (status) return status;
  }
  return 0;
}

static int show_owned(Wrapper* self, visitproc visit, void* argument, VisitOwned visit_owned) {
  if (!g_subtract || (visit != g_subtract && visit != g_follow)) {  // gc.get_referents
    Direct direct = {visit, argument, 0};
    visit_owned(self, visit_object, &direct);
    return direct.status;
  }
  if (visit == g_follow) {
    g_owned.is_over = 1;
    if (!g_owned.used) return 0;
    const OwnedRange* range = slot_of((PyObject*)self);
    return range->wrapper ? show(range, visit, argument) : 0;
  }
  if (g_owned.is_over) {  // another collection
    if (g_owned.used) memset(g_owned.table, 0, g_owned.room * sizeof *g_owned.table);
    g_owned.used = g_owned.objects_used = 0;
    g_owned.is_over = 0;
  }
  int complete = 1;
  OwnedRange range = {(PyObject*)self, g_owned.objects_used, 0};
  visit_owned(self, collect_object, &complete);
  if (!complete) g_owned.objects_used = range.first;
  range.count = g_owned.objects_used - range.first;
  // A wrapper that owns nothing is entered only to replace an older one at the same address.
  if (!range.count && !g_owned.used) return 0;
  if (!make_room()) {
    g_owned.objects_used = range.first;
    return 0;
  }
  OwnedRange* slot = slot_of((PyObject*)self);
  if (!range.count && !slot->wrapper) return 0;
  g_owned.used += !slot->wrapper;
  *slot = range;
  return show(slot, visit, argument);
}

// Learns the two functions that a collection visits with, from one collection.
static int traverse_probe(PyObject* self, visitproc visit, void* argument) {
  (void)self;
  (void)argument;
  if (!g_subtract)
    g_subtract = visit;
  else if (!g_follow && visit != g_subtract)
    g_follow = visit;
  return 0;
}
static void deallocate_probe(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  type->tp_free(self);
  Py_DECREF(type);
}
static PyType_Slot probe_slots[] = {
    {Py_tp_dealloc, deallocate_probe}, {Py_tp_traverse, traverse_probe}, {0, NULL}};
static PyType_Spec probe_spec = {
    .name = "engine._native._CollectorProbe",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = probe_slots,
};

static int learn_visitors(void) {
#if PY_VERSION_HEX < 0x030E0000  // from 3.14 on a collection has other parts
  PyObject* type = PyType_FromSpec(&probe_spec);
  PyObject* probe = type ? PyType_GenericAlloc((PyTypeObject*)type, 0) : NULL;  // tracked
  PyObject* gc = probe ? PyImport_ImportModule("gc") : NULL;
  PyObject* done = gc ? PyObject_CallMethod(gc, "collect", "i", 0) : NULL;
  if (!g_follow) g_subtract = NULL;
  const int status = done ? 0 : -1;
  Py_XDECREF(done);
  Py_XDECREF(gc);
  Py_XDECREF(probe);
  Py_XDECREF(type);
  return status;
#else
  return 0;
#endif
}

// ---- tensors

// Note [One object per tensor]: a TensorImpl remembers its Python object for as long as that lives,
// so that `x.grad is x.grad`, and a tensor that comes back from the graph is the one that went in.
// An object that has more than its class and its handle lives as long as the TensorImpl: Note [Kept
// objects] in csrc/tensor/kept_objects.h.
static PyTypeObject* tensor_class;  // engine.Tensor

// The attributes belong to the object alone only if the core does not keep it for later.
static void visit_tensor(Wrapper* self, uh_visit_fn visit, void* argument) {
  PyObject* attributes = ((TensorWrapper*)self)->attributes;
  const uh_handle handle = self->handle;
  if (attributes && (!handle || uh_use_count(handle) == 1)) visit(attributes, argument);
  if (handle) uh_visit_owned(handle, visit, argument);
}

static int traverse_tensor(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return show_owned((Wrapper*)self, visit, arg, visit_tensor);
}

// Releases the objects of tensors that nothing else uses any more. In a loop: the graph of such a
// tensor may return the next one, 100,000 times.
static atomic_int has_returned;
static void release_returned(void) {
  static int is_running;  // read and written with the GIL
  if (is_running) return;
  is_running = 1;
  atomic_store(&has_returned, 0);
  for (uh_handle handle; (handle = uh_next_returned());) Py_DECREF((PyObject*)uh_object(handle));
  is_running = 0;
}
static int release_returned_later(void* unused) {
  release_returned();
  return 0;
}
static void notify_returned(void) {
  if (!Py_IsInitialized()) return;  // the interpreter has ended, and the objects with it
  atomic_store(&has_returned, 1);
  Py_AddPendingCall(release_returned_later, NULL);  // if its queue is full: when a tensor dies
}

static int is_kept(PyObject* self) {
  TensorWrapper* tensor = (TensorWrapper*)self;
  const uh_handle handle = tensor->base.handle;
  const int has_attributes = tensor->attributes && PyDict_GET_SIZE(tensor->attributes);
  if (!handle ||
      (!has_attributes && !tensor->base.weak_references && Py_TYPE(self) == tensor_class))
    return 0;
  return uh_object(handle) == self && uh_keep_object(handle);
}

static void release_tensor(Wrapper* tensor) {
  const uh_handle handle = tensor->handle;
  if (!handle) return;
  tensor->handle = 0;
  if (uh_object(handle) == tensor) uh_set_object(handle, NULL);
  uh_release(handle);
}

static int clear_tensor(PyObject* self) {
  if (is_kept(self)) {
    Py_INCREF(self);
  } else {
    release_tensor((Wrapper*)self);
    Py_CLEAR(((TensorWrapper*)self)->attributes);
  }
  return 0;
}

static void deallocate_tensor(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (is_kept(self)) {
    Py_SET_REFCNT(self, 1);
    PyObject_GC_Track(self);
    return;
  }
  if (((Wrapper*)self)->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(((TensorWrapper*)self)->attributes);
  release_tensor((Wrapper*)self);
  type->tp_free(self);
  Py_DECREF(type);  // an instance of a heap type holds a reference on it
  if (atomic_load_explicit(&has_returned, memory_order_relaxed)) release_returned();
}

static PyObject* set_class(PyObject* unused, PyObject* tensor) {
  if (!PyType_Check(tensor)) return PyErr_Format(PyExc_TypeError, "%R is not a class", tensor);
  Py_XSETREF(tensor_class, (PyTypeObject*)Py_NewRef(tensor));
  Py_RETURN_NONE;
}

// Returns the object of a handle, a new one if there is none; the handle's reference moves into it.
PyObject* uh_wrap(uint64_t handle) {
  PyObject* existing = uh_object(handle);
  if (existing && Py_REFCNT(existing) > 0) {  // 0: it is being deallocated right now
    if (uh_take_object(handle)) return existing;
    Py_INCREF(existing);
    uh_decref(handle);
    return existing;
  }
  Wrapper* tensor = (Wrapper*)tensor_class->tp_alloc(tensor_class, 0);
  if (!tensor) return NULL;
  tensor->handle = handle;
  uh_set_object(handle, tensor);
  return (PyObject*)tensor;
}

static PyObject* wrap(PyObject* unused, PyObject* number) {
  const uh_handle handle = PyLong_AsUnsignedLongLong(number);
  return handle == (uh_handle)-1 && PyErr_Occurred() ? NULL : uh_wrap(handle);
}

int uh_tensor_handle(PyObject* object, uint64_t* ret_handle) {
  if (!PyObject_TypeCheck(object, tensor_class) || !((Wrapper*)object)->handle) return 0;
  *ret_handle = ((Wrapper*)object)->handle;
  return 1;
}

int uh_is_tensor(PyObject* object) { return PyObject_TypeCheck(object, tensor_class); }

// The address of a tensor's TensorImpl or of a Node, as an attribute.
static PyObject* address(PyObject* self, void* unused) {
  const uint64_t handle = ((Wrapper*)self)->handle;
  if (handle) return PyLong_FromUnsignedLongLong(handle);
  return PyErr_Format(PyExc_AttributeError, "this %s has not been initialised",
                      Py_TYPE(self)->tp_name);
}
static int set_address(PyObject* self, PyObject* number, void* unused) {
  const uint64_t handle = number ? PyLong_AsUnsignedLongLong(number) : 0;
  if (!handle || ((Wrapper*)self)->handle) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "an address is set once");
    return -1;
  }
  if (handle == (uint64_t)-1 && PyErr_Occurred()) return -1;
  ((Wrapper*)self)->handle = handle;
  return 0;
}

// For objects that `wrap` did not make: those of subclasses.
static PyObject* remember(PyObject* self, PyObject* unused) {
  Wrapper* tensor = (Wrapper*)self;
  if (tensor->handle) uh_set_object(tensor->handle, self);
  return Py_NewRef(self);
}

static PyGetSetDef tensor_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, "The attributes.", NULL},
    {"_h", address, set_address, "address of the TensorImpl, whose reference this object owns",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef tensor_methods[] = {
    {"_remember", remember, METH_NOARGS,
     "Makes this the one object of its TensorImpl; returns it."},
    {"_wrap", wrap, METH_O | METH_STATIC, "The object of a handle, which moves into it."},
    {"_set_class", set_class, METH_O | METH_STATIC, "The class that `_wrap` makes."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Wrapper, weak_references), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorWrapper, attributes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, deallocate_tensor},
    {Py_tp_traverse, traverse_tensor},
    {Py_tp_clear, clear_tensor},
    {Py_tp_members, tensor_members},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_properties},
    {Py_tp_doc, "The native part of a Tensor: the address of its TensorImpl."},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    .name = "engine._native._TensorBase",
    .basicsize = sizeof(TensorWrapper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = tensor_slots,
};

// ---- Nodes

static void visit_node(Wrapper* self, uh_visit_fn visit, void* argument) {
  if (self->handle) uh_node_visit_owned(self->handle, visit, argument);
}

static int traverse_node(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return show_owned((Wrapper*)self, visit, arg, visit_node);
}

static int release_node(PyObject* self) {
  Wrapper* node = (Wrapper*)self;
  const uint64_t handle = node->handle;
  node->handle = 0;
  if (handle) uh_node_release(handle);
  return 0;
}

static void deallocate_node(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (((Wrapper*)self)->weak_references) PyObject_ClearWeakRefs(self);
  release_node(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyGetSetDef node_properties[] = {
    {"_node", address, set_address, "address of the Node, whose reference this object owns", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef node_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Wrapper, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot node_slots[] = {
    {Py_tp_dealloc, deallocate_node},
    {Py_tp_traverse, traverse_node},
    {Py_tp_clear, release_node},
    {Py_tp_members, node_members},
    {Py_tp_getset, node_properties},
    {Py_tp_doc, "The native part of a Node: its address."},
    {0, NULL},
};

static PyType_Spec node_spec = {
    .name = "engine._native._NodeBase",
    .basicsize = sizeof(Wrapper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = node_slots,
};

static int append_type(PyObject* list, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  int status = type ? PyList_Append(list, type) : -1;
  if (!status && spec == &tensor_spec) status = uh_add_metadata((PyTypeObject*)type);
  Py_XDECREF(type);
  return status;
}

int uh_base_types(uintptr_t list) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int failed = append_type((PyObject*)list, &tensor_spec) ||
                     append_type((PyObject*)list, &node_spec) || learn_visitors();
  if (failed) PyErr_Clear();
  uh_set_notify_returned(notify_returned);
  PyGILState_Release(gil);
  return failed ? -1 : 0;
}
