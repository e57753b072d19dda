// The hand-written part of the C ABI. underhood.h has the contract of each function.
#include "capi/underhood.h"
#include "backend/cpu/allocator.h"
#include "backend/devices.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/autograd_meta.h"
#include "autograd/not_implemented_fallback.h"
#include "autograd/registration.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/linalg/gemm.h"
#include "base/call_section.h"
#include "base/imported_name.h"
#include "base/parallel.h"
#include "base/per_thread.h"
#include "capi/convert.h"
#include "capi/convert_autograd.h"
#include "capi/library.h"
#include "events/pack.h"
#include "events/recorder.h"
#include "events/ring.h"
#include "generated/ops.h"
#include "memory/foreign_writes.h"
#include "ops/pointwise.h"
#include "ops/random/generator.h"
#include "ops/suggested_format.h"
#include "tensor/kept_objects.h"
#include "tensor/sparse_parts.h"

namespace uh {
namespace {

struct Failure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string text;
};
// Note [The last error]. The maximum depth of the stack, for hosts that do not read errors.
constexpr size_t kMaxFailures = 16;
std::vector<Failure>& failures() { return per_thread<std::vector<Failure>>(); }

}  // namespace

size_t set_last_error(ErrorKind kind, const char* text) {
  if (failures().size() == kMaxFailures) failures().erase(failures().begin());
  failures().push_back({kind, text});
  return failures().size() - 1;
}

void forget_errors(size_t until) {
  if (failures().size() > until) failures().resize(until);
}

void throw_last_error() {
  if (failures().empty()) throw Error(ErrorKind::kInternal, "a callback failed without an error");
  const Failure last = std::move(failures().back());
  failures().pop_back();
  throw Error(last.kind, last.text);
}

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_devices();
    ops::register_all();
    autograd::register_all();
    autograd::set_barrier();
    stop_calls_at_fork();
  });
}

}  // namespace uh

using namespace uh;  // NOLINT: this file is nothing but calls into uh

int uh_initialise(void) {
  return guard(-1, [] {
    initialise();
    run_library_blocks();
    return 0;
  });
}

int uh_last_error_kind(void) {
  return static_cast<int>(failures().empty() ? ErrorKind::kInternal : failures().back().kind);
}
const char* uh_last_error(void) { return failures().empty() ? "" : failures().back().text.c_str(); }
void uh_forget_last_error(void) {
  if (!failures().empty()) failures().pop_back();
}

void uh_release(uh_handle self) {
  TensorImpl* impl = impl_of(self);
  if (events::on()) [[unlikely]]
    events::emit(events::Kind::kUNWRAP, impl->id(), impl->use_count() - 1);
  impl->release();
}
void uh_decref(uh_handle self) { impl_of(self)->release(); }
uh_handle uh_retain(uh_handle self) { return give(Tensor::share(impl_of(self))); }
void uh_list_free(uh_list* list) {
  if (!list) return;
  delete[] list->items;
  delete list;
}

int64_t uh_tensor_id(uh_handle self) { return impl_of(self)->id(); }
int64_t uh_storage_id(uh_handle self) { return in_use(self)->storage()->id(); }
int64_t uh_counter_id(uh_handle self) { return in_use(self)->counter().id(); }
int64_t uh_use_count(uh_handle self) { return impl_of(self)->use_count(); }
int64_t uh_storage_use_count(uh_handle self) { return in_use(self)->storage()->use_count(); }
int64_t uh_version(uh_handle self) { return in_use(self)->version(); }
int uh_dtype(uh_handle self) { return static_cast<int>(in_use(self)->dtype()); }
int uh_device(uh_handle self) { return static_cast<int>(in_use(self)->device().code()); }
int64_t uh_ndim(uh_handle self) { return in_use(self)->ndim(); }
int64_t uh_numel(uh_handle self) { return in_use(self)->numel(); }
int64_t uh_element_size(uh_handle self) { return itemsize(in_use(self)->dtype()); }
int64_t uh_offset(uh_handle self) { return in_use(self)->offset(); }
namespace {
// Copies at most n sizes and pads with zeros.
void copy_dims(const Dims& dims, int64_t* ret, int64_t n) {
  const auto copied = std::min<int64_t>(dims.ndim(), n);
  std::fill(std::copy_n(dims.begin(), copied, ret), ret + n, 0);
}
}  // namespace
void uh_sizes(uh_handle self, int64_t* ret_sizes, int64_t n) {
  const InUse t(self);
  copy_dims(t->sizes(), ret_sizes, n);
}
void uh_strides(uh_handle self, int64_t* ret_strides, int64_t n) {
  const InUse t(self);
  if (t->sparse()) return copy_dims(Dims(), ret_strides, n);
  copy_dims(t->strides(), ret_strides, n);
}
int64_t uh_size(uh_handle self, int64_t dim) {
  const InUse t(self);
  return dim >= 0 && dim < t->ndim() ? t->sizes()[static_cast<size_t>(dim)] : 0;
}
int uh_is_contiguous(uh_handle self) { return in_use(self)->is_contiguous(); }
int uh_suggested_format(uh_handle self) {
  const InUse t(self);
  if (t->sparse()) return static_cast<int>(MemoryFormat::kContiguous);
  return static_cast<int>(suggested_format(t->sizes(), t->strides()));
}
int uh_layout_kind(uh_handle self) {
  const InUse t(self);
  return t->sparse() ? 1 + t->sparse()->is_csr() : 0;
}
int64_t uh_nnz(uh_handle self) {
  const InUse t(self);
  return t->sparse() ? t->sparse()->nnz() : 0;
}
int64_t uh_sparse_dim(uh_handle self) {
  const InUse t(self);
  return t->sparse() ? t->sparse()->sparse_dim() : 0;
}
int uh_is_coalesced(uh_handle self) {
  const InUse t(self);
  return t->sparse() && t->sparse()->is_coalesced;
}
uh_handle uh_sparse_part(uh_handle self, int role) {
  const CallSection call;
  const SparseParts* parts = use(self)->sparse();
  uh_handle result = 0;
  if (parts) {
    parts->each([&](SparseParts::Role each, const Tensor& part) {
      if (static_cast<int>(each) == role) result = reinterpret_cast<uh_handle>(Tensor(part).leak());
    });
  }
  return result;
}
uint64_t uh_data_ptr(uh_handle self) {
  const InUse impl(self);
  const auto start = reinterpret_cast<uint64_t>(impl->storage()->data());
  const int64_t offset = impl->offset() * itemsize(impl->dtype());
  return impl->numel() && start ? start + static_cast<uint64_t>(offset) : 0;
}
uint64_t uh_storage_data_ptr(uh_handle self) {
  return reinterpret_cast<uint64_t>(in_use(self)->storage()->data());
}
int64_t uh_storage_nbytes(uh_handle self) {
  return static_cast<int64_t>(in_use(self)->storage()->nbytes());
}
int uh_storage_allocator(uh_handle self) {
  const Allocator* allocator = in_use(self)->storage()->allocator();
  return allocator ? static_cast<int>(allocator->id()) : 0;
}
uint32_t uh_key_set(uh_handle self) {
  return static_cast<uint32_t>(recorded_bits(in_use(self)->keys()));
}
const char* uh_key_name(int key) {
  return key >= 0 && key < kKeyCount ? name(static_cast<Key>(key)).data() : "";
}
int uh_key_count(void) { return kKeyCount; }
uh_handle uh_base(uh_handle self) {
  const CallSection call;
  TensorImpl* base = impl_of(self)->base();
  return base ? give(Tensor::share(base)) : 0;
}
void* uh_object(uh_handle self) { return impl_of(self)->object(); }
void uh_set_object(uh_handle self, void* object) { impl_of(self)->set_object(object); }
int uh_keep_object(uh_handle self) { return keep_object(impl_of(self)); }
int uh_take_object(uh_handle self) { return take_object(impl_of(self)); }
void uh_set_notify_returned(void (*notify)(void)) { set_notify_returned(notify); }
uh_handle uh_next_returned(void) {
  TensorImpl* impl = next_returned();
  if (impl) take_object(impl);
  return reinterpret_cast<uh_handle>(impl);
}
int uh_is_wrapped_number(uh_handle self) { return impl_of(self)->wrapped_number(); }

uh_handle uh_from_data(const void* data, int source, const int64_t* sizes, int64_t ndim,
                       int dtype) {
  return guard(uh_handle{0}, [&] {
    initialise();
    const auto from = static_cast<DType>(source), to = static_cast<DType>(dtype);
    Tensor t = empty(to_dims(sizes, ndim), from);
    if (t.numel()) std::memcpy(t.data(), data, static_cast<size_t>(t.numel() * itemsize(from)));
    record_write(t);
    return give(from == to ? std::move(t)
                           : ops::_to_copy(t, to, Device::kUndefined, MemoryFormat::kUndefined));
  });
}

uh_handle uh_from_foreign(void* data, int64_t nbytes, const int64_t* sizes, const int64_t* strides,
                          int64_t ndim, int dtype, void (*release)(void*), void* context) {
  return guard(uh_handle{0}, [&] {
    initialise();
    struct Owner {
      void (*release)(void*);
      void* context;
    };
    auto let_go = [](void* owner, void*, size_t) {
      auto* o = static_cast<Owner*>(owner);
      {
        const OutsideCalls host;
        o->release(o->context);
      }
      delete o;
    };
    DataPtr pointer(data, static_cast<size_t>(nbytes), new Owner{release, context}, let_go);
    auto storage = make_ref<Storage>(std::move(pointer), static_cast<size_t>(nbytes));
    foreign_writes::watch(storage.get());
    Layout layout{to_dims(sizes, ndim), to_dims(strides, ndim), 0};
    Tensor t(
        make_ref<TensorImpl>(std::move(storage), std::move(layout), static_cast<DType>(dtype)));
    record_write(t);
    return give(std::move(t));
  });
}

uh_scalar uh_item(uh_handle self) {
  return guard(failed_scalar(), [&] {
    const TensorImpl* t = use(self);
    check(t->numel() == 1, "a Tensor with ", t->numel(), " elements cannot be converted to Scalar");
    check_kind(t->device() != Device::kMeta, ErrorKind::kRuntime,
               "Tensor.item() cannot be called on meta tensors");
    Tensor host;  // copy of a tensor in device memory
    if (!is_host(t->device())) [[unlikely]]
      host = copy_to_host(take(self));
    const std::byte* const data = host ? host.data() : t->data();
    return visit_any(t->dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T value = *reinterpret_cast<const T*>(data);
      if constexpr (is_complex_v<T>)
        return to_c(Scalar(Complex128(value)));
      else if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>)
        return to_c(Scalar(value));
      else
        return to_c(Scalar(static_cast<double>(value)));
    });
  });
}

// Returns NaN for a value that needs the slow path: a NaN element, several elements, an integer
// dtype, a tensor without bytes, a Storage that may have shrunk.
double uh_item_double(uh_handle self) {
  const InUse t(self);
  if (t->numel() == 1 && t->device() == Device::kCPU && t->storage()->is_plain()) {
    if (t->dtype() == DType::kFloat32)
      return static_cast<double>(*reinterpret_cast<const float*>(t->data()));
    if (t->dtype() == DType::kFloat64) return *reinterpret_cast<const double*>(t->data());
  }
  return __builtin_nan("");
}

namespace {

// Reads all elements in row-major order, converted to V.
template <class V>
void read_all(TensorImpl* t, V* out) {
  check_kind(t->device() != Device::kMeta, ErrorKind::kNotImplemented,
             "cannot read the values of a meta tensor: it has none");
  Tensor host;  // copy of a tensor in device memory
  if (!is_host(t->device())) [[unlikely]] {
    host = copy_to_host(Tensor::share(t));
    t = host.impl();
  }
  const auto walk = [&](auto zero) {
    using T = decltype(zero);
    const auto* data = reinterpret_cast<const T*>(t->data());
    const auto n = static_cast<size_t>(t->ndim());
    Dims index(n);
    int64_t at = 0;
    for (int64_t i = 0; i < t->numel(); ++i) {
      out[i] = static_cast<V>(data[at]);
      for (size_t d = n; d-- > 0;) {
        if (++index[d] < t->sizes()[d]) {
          at += t->strides()[d];
          break;
        }
        at -= (t->sizes()[d] - 1) * t->strides()[d];
        index[d] = 0;
      }
    }
  };
  if constexpr (is_complex_v<V>)
    t->dtype() == DType::kComplex64 ? walk(Complex64{}) : walk(Complex128{});
  else
    visit(t->dtype(), walk);
}

}  // namespace

namespace {
int refuse_to_read(const TensorImpl* t, int64_t n) {
  set_last_error(ErrorKind::kRuntime, message("read: ", n, " values were expected of a tensor of ",
                                              t->numel(), " elements of dtype ", name(t->dtype()))
                                          .c_str());
  return 1;
}
}  // namespace

int uh_read_ints(uh_handle self, int64_t* ret_values, int64_t n) {
  return guard(-1, [&] {
    TensorImpl* t = use(self);
    if (t->numel() != n || is_inexact(t->dtype())) return refuse_to_read(t, n);
    read_all(t, ret_values);
    return 0;
  });
}
int uh_read_doubles(uh_handle self, double* ret_values, int64_t n) {
  return guard(-1, [&] {
    TensorImpl* t = use(self);
    const bool pairs = is_complex(t->dtype());
    if (t->numel() * (pairs ? 2 : 1) != n) return refuse_to_read(t, n);
    if (pairs)
      read_all(t, reinterpret_cast<Complex128*>(ret_values));
    else
      read_all(t, ret_values);
    return 0;
  });
}

uh_handle uh_index_basic(uh_handle self, const uh_index_step* steps, int64_t n) {
  return guard(uh_handle{0}, [&] {
    Tensor t = take(self);
    for (const uh_index_step* s = steps; s != steps + n; ++s) {
      t = s->op == UH_SELECT  ? ops::select(t, s->dim, s->start)
          : s->op == UH_SLICE ? ops::slice(t, s->dim, s->start, s->stop, s->step)
                              : ops::unsqueeze(t, s->dim);
    }
    return give(n ? std::move(t) : ops::alias(t));  // x[:] is a new tensor
  });
}

uh_handle uh_storage_retain(uh_handle tensor, int holder_kind, int64_t holder) {
  return guard(uh_handle{0}, [&] {
    TensorImpl* impl = use(tensor);
    impl->check_within_storage();
    Storage* storage = impl->storage();
    storage->pin();
    storage->retain();
    storage->held_by(static_cast<events::Holder>(holder_kind), holder);
    foreign_writes::watch(storage);
    return reinterpret_cast<uh_handle>(storage);
  });
}
int uh_check_within_storage(uh_handle tensor) {
  return guard(-1, [&] {
    use(tensor)->check_within_storage();
    return 0;
  });
}
uh_handle uh_storage_export(uh_handle tensor, int holder_kind, int64_t holder,
                            uh_layout* ret_layout) {
  return guard(uh_handle{0}, [&] {
    const TensorImpl* t = use(tensor);
    check(t->ndim() <= UH_MAX_DIMS, "export: expected at most ", int{UH_MAX_DIMS},
          " dimensions, got ", t->ndim());
    ret_layout->data =
        t->numel() && t->storage()->data() ? reinterpret_cast<uint64_t>(t->data()) : 0;
    ret_layout->ndim = t->ndim();
    ret_layout->dtype = static_cast<int>(t->dtype());
    copy_dims(t->sizes(), ret_layout->sizes, UH_MAX_DIMS);
    copy_dims(t->strides(), ret_layout->strides, UH_MAX_DIMS);
    return uh_storage_retain(tensor, holder_kind, holder);
  });
}

namespace {
// The bytes, after a check that all of them exist.
std::byte* bytes_of(uh_handle tensor, int64_t offset, int64_t n) {
  const Storage* storage = use(tensor)->storage();
  const auto nbytes = static_cast<int64_t>(storage->nbytes());
  check_kind(offset >= 0 && n >= 0 && offset <= nbytes && n <= nbytes - offset, ErrorKind::kIndex,
             "storage: bytes ", offset, " to ", offset + n, " of ", nbytes);
  check_kind(storage->data() || n == 0, ErrorKind::kNotImplemented,
             "storage: a meta storage has no bytes");
  check_kind(is_host(storage->device()) || n == 0, ErrorKind::kNotImplemented,
             "storage: its bytes are on ", name(storage->device()), "; copy the tensor to the cpu");
  return static_cast<std::byte*>(storage->data()) + offset;
}
}  // namespace

int uh_storage_read(uh_handle tensor, int64_t offset, void* ret_bytes, int64_t n) {
  return guard(-1, [&] {
    const std::byte* from = bytes_of(tensor, offset, n);
    if (n) std::memcpy(ret_bytes, from, static_cast<size_t>(n));
    return 0;
  });
}
int uh_storage_write(uh_handle tensor, int64_t offset, const void* bytes, int64_t n) {
  return guard(-1, [&] {
    std::byte* to = bytes_of(tensor, offset, n);
    if (n) std::memcpy(to, bytes, static_cast<size_t>(n));
    return 0;
  });
}
void uh_storage_release(uh_handle handle, int holder_kind, int64_t holder) {
  auto* storage = reinterpret_cast<Storage*>(handle);
  storage->dropped_by(static_cast<events::Holder>(holder_kind), holder);
  storage->release();
}
int uh_storage_resize(uh_handle tensor, int64_t nbytes) {
  return guard(-1, [&] {
    check(nbytes >= 0, "resize_: storage size must be non-negative, got ", nbytes);
    TensorImpl* impl = use(tensor);
    const Change change(impl);
    impl->storage()->resize(static_cast<size_t>(nbytes));
    return 0;
  });
}

uh_handle uh_variable_data(uh_handle self) {
  return guard(uh_handle{0}, [&] {
    const Tensor t = take(self);
    return give(alias(t, t.impl()->layout(), t.dtype(), make_ref<OwnCounter>()));
  });
}
int uh_set_data(uh_handle self, uh_handle source) {
  return guard(-1, [&] {
    const Tensor to = take(self), from = take(source);
    check(to.is_meta() == from.is_meta(),
          "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
          "incompatible tensor type.");
    check(!autograd::requires_grad(to) || autograd::is_differentiable(from.dtype()),
          "data set to a tensor that requires gradients must be floating point or complex dtype");
    const Change change(to.impl());
    if (to.dtype() != from.dtype() || !(to.device() == from.device())) forget_accumulator(to);
    to.impl()->set_data(*from.impl());
    return 0;
  });
}

int uh_get_default_dtype(void) { return static_cast<int>(default_dtype()); }
void uh_set_namespace(const char* name) { set_imported_name(name); }
int uh_set_default_dtype(int dtype) {
  return guard(-1, [&] {
    set_default_dtype(static_cast<DType>(dtype));
    return 0;
  });
}
void uh_set_num_threads(int n) { set_num_threads(n); }
int uh_get_num_threads(void) { return get_num_threads(); }
const char* uh_isa(void) { return name(isa()); }
const char* uh_blas_core(void) { return blas_core_name(); }
int uh_promote(int a, int b) {
  return static_cast<int>(promote(static_cast<DType>(a), static_cast<DType>(b)));
}
int uh_result_type(uh_handle a, uh_handle b) {
  const CallSection call;
  const Tensor first = take(a), second = take(b);
  const Input operands[] = {first, second};
  return static_cast<int>(result_type(operands));
}

void uh_manual_seed(uint64_t seed) { random::manual_seed(seed); }
uint64_t uh_initial_seed(void) { return random::state().seed; }
void uh_rng_state(uint64_t* ret_seed, uint64_t* ret_offset) {
  const random::State state = random::state();
  *ret_seed = state.seed;
  *ret_offset = state.offset;
}
void uh_set_rng_state(uint64_t seed, uint64_t offset) { random::set_state({seed, offset}); }

uh_allocator_stats uh_allocator_stats_of(int allocator) {
  const AllocatorStats s = (allocator == 1 ? cpu_allocator() : pool_allocator()).stats();
  return {s.live_bytes, s.peak_bytes, s.allocations, s.frees, s.reused, s.kept_bytes};
}
void uh_pool_set_enabled(int enabled) { set_pool_enabled(enabled != 0); }
int uh_pool_enabled(void) { return pool_enabled(); }
void uh_pool_empty(void) { empty_pool(); }

int uh_record_open(int fd, uint64_t value_budget) {
  return guard(-1, [&] {
    events::open(fd, value_budget);
    return 0;
  });
}
void uh_record_close(void) {
  for (const DeviceType type : device_types()) {
    if (const auto settle = backend_of(type).settle) settle();
  }
  events::close();
}
void* uh_record_header(void) { return events::ring_header(); }
void uh_record_release(void) { events::release_ring(); }
int uh_recording(void) { return static_cast<int>(events::g_mode.load()); }
uint64_t uh_emit(int kind, int flags, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) {
  return events::emit(static_cast<events::Kind>(kind), a, b, c, d, e, static_cast<uint16_t>(flags));
}
uint64_t uh_emit_blob(int kind, int flags, int64_t a, int64_t b, int64_t c, int64_t d,
                      const void* bytes, size_t n) {
  return events::emit_blob(static_cast<events::Kind>(kind), a, b, c, d, bytes, n,
                           static_cast<uint16_t>(flags));
}
int64_t uh_intern(const char* text, size_t n) { return events::intern({text, n}); }
void uh_take_records(void* ring, uint64_t capacity_records, uint64_t capacity_blob, void* records,
                     uint64_t room_records, void* blobs, uint64_t room_blobs, uint64_t* filled) {
  events::Collected to{static_cast<events::Record*>(records), filled[0], room_records,
                       static_cast<std::byte*>(blobs),        filled[1], room_blobs};
  events::take_records({static_cast<std::byte*>(ring), capacity_records, capacity_blob}, to);
  filled[0] = to.n;
  filled[1] = to.bytes;
}
size_t uh_pack_room(size_t n) { return events::pack_room(n); }
int64_t uh_pack_records(const void* records, size_t n, void* out) {
  return guard(int64_t{-1}, [&] {
    return static_cast<int64_t>(events::pack_records(static_cast<const events::Record*>(records), n,
                                                     static_cast<std::byte*>(out)));
  });
}
void uh_check_foreign(void) { foreign_writes::check_all(); }
